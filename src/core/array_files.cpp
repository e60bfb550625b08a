#include "core/array_files.hpp"

#include <fmt/format.h>

#include <cmath>

#include "core/error.hpp"
#include "core/numerics.hpp"

namespace nearfield {

std::string flaw_of_gains(const Calibration& calibration) {
  const auto channels = static_cast<std::size_t>(calibration.geometry.channels());
  for (std::size_t i = 0; i < calibration.gains.size(); ++i) {
    const std::complex<double> gain(calibration.gains[i]);
    const double magnitude = std::abs(gain);
    if (is_finite(gain) && !(magnitude >= 1.0 / kLargestGain && magnitude <= kLargestGain)) {
      return fmt::format(
          "gain of microphone {} at {:.6g} Hz: found a magnitude of {:.4g}, expected {} to {} (40 dB), or NaN for a "
          "microphone without a gain",
          i % channels, calibration.frequencies_hz[i / channels], magnitude, 1.0 / kLargestGain, kLargestGain);
    }
  }
  return "";
}

SurfaceData ArrayFiles::surface(const std::filesystem::path& path, const std::string& key) const {
  throw ConfigError(fmt::format("{}: expected a CSV file where no HDF5 files are read, found {}", key, path.string()));
}

}  // namespace nearfield
