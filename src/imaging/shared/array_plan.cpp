#include "imaging/shared/array_plan.hpp"

#include <algorithm>
#include <numbers>

#include "core/frame.hpp"
#include "imaging/shared/grating_lobes.hpp"

namespace nearfield {

double ArrayPlan::wavenumber(std::size_t frequency) const {
  return 2.0 * std::numbers::pi * frequencies_hz[frequency] / medium.sound_speed_m_s;
}

double ArrayPlan::alias_wavenumber() const {
  double most = 0.0;
  for (std::size_t f = 0; f < frequencies_hz.size(); ++f) {
    most = std::max(most, wavenumber(f));
  }
  return nearfield::alias_wavenumber(geometry, most);
}

std::uint32_t ArrayPlan::constant_flags() const {
  const double alias = alias_wavenumber();
  for (std::size_t f = 0; f < frequencies_hz.size(); ++f) {
    if (wavenumber(f) > alias) {
      return kFlagWavenumberAboveNyquist;
    }
  }
  return 0;
}

std::vector<int> used_microphones(const ArrayPlan& plan) {
  std::vector<int> used;
  for (int channel = 0; channel < plan.geometry.channels(); ++channel) {
    if (std::find(plan.dead_channels.begin(), plan.dead_channels.end(), channel) == plan.dead_channels.end()) {
      used.push_back(channel);
    }
  }
  return used;
}

}  // namespace nearfield
