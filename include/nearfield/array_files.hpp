#pragma once
#include <complex>
#include <cstddef>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "nearfield/geometry.hpp"

namespace nearfield {

/// What a measurement file says of its array. Positions that were given one by one are /geometry/positions_m, float64
/// [channel][3], metres on the axes of images, z from the array's plane, in the order of a capture's channels; of
/// spectra and calibrations only those on no regular grid, whose data are of one row. `sensitivity_dbfs` only in
/// captures; 0 elsewhere.
struct MeasurementGeometry {
  ArrayGeometry geometry;
  double standoff_m = 0.0;
  double sensitivity_dbfs = 0.0;
  /// Pitch and standoff are from options of `encode`, whose input did not contain them: later settings may correct
  /// them. Attribute correctable of /geometry, 1.
  bool correctable = false;
};

/// Complex gains by which measured spectra are multiplied. A gain may be NaN: that microphone has no calibration there.
struct Calibration {
  ArrayGeometry geometry;
  std::vector<double> frequencies_hz;      ///< ascending
  std::vector<std::complex<float>> gains;  ///< [frequency][row][column]
  // What made it knows of its quality, [frequency][row][column]; written where there is any, read by people.
  std::vector<float> relative_error = {};  ///< standard error of a gain over its magnitude
  std::vector<float> coherence = {};       ///< of the microphone with the known field
};

/// 40 dB: a gain farther from 1 than that is none of a microphone, but a damaged value, or one of another unit.
inline constexpr double kLargestGain = 100.0;
/// 60 dB: of a template, whose source is a millimetre from one microphone and a metre from the array's centre.
inline constexpr double kLargestTemplate = 1000.0;

/// The first gain that is finite and farther from 1 than kLargestGain, with its place and what was expected; "" where
/// there is none.
std::string flaw_of_gains(const Calibration& calibration);

/// What an array received of a source at each of some places, but for the source's own pressure: steering vectors that
/// were measured.
struct Templates {
  MeasurementGeometry measurement;     ///< of the array that received them; no sensitivity
  std::vector<double> frequencies_hz;  ///< ascending
  std::vector<double> positions_m;     ///< [template][x, y, z], on the axes of images
  std::vector<std::complex<float>> a;  ///< [frequency][template][channel], 1 at the array's centre
  std::vector<float> coherence;        ///< [frequency][template], the share of the power that one source makes
  std::vector<float> of_microphones;   ///< [frequency][template][channel], coherence of each with all of them
  /// The channel that all templates refer to: their phase is 0 there, and their magnitude r_0/r; none where a file does
  /// not say.
  std::optional<int> reference_channel = {};

  [[nodiscard]] std::size_t count() const { return positions_m.size() / 3; }
};

/// A template with less says more of noise than of its source.
inline constexpr double kLeastTemplateCoherence = 0.9;

/// A surface that images are made on, as a file describes it. Lengths are on the axes of images.
struct SurfaceData {
  bool is_points = false;       ///< else heights over the pixels of the images
  std::size_t rows = 1;         ///< 1 of points
  std::size_t columns = 0;      ///< their number of points
  std::vector<double> xyz_m;    ///< of points: [point][x, y, z]
  std::vector<double> z_m;      ///< of heights: [row][column]; NaN where there is no surface
  std::vector<double> normals;  ///< [row][column][x, y, z], of any length but 0; empty: not given
};

/// Whoever brings what settings name by a path: from files on disk, or arrays that a program holds. Engines use it
/// while they are made, so that they need no library that reads files. Its methods throw NoInputError and DataError.
class ArrayFiles {
 public:
  ArrayFiles() = default;
  ArrayFiles(const ArrayFiles&) = delete;
  ArrayFiles& operator=(const ArrayFiles&) = delete;
  virtual ~ArrayFiles() = default;
  [[nodiscard]] virtual Calibration calibration(const std::filesystem::path& path) const = 0;
  [[nodiscard]] virtual Templates templates(const std::filesystem::path& path) const = 0;
  /// Whether points() has those of this name from a program, whatever lies on the disk.
  [[nodiscard]] virtual bool is_given(const std::filesystem::path& /*points*/) const { return false; }
  /// [point][x, y, z] in m; `key` names the setting in messages. Throws ConfigError above `most` points and where there
  /// is none.
  [[nodiscard]] virtual std::vector<double> points(const std::filesystem::path& path, std::size_t most,
                                                   const std::string& key) const = 0;
  /// Heights: a program's, or an HDF5 file's. Throws ConfigError where there is none.
  [[nodiscard]] virtual SurfaceData surface(const std::filesystem::path& path, const std::string& key) const;
};

}  // namespace nearfield
