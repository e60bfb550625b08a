#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <sstream>

#include "config/config.hpp"

namespace nearfield {
namespace {

/// One value of a settings document as to_yaml() writes it: two spaces a level, one key a line.
struct WrittenValue {
  std::string key;  ///< dotted
  std::string value;
};

std::vector<WrittenValue> values_of(const Settings& settings) {
  constexpr std::size_t kIndent = 2;
  std::vector<WrittenValue> values;
  std::vector<std::string> path;
  std::istringstream lines(to_yaml(settings));
  for (std::string line; std::getline(lines, line);) {
    const std::size_t begin = line.find_first_not_of(' ');
    const std::size_t colon = line.find(':');
    path.resize(begin / kIndent);
    path.push_back(line.substr(begin, colon - begin));
    if (colon + 1 < line.size()) {
      values.push_back({fmt::format("{}", fmt::join(path, ".")), line.substr(colon + 2)});
    }
  }
  return values;
}

}  // namespace

std::vector<std::string> changes(const Settings& before, const Settings& after) {
  const std::vector<WrittenValue> old_values = values_of(before);
  const std::vector<WrittenValue> new_values = values_of(after);
  std::vector<std::string> result;
  for (std::size_t i = 0; i < std::min(old_values.size(), new_values.size()); ++i) {
    if (old_values[i].value != new_values[i].value) {
      result.push_back(fmt::format("{} {} -> {}", new_values[i].key, old_values[i].value, new_values[i].value));
    }
  }
  return result;
}

}  // namespace nearfield
