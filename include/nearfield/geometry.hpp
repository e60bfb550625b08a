#pragma once
#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <vector>

namespace nearfield {

/// Largest number of microphones on a side of a regular grid.
inline constexpr int kMaxSide = 64;
/// Largest number of microphones of any array.
inline constexpr int kMaxMicrophones = kMaxSide * kMaxSide;

/// A place on the array's axes: x to the right, y down, z from the array's plane away from the surface.
struct MicrophonePosition {
  double x_m = 0.0;
  double y_m = 0.0;
  double z_m = 0.0;
  friend bool operator==(const MicrophonePosition&, const MicrophonePosition&) = default;
};

/// Positions that were given one by one, in the order in which an input delivers its channels.
struct MicrophonePlacement {
  std::vector<MicrophonePosition> positions_m;  ///< [channel of the input], as they were given
  std::vector<int> channel_of_input;            ///< [channel of the input]: row * columns + column
  bool is_grid = true;                          ///< else the microphones are one row, without any order in space
  MicrophonePosition centre_m = {};             ///< the place among positions_m that is the origin of images
  friend bool operator==(const MicrophonePlacement&, const MicrophonePlacement&) = default;
};

/// Microphones on a rectangular grid, seen from the back of the array: row 0 on top, column 0 at the left.
/// x grows to the right, y grows downwards, the origin is the array's centre: the mean of all microphones' places,
/// whether they are on a grid or not. Where positions were given that are on no such grid, the array is one row of all
/// microphones, `columns` is their number, both pitches are the largest distance
/// of a microphone to its nearest neighbour, and position_m() alone says where they stand.
struct ArrayGeometry {
  int rows = 32;
  int columns = 32;
  double pitch_x_m = 0.02;
  double pitch_y_m = 0.02;
  std::shared_ptr<const MicrophonePlacement> placement = nullptr;  ///< null where no positions were given

  [[nodiscard]] int channels() const { return rows * columns; }
  /// False where the positions that were given are on no regular grid.
  [[nodiscard]] bool is_grid() const { return !placement || placement->is_grid; }
  /// True where the input's channels are not in the order of row * columns + column.
  [[nodiscard]] bool is_reordered() const;
  /// x of a column (or of a fraction of a column) of a grid, in metres.
  [[nodiscard]] double x_m(double column) const { return (column - (columns - 1) / 2.0) * pitch_x_m; }
  /// y of a row (or of a fraction of a row) of a grid, in metres.
  [[nodiscard]] double y_m(double row) const { return (row - (rows - 1) / 2.0) * pitch_y_m; }
  /// Of a channel (row * columns + column).
  [[nodiscard]] MicrophonePosition position_m(int channel) const;
  /// The same microphones for data that lie in the order of rows and columns.
  [[nodiscard]] ArrayGeometry in_channel_order() const;
  friend bool operator==(const ArrayGeometry& a, const ArrayGeometry& b);
};

/// What keeps positions from being those of an array, in words: none or too many, one that is not finite or too far
/// away, two at one place. Empty where nothing does.
std::string flaw_of_positions(std::span<const MicrophonePosition> positions_m);

/// The array of these microphones, [channel of an input], in which flaw_of_positions() finds nothing. On a regular
/// grid, each to 1 % of its smaller pitch, they give rows, columns, pitches and order; else an irregular geometry. The
/// origin is the mean of the positions; a mean nearer than 1 um to that of the positions is taken for it.
ArrayGeometry geometry_of(std::vector<MicrophonePosition> positions_m);
/// The irregular geometry, also of positions on a grid, around their own origin.
ArrayGeometry irregular_geometry_of(std::vector<MicrophonePosition> positions_m);

/// Where a file with other axes has the array's, "x", "-z" and so on: signed columns of the file, numbered from 1.
struct AxesOfFile {
  int x = 1;
  int y = 2;
  int z = 3;
  friend bool operator==(const AxesOfFile&, const AxesOfFile&) = default;
};
/// "[x, y, -z]".
std::string text_of(const AxesOfFile& axes);
/// The place on the array's axes of one on a file's.
MicrophonePosition on_axes(const AxesOfFile& axes, const MicrophonePosition& in_file);

/// "array centred at x 0.3 m, y 0.2 m, z 1.2 m of the given positions, which is the images' origin"; empty where the
/// given positions have that origin, or none were given.
std::string text_of_origin(const ArrayGeometry& geometry);
/// Warnings, a sentence each, about places of microphones that are possible but look wrong: lengths in another unit
/// than metres, and a plane that is not parallel to the images', with the rotation that makes it so.
std::vector<std::string> doubts_of(const ArrayGeometry& geometry);

/// "8 x 8", rows and columns, or "32 irregular" where they are on no regular grid.
std::string text_of_size(const ArrayGeometry& geometry);
/// "microphone 9 (row 1, column 1)", or "microphone 9 (x 0.1 m, y -0.2 m, z 0 m)" where there is no regular grid.
std::string text_of_microphone(const ArrayGeometry& geometry, int channel);

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
