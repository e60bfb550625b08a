#include "processors/far_field/device_tables.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>

namespace nearfield::far_field {

Float4 float4_of(const Position& position, double fourth) {
  return {static_cast<float>(position.x), static_cast<float>(position.y), static_cast<float>(position.z),
          static_cast<float>(fourth)};
}

std::vector<Float4> position_table(const std::vector<Position>& microphones) {
  std::vector<Float4> table;
  std::transform(microphones.begin(), microphones.end(), std::back_inserter(table),
                 [](const Position& microphone) { return float4_of(microphone, dot(microphone, microphone)); });
  return table;
}

std::vector<std::complex<float>> gain_table(const ArrayPlan& array) {
  return array.gains.empty() ? std::vector<std::complex<float>>(1) : array.gains;
}

std::string literal(double value) { return fmt::format("{:.9e}f", value); }

}  // namespace nearfield::far_field
