#pragma once
#include <cmath>
#include <complex>
#include <cstddef>
#include <memory>
#include <string>
#include <vector>

#include "core/finite.hpp"
#include "pipeline/calibration/calibrate.hpp"
#include "pipeline/recording.hpp"

/// What both ways of calibrating share; no part of the interface.
namespace nearfield {

/// The scatter of fewer windows cannot be estimated.
inline constexpr std::size_t kFewestCalibrationFrames = 4;
inline constexpr double kLowestCoherence = 0.9;
inline constexpr double kLargestError = 0.1;

/// Spectra of all whole windows of the recordings that do not overlap.
struct CalibrationFrames {
  EnginePlan plan;
  std::vector<double> frequencies_hz;  ///< ascending
  std::vector<double> wavenumbers_rad_per_m;
  std::vector<std::size_t> inputs;  ///< [frame], the index of the recording
  /// [frequency][frame][channel]; NaN where a microphone has no finite value: that window is none of it.
  std::vector<std::vector<std::vector<std::complex<double>>>> measured;
  /// [channel], windows in which it has none at some frequency.
  std::vector<std::size_t> left_out;

  [[nodiscard]] std::size_t frames() const { return inputs.size(); }
};

/// Without an earlier calibration, and of all microphones. Throws DataError when there are fewer than four windows, or
/// the recordings are of unlike arrays.
CalibrationFrames read_calibration_frames(const CalibrateOptions& options);

/// A sentence for each microphone with finite values in some windows alone.
std::vector<std::string> remarks_on_left_out(const std::vector<std::size_t>& left_out, std::size_t frames);

/// Appends a microphone's result: its gain, NaN without one.
void add_channel(CalibrationResult& result, std::complex<double> gain, const ChannelQuality& quality, bool is_good);

/// Of an even number of values the upper of the two in the middle; there must be one at least.
double median(std::vector<double> values);

/// calibrate() with a calibrator.
CalibrationResult calibrate_by_calibrator(const CalibrateOptions& options);

}  // namespace nearfield
