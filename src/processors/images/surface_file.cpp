#include "processors/images/surface_file.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <charconv>
#include <cmath>
#include <fstream>
#include <optional>

#include "imaging/image_surface.hpp"
#include "nearfield/error.hpp"

namespace nearfield {
namespace {

constexpr std::size_t kPlaceNumbers = 3;
constexpr std::size_t kNumbersWithNormal = 6;

/// Without what begins at '#', and without blanks.
std::string content_of_surface_line(const std::string& line) {
  std::string content;
  for (const char character : line.substr(0, line.find('#'))) {
    if (std::isspace(static_cast<unsigned char>(character)) == 0) {
      content += character;
    }
  }
  return content;
}

/// Finite numbers, separated by commas.
std::optional<std::vector<double>> surface_numbers(const std::string& content) {
  std::vector<double> numbers;
  const char* at = content.data();
  const char* const end = at + content.size();
  while (at != end) {
    if (!numbers.empty() && *at++ != ',') {
      return std::nullopt;
    }
    const auto [next, error] = std::from_chars(at, end, numbers.emplace_back());
    if (error != std::errc() || !std::isfinite(numbers.back())) {
      return std::nullopt;
    }
    at = next;
  }
  return numbers.size() == kPlaceNumbers || numbers.size() == kNumbersWithNormal ? std::optional(numbers)
                                                                                 : std::nullopt;
}

SurfaceData read_surface_points(const std::string& path, const std::string& key) {
  std::ifstream file(path);
  SurfaceData surface{.is_points = true, .xyz_m = {}, .z_m = {}, .normals = {}};
  std::string line;
  for (std::size_t number = 1; std::getline(file, line); ++number) {
    const std::string content = content_of_surface_line(line);
    if (content.empty() || (surface.columns == 0 && content.starts_with("x_m,y_m,z_m"))) {
      continue;
    }
    const std::optional<std::vector<double>> numbers = surface_numbers(content);
    const bool fits =
        numbers && (surface.columns == 0 || surface.normals.empty() == (numbers->size() == kPlaceNumbers));
    if (!fits) {
      constexpr std::size_t kMostShown = 60;
      throw DataError(
          fmt::format("{}: {}:{}: expected x_m,y_m,z_m or x_m,y_m,z_m,nx,ny,nz, finite numbers and as many "
                      "in each line, found \"{}\"",
                      key, path, number, line.substr(0, kMostShown)));
    }
    if (surface.columns == kMostSurfacePoints) {
      throw ConfigError(
          fmt::format("{}: expected a file of 1 to {} points, found more in {}", key, kMostSurfacePoints, path));
    }
    ++surface.columns;
    const auto normal = numbers->begin() + kPlaceNumbers;
    surface.xyz_m.insert(surface.xyz_m.end(), numbers->begin(), normal);
    surface.normals.insert(surface.normals.end(), normal, numbers->end());
  }
  if (surface.columns == 0) {
    throw ConfigError(
        fmt::format("{}: expected a file of 1 to {} points, found none in {}", key, kMostSurfacePoints, path));
  }
  return surface;
}

/// False of an HDF5 file.
bool is_surface_text(const std::string& path, const std::string& key) {
  constexpr std::array<char, 8> kSignature = {'\x89', 'H', 'D', 'F', '\r', '\n', '\x1a', '\n'};
  std::array<char, 8> start{};
  std::ifstream file(path, std::ios::binary);
  if (!file) {
    throw NoInputError(fmt::format("{}: can't open {}", key, path));
  }
  file.read(start.data(), start.size());
  return start != kSignature;
}

}  // namespace

SurfaceData read_surface(const std::string& path, const std::string& key, const ArrayFiles* files) {
  if (is_surface_text(path, key)) {
    return read_surface_points(path, key);
  }
  if (files == nullptr) {
    throw ConfigError(fmt::format("{}: expected null where no files are read, found {}", key, path));
  }
  return files->surface(path, key);
}

}  // namespace nearfield
