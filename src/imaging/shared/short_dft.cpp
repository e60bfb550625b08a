#include "imaging/shared/short_dft.hpp"

#include <fmt/format.h>

#include <cmath>
#include <numbers>
#include <string>
#include <utility>

namespace nearfield {
namespace {

constexpr int kRadices[] = {1, 2, 3, 4, 5, 7};

/// Factors a length into two radices, the larger first.
std::optional<std::pair<int, int>> two_radices(int length) {
  for (const int small : kRadices) {
    for (const int large : kRadices) {
      if (large >= small && large * small == length) {
        return std::pair{large, small};
      }
    }
  }
  return std::nullopt;
}

}  // namespace

std::string root_list(int length) {
  std::string list;
  for (int i = 0; i < length; ++i) {
    const double angle = 2.0 * std::numbers::pi * i / length;
    list += fmt::format("V({:.9e}f)V({:.9e}f)", std::cos(angle), -std::sin(angle));
  }
  return list;
}

std::optional<ShortDft> split_dft(int length) {
  std::optional<ShortDft> best;
  for (int inner = 1; inner * inner <= length; ++inner) {
    const auto inner_radices = two_radices(inner);
    const auto outer_radices = length % inner == 0 ? two_radices(length / inner) : std::nullopt;
    if (inner_radices && outer_radices && length / inner <= kMostInAnItem) {
      best = ShortDft{.outer_a = outer_radices->first,
                      .outer_b = outer_radices->second,
                      .inner_a = inner_radices->first,
                      .inner_b = inner_radices->second};
    }
  }
  return best;
}

ocl::Defines dft_defines(const ShortDft& split) {
  return {{"OUTER_A", std::to_string(split.outer_a)}, {"OUTER_B", std::to_string(split.outer_b)},
          {"INNER_A", std::to_string(split.inner_a)}, {"INNER_B", std::to_string(split.inner_b)},
          {"OUTER_ROOTS", root_list(split.outer())},  {"INNER_ROOTS", root_list(split.inner())},
          {"PADDED", std::to_string(split.length())}};
}

}  // namespace nearfield
