#pragma once
#include <atomic>
#include <cstdint>
#include <optional>
#include <vector>

#include "recording/bits_tap.hpp"
#include "recording/lane.hpp"

namespace nearfield {

/// A lane of bits in which every bit-time is accounted for: what the source skipped and what found no room follows as
/// gaps. Used by the thread that pushes, except for what lane() and the counters give.
class BitsLane {
 public:
  BitsLane(std::uint64_t capacity_bytes, std::uint64_t history_bit_times, std::uint64_t words_per_bit_time);
  /// Throws an internal error when the piece contradicts itself.
  void push(const BitsPiece& piece);
  /// How often the stream has begun again, also while the lane was off. Any thread.
  [[nodiscard]] std::uint64_t restarts() const { return restarts_.load(std::memory_order_relaxed); }
  [[nodiscard]] Lane& lane() { return lane_; }
  [[nodiscard]] const Lane& lane() const { return lane_; }
  [[nodiscard]] std::uint64_t dropped_pieces() const { return dropped_pieces_.load(std::memory_order_relaxed); }
  [[nodiscard]] std::uint64_t dropped_bit_times() const { return dropped_bit_times_.load(std::memory_order_relaxed); }
  /// Taken as gaps of GapCause::kPaused.
  [[nodiscard]] std::uint64_t paused_bit_times() const { return paused_bit_times_.load(std::memory_order_relaxed); }
  struct Gap {
    std::uint64_t first = 0;
    std::uint64_t end = 0;
  };
  /// What found no room last and is not in the lane as a gap yet. For any thread; where the producer changes it at this
  /// moment, nothing.
  [[nodiscard]] std::optional<Gap> pending_gap() const;

 private:
  void require_sound(const BitsPiece& piece) const;
  void forget_stream();
  [[nodiscard]] bool announce_restart();
  [[nodiscard]] bool push_gap(std::uint64_t first, std::uint64_t end, std::uint32_t flags, const BitsPiece& piece);
  [[nodiscard]] Lane::Pushed push_bits(const BitsPiece& piece);
  void drop(std::uint64_t first, std::uint64_t end);
  void forget_dropped();

  Lane lane_;
  std::uint64_t words_;
  std::vector<nfr::Run> runs_;
  std::optional<std::uint64_t> expected_bit_time_;  ///< the end of the last piece
  std::optional<std::uint64_t> dropped_from_;       ///< all from there to expected_bit_time_ found no room
  std::uint32_t stream_id_ = 0;
  std::optional<std::uint64_t> last_end_bit_time_;  ///< of the last piece, also while the lane is off
  std::atomic<std::uint64_t> restarts_{0};
  bool is_restarted_ = false;  ///< and the lane has no marker of it yet
  std::atomic<std::uint64_t> dropped_pieces_{0};
  std::atomic<std::uint64_t> dropped_bit_times_{0};
  std::atomic<std::uint64_t> paused_bit_times_{0};
  /// dropped_from_ and the end of what was dropped, for pending_gap().
  static constexpr std::uint64_t kNoGap = ~std::uint64_t{0};
  std::atomic<std::uint64_t> pending_first_{kNoGap};
  std::atomic<std::uint64_t> pending_end_{0};
};

}  // namespace nearfield
