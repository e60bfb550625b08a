#pragma once
#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "files/nfr/nfr_format.hpp"

namespace nearfield {

/// Kind of the marker between the last record of a stream and the first of the next. Its bit-time field holds
/// BitsLane::restarts(). Never written to a file.
inline constexpr nfr::Kind kRestartMarker{0xFFFFU};

/// Queue of records from the one thread that makes them (the producer) to the one that writes them (the writer), in
/// memory allocated at construction. Before a recording it is a history: the oldest records make room. During one, only
/// the writer takes records out, and a record that finds no room is refused. The producer never waits and takes no
/// lock; the writer waits for a push in progress when it changes the mode. Positions count bytes and never decrease.
class Lane {
 public:
  enum class Mode {
    kOff,      ///< nothing is taken
    kHistory,  ///< the newest records stay
    kDraining  ///< the writer takes the records
  };
  enum class Pushed { kOff, kTaken, kFull };

  /// `history_bit_times`: least length of the history before the newest record's end.
  Lane(std::uint64_t capacity_bytes, std::uint64_t history_bit_times);

  // For the producer:
  [[nodiscard]] bool is_on() const { return mode_.load(std::memory_order_relaxed) != Mode::kOff; }
  /// Copies a record; completes header and padding here, while the writer sets numbers and CRCs.
  Pushed push(nfr::RecordHeader header, std::span<const std::span<const std::byte>> payload);
  /// Separates two streams: a history drops the first one's pieces, and the writer receives `marker`.
  Pushed push_restart(const nfr::RecordHeader& marker);

  // For the writer. The records lie between tail() and head() once set_mode(kDraining) has returned.
  [[nodiscard]] Mode mode() const { return mode_.load(); }
  void set_mode(Mode mode);
  [[nodiscard]] std::uint64_t head() const { return head_.load(); }
  [[nodiscard]] std::uint64_t tail() const { return tail_.load(std::memory_order_acquire); }
  [[nodiscard]] nfr::RecordHeader header_at(std::uint64_t position) const;
  void set_header(std::uint64_t position, const nfr::RecordHeader& header);
  void copy_out(std::uint64_t position, std::span<std::byte> bytes) const;
  /// The bytes from `from` to `to`, in one or two pieces.
  [[nodiscard]] std::array<std::span<const std::byte>, 2> pieces(std::uint64_t from, std::uint64_t to) const;
  [[nodiscard]] std::uint32_t crc_of(std::uint64_t from, std::uint64_t to) const;
  void release(std::uint64_t position) { tail_.store(position, std::memory_order_release); }

  /// For any thread:
  [[nodiscard]] std::uint64_t held_bytes() const { return held_bytes_of(tail(), head()); }
  [[nodiscard]] std::uint64_t capacity_bytes() const { return memory_.size(); }

 private:
  /// Tolerates a tail and a head that were read at different moments.
  [[nodiscard]] static std::uint64_t held_bytes_of(std::uint64_t tail, std::uint64_t head) {
    return head > tail ? head - tail : 0;
  }
  void copy_in(std::uint64_t position, std::span<const std::byte> bytes);
  void forget_old(const nfr::RecordHeader& newest, std::uint64_t bytes);
  [[nodiscard]] bool append(const nfr::RecordHeader& header, std::span<const std::span<const std::byte>> payload);

  std::vector<std::byte> memory_;
  std::uint64_t history_bit_times_;
  std::atomic<Mode> mode_{Mode::kOff};
  std::atomic<bool> is_pushing_{false};
  std::atomic<std::uint64_t> head_{0};  ///< advanced by the producer
  std::atomic<std::uint64_t> tail_{0};  ///< advanced by the writer while draining, else by the producer
};

}  // namespace nearfield
