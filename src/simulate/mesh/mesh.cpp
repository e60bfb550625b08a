#include "simulate/mesh/mesh.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cctype>
#include <cmath>
#include <cstring>
#include <fstream>
#include <limits>
#include <optional>
#include <span>
#include <sstream>

#include "core/error.hpp"
#include "core/numerics.hpp"
#include "core/text.hpp"

namespace nearfield {
namespace {

double area_of(const Triangle& triangle) {
  const double ux = triangle.b.x_m - triangle.a.x_m;
  const double uy = triangle.b.y_m - triangle.a.y_m;
  const double uz = triangle.b.z_m - triangle.a.z_m;
  const double vx = triangle.c.x_m - triangle.a.x_m;
  const double vy = triangle.c.y_m - triangle.a.y_m;
  const double vz = triangle.c.z_m - triangle.a.z_m;
  return std::hypot(uy * vz - uz * vy, uz * vx - ux * vz, ux * vy - uy * vx) / 2;
}

/// a + u (b - a) + v (c - a)
Point point_in(const Triangle& triangle, double u, double v) {
  const double w = 1 - u - v;
  return {w * triangle.a.x_m + u * triangle.b.x_m + v * triangle.c.x_m,
          w * triangle.a.y_m + u * triangle.b.y_m + v * triangle.c.y_m,
          w * triangle.a.z_m + u * triangle.b.z_m + v * triangle.c.z_m};
}

/// Area-preserving map of the unit square to the surface: along the first coordinate triangle by triangle, and within
/// each from its side a-b to its side a-c; along the second from the corner a to the opposite side.
class SurfaceMap {
 public:
  explicit SurfaceMap(std::span<const Triangle> triangles) : triangles_(triangles) {
    double sum = 0.0;
    for (const Triangle& triangle : triangles) {
      sum += area_of(triangle);
      ends_.push_back(sum);
    }
  }
  [[nodiscard]] double area() const { return ends_.back(); }

  struct Place {
    std::size_t triangle;
    Point point;
  };
  [[nodiscard]] Place of(const std::array<double, 2>& square) const {
    const double along = square[0] * area();
    const auto end = std::upper_bound(ends_.begin(), ends_.end() - 1, along);
    const auto triangle = static_cast<std::size_t>(end - ends_.begin());
    const double begin = triangle == 0 ? 0.0 : ends_[triangle - 1];
    const double share = std::clamp((along - begin) / (*end - begin), 0.0, 1.0);
    const double out = std::sqrt(square[1]);
    return {.triangle = triangle, .point = point_in(triangles_[triangle], out * (1 - share), out * share)};
  }

 private:
  std::span<const Triangle> triangles_;
  std::vector<double> ends_;  ///< cumulative areas of the triangles
};

FieldValue sum_of(std::span<const Monopole> points, const Tonal& tonal, const Point& place) {
  FieldValue sum{};
  for (const Monopole& source : points) {
    const FieldValue value = monopole_field(source, tonal, place);
    sum.pressure_pa += value.pressure_pa;
    sum.velocity_m_s += value.velocity_m_s;
  }
  return sum;
}

}  // namespace

Mesh make_mesh(const std::string& name, const std::vector<Triangle>& triangles, const Point& place,
               std::uint32_t points, bool baffled, std::uint64_t seed) {
  const SurfaceMap map(triangles);
  Mesh mesh{.name = name, .points = {}, .centre = {}, .spacing_m = std::sqrt(map.area() / points)};
  const double share = map.area() / points / static_cast<double>(Mesh::kScrambles);
  mesh.points.reserve(Mesh::kScrambles * points);
  for (std::size_t scramble = 0; scramble < Mesh::kScrambles; ++scramble) {
    const ScrambledSobol sobol(seed, scramble);
    for (std::uint32_t i = 0; i < points; ++i) {
      const SurfaceMap::Place at = map.of(sobol.point(i));
      mesh.points.push_back({{at.point.x_m + place.x_m, at.point.y_m + place.y_m, at.point.z_m + place.z_m},
                             share * triangles[at.triangle].velocity_m_s,
                             baffled});
    }
  }
  constexpr double kFar = std::numeric_limits<double>::infinity();
  mesh.low = {kFar, kFar, kFar};
  mesh.high = {-kFar, -kFar, -kFar};
  mesh.centre = place;
  for (const Triangle& triangle : triangles) {
    const double weight = area_of(triangle) / map.area() / 3;
    for (const Point& corner : {triangle.a, triangle.b, triangle.c}) {
      mesh.centre.x_m += weight * corner.x_m;
      mesh.centre.y_m += weight * corner.y_m;
      mesh.centre.z_m += weight * corner.z_m;
      const Point at{corner.x_m + place.x_m, corner.y_m + place.y_m, corner.z_m + place.z_m};
      mesh.low = {std::min(mesh.low.x_m, at.x_m), std::min(mesh.low.y_m, at.y_m), std::min(mesh.low.z_m, at.z_m)};
      mesh.high = {std::max(mesh.high.x_m, at.x_m), std::max(mesh.high.y_m, at.y_m), std::max(mesh.high.z_m, at.z_m)};
    }
  }
  return mesh;
}

FieldValue mesh_field(const Mesh& mesh, const Tonal& tonal, const Point& point) {
  const double near_m = 2 * mesh.spacing_m;
  const auto is_near = [near_m](double value, double low, double high) {
    return value > low - near_m && value < high + near_m;
  };
  if (is_near(point.x_m, mesh.low.x_m, mesh.high.x_m) && is_near(point.y_m, mesh.low.y_m, mesh.high.y_m) &&
      is_near(point.z_m, mesh.low.z_m, mesh.high.z_m)) {
    constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
    return {{kNan, kNan}, {kNan, kNan}};
  }
  return sum_of(mesh.points, tonal, point);
}

double mesh_error(const Mesh& mesh, const Tonal& tonal, const std::vector<Point>& places) {
  constexpr auto kCount = static_cast<double>(Mesh::kScrambles);
  const std::size_t each = mesh.points.size() / Mesh::kScrambles;
  double scatter = 0.0;
  double power = 0.0;
  for (const Point& place : places) {
    std::array<std::complex<double>, Mesh::kScrambles> found;
    std::complex<double> mean = 0.0;
    for (std::size_t i = 0; i < Mesh::kScrambles; ++i) {
      found[i] = kCount * sum_of(std::span(mesh.points).subspan(i * each, each), tonal, place).pressure_pa;
      mean += found[i] / kCount;
    }
    for (const std::complex<double>& value : found) {
      scatter += std::norm(value - mean) / (kCount * (kCount - 1));
    }
    power += std::norm(mean);
  }
  return std::sqrt(scatter / power);
}

namespace {

constexpr int kDigits = 32;

/// The first coordinate: the radical inverse of the index (J. G. van der Corput).
std::uint32_t mirrored(std::uint32_t index) {
  std::uint32_t result = 0;
  for (int digit = 0; digit < kDigits; ++digit) {
    result = result << 1U | (index >> static_cast<unsigned>(digit) & 1U);
  }
  return result;
}

/// The second coordinate: direction numbers of the primitive polynomial x + 1, v_i = v_{i-1} xor (v_{i-1} >> 1).
std::uint32_t second(std::uint32_t index) {
  std::uint32_t result = 0;
  std::uint32_t direction = 1U << 31U;
  for (; index != 0; index >>= 1U) {
    if ((index & 1U) != 0) {
      result ^= direction;
    }
    direction ^= direction >> 1U;
  }
  return result;
}

/// Keeps or swaps each digit by a random bit that depends on all digits before it.
std::uint32_t scrambled(std::uint32_t value, std::uint64_t seed, std::uint64_t stream) {
  std::uint32_t result = 0;
  std::uint64_t before = 1;  // the previous digits after a leading one, so that 0 and 00 differ
  for (int digit = kDigits - 1; digit >= 0; --digit) {
    const std::uint32_t bit = value >> static_cast<unsigned>(digit) & 1U;
    const auto swap = static_cast<std::uint32_t>(RandomStream(seed ^ (before << 8U), stream).next() >> 63U);
    result = result << 1U | (bit ^ swap);
    before = before << 1U | bit;
  }
  return result;
}

}  // namespace

std::array<double, 2> ScrambledSobol::point(std::uint32_t index) const {
  constexpr double kUnit = 0x1p-32;
  // Streams of the seed for the phases of noise are below.
  const std::uint64_t stream = (std::uint64_t{5} << 20U) + 2 * scramble_;
  return {static_cast<double>(scrambled(mirrored(index), seed_, stream)) * kUnit,
          static_cast<double>(scrambled(second(index), seed_, stream + 1)) * kUnit};
}

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
