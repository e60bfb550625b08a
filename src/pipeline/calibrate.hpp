#pragma once
#include <complex>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "capture/files.hpp"
#include "nearfield/settings.hpp"
#include "pipeline/engine.hpp"

namespace nearfield {

/// A field that is known but for one complex factor a frame and frequency.
struct KnownField {
  /// A point source, in the axes of images, z = 0 the surface; none: a plane wave.
  struct Point {
    double x_m = 0.0;
    double y_m = 0.0;
    double z_m = 0.0;
  };
  std::optional<Point> source;
  /// Where a plane wave comes from, in degrees off the axis along x and y: 0, 0 is straight ahead.
  double azimuth_deg = 0.0;
  double elevation_deg = 0.0;
};

struct CalibrateOptions {
  std::filesystem::path input;  ///< a capture, a recording of bits, time data or spectra
  Settings settings;            ///< its calibration is not applied
  KnownField field;
  EngineKind engine = EngineKind::kOpencl;
};

/// What is known of one microphone at one frequency.
struct ChannelQuality {
  double relative_error = 0.0;  ///< standard error of the gain over its magnitude
  double coherence = 0.0;       ///< of the microphone with the field over frames, 0 to 1
};

struct CalibrationResult {
  Calibration calibration;              ///< gains NaN where a microphone could not be calibrated
  std::vector<ChannelQuality> quality;  ///< [frequency][row][column]
  std::vector<int> failed;              ///< microphones with no gain at some frequency, ascending
  std::uint64_t frames = 0;
};

/// Gains that turn what each microphone has of a known field into the field. With y[t] what a microphone has in frame
/// t, p the field there and a[t] the field's factor, y[t] = h a[t] p + noise is fitted by least squares, h and a in
/// turn; the gain is 1/h. Gains have a median magnitude of 1 and a mean phase of 0: a common factor is the
/// sensitivity's. Frames are windows that do not overlap. A microphone fails where its coherence is below 0.9, the
/// standard error above a tenth of the gain, or h more than 20 dB below the median. Throws DataError when there are
/// fewer than 4 frames, or more than a quarter of the microphones fail.
CalibrationResult calibrate(const CalibrateOptions& options);

/// The pressure of the field at each microphone but for a factor, [row][column].
std::vector<std::complex<double>> known_pressure(const KnownField& field, const ArrayGeometry& geometry,
                                                 double standoff_m, double wavenumber_rad_per_m);

}  // namespace nearfield
