#pragma once
#include <algorithm>
#include <cstdint>
#include <limits>

namespace nearfield {

/// When an imager's search looks, and when what it finds holds, by hop numbers counted from bit-time 0 of the stream.
/// Search m looks at the window of hop m x every, where all its bits are there, starts with what that window and the
/// one of the search before say, and holds from hop (m + 1) x every on, until another one does. So frames do not depend
/// on how long a search takes, nor on where a run began. The first search of a run looks at its first whole window, and
/// holds at once.
class SearchSchedule {
 public:
  /// Of a search that another run of the same stream may not have had.
  static constexpr std::uint64_t kNoNumber = std::numeric_limits<std::uint64_t>::max();

  /// `every` 0: nothing is searched for.
  explicit SearchSchedule(std::uint64_t every = 0) : every_(every) {}
  [[nodiscard]] std::uint64_t every() const { return every_; }
  [[nodiscard]] bool is_on() const { return every_ > 0; }
  [[nodiscard]] bool looks_at(std::uint64_t hop) const { return is_on() && hop % every_ == 0; }
  [[nodiscard]] std::uint64_t number_of(std::uint64_t hop) const { return hop / every_; }
  [[nodiscard]] std::uint64_t hop_of(std::uint64_t number) const { return number * every_; }
  [[nodiscard]] std::uint64_t begin_of(std::uint64_t number) const { return (number + 1) * every_; }
  /// The search that holds at a hop.
  [[nodiscard]] std::uint64_t holding_at(std::uint64_t hop) const {
    return std::max<std::uint64_t>(hop / every_, 1) - 1;
  }
  /// Of `windows` from a hop on, those up to the next hop at which findings change or a search looks.
  [[nodiscard]] std::uint64_t together(std::uint64_t hop, std::uint64_t windows) const {
    return is_on() ? std::min(windows, every_ - hop % every_) : windows;
  }

 private:
  std::uint64_t every_;
};

}  // namespace nearfield
