#pragma once
#include <cstddef>
#include <cstdint>
#include <functional>
#include <random>
#include <span>
#include <string>
#include <vector>

#include "stream/sources/playback.hpp"

namespace nearfield {

/// Share of packets that each fault affects; their sum is at most 1.
struct FaultRates {
  double loss = 0.0;
  double reorder = 0.0;    ///< held back while 1 to `reorder_packets` later packets go first
  double duplicate = 0.0;  ///< sent twice
  double truncate = 0.0;   ///< cut anywhere, possibly to 0 bytes
  double flip = 0.0;       ///< 1 to 3 bits anywhere inverted: CRC32C always detects it
  std::size_t reorder_packets = 4;
  std::uint64_t seed = 1;
};

/// Faults that took effect. A held packet that nothing overtook does not count.
struct FaultCounts {
  std::uint64_t packets = 0;  ///< pushed
  std::uint64_t lost = 0;
  std::uint64_t reordered = 0;
  std::uint64_t duplicated = 0;
  std::uint64_t truncated = 0;
  std::uint64_t flipped = 0;
};

/// Sits between a packetiser and a network, or a PacketIntake, and applies the faults of networks to packets. Each
/// packet has one fault at most, so that each can be identified in the receiver's counters.
class FaultInjector {
 public:
  using Send = std::function<void(std::span<const std::byte>)>;
  /// Throws ConfigError if the rates are not shares.
  FaultInjector(const FaultRates& rates, Send send);
  void push(std::span<const std::byte> packet);
  /// Sends a packet without a fault, after releasing all held packets.
  void push_intact(std::span<const std::byte> packet);
  /// Releases all held packets.
  void flush() { release(true); }
  [[nodiscard]] const FaultCounts& counts() const { return counts_; }

 private:
  struct Held {
    std::vector<std::byte> packet;
    std::size_t remaining = 0;  ///< packets to send first
    bool overtaken = false;
  };
  void pass(std::span<const std::byte> packet);
  void release(bool all);
  void send_truncated(std::span<const std::byte> packet);
  void send_flipped(std::span<const std::byte> packet);
  std::size_t below(std::size_t limit);

  FaultRates rates_;
  Send send_;
  std::mt19937_64 generator_;
  std::vector<Held> held_;
  FaultCounts counts_;
};

struct SendSettings {
  std::string to{};  ///< HOST:PORT
  std::uint32_t stream_id = 1;
  std::uint64_t first_element = 0;
  std::size_t elements_per_packet = 0;  ///< 0: 256, or as many as fit a packet if fewer
  bool crc = true;
  double rate = 1.0;        ///< times real time
  bool fast = false;        ///< without pacing: a receiver may well lose some
  bool loop = false;        ///< begins again at the end
  double duration_s = 0.0;  ///< stream time to send; 0: all, or until stopped if it loops
  FaultRates faults{};
};

struct SendReport {
  std::uint64_t elements = 0;   ///< elements of the source that were cut into packets
  std::uint64_t datagrams = 0;  ///< passed to the kernel
  std::uint64_t bytes = 0;
  std::uint64_t refused = 0;  ///< times that the other host reported a closed port
  double elapsed_s = 0.0;
  FaultCounts faults;
};

/// Sends a playback as packets "NFB1" over UDP, in real time by absolute deadlines, each packet when its last element
/// is due (as many as fit into 50 us together), until it ends or `stop` returns true. Throws ConfigError on wrong
/// settings and IoError.
SendReport send_packets(const Playback& playback, const SendSettings& settings, const std::function<bool()>& stop);

}  // namespace nearfield
