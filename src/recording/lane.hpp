#pragma once
#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "files/files.hpp"
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

/// The cause of the missing bits of a piece without words.
enum class GapCause {
  kNotSent,  ///< lost at the source or in the network
  kPaused,   ///< left out by the daemon, whose engine is too far behind to record
  kOverrun   ///< overwritten in the daemon's ring before they were recorded
};

/// Bits of a live stream, as received.
struct BitsPiece {
  std::uint64_t first_bit_time = 0;
  std::uint64_t bit_times = 0;
  std::span<const std::uint32_t> words;  ///< [bit-time][word]; empty when all of the piece is missing
  std::span<const MissingRun> missing;   ///< inside the piece, ascending; their words are silence
  std::uint32_t stream_id = 0;           ///< identity of the source's stream; a change is a restart
  std::int64_t mono_ns = 0;              ///< arrival of the last bit in this host's memory, CLOCK_MONOTONIC
  std::int64_t tai_ns = 0;               ///< arrival of the last bit, CLOCK_TAI
  GapCause cause = GapCause::kNotSent;   ///< cause of the gap, in a piece without words
};

/// Takes a live stream's bits. push() is called by one thread and never waits.
class BitsTap {
 public:
  BitsTap() = default;
  BitsTap(const BitsTap&) = delete;
  BitsTap& operator=(const BitsTap&) = delete;
  virtual ~BitsTap() = default;
  /// Takes a piece, whose spans are valid only during the call. Bit-times between the last piece's end and this one
  /// were never received; a bit-time before that end is a restart.
  virtual void push(const BitsPiece& piece) = 0;
  /// False while nothing is stored: skip() is then enough, and nobody has to copy words.
  [[nodiscard]] virtual bool takes_words() const { return true; }
  /// Takes note of a piece whose words are not given, and stores nothing.
  virtual void skip(const BitsPiece& /*piece*/) {}
};

/// A lane of bits that accounts for every bit-time: bit-times that the source skipped, and those for which the lane was
/// full, follow as gaps. For the pushing thread only, except for what lane() and the counters return.
class BitsLane {
 public:
  BitsLane(std::uint64_t capacity_bytes, std::uint64_t history_bit_times, std::uint64_t words_per_bit_time);
  /// Throws an internal error when the piece contradicts itself.
  void push(const BitsPiece& piece);
  /// Counts restarts of the stream, and stores nothing: the next pushed piece follows on none.
  void skip(const BitsPiece& piece);
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
  [[nodiscard]] bool note(const BitsPiece& piece);
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
