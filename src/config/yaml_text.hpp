#pragma once
#include <fmt/format.h>

#include <string>
#include <vector>

namespace nearfield {

/// A double-quoted YAML scalar.
std::string quoted(const std::string& text);

/// Numbers with the shortest digits that read back to the same double.
template <typename Number>
std::string list(const std::vector<Number>& numbers) {
  return fmt::format("[{}]", fmt::join(numbers, ", "));
}

}  // namespace nearfield
