#pragma once
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numbers>
#include <random>
#include <string>
#include <vector>

#include "core/geometry.hpp"

/// Arrays whose microphones were placed one by one, for tests.
namespace nearfield::test {

/// Of a grid, channel by channel, in another order: input channel i is channel order[i].
inline std::vector<int> shuffled(int channels, unsigned seed) {
  std::vector<int> order(static_cast<std::size_t>(channels));
  for (int i = 0; i < channels; ++i) {
    order[static_cast<std::size_t>(i)] = i;
  }
  std::mt19937 generator(seed);
  for (std::size_t i = order.size() - 1; i > 0; --i) {  // std::shuffle differs between libraries
    std::swap(order[i], order[generator() % (i + 1)]);
  }
  return order;
}

inline std::vector<MicrophonePosition> positions_in_order(const ArrayGeometry& grid, const std::vector<int>& order) {
  std::vector<MicrophonePosition> positions_m;
  for (const int channel : order) {
    positions_m.push_back(grid.position_m(channel));
  }
  return positions_m;
}

/// A sunflower of that radius, its microphones up to 1 cm before and behind the array's plane, around their mean.
inline std::vector<MicrophonePosition> sunflower(int microphones, double radius_m) {
  std::vector<MicrophonePosition> positions_m;
  for (int n = 0; n < microphones; ++n) {
    const double radius = radius_m * std::sqrt((n + 0.5) / microphones);
    const double angle = n * std::numbers::pi * (3.0 - std::sqrt(5.0));
    positions_m.push_back({radius * std::cos(angle), radius * std::sin(angle), 0.01 * std::sin(1.7 * n)});
  }
  for (double MicrophonePosition::*axis :
       {&MicrophonePosition::x_m, &MicrophonePosition::y_m, &MicrophonePosition::z_m}) {
    double mean_m = 0.0;
    for (const MicrophonePosition& one : positions_m) {
      mean_m += one.*axis / microphones;
    }
    for (MicrophonePosition& one : positions_m) {
      one.*axis -= mean_m;
    }
  }
  return positions_m;
}

/// Square grids one above the other, the lowest first.
inline std::vector<MicrophonePosition> layers(int side, int count, double pitch_m, double between_m) {
  std::vector<MicrophonePosition> positions_m;
  for (int layer = 0; layer < count; ++layer) {
    for (int row = 0; row < side; ++row) {
      for (int column = 0; column < side; ++column) {
        positions_m.push_back({.x_m = pitch_m * column, .y_m = pitch_m * row, .z_m = between_m * layer});
      }
    }
  }
  return positions_m;
}

inline std::string as_csv(const std::vector<MicrophonePosition>& positions_m) {
  std::string text = "x_m,y_m,z_m\n";
  for (const MicrophonePosition& one : positions_m) {
    text += fmt::format("{},{},{}\n", one.x_m, one.y_m, one.z_m);
  }
  return text;
}

/// As Acoular writes an array.
inline std::string as_xml(const std::vector<MicrophonePosition>& positions_m) {
  std::string text = "<?xml version=\"1.1\" encoding=\"utf-8\"?>\n<MicArray name=\"test\">\n";
  for (std::size_t i = 0; i < positions_m.size(); ++i) {
    text += fmt::format("  <pos Name=\"Point {}\" x=\"{}\" y=\"{}\" z=\"{}\"/>\n", i + 1, positions_m[i].x_m,
                        positions_m[i].y_m, positions_m[i].z_m);
  }
  return text + "</MicArray>\n";
}

}  // namespace nearfield::test
