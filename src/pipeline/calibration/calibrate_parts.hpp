#pragma once
#include <cmath>
#include <complex>
#include <cstddef>
#include <memory>
#include <string>
#include <vector>

#include "core/numerics.hpp"
#include "pipeline/calibration/calibrate.hpp"
#include "pipeline/recording.hpp"

/// Internal parts shared by both ways of calibrating.
namespace nearfield {

/// Fewer windows do not allow an estimate of the scatter.
inline constexpr std::size_t kFewestCalibrationFrames = 4;
inline constexpr double kLowestCoherence = 0.9;
inline constexpr double kLargestError = 0.1;

/// Spectra of all whole, non-overlapping windows of the recordings.
struct CalibrationFrames {
  EnginePlan plan;
  std::vector<double> frequencies_hz;  ///< ascending
  std::vector<double> wavenumbers_rad_per_m;
  std::vector<std::size_t> inputs;  ///< [frame] index of the recording
  /// [frequency][frame][channel]; NaN where a microphone has no finite value: it skips that window.
  std::vector<std::vector<std::vector<std::complex<double>>>> measured;
  /// [channel] number of windows in which it has no finite value at some frequency.
  std::vector<std::size_t> left_out;

  [[nodiscard]] std::size_t frames() const { return inputs.size(); }
};

/// Reads all microphones without an earlier calibration. Throws DataError when there are fewer than four windows, or
/// the recordings are of unlike arrays.
CalibrationFrames read_calibration_frames(const CalibrateOptions& options);

/// A sentence for each microphone that has finite values only in some windows.
std::vector<std::string> remarks_on_left_out(const std::vector<std::size_t>& left_out, std::size_t frames);

/// Appends a microphone's result; its gain is NaN if there is none.
void add_channel(CalibrationResult& result, std::complex<double> gain, const ChannelQuality& quality, bool is_good);

/// Median; for an even number of values the upper of the middle two. Needs at least one value.
double median(std::vector<double> values);

/// calibrate() with a calibrator.
CalibrationResult calibrate_by_calibrator(const CalibrateOptions& options);

}  // namespace nearfield
