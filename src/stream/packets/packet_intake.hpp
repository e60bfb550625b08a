#pragma once
#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "core/daemon_settings.hpp"
#include "core/system/network.hpp"
#include "stream/ingest_ring.hpp"
#include "stream/packets/packet.hpp"
#include "stream/packets/socket.hpp"

namespace nearfield {

/// Made by intake_settings(); DaemonSettings::Source has the defaults.
struct IntakeSettings {
  std::vector<Network> allowed_from;  ///< empty: any
  bool require_crc;                   ///< packets without a CRC are refused
  std::uint64_t max_jump_elements;    ///< the longest gap in a stream's clock, forward or back
  std::int64_t takeover_after_ns;     ///< silence of the current stream, before another may begin
  std::int64_t restart_hold_off_ns;   ///< least time from a stream's start to the next one's
};

/// Datagrams by outcome. Each counts once:
///   datagrams = accepted + duplicate + late + refused + other_stream + implausible + held + not_allowed
///               + sum of faults
struct PacketCounters {
  std::uint64_t datagrams = 0;
  std::uint64_t accepted = 0;      ///< at least one element was stored
  std::uint64_t duplicate = 0;     ///< all elements had been received before
  std::uint64_t late = 0;          ///< none stored, some had been taken without it or precede the stream's start
  std::uint64_t refused = 0;       ///< no room: the reader was copying what it would overwrite
  std::uint64_t other_stream = 0;  ///< another stream id that is not (or not yet) a restart
  std::uint64_t implausible = 0;   ///< far from the newest element, and not confirmed by another packet
  std::uint64_t held = 0;          ///< far ahead of the newest element and waiting for another packet: 0 or 1
  std::uint64_t not_allowed = 0;   ///< from an address that is not permitted
  std::array<std::uint64_t, kPacketFaults> faults{};  ///< [PacketFault]: foreign and malformed packets
  std::uint64_t reordered = 0;                        ///< accepted packets that began before the newest element
  std::uint64_t restarts = 0;                         ///< streams begun after the first one
  [[nodiscard]] std::uint64_t fault(PacketFault cause) const { return faults[static_cast<std::size_t>(cause)]; }
  friend bool operator==(const PacketCounters&, const PacketCounters&) = default;
};

/// Sender and receipt time of a datagram; times of CLOCK_MONOTONIC. It arrived between `after_ns`, when the socket was
/// found empty, and `now_ns`: a delayed receiver finds old datagrams, and must not mistake its own delay for the
/// sender's silence.
struct Arrival {
  Peer from;
  std::int64_t after_ns = 0;
  std::int64_t now_ns = 0;
};

/// Stores the payload of datagrams in a ring: checks them, orders them, decides what is a restart. No sockets, no
/// locks, no allocation; one thread.
///
/// The first sound packet begins the stream, at any element. From then on
/// - a packet of the same stream id that lies further ahead of the newest element than the ring waits for reordered
///   ones is held. If the next packet is adjacent to it, the gap is confirmed and both are stored; if the next one
///   continues the stream where it was, the held packet is dropped.
/// - a new stream begins when nothing new of the current one was received for `takeover_after_ns` and the last start is
///   `restart_hold_off_ns` ago, with the second of two consecutive packets that follow each other without a gap. This
///   applies to another stream id and, under the same id, to numbers further than `max_jump_elements` from the newest
///   element or behind what may still be reordered.
class PacketIntake {
 public:
  PacketIntake(IngestRing& ring, const IntakeSettings& settings);
  void take(std::span<const std::byte> datagram, const Arrival& arrival);
  /// From any thread.
  [[nodiscard]] PacketCounters counters() const;
  /// Sender that began the current stream. From any thread.
  [[nodiscard]] std::optional<Sender> sender() const { return sender_.read(); }
  /// Last sender of another stream, or of the same stream id from another address. From any thread.
  [[nodiscard]] std::optional<Sender> other() const { return other_.read(); }

 private:
  using Counter = std::atomic<std::uint64_t>;
  enum class Place {
    kNear,
    kAhead,      ///< a gap, if it is confirmed
    kBehind,     ///< too late, or the source's counter restarted
    kFar,        ///< further than max_jump_elements
    kElsewhere,  ///< in another stream
  };
  /// A packet that waits for an adjacent one.
  struct Candidate {
    std::uint32_t stream_id;
    std::uint64_t first_element;
    std::uint64_t next_element;
  };

  [[nodiscard]] bool is_allowed(const IpAddress& address) const;
  [[nodiscard]] std::uint64_t near_elements(const Packet& packet) const;
  [[nodiscard]] Place place_of(const Packet& packet) const;
  void place(const Packet& packet, const Arrival& arrival);
  void confirm_or_hold(const Packet& packet, std::int64_t now_ns);
  void drop_held();
  bool begin(const Packet& packet, const Arrival& arrival);
  bool restart(const Packet& packet, const Arrival& arrival);
  void store(std::uint64_t first_element, std::span<const std::byte> payload, std::int64_t now_ns);
  void note_other(const Packet& packet, const Arrival& arrival);

  IngestRing* ring_;
  IntakeSettings settings_;
  PacketExpectation expected_;
  bool streaming_ = false;
  std::uint32_t stream_id_ = 0;
  Peer peer_;  ///< sender that began the stream
  std::int64_t begun_ns_ = 0;
  std::int64_t newest_ns_ = 0;          ///< time when something new of the stream was last received
  std::optional<Candidate> candidate_;  ///< possible restart
  std::optional<Candidate> ahead_;      ///< packet after a possible gap; its payload is held_
  std::vector<std::byte> held_;
  std::int64_t held_ns_ = 0;

  Counter datagrams_{0}, accepted_{0}, duplicate_{0}, late_{0}, refused_{0}, other_stream_{0}, implausible_{0};
  Counter held_count_{0}, not_allowed_{0}, reordered_{0}, restarts_{0};
  std::array<Counter, kPacketFaults> faults_{};
  SharedSender sender_;
  SharedSender other_;
};

}  // namespace nearfield
