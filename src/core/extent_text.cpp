#include "core/extent_text.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

namespace nearfield {

double without_rounding(double length_m) {
  constexpr double kRounding_m = 1e-12;
  return std::abs(length_m) < kRounding_m ? 0.0 : length_m;
}

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
    text += fmt::format("{}{:.6g} to {:.6g} m in {}", axis == 0 ? "" : ", ", without_rounding(least),
                        without_rounding(most), kNames[axis]);
  }
  return text;
}

}  // namespace nearfield
