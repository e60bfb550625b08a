#pragma once
#include <cmath>
#include <complex>
#include <cstddef>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "core/numerics.hpp"
#include "core/settings.hpp"
#include "engine/engine.hpp"
#include "files/files.hpp"
#include "pipeline/recording.hpp"

namespace nearfield {

/// A field that is known up to one complex factor per frame and frequency.
struct KnownField {
  /// A point source, in the axes of images, z = 0 the surface; none: a plane wave.
  struct Point {
    double x_m = 0.0;
    double y_m = 0.0;
    double z_m = 0.0;
  };
  std::optional<Point> source;
  /// Direction that a plane wave comes from, in degrees off the axis along x and y: 0, 0 is straight ahead.
  double azimuth_deg = 0.0;
  double elevation_deg = 0.0;
};

/// A sound calibrator or pistonphone that is held over one microphone after another.
struct Calibrator {
  double pressure_pa = 0.0;        ///< rms, in its coupler
  std::vector<int> channels = {};  ///< microphone per input; empty: the loudest, window by window
  /// An earlier calibration, for values that a calibrator does not determine: phases, other frequencies, other
  /// microphones. Gains of microphones that were reached are scaled to the measured level, the others by the median of
  /// these scales.
  std::filesystem::path start = {};
};

struct CalibrateOptions {
  /// Captures, recordings of bits, time data or spectra, of one array; their windows are taken together.
  std::vector<std::filesystem::path> inputs;
  Settings settings;  ///< array.calibration is not applied
  KnownField field;
  std::optional<Calibrator> calibrator;  ///< used instead of the field
  EngineKind engine = EngineKind::kOpencl;
};

/// Quality of one microphone's calibration at one frequency.
struct ChannelQuality {
  double relative_error = 0.0;  ///< standard error of the gain over its magnitude
  double coherence = 0.0;       ///< between the microphone and the field over frames, 0 to 1
};

struct CalibrationResult {
  Calibration calibration;              ///< gains NaN where a microphone could not be calibrated
  std::vector<ChannelQuality> quality;  ///< [frequency][row][column]
  std::vector<int> failed;              ///< microphones with no gain at some frequency, ascending
  std::size_t reached = 0;              ///< number of microphones that a calibrator gave a gain
  double largest_error = 0.0;           ///< largest relative standard error of the valid gains
  std::uint64_t frames = 0;
  std::vector<std::string> remarks = {};  ///< microphones with windows left out because values are not finite
};

/// Computes gains that turn each microphone's spectra of a known field into the field. With y[t] a microphone's
/// spectrum in frame t, p the field there and a[t] the field's factor, y[t] = h a[t] p + noise is fitted by least
/// squares, h and a in turn; the gain is 1/h. Gains have a median magnitude of 1 and a mean phase of 0: a common factor
/// belongs to the sensitivity. Frames are windows that do not overlap; a microphone's fit skips frames in which it has
/// no finite value. A microphone fails where its coherence is below 0.9, the standard error above a tenth of the gain,
/// or h more than 20 dB below the median. Throws DataError when there are fewer than 4 frames, or more than a quarter
/// of the microphones fail.
///
/// With a calibrator the magnitude of the gain is its pressure over the microphone's median magnitude, from windows
/// within 1 dB of their median; the phase is 0, or the earlier calibration's. Without given channels it uses windows in
/// which one microphone is 10 dB louder than all others. The coherence here is mean² / mean square of the magnitude: 1
/// for a steady level, 0.79 for noise; the limits are the same, and gains beyond 40 dB are rejected. Throws DataError
/// when no microphone gets a gain.
CalibrationResult calibrate(const CalibrateOptions& options);

/// Pressure of the field at each microphone up to a factor, [row][column].
std::vector<std::complex<double>> known_pressure(const KnownField& field, const ArrayGeometry& geometry,
                                                 double standoff_m, double wavenumber_rad_per_m);

// Parts shared by both ways of calibrating:

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
