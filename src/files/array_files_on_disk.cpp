#include "files/array_files_on_disk.hpp"

#include <fmt/format.h>

#include <cstdint>

#include "core/error.hpp"
#include "core/geometry.hpp"
#include "files/files.hpp"
#include "files/hdf5/h5_input.hpp"
#include "files/templates_file.hpp"

namespace nearfield {
namespace {

/// Size of the images of the largest array with the largest holography.upsample.
constexpr std::uint64_t kMostHeightsASide = std::uint64_t{8} * kMaxSide;

class ArrayFilesOnDisk : public ArrayFiles {
 public:
  [[nodiscard]] Calibration calibration(const std::filesystem::path& path) const override {
    return read_calibration(path);
  }
  [[nodiscard]] Templates templates(const std::filesystem::path& path) const override { return read_templates(path); }
  [[nodiscard]] std::vector<double> points(const std::filesystem::path& path, std::size_t most,
                                           const std::string& key) const override {
    constexpr std::size_t kCoordinates = 3;
    const h5::InputFile file(path);
    const h5::InputDataset points = file.dataset<double>("/points", {{"point"}, {"coordinate", kCoordinates}});
    const std::size_t count = points.shape().front();
    if (count == 0 || count > most) {
      throw ConfigError(fmt::format("{}: expected a file of 1 to {} points, found {} in {}", key, most,
                                    count > most ? fmt::format("{}", count) : "none", path.string()));
    }
    return points.read_all<double>();
  }
  [[nodiscard]] SurfaceData surface(const std::filesystem::path& path, const std::string& key) const override {
    constexpr std::size_t kComponents = 3;
    constexpr const char* kHeights = "/z_m";
    constexpr const char* kNormals = "/normals";
    const h5::InputFile file(path);
    if (!file.has(kHeights)) {
      throw ConfigError(
          fmt::format("{}: expected a dataset z_m [row][column] in m, found none in {}", key, path.string()));
    }
    const h5::InputDataset heights = file.dataset<double>(kHeights, {{"row"}, {"column"}});
    if (heights.shape()[0] > kMostHeightsASide || heights.shape()[1] > kMostHeightsASide) {
      throw ConfigError(fmt::format("{}: expected z_m of at most {} rows and columns, found {} x {} in {}", key,
                                    kMostHeightsASide, heights.shape()[0], heights.shape()[1], path.string()));
    }
    SurfaceData surface{.is_points = false,
                        .rows = heights.shape()[0],
                        .columns = heights.shape()[1],
                        .xyz_m = {},
                        .z_m = heights.read_all<double>(),
                        .normals = {}};
    if (file.has(kNormals)) {
      surface.normals = file.values<double>(
          kNormals, {{"row", surface.rows}, {"column", surface.columns}, {"component", kComponents}});
    }
    return surface;
  }
};

}  // namespace

std::shared_ptr<const ArrayFiles> array_files_on_disk() { return std::make_shared<const ArrayFilesOnDisk>(); }

}  // namespace nearfield
