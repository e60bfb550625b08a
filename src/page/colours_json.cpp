#include <cmath>
#include <cstddef>
#include <nlohmann/json.hpp>
#include <numbers>

#include "core/colours.hpp"
#include "page/page.hpp"

namespace nearfield::page {
namespace {

using nlohmann::json;

constexpr std::size_t kColours = 256;

/// The colours from `first` to `last`, inclusive.
json colours_between(double first, double last, Rgb8 (*colour)(double)) {
  json colours = json::array();
  for (std::size_t i = 0; i < kColours; ++i) {
    const Rgb8 rgb = colour(std::lerp(first, last, static_cast<double>(i) / static_cast<double>(kColours - 1)));
    colours.push_back({rgb.red, rgb.green, rgb.blue});
  }
  return colours;
}

}  // namespace

json colours_json() {
  return {{"magnitude", colours_between(0.0, 1.0, magnitude_colour)},
          {"phase", colours_between(-std::numbers::pi, std::numbers::pi, phase_colour)},
          {"signed", colours_between(-1.0, 1.0, signed_colour)}};
}

}  // namespace nearfield::page
