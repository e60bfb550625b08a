#include "processors/images/surface_file.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <optional>
#include <string_view>
#include <vector>

#include "core/error.hpp"
#include "core/file_text.hpp"
#include "core/place_text.hpp"
#include "core/system/regular_file.hpp"
#include "imaging/shared/image_surface.hpp"

namespace nearfield {
namespace {

constexpr std::size_t kPlaceNumbers = 3;
constexpr std::size_t kNumbersWithNormal = 6;

constexpr std::size_t kMostTextBytes = std::size_t{64} << 20U;
constexpr std::size_t kMostLineBytes = 4096;
constexpr std::string_view kSurfaceBlanks = " \t\r\v\f";

std::string_view without_outer_blanks(std::string_view text) {
  const std::size_t first = text.find_first_not_of(kSurfaceBlanks);
  return first == std::string_view::npos ? "" : text.substr(first, text.find_last_not_of(kSurfaceBlanks) - first + 1);
}

/// Splits a line at commas, without comments (from '#') and outer blanks; empty for a line without cells.
std::vector<std::string_view> surface_cells(std::string_view line) {
  std::string_view rest = without_outer_blanks(line.substr(0, line.find('#')));
  std::vector<std::string_view> cells;
  while (!rest.empty()) {
    const std::size_t comma = rest.find(',');
    cells.push_back(without_outer_blanks(rest.substr(0, comma)));
    if (comma != std::string_view::npos && comma + 1 == rest.size()) {
      cells.emplace_back();  // a trailing comma: the number is missing
    }
    rest.remove_prefix(comma == std::string_view::npos ? rest.size() : comma + 1);
  }
  return cells;
}

bool is_surface_heading(const std::vector<std::string_view>& cells) {
  constexpr std::string_view kAxes = "xyz";
  return cells.size() >= kAxes.size() &&
         std::equal(kAxes.begin(), kAxes.end(), cells.begin(),
                    [](char axis, std::string_view cell) { return names_place(cell, axis); });
}

/// Finite numbers, three or six.
std::optional<std::vector<double>> surface_numbers(const std::vector<std::string_view>& cells) {
  if (cells.size() != kPlaceNumbers && cells.size() != kNumbersWithNormal) {
    return std::nullopt;
  }
  std::vector<double> numbers;
  for (const std::string_view cell : cells) {
    const char* const end = cell.data() + cell.size();
    const auto [next, error] = number_from(cell.data(), end, numbers.emplace_back());
    if (error != std::errc() || next != end || !std::isfinite(numbers.back())) {
      return std::nullopt;
    }
  }
  return numbers;
}

SurfaceData surface_of_text(std::string_view text, const std::string& path, const std::string& key) {
  constexpr std::string_view kByteOrderMark = "\xEF\xBB\xBF";
  text.remove_prefix(text.starts_with(kByteOrderMark) ? kByteOrderMark.size() : 0);
  SurfaceData surface{.is_points = true, .xyz_m = {}, .z_m = {}, .normals = {}};
  for (std::size_t number = 1; !text.empty(); ++number) {
    const std::string_view line = text.substr(0, text.find('\n'));
    text.remove_prefix(std::min(text.size(), line.size() + 1));
    if (line.size() > kMostLineBytes) {
      throw DataError(fmt::format("{}: {}:{}: expected lines of at most {} bytes, found one of {}", key, path, number,
                                  kMostLineBytes, line.size()));
    }
    const std::vector<std::string_view> cells = surface_cells(line);
    if (cells.empty() || (surface.columns == 0 && is_surface_heading(cells))) {
      continue;
    }
    const std::optional<std::vector<double>> numbers = surface_numbers(cells);
    const bool fits =
        numbers && (surface.columns == 0 || surface.normals.empty() == (numbers->size() == kPlaceNumbers));
    if (!fits) {
      throw FileTextError([&](const FileTextStyle& shown) {
        return fmt::format(
            "{}: {}:{}: expected x_m,y_m,z_m or x_m,y_m,z_m,nx,ny,nz, finite numbers and as many in each line, found "
            "{}",
            key, path, number, shown(line));
      });
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

/// Reads the rest of a file. Throws DataError if it is too long.
std::string rest_of_surface_text(std::string text, const FileDescriptor& file, const std::string& path,
                                 const std::string& key) {
  constexpr std::size_t kPart = std::size_t{1} << 20U;
  std::string part;
  do {
    part = read_open_file(file, path, kPart);
    text += part;
    if (text.size() > kMostTextBytes) {
      throw DataError(fmt::format("{}: {}: expected at most {} bytes of text, found more", key, path, kMostTextBytes));
    }
  } while (part.size() == kPart);
  return text;
}

FileDescriptor open_surface(const std::string& path, const std::string& key) {
  try {
    return open_regular_file(path, "a CSV file of points or an HDF5 file of heights");
  } catch (const NoInputError& error) {
    throw NoInputError(fmt::format("{}: {}", key, error.what()));
  }
}

}  // namespace

SurfaceData read_surface(const std::string& path, const std::string& key, const ArrayFiles* files) {
  constexpr std::string_view kHdf5Signature = "\x89HDF\r\n\x1a\n";
  const FileDescriptor file = open_surface(path, key);
  const std::string start = read_open_file(file, path, kHdf5Signature.size());
  if (start != kHdf5Signature) {
    return surface_of_text(rest_of_surface_text(start, file, path, key), path, key);
  }
  if (files == nullptr) {
    throw ConfigError(fmt::format("{}: expected null where no files are read, found {}", key, path));
  }
  return files->surface(path, key);
}

}  // namespace nearfield
