#include "imaging/array_plan.hpp"

#include <algorithm>
#include <numbers>

#include "nearfield/frame.hpp"

namespace nearfield {

double ArrayPlan::wavenumber(std::size_t frequency) const {
  return 2.0 * std::numbers::pi * frequencies_hz[frequency] / medium.sound_speed_m_s;
}

std::uint32_t ArrayPlan::constant_flags() const {
  const double nyquist = std::numbers::pi / std::max(geometry.pitch_x_m, geometry.pitch_y_m);
  for (std::size_t f = 0; f < frequencies_hz.size(); ++f) {
    if (wavenumber(f) > nyquist) {
      return kFlagWavenumberAboveNyquist;
    }
  }
  return 0;
}

}  // namespace nearfield
