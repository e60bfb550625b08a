#pragma once
#include <cstdint>
#include <span>

#include "files/files.hpp"

namespace nearfield {

/// The cause of the missing bits of a piece without words.
enum class GapCause {
  kNotSent,  ///< lost at the source or in the network
  kPaused,   ///< left out by the daemon, whose engine is too far behind to record
  kOverrun   ///< overwritten in the daemon's ring before the engine took them
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
};

}  // namespace nearfield
