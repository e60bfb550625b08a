#include "health/neighbourhoods.hpp"

#include <algorithm>
#include <map>

#include "core/field_prediction.hpp"

namespace nearfield::health {

Neighbourhoods::Neighbourhoods(const ArrayGeometry& geometry)
    : shape_of_(static_cast<std::size_t>(geometry.channels())), users_(shape_of_.size()) {
  const std::vector<std::uint8_t> all(shape_of_.size(), 1);
  std::map<Shape, std::size_t> known;
  for (std::size_t i = 0; i < shape_of_.size(); ++i) {
    const int channel = static_cast<int>(i);
    std::vector<int> set = nearest_usable(geometry, all, channel, kSize - 1);
    set.insert(set.begin(), channel);
    Shape shape;
    for (std::size_t m = 0; m < kSize; ++m) {
      shape[m] = {.rows = set[m] / geometry.columns - channel / geometry.columns,
                  .columns = set[m] % geometry.columns - channel % geometry.columns};
      users_[static_cast<std::size_t>(set[m])].push_back(channel);
    }
    members_.insert(members_.end(), set.begin(), set.end());
    const auto [entry, is_new] = known.emplace(shape, shapes_.size());
    if (is_new) {
      shapes_.push_back(shape);
    }
    shape_of_[i] = entry->second;
  }
}

}  // namespace nearfield::health
