#pragma once
#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

#include "stream/ingest_ring.hpp"
#include "stream/packet.hpp"

namespace nearfield {

struct IntakeSettings {
  bool require_crc = false;
  std::uint64_t max_jump_elements = 15'000'000;  ///< further from the newest element is not believed at once
  std::int64_t restart_hold_off_ns = 1'000'000'000;
};

/// Datagrams by what became of them. Each counts once:
///   datagrams = accepted + duplicate + late + refused + other_stream + implausible + sum of faults
struct PacketCounters {
  std::uint64_t datagrams = 0;
  std::uint64_t accepted = 0;      ///< at least one element was stored
  std::uint64_t duplicate = 0;     ///< all elements had come before
  std::uint64_t late = 0;          ///< none stored, some had been taken without it or lie before the stream's start
  std::uint64_t refused = 0;       ///< no room: the reader was copying what would have been overwritten
  std::uint64_t other_stream = 0;  ///< another stream id that is not (or not yet) taken for a restart
  std::uint64_t implausible = 0;   ///< further than max_jump_elements from the newest element, not (yet) confirmed
  std::array<std::uint64_t, kPacketFaults> faults{};  ///< [PacketFault]: foreign and malformed ones
  std::uint64_t reordered = 0;                        ///< of `accepted`: began before the newest element
  std::uint64_t restarts = 0;                         ///< streams begun after the first one
  [[nodiscard]] std::uint64_t fault(PacketFault cause) const { return faults[static_cast<std::size_t>(cause)]; }
  friend bool operator==(const PacketCounters&, const PacketCounters&) = default;
};

/// Puts what datagrams carry into a ring: checks them, orders them, decides what is a restart. No sockets, no locks, no
/// allocation; one thread.
///
/// The first sound packet begins the stream, wherever it is. A packet with another stream id, or further than
/// `max_jump_elements` from the newest element, waits for a witness: when the next packet that is not of the present
/// stream has the same id and follows on it without a gap, and none of the present stream came in between, a new
/// stream begins with that second packet. A stream id that was left is not taken up again for `restart_hold_off_ns`,
/// and a jump within one id is not followed within that time after the last start: two senders on one port cannot make
/// the stream go to and fro.
class PacketIntake {
 public:
  PacketIntake(IngestRing& ring, const IntakeSettings& settings);
  /// `now_ns` of CLOCK_MONOTONIC, when the datagram was there.
  void take(std::span<const std::byte> datagram, std::int64_t now_ns);
  /// From any thread.
  [[nodiscard]] PacketCounters counters() const;

 private:
  using Counter = std::atomic<std::uint64_t>;
  /// The packet that waits for its witness.
  struct Candidate {
    std::uint32_t stream_id;
    std::uint64_t next_element;
  };
  struct Left {
    std::uint32_t stream_id = 0;
    std::int64_t until_ns = 0;
  };

  [[nodiscard]] bool belongs(const Packet& packet) const;
  [[nodiscard]] bool may_begin(std::uint32_t stream_id, std::int64_t now_ns) const;
  bool begin(const Packet& packet, std::int64_t now_ns);
  bool restart(const Packet& packet, std::int64_t now_ns);
  void store(const Packet& packet, std::int64_t now_ns);

  IngestRing* ring_;
  IntakeSettings settings_;
  PacketExpectation expected_;
  bool streaming_ = false;
  std::uint32_t stream_id_ = 0;
  std::int64_t begun_ns_ = 0;
  std::optional<Candidate> candidate_;
  std::array<Left, 8> left_{};
  std::size_t next_left_ = 0;

  Counter datagrams_{0}, accepted_{0}, duplicate_{0}, late_{0}, refused_{0}, other_stream_{0}, implausible_{0};
  Counter reordered_{0}, restarts_{0};
  std::array<Counter, kPacketFaults> faults_{};
};

}  // namespace nearfield
