#pragma once
#include <atomic>
#include <cstdint>
#include <optional>
#include <vector>

#include "recording/bits_tap.hpp"
#include "recording/lane.hpp"

namespace nearfield {

/// A lane of bits that accounts for every bit-time: bit-times that the source skipped, and those for which the lane was
/// full, follow as gaps. For the pushing thread only, except for what lane() and the counters return.
class BitsLane {
 public:
  BitsLane(std::uint64_t capacity_bytes, std::uint64_t history_bit_times, std::uint64_t words_per_bit_time);
  /// Throws an internal error when the piece contradicts itself.
  void push(const BitsPiece& piece);
  /// Number of restarts of the stream, including those while the lane was off. Any thread.
  [[nodiscard]] std::uint64_t restarts() const { return restarts_.load(std::memory_order_relaxed); }
  [[nodiscard]] Lane& lane() { return lane_; }
  [[nodiscard]] const Lane& lane() const { return lane_; }
  [[nodiscard]] std::uint64_t dropped_pieces() const { return dropped_pieces_.load(std::memory_order_relaxed); }
  [[nodiscard]] std::uint64_t dropped_bit_times() const { return dropped_bit_times_.load(std::memory_order_relaxed); }
  /// Bit-times stored as gaps of GapCause::kPaused.
  [[nodiscard]] std::uint64_t paused_bit_times() const { return paused_bit_times_.load(std::memory_order_relaxed); }
  struct Gap {
    std::uint64_t first = 0;
    std::uint64_t end = 0;
  };
  /// The newest bit-times that found the lane full and are not in it as a gap yet. Any thread; nullopt where there are
  /// none, or where the producer changes them at this moment.
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
  std::optional<std::uint64_t> expected_bit_time_;  ///< end of the last piece
  std::optional<std::uint64_t> dropped_from_;       ///< all from here to expected_bit_time_ found the lane full
  std::uint32_t stream_id_ = 0;
  std::optional<std::uint64_t> last_end_bit_time_;  ///< end of the last piece, including those while the lane is off
  std::atomic<std::uint64_t> restarts_{0};
  bool is_restarted_ = false;  ///< a restart has no marker in the lane yet
  std::atomic<std::uint64_t> dropped_pieces_{0};
  std::atomic<std::uint64_t> dropped_bit_times_{0};
  std::atomic<std::uint64_t> paused_bit_times_{0};
  /// Copies of dropped_from_ and of the end of the dropped bit-times, for pending_gap().
  static constexpr std::uint64_t kNoGap = ~std::uint64_t{0};
  std::atomic<std::uint64_t> pending_first_{kNoGap};
  std::atomic<std::uint64_t> pending_end_{0};
};

}  // namespace nearfield
