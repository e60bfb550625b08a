#pragma once
#include <algorithm>
#include <cstddef>
#include <cstdint>

namespace nearfield {

/// Absolute indexes [begin, end) of an endless stream that a ring holds; index i lies in slot i mod capacity.
class RingSpan {
 public:
  explicit RingSpan(std::size_t capacity) : capacity_(capacity) {}

  /// Appends `count` new entries from `first` on. Entries that do not continue the last one restart the ring. Returns
  /// true when they continue.
  bool append(std::uint64_t first, std::size_t count) {
    const bool continues = begin_ != end_ && first == end_;
    begin_ = continues ? begin_ : first;
    end_ = first + count;
    begin_ = std::max(begin_, end_ > capacity_ ? end_ - capacity_ : 0);
    return continues;
  }
  [[nodiscard]] bool holds(std::uint64_t first, std::size_t count) const {
    return first >= begin_ && first + count <= end_;
  }
  [[nodiscard]] std::uint32_t slot_of(std::uint64_t index) const {
    return static_cast<std::uint32_t>(index % capacity_);
  }
  [[nodiscard]] std::uint32_t slots() const { return static_cast<std::uint32_t>(capacity_); }
  [[nodiscard]] std::size_t capacity() const { return capacity_; }
  [[nodiscard]] std::uint64_t begin() const { return begin_; }
  [[nodiscard]] std::uint64_t end() const { return end_; }

 private:
  std::size_t capacity_;
  std::uint64_t begin_ = 0;
  std::uint64_t end_ = 0;
};

}  // namespace nearfield
