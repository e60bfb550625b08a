#include "core/extent_text.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <limits>

namespace nearfield {

std::string text_of_extent(std::span<const double> xyz_m) {
  constexpr std::array kNames = {"x", "y", "z"};
  std::string text;
  for (std::size_t axis = 0; axis < kNames.size(); ++axis) {
    double least = std::numeric_limits<double>::infinity();
    double most = -least;
    for (std::size_t i = axis; i < xyz_m.size(); i += kNames.size()) {
      least = std::min(least, xyz_m[i]);
      most = std::max(most, xyz_m[i]);
    }
    text += fmt::format("{}{:.6g} to {:.6g} m in {}", axis == 0 ? "" : ", ", least, most, kNames[axis]);
  }
  return text;
}

}  // namespace nearfield
