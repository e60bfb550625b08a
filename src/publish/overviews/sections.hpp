#pragma once
#include <array>
#include <cstdint>
#include <filesystem>
#include <string>

#include "files/results_file.hpp"
#include "publish/pictures/picture.hpp"
#include "publish/pictures/picture_scale.hpp"

/// Cuts of a volume through one of its places.
namespace nearfield {

struct SectionOptions {
  std::array<double, 3> at_m{};  ///< x, y, z on the axes of images
  std::string map = {};          ///< "PROCESSOR" or "PROCESSOR.PRODUCT"; empty: the first volume of the file
  std::uint64_t first_frame = 0;
  std::uint64_t end_frame = ~std::uint64_t{0};
  ScaleChoice scale = {};
};

/// Placement of the cuts: x-y at the top left, depth-y right of it with the same rows, x-depth below with the same
/// columns.
struct SectionsLayout {
  int width = 0;
  int height = 0;  ///< without the lines of notes at the bottom
  Area xy;
  Area depth_y;
  Area x_depth;
  Area bar;
};
SectionsLayout sections_layout(std::size_t columns, std::size_t rows, std::size_t depths);

/// Draws "sections00003_far_map_frequency1000.0Hz.png" for each frame and each entry of further axes: three cuts
/// through the entries nearest to the place, on one scale, that of the whole volume, with lines through the place. A
/// volume is an array whose last two axes are y and x, with an axis of at least two depths, distance or z. Returns the
/// number of pictures. Throws UsageError if the file has no such volume, or the place is outside of it.
std::size_t write_sections(const std::filesystem::path& directory, const ResultsReader& reader,
                           const SectionOptions& options);

}  // namespace nearfield
