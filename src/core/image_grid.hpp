#pragma once
#include <cstddef>
#include <string>

#include "core/geometry.hpp"

namespace nearfield {

/// Positions of the pixels of an array's images, on the axes of images. Along each axis there are nodes, `pitch` apart,
/// whose middle is `centre`. Pixels extend from the first node to the last one, `upsample` per pitch: nothing is shown
/// beyond the microphones. For microphones on a regular grid the nodes are the microphones.
struct ImageGrid {
  int node_rows = 1;
  int node_columns = 1;
  double pitch_x_m = 0.0;  ///< between nodes
  double pitch_y_m = 0.0;
  double centre_x_m = 0.0;
  double centre_y_m = 0.0;
  int upsample = 1;

  [[nodiscard]] int rows() const { return (node_rows - 1) * upsample + 1; }
  [[nodiscard]] int columns() const { return (node_columns - 1) * upsample + 1; }
  [[nodiscard]] std::size_t pixels() const {
    return static_cast<std::size_t>(rows()) * static_cast<std::size_t>(columns());
  }
  /// x of a pixel's column.
  [[nodiscard]] double x_m(int column) const {
    return centre_x_m + (static_cast<double>(column) / upsample - (node_columns - 1) / 2.0) * pitch_x_m;
  }
  /// y of a pixel's row.
  [[nodiscard]] double y_m(int row) const {
    return centre_y_m + (static_cast<double>(row) / upsample - (node_rows - 1) / 2.0) * pitch_y_m;
  }
  friend bool operator==(const ImageGrid&, const ImageGrid&) = default;
};

/// The grid of an array's images. For an irregular array it covers the smallest rectangle along x and y that contains
/// all microphones: its pitch, the same along x and y, is that of a regular grid with as many microphones that fills
/// this rectangle, and its middle is the rectangle's.
ImageGrid image_grid(const ArrayGeometry& geometry, int upsample = 1);

/// "12 x 9 pixels, 18.3 mm apart, x from -100 to 101 mm, y from -70 to 76 mm"; rows before columns.
std::string text_of(const ImageGrid& grid);

}  // namespace nearfield
