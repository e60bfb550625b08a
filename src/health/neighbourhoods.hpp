#pragma once
#include <array>
#include <cstddef>
#include <span>
#include <utility>
#include <vector>

#include "core/geometry.hpp"

namespace nearfield::health {

/// Each microphone of a grid with its nearest neighbours. Sets of the same shape share all matrices.
class Neighbourhoods {
 public:
  /// Number of microphones in a set, including the one in question.
  static constexpr std::size_t kSize = 21;
  /// A member's place relative to the microphone in question.
  struct Offset {
    int rows = 0;
    int columns = 0;
    friend bool operator==(const Offset&, const Offset&) = default;
    friend bool operator<(const Offset& a, const Offset& b) {
      return std::pair(a.rows, a.columns) < std::pair(b.rows, b.columns);
    }
  };
  using Shape = std::array<Offset, kSize>;

  /// Requires a grid of at least kSize microphones.
  explicit Neighbourhoods(const ArrayGeometry& geometry);

  /// The channels of a set: the microphone in question first, the others by distance.
  [[nodiscard]] std::span<const int, kSize> members(std::size_t channel) const {
    return std::span<const int, kSize>(members_.data() + channel * kSize, kSize);
  }
  /// Index of the set's shape in shapes().
  [[nodiscard]] std::size_t shape_of(std::size_t channel) const { return shape_of_[channel]; }
  [[nodiscard]] const std::vector<Shape>& shapes() const { return shapes_; }
  /// The microphones whose sets contain a channel, including itself.
  [[nodiscard]] const std::vector<int>& users(std::size_t channel) const { return users_[channel]; }

 private:
  std::vector<int> members_;           ///< [channel][member]
  std::vector<std::size_t> shape_of_;  ///< [channel]
  std::vector<Shape> shapes_;
  std::vector<std::vector<int>> users_;  ///< [channel]
};

}  // namespace nearfield::health
