#include "engine/calibration_gains.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "core/error.hpp"

namespace nearfield {
namespace {

/// Files may hold lengths as float32.
bool same_length(double a_m, double b_m) { return std::abs(a_m - b_m) <= 1e-6 * std::abs(b_m); }

/// Compares arrays with equal numbers of microphones: positions to 1 um; false if only one has positions.
bool same_places(const ArrayGeometry& a, const ArrayGeometry& b) {
  constexpr double kSame_m = 1e-6;
  bool are_same = a.is_grid() == b.is_grid();
  for (int channel = 0; are_same && !a.is_grid() && channel < a.channels(); ++channel) {
    const MicrophonePosition one = a.position_m(channel);
    const MicrophonePosition other = b.position_m(channel);
    are_same = std::hypot(one.x_m - other.x_m, one.y_m - other.y_m, one.z_m - other.z_m) <= kSame_m;
  }
  return are_same;
}

}  // namespace

std::vector<std::complex<float>> calibration_gains(const ArraySettings& array,
                                                   const std::vector<double>& frequencies_hz, const ArrayFiles* files) {
  if (array.calibration_path.empty()) {
    return {};
  }
  if (files == nullptr) {
    throw ConfigError(
        fmt::format("array.calibration: expected none where no files are read, found {}", array.calibration_path));
  }
  const Calibration calibration = files->calibration(array.calibration_path);
  if (const std::string flaw = flaw_of_gains(calibration); !flaw.empty()) {
    throw DataError(fmt::format("array.calibration: {}: {}", array.calibration_path, flaw));
  }
  const ArrayGeometry& made_for = calibration.geometry;
  const ArrayGeometry& used = array.geometry;
  if (made_for.rows != used.rows || made_for.columns != used.columns ||
      !same_length(made_for.pitch_x_m, used.pitch_x_m) || !same_length(made_for.pitch_y_m, used.pitch_y_m)) {
    throw ConfigError(
        fmt::format("array.calibration: {} is for {} x {} microphones {} m x {} m apart, expected {} x {}, {} m x {} m",
                    array.calibration_path, made_for.rows, made_for.columns, made_for.pitch_x_m, made_for.pitch_y_m,
                    used.rows, used.columns, used.pitch_x_m, used.pitch_y_m));
  }
  if (!same_places(made_for, used)) {
    throw ConfigError(fmt::format("array.calibration: {} is for {} microphones at other places, expected those of {}",
                                  array.calibration_path, text_of_size(made_for),
                                  used.is_grid() ? "the grid" : "array.positions"));
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
      const std::complex<float> below = calibration.gains[low * channels + channel];
      // Skip the difference at weight 0: NaN * 0 would be NaN.
      gains.push_back(weight > 0.0F ? below + weight * (calibration.gains[high * channels + channel] - below) : below);
    }
  }
  return gains;
}

}  // namespace nearfield
