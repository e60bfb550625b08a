#include <fmt/format.h>

#include <array>
#include <cctype>
#include <cmath>
#include <fstream>

#include "core/error.hpp"
#include "core/file_text.hpp"
#include "core/place_text.hpp"
#include "processors/far_field/grid.hpp"

namespace nearfield::far_field {
namespace {

constexpr std::size_t kComponents = 3;
constexpr double kFarthestPoint_m = 1e4;  ///< squares must fit in float32

void require_count(std::size_t count, std::size_t most, const std::string& path, const std::string& key) {
  if (count == 0 || count > most) {
    throw ConfigError(fmt::format("{}: expected a file of 1 to {} points, found {} in {}", key, most,
                                  count > most ? fmt::format("{} or more", count) : "none", path));
  }
}

bool is_place(double value) { return std::abs(value) <= kFarthestPoint_m; }  // false for NaN too

/// Removes comments, from '#', and blanks.
std::string content_of(const std::string& line) {
  std::string content;
  for (const char character : line) {
    if (character == '#') {
      break;
    }
    if (std::isspace(static_cast<unsigned char>(character)) == 0) {
      content += character;
    }
  }
  return content;
}

bool parse(const std::string& content, std::array<double, kComponents>& point) {
  const char* at = content.data();
  const char* const end = at + content.size();
  for (std::size_t i = 0; i < kComponents; ++i) {
    if (i > 0 && (at == end || *at++ != ',')) {
      return false;
    }
    const auto [next, error] = number_from(at, end, point[i]);
    if (error != std::errc() || !is_place(point[i])) {
      return false;
    }
    at = next;
  }
  return at == end;
}

std::vector<double> read_csv(const std::string& path, std::size_t most, const std::string& key) {
  std::ifstream file(path);
  if (!file) {
    throw NoInputError(fmt::format("{}: can't open {}", key, path));
  }
  std::vector<double> values;
  std::string line;
  for (std::size_t number = 1; std::getline(file, line); ++number) {
    const std::string content = content_of(line);
    if (content.empty() || (values.empty() && is_heading_of_places(content))) {
      continue;
    }
    std::array<double, kComponents> point{};
    if (!parse(content, point)) {
      throw FileTextError([&](const FileTextStyle& shown) {
        return fmt::format("{}:{}: expected x_m,y_m,z_m, three numbers from {} to {} m, found {}", path, number,
                           -kFarthestPoint_m, kFarthestPoint_m, shown(line));
      });
    }
    require_count(values.size() / kComponents + 1, most, path, key);
    values.insert(values.end(), point.begin(), point.end());
  }
  require_count(values.size() / kComponents, most, path, key);
  return values;
}

/// Returns false also if there is no file.
bool is_text(const std::string& path) {
  constexpr std::array<char, 8> kSignature = {'\x89', 'H', 'D', 'F', '\r', '\n', '\x1a', '\n'};
  std::array<char, 8> start{};
  std::ifstream file(path, std::ios::binary);
  file.read(start.data(), start.size());
  return file.is_open() && start != kSignature;
}

}  // namespace

std::vector<double> read_points(const std::string& path, std::size_t most, const std::string& key,
                                const ArrayFiles* files) {
  if (files == nullptr || (!files->is_given(path) && is_text(path))) {
    return read_csv(path, most, key);
  }
  std::vector<double> values = files->points(path, most, key);
  require_count(values.size() / kComponents, most, path, key);
  for (std::size_t i = 0; i < values.size(); ++i) {
    if (!is_place(values[i])) {
      throw DataError(fmt::format("{}: point {}: expected a place from {} to {} m, found {}", path, i / kComponents,
                                  -kFarthestPoint_m, kFarthestPoint_m, values[i]));
    }
  }
  return values;
}

}  // namespace nearfield::far_field
