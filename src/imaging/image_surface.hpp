#pragma once
#include <Eigen/Dense>
#include <cstddef>
#include <string>
#include <vector>

#include "nearfield/array_files.hpp"
#include "nearfield/image_grid.hpp"

namespace nearfield {

/// The surface that images are made on in place of planes, on the axes of images.
struct ImageSurface {
  int rows = 1;  ///< of the images; 1 of points
  int columns = 0;
  std::vector<Eigen::Vector3d> places_m;  ///< [pixel]; z is 0 where there is no surface
  std::vector<Eigen::Vector3d> normals;   ///< [pixel], of length 1; 0 where there is no surface
  bool is_points = false;

  [[nodiscard]] std::size_t pixels() const { return places_m.size(); }
  /// Whether a pixel lies on the surface; the others are not imaged.
  [[nodiscard]] bool has(std::size_t pixel) const { return normals[pixel].squaredNorm() > 0.0; }
  [[nodiscard]] double lowest_m() const;
  [[nodiscard]] double highest_m() const;
};

/// Points of a surface at most.
inline constexpr std::size_t kMostSurfacePoints = 65536;

/// Of the pixels of a grid of images. Heights without normals have those of central differences. `key` names the
/// setting. Throws ConfigError where the data are of another grid, nowhere finite, at or above the microphones, further
/// behind z = 0 than the microphones are before it, or points too far beside the array.
ImageSurface make_image_surface(const SurfaceData& data, const ImageGrid& grid, double standoff_m,
                                const std::string& key);

}  // namespace nearfield
