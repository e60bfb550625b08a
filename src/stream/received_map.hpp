#pragma once
#include <atomic>
#include <cstdint>
#include <vector>

namespace nearfield {

/// One bit per slot of a ring: 1 if the element at that position was received. One thread changes the map while another
/// reads parts of it; the ring coordinates their parts. Positions never wrap, slots are modulo the capacity.
class ReceivedMap {
 public:
  /// `capacity`: a power of two, at least 64.
  explicit ReceivedMap(std::uint64_t capacity) : mask_(capacity - 1), words_(capacity / 64) {}

  void set(std::uint64_t begin, std::uint64_t end);
  void clear(std::uint64_t begin, std::uint64_t end);
  /// Number of set bits in [begin, end), which is at most the capacity.
  [[nodiscard]] std::uint64_t count(std::uint64_t begin, std::uint64_t end) const;
  /// Longest run from `begin`, below `end`, whose elements are all received or all missing.
  struct Run {
    std::uint64_t end;
    bool received;
  };
  [[nodiscard]] Run run(std::uint64_t begin, std::uint64_t end) const;

 private:
  /// Calls action(word, mask) for each word of the map that overlaps [begin, end).
  template <typename Action>
  void for_words(std::uint64_t begin, std::uint64_t end, const Action& action) const;

  std::uint64_t mask_;
  std::vector<std::atomic<std::uint64_t>> words_;
};

}  // namespace nearfield
