#include <fmt/format.h>

#include <array>
#include <bit>
#include <cctype>
#include <cmath>
#include <cstring>
#include <fstream>
#include <optional>
#include <sstream>

#include "core/error.hpp"
#include "core/file_text.hpp"
#include "core/place_text.hpp"
#include "simulate/mesh/mesh.hpp"

namespace nearfield {
namespace {

constexpr std::size_t kMostTriangles = 2'000'000;
constexpr std::uintmax_t kMostMeshBytes = std::uintmax_t{1} << 29U;
constexpr double kFarthestCornerM = 1e3;
constexpr std::size_t kCorners = 9;  ///< number of coordinates of three corners
constexpr std::size_t kBinaryHeader = 84;
constexpr std::size_t kBinaryFacet = 50;

std::string content_of_file(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  std::error_code error;
  const std::uintmax_t bytes = std::filesystem::file_size(path, error);
  if (!file || error) {
    throw NoInputError(fmt::format("{}: can't be read", path.string()));
  }
  if (bytes > kMostMeshBytes) {
    throw DataError(fmt::format("{}: expected at most {} bytes, found {}", path.string(), kMostMeshBytes, bytes));
  }
  std::string content(static_cast<std::size_t>(bytes), '\0');
  file.read(content.data(), static_cast<std::streamsize>(content.size()));
  return content;
}

/// Adds a triangle unless its area is 0. Throws DataError for an invalid coordinate.
void add(const std::array<double, kCorners>& x, std::complex<double> velocity_m_s, double scale,
         const std::string& place, std::vector<Triangle>& triangles) {
  for (const double value : x) {
    if (!(std::abs(value * scale) <= kFarthestCornerM)) {
      throw DataError(
          fmt::format("{}: expected corners within {} m, found {}", place, kFarthestCornerM, value * scale));
    }
  }
  if (triangles.size() == kMostTriangles) {
    throw DataError(fmt::format("{}: expected at most {} triangles", place, kMostTriangles));
  }
  const double ux = x[3] - x[0];
  const double uy = x[4] - x[1];
  const double uz = x[5] - x[2];
  const double vx = x[6] - x[0];
  const double vy = x[7] - x[1];
  const double vz = x[8] - x[2];
  if (std::hypot(uy * vz - uz * vy, uz * vx - ux * vz, ux * vy - uy * vx) > 0.0) {
    triangles.push_back({{scale * x[0], scale * x[1], scale * x[2]},
                         {scale * x[3], scale * x[4], scale * x[5]},
                         {scale * x[6], scale * x[7], scale * x[8]},
                         velocity_m_s});
  }
}

void require_some(const std::vector<Triangle>& triangles, const std::filesystem::path& path) {
  if (triangles.empty()) {
    throw DataError(fmt::format("{}: expected triangles with an area, found none", path.string()));
  }
}

std::vector<Triangle> read_binary(const std::string& content, const std::filesystem::path& path, double scale,
                                  std::complex<double> velocity_m_s) {
  std::vector<Triangle> triangles;
  for (std::size_t at = kBinaryHeader; at < content.size(); at += kBinaryFacet) {
    std::array<float, 3 + kCorners> facet{};  // the normal, then the corners
    std::memcpy(facet.data(), content.data() + at, sizeof(facet));
    std::array<double, kCorners> corners{};
    std::copy(facet.begin() + 3, facet.end(), corners.begin());
    add(corners, velocity_m_s, scale,
        fmt::format("{}: triangle {}", path.string(), (at - kBinaryHeader) / kBinaryFacet), triangles);
  }
  return triangles;
}

/// "vertex x y z" three times per facet; all other words are ignored.
std::vector<Triangle> read_ascii(const std::string& content, const std::filesystem::path& path, double scale,
                                 std::complex<double> velocity_m_s) {
  std::vector<Triangle> triangles;
  std::istringstream words(content);
  std::array<double, kCorners> corners{};
  std::size_t found = 0;
  for (std::string word; words >> word;) {
    if (word != "vertex") {
      continue;
    }
    for (int i = 0; i < 3; ++i) {
      if (!(words >> corners[found++])) {
        throw DataError(
            fmt::format("{}: expected three numbers after vertex, in triangle {}", path.string(), triangles.size()));
      }
    }
    if (found == kCorners) {
      found = 0;
      add(corners, velocity_m_s, scale, fmt::format("{}: triangle {}", path.string(), triangles.size()), triangles);
    }
  }
  if (found != 0) {
    throw DataError(
        fmt::format("{}: expected three corners a triangle, found {} in the last one", path.string(), found / 3));
  }
  return triangles;
}

std::uint32_t facets_of(const std::string& content) {
  std::uint32_t count = 0;
  std::memcpy(&count, content.data() + kBinaryHeader - sizeof(count), sizeof(count));
  return count;
}

/// The numbers of a line, or empty if one is invalid.
std::optional<std::vector<double>> numbers_of(const std::string& content) {
  std::vector<double> numbers;
  const char* at = content.data();
  const char* const end = at + content.size();
  while (true) {
    double number = 0.0;
    const auto [next, error] = number_from(at, end, number);
    if (error != std::errc() || !std::isfinite(number)) {
      return std::nullopt;
    }
    numbers.push_back(number);
    if (next == end) {
      return numbers;
    }
    if (*next != ',') {
      return std::nullopt;
    }
    at = next + 1;
  }
}

}  // namespace

std::vector<Triangle> read_stl(const std::filesystem::path& path, double scale, std::complex<double> velocity_m_s) {
  static_assert(std::endian::native == std::endian::little, "binary STL is little-endian");
  const std::string content = content_of_file(path);
  const bool is_binary =
      content.size() >= kBinaryHeader && content.size() == kBinaryHeader + kBinaryFacet * facets_of(content);
  if (!is_binary && content.compare(0, 5, "solid") != 0) {
    throw DataError(
        fmt::format("{}: expected STL, 84 bytes and 50 a triangle, or text from the word solid on; found {} "
                    "bytes",
                    path.string(), content.size()));
  }
  std::vector<Triangle> triangles =
      is_binary ? read_binary(content, path, scale, velocity_m_s) : read_ascii(content, path, scale, velocity_m_s);
  require_some(triangles, path);
  return triangles;
}

std::vector<Triangle> read_triangles(const std::filesystem::path& path, double scale) {
  std::vector<Triangle> triangles;
  std::istringstream lines(content_of_file(path));
  std::string line;
  for (std::size_t number = 1; std::getline(lines, line); ++number) {
    std::string content;
    for (const char character : line.substr(0, line.find('#'))) {
      if (std::isspace(static_cast<unsigned char>(character)) == 0) {
        content += character;
      }
    }
    if (content.empty() || (triangles.empty() && content.front() == 'x')) {
      continue;
    }
    const std::optional<std::vector<double>> values = numbers_of(content);
    if (!values || (values->size() != kCorners + 1 && values->size() != kCorners + 2)) {
      throw FileTextError([&](const FileTextStyle& shown) {
        return fmt::format(
            "{}:{}: expected three corners x, y, z in m, velocity_m_s and, if any, phase_rad: 10 or 11 numbers with "
            "commas, found {}",
            path.string(), number, shown(line));
      });
    }
    std::array<double, kCorners> corners{};
    std::copy_n(values->begin(), kCorners, corners.begin());
    const double magnitude = (*values)[kCorners];
    const double phase_rad = values->size() > kCorners + 1 ? values->back() : 0.0;
    add(corners, magnitude * std::complex<double>(std::cos(phase_rad), std::sin(phase_rad)), scale,
        fmt::format("{}:{}", path.string(), number), triangles);
  }
  require_some(triangles, path);
  return triangles;
}

}  // namespace nearfield
