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

/// A position on the array's axes: x to the right, y down, z from the array's plane away from the surface.
struct MicrophonePosition {
  double x_m = 0.0;
  double y_m = 0.0;
  double z_m = 0.0;
  friend bool operator==(const MicrophonePosition&, const MicrophonePosition&) = default;
};

/// Positions given one by one, in the order in which an input delivers its channels.
struct MicrophonePlacement {
  std::vector<MicrophonePosition> positions_m;  ///< [channel of the input], as given
  std::vector<int> channel_of_input;            ///< [channel of the input]: row * columns + column
  bool is_grid = true;                          ///< else the microphones form one row, in no spatial order
  MicrophonePosition centre_m = {};             ///< the point of positions_m that is the origin of images
  friend bool operator==(const MicrophonePlacement&, const MicrophonePlacement&) = default;
};

/// Microphones on a rectangular grid, seen from the back of the array: row 0 on top, column 0 at the left. x grows to
/// the right, y grows downwards, the origin is the array's centre: the mean of all microphone positions, on a grid or
/// not, for microphones in layers at the height of the lowest layer; for others round a body, deeper than a tenth of
/// their width, it is that of the given positions. For
/// positions that form no such grid, the array is one row of all microphones, `columns` is their number, both pitches
/// are the largest distance from a microphone to its nearest neighbour, and only position_m() gives their positions.
struct ArrayGeometry {
  int rows = 32;
  int columns = 32;
  double pitch_x_m = 0.02;
  double pitch_y_m = 0.02;
  std::shared_ptr<const MicrophonePlacement> placement = nullptr;  ///< null if no positions were given

  [[nodiscard]] int channels() const { return rows * columns; }
  /// False if positions were given that form no regular grid.
  [[nodiscard]] bool is_grid() const { return !placement || placement->is_grid; }
  /// True where the input's channels are not in the order of row * columns + column.
  [[nodiscard]] bool is_reordered() const;
  /// x of a column (or of a fraction of a column) of a grid, in metres.
  [[nodiscard]] double x_m(double column) const { return (column - (columns - 1) / 2.0) * pitch_x_m; }
  /// y of a row (or of a fraction of a row) of a grid, in metres.
  [[nodiscard]] double y_m(double row) const { return (row - (rows - 1) / 2.0) * pitch_y_m; }
  /// Position of a channel (row * columns + column).
  [[nodiscard]] MicrophonePosition position_m(int channel) const;
  /// This array for data in the order of rows and columns.
  [[nodiscard]] ArrayGeometry in_channel_order() const;
  friend bool operator==(const ArrayGeometry& a, const ArrayGeometry& b);
};

/// Describes what makes positions invalid: none or too many, one that is not finite or too far away, two at one place.
/// Empty if they are valid.
std::string flaw_of_positions(std::span<const MicrophonePosition> positions_m);

/// True if microphones stand in two or three planes parallel to the images, with gaps between them that exceed the
/// unevenness of each by far; each has some in its middle half and reaches over most of the array's width and height.
/// No rings round a body, and no two panels before which one stands: the planes are nearer to each other than 0.3 of
/// the width.
bool stands_in_layers(std::span<const MicrophonePosition> positions_m);

/// The array of these microphones, [channel of an input], for which flaw_of_positions() must be empty. Positions on a
/// regular grid, each to 1 % of its smaller pitch, give rows, columns, pitches and order; others give an irregular
/// geometry. The origin is the mean of the positions, whose coordinates below 1 um count as 0, or the given one for
/// microphones round a body.
ArrayGeometry geometry_of(std::vector<MicrophonePosition> positions_m);
/// The irregular geometry around the positions' own origin, also for positions on a grid.
ArrayGeometry irregular_geometry_of(std::vector<MicrophonePosition> positions_m);

/// Maps the array's axes to those of a file, "x", "-z" and so on: signed columns of the file, numbered from 1.
struct AxesOfFile {
  int x = 1;
  int y = 2;
  int z = 3;
  friend bool operator==(const AxesOfFile&, const AxesOfFile&) = default;
};
/// "[x, y, -z]".
std::string text_of(const AxesOfFile& axes);
/// Converts a position from a file's axes to the array's axes.
MicrophonePosition on_axes(const AxesOfFile& axes, const MicrophonePosition& in_file);

/// "array centred at x 0.3 m, y 0.2 m, z 1.2 m of the given positions, which is the images' origin"; empty if the given
/// positions have that origin, or none were given.
std::string text_of_origin(const ArrayGeometry& geometry);
/// Warnings, a sentence each, about positions that are possible but suspicious: lengths in a unit other than metres,
/// and a plane that is not parallel to the images', with the rotation that makes it so.
std::vector<std::string> doubts_of(const ArrayGeometry& geometry);

/// "8 x 8", rows and columns, or "32 irregular" for an irregular array.
std::string text_of_size(const ArrayGeometry& geometry);
/// "microphone 9 (row 1, column 1)", or "microphone 9 (x 0.1 m, y -0.2 m, z 0 m)" for an irregular array.
std::string text_of_microphone(const ArrayGeometry& geometry, int channel);

/// A position on an image, on the array's axes.
struct PlanePoint {
  double x_m = 0.0;
  double y_m = 0.0;
  friend bool operator==(const PlanePoint&, const PlanePoint&) = default;
};

/// Bits of one microphone per decimated sample, and per packed word.
inline constexpr int kBitsPerWord = 32;

/// Nominal rate of the one-bit microphones.
inline constexpr double kBitRateHz = 1.5e6;

/// Digital full scale in pascal (peak) of a microphone whose level for a 1 Pa rms sine is `sensitivity_dbfs`.
double full_scale_pa(double sensitivity_dbfs);

}  // namespace nearfield
