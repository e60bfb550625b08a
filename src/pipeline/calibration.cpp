#include "pipeline/calibration.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "capture/files.hpp"
#include "nearfield/error.hpp"

namespace nearfield {

std::vector<std::complex<float>> calibration_gains(const ArraySettings& array,
                                                   const std::vector<double>& frequencies_hz) {
  if (array.calibration_path.empty()) {
    return {};
  }
  const Calibration calibration = read_calibration(array.calibration_path);
  if (calibration.geometry.rows != array.geometry.rows || calibration.geometry.columns != array.geometry.columns) {
    throw ConfigError(fmt::format("array.calibration: {} is for {} x {} microphones, expected {} x {}",
                                  array.calibration_path, calibration.geometry.rows, calibration.geometry.columns,
                                  array.geometry.rows, array.geometry.columns));
  }
  const std::vector<double>& known_hz = calibration.frequencies_hz;
  const auto channels = static_cast<std::size_t>(array.geometry.channels());
  std::vector<std::complex<float>> gains;
  gains.reserve(frequencies_hz.size() * channels);
  for (const double frequency_hz : frequencies_hz) {
    if (frequency_hz < known_hz.front() || frequency_hz > known_hz.back()) {
      throw ConfigError(fmt::format("array.calibration: {} covers {} to {} Hz, expected {} Hz too",
                                    array.calibration_path, known_hz.front(), known_hz.back(), frequency_hz));
    }
    const auto above = std::lower_bound(known_hz.begin(), known_hz.end(), frequency_hz);
    const auto high = static_cast<std::size_t>(above - known_hz.begin());
    const std::size_t low = high > 0 ? high - 1 : 0;
    const double span_hz = known_hz[high] - known_hz[low];
    const auto weight = static_cast<float>(span_hz > 0.0 ? (frequency_hz - known_hz[low]) / span_hz : 0.0);
    for (std::size_t channel = 0; channel < channels; ++channel) {
      gains.push_back((1.0F - weight) * calibration.gains[low * channels + channel] +
                      weight * calibration.gains[high * channels + channel]);
    }
  }
  return gains;
}

}  // namespace nearfield
