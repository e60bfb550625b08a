#pragma once
#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "files/nfr/nfr_format.hpp"

namespace nearfield {

/// Between the last record of a stream and the first of the next, with BitsLane::restarts() in place of a bit-time;
/// never written.
inline constexpr nfr::Kind kRestartMarker{0xFFFFU};

/// Records on their way from the one thread that makes them (the producer) to the one that writes them (the writer), in
/// memory that is there from the start. Before a recording it is a history: the oldest records make room. During one,
/// only the writer takes records out, and what finds no room is not taken. The producer never waits and takes no lock;
/// the writer waits for a push under way when it changes the mode. Positions count bytes and never shrink.
class Lane {
 public:
  enum class Mode {
    kOff,      ///< nothing is taken
    kHistory,  ///< the newest records stay
    kDraining  ///< the writer takes the records
  };
  enum class Pushed { kOff, kTaken, kFull };

  /// `history_bit_times`: how far before the newest record's end the history reaches, at least.
  Lane(std::uint64_t capacity_bytes, std::uint64_t history_bit_times);

  // The producer's.
  [[nodiscard]] bool is_on() const { return mode_.load(std::memory_order_relaxed) != Mode::kOff; }
  /// Copies a record; header and padding are completed here, numbers and CRCs by the writer.
  Pushed push(nfr::RecordHeader header, std::span<const std::span<const std::byte>> payload);
  /// Separates two streams: a history drops the first one's pieces, and the writer receives `marker`.
  Pushed push_restart(const nfr::RecordHeader& marker);

  // The writer's. The records lie between tail() and head() once set_mode(kDraining) has returned.
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

  /// Any thread's.
  [[nodiscard]] std::uint64_t held_bytes() const { return held_bytes_of(tail(), head()); }
  [[nodiscard]] std::uint64_t capacity_bytes() const { return memory_.size(); }

 private:
  /// The two may be of different moments.
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
  std::atomic<std::uint64_t> head_{0};  ///< moved by the producer
  std::atomic<std::uint64_t> tail_{0};  ///< moved by the writer while draining, else by the producer
};

}  // namespace nearfield
