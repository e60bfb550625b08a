#pragma once
#include <complex>
#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/geometry.hpp"
#include "core/product.hpp"

namespace nearfield {

struct HolographySettings;

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
  /// [column]
  [[nodiscard]] std::vector<double> x_m() const;
  /// [row]
  [[nodiscard]] std::vector<double> y_m() const;
  friend bool operator==(const ImageGrid&, const ImageGrid&) = default;
};

/// Number of images of each plane and frequency that the settings ask for: 2 where what comes from behind is told
/// apart, if no microphone is dead, else 1.
std::size_t image_sides(const HolographySettings& holography, const ArrayGeometry& geometry);

/// The grid of an array's images. For an irregular array it covers the smallest rectangle along x and y that contains
/// all microphones: its pitch, the same along x and y, is that of a regular grid with as many microphones that fills
/// this rectangle, and its middle is the rectangle's.
ImageGrid image_grid(const ArrayGeometry& geometry, int upsample = 1);

/// "12 x 9 pixels, 18.3 mm apart, x from -100 to 101 mm, y from -70 to 76 mm"; rows before columns.
std::string text_of(const ImageGrid& grid);

/// The images of a result, [z][frequency][y][x]; null if it has none.
const Product* images_of(const ResultHeader& header);
/// Values at points of images, [z][frequency][point]; null if there are none.
const Product* points_of(const ResultHeader& header);
/// The images, else the values at points; null if there are neither.
const Product* images_or_points_of(const ResultHeader& header);

/// Axes of images by their names, in this order, with their units: frequency, z, y, x, and where they have entries
/// point (x, y), band (lower and upper limit), surface and normal (x, y, z of each pixel on a surface that is no plane;
/// z and the normal are 0 where there is no surface).
std::vector<Axis> image_axes(std::vector<std::pair<std::string_view, std::vector<double>>> values);

/// Adds the products of images over the header's axes: cutoff_rad_per_m, slope, noise_pa, error_estimate,
/// radiated_power_w (active intensities only), points (if there is such an axis), images and bands (if there is such an
/// axis). `has_images`: false for points alone.
void add_image_products(ResultHeader& header, const std::string& quantity, const std::string& unit,
                        bool has_images = true);

/// Number of pixels of each image.
std::size_t image_pixels(const ResultHeader& header);

/// z of the pixels on a surface that is not a plane; empty for planes.
std::vector<double> surface_heights_m(const ResultHeader& header);

/// Computes the power through the aperture towards the array, [z][frequency], W: the sum of an active intensity's
/// pixels times a pixel's area. NaN for images one pixel wide or high, whose axes determine no area. Writes nothing
/// where `power_w` is empty, as for other quantities.
void radiated_power_w(const ResultHeader& header, std::span<const std::complex<float>> images,
                      std::span<float> power_w);

}  // namespace nearfield
