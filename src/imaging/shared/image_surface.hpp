#pragma once
#include <Eigen/Dense>
#include <cstddef>
#include <string>
#include <vector>

#include "core/images.hpp"
#include "core/microphones.hpp"

namespace nearfield {

/// Surface on which images are made in place of planes, on the axes of images.
struct ImageSurface {
  int rows = 1;  ///< rows of the images; 1 for a list of points
  int columns = 0;
  std::vector<Eigen::Vector3d> places_m;  ///< [pixel]; z is 0 for pixels off the surface
  std::vector<Eigen::Vector3d> normals;   ///< [pixel], unit length; 0 for pixels off the surface
  bool is_points = false;

  [[nodiscard]] std::size_t pixels() const { return places_m.size(); }
  /// True if a pixel lies on the surface; the others are not imaged.
  [[nodiscard]] bool has(std::size_t pixel) const { return normals[pixel].squaredNorm() > 0.0; }
  [[nodiscard]] double lowest_m() const;
  [[nodiscard]] double highest_m() const;
};

/// Largest number of points of a surface.
inline constexpr std::size_t kMostSurfacePoints = 65536;

/// Surface at the pixels of a grid of images. Heights without normals get those of central differences. `key` names the
/// setting. Throws ConfigError if the data are of another grid, nowhere finite, at or above the microphones, further
/// behind z = 0 than the microphones are before it, or points too far beside the array.
ImageSurface make_image_surface(const SurfaceData& data, const ImageGrid& grid, double standoff_m,
                                const std::string& key);

}  // namespace nearfield
