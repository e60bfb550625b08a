#pragma once
#include <fmt/format.h>

#include <cstddef>
#include <limits>
#include <string>
#include <string_view>
#include <vector>

#include "core/settings.hpp"

namespace nearfield {

/// Equivalent settings whose windows and hops of bits are counted in words of 32 bit-times: `front_end.decimation` is
/// 32, and lengths in decimated samples are scaled up accordingly. Front ends process bits in words, so that decimation
/// by 64 gives the same spectra of the same bits. Throws ConfigError if a window becomes too long for a front end, or
/// if a processor works on decimated samples themselves.
Settings in_words(Settings settings);

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

/// A double-quoted YAML scalar.
std::string quoted(const std::string& text);

/// Numbers with the shortest digits that read back to the same double.
template <typename Number>
std::string list(const std::vector<Number>& numbers) {
  return fmt::format("[{}]", fmt::join(numbers, ", "));
}

}  // namespace nearfield
