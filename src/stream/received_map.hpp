#pragma once
#include <atomic>
#include <cstdint>
#include <vector>

namespace nearfield {

/// One bit for each slot of a ring: was the element at a position received? One thread changes the map while another
/// one reads parts of it; which parts each may touch is the ring's affair. Positions count for ever, slots are modulo
/// the capacity.
class ReceivedMap {
 public:
  /// `capacity`: a power of two, at least 64.
  explicit ReceivedMap(std::uint64_t capacity) : mask_(capacity - 1), words_(capacity / 64) {}

  void set(std::uint64_t begin, std::uint64_t end);
  void clear(std::uint64_t begin, std::uint64_t end);
  /// How many of [begin, end), at most the capacity, are set.
  [[nodiscard]] std::uint64_t count(std::uint64_t begin, std::uint64_t end) const;
  /// The end of the longest stretch from `begin`, below `end`, whose elements are all received or all not.
  struct Run {
    std::uint64_t end;
    bool received;
  };
  [[nodiscard]] Run run(std::uint64_t begin, std::uint64_t end) const;

 private:
  /// Calls action(word, mask) for each word of the map that holds some of [begin, end).
  template <typename Action>
  void for_words(std::uint64_t begin, std::uint64_t end, const Action& action) const;

  std::uint64_t mask_;
  std::vector<std::atomic<std::uint64_t>> words_;
};

}  // namespace nearfield
