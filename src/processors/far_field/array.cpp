#include "processors/far_field/array.hpp"

#include <utility>

namespace nearfield::far_field {

std::vector<Position> microphones_of(const ArrayGeometry& geometry) {
  std::vector<Position> positions;
  for (int channel = 0; channel < geometry.channels(); ++channel) {
    const MicrophonePosition at = geometry.position_m(channel);
    positions.push_back({at.x_m, at.y_m, at.z_m});
  }
  return positions;
}

void add_places(const ArrayGeometry& geometry, ResultHeader& header) {
  if (!geometry.placement) {
    return;
  }
  Axis places{.name = "microphone", .unit = "m", .values = {}, .components = 3};
  for (const Position& one : microphones_of(geometry)) {
    places.values.insert(places.values.end(), {one.x, one.y, one.z});
  }
  header.axes.push_back(std::move(places));
}

}  // namespace nearfield::far_field
