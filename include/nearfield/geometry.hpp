#pragma once
#include <cstddef>

namespace nearfield {

/// Largest number of microphones on a side.
inline constexpr int kMaxSide = 64;

/// A rectangular grid of microphones, seen from the back of the array: row 0 on top, column 0 at the left.
/// x grows to the right, y grows downwards, the origin is the array's centre.
struct ArrayGeometry {
  int rows = 32;
  int columns = 32;
  double pitch_x_m = 0.02;
  double pitch_y_m = 0.02;

  [[nodiscard]] int channels() const { return rows * columns; }
  /// x of a column (or of a fraction of a column), in metres.
  [[nodiscard]] double x_m(double column) const { return (column - (columns - 1) / 2.0) * pitch_x_m; }
  /// y of a row (or of a fraction of a row), in metres.
  [[nodiscard]] double y_m(double row) const { return (row - (rows - 1) / 2.0) * pitch_y_m; }
  friend bool operator==(const ArrayGeometry&, const ArrayGeometry&) = default;
};

/// A place on an image, on the array's axes.
struct PlanePoint {
  double x_m = 0.0;
  double y_m = 0.0;
  friend bool operator==(const PlanePoint&, const PlanePoint&) = default;
};

/// Bits of one microphone to a decimated sample, and to a packed word.
inline constexpr int kBitsPerWord = 32;

/// Nominal rate of the one-bit microphones.
inline constexpr double kBitRateHz = 1.5e6;

/// Digital full scale in pascal (peak) of a microphone whose level for a 1 Pa rms sine is `sensitivity_dbfs`.
double full_scale_pa(double sensitivity_dbfs);

}  // namespace nearfield
