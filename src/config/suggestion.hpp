#pragma once
#include <cstddef>
#include <limits>
#include <string>
#include <string_view>

namespace nearfield {

/// Number of insertions, deletions, replacements and swaps of neighbours that turn `a` into `b` (optimal string
/// alignment distance).
std::size_t edit_distance(std::string_view a, std::string_view b);

/// Finds the name nearest to a misspelt one. A name that begins with the other counts as near, so that a forgotten unit
/// ("standoff" for "standoff_m") is found.
class Suggestion {
 public:
  explicit Suggestion(std::string_view misspelt) : misspelt_(misspelt) {}
  /// `name` is compared, `shown` is returned by best(). Of equally near names the first wins.
  void offer(std::string_view name, std::string_view shown);
  /// Empty if no name is near.
  [[nodiscard]] const std::string& best() const { return best_; }

 private:
  std::string misspelt_;
  std::string best_;
  std::size_t distance_ = std::numeric_limits<std::size_t>::max();
};

}  // namespace nearfield
