#pragma once
#include <array>
#include <atomic>
#include <cstdint>
#include <optional>
#include <string>

#include "core/system/network.hpp"

namespace nearfield {

/// Sender address of a datagram.
struct Peer {
  IpAddress address;
  std::uint16_t port = 0;
  friend bool operator==(const Peer&, const Peer&) = default;
};
/// "192.168.7.5:4000", "[fd00::1]:4000"
std::string text_of(const Peer& peer);

/// Sender of a stream's packets, and when its last one was received.
struct Sender {
  Peer peer;
  std::uint32_t stream_id = 0;
  std::int64_t seen_ns = 0;  ///< CLOCK_MONOTONIC
};

/// A Sender that one thread writes, which never waits, and any thread reads: a sequence lock (Boehm, "Can seqlocks get
/// along with programming language memory models?", MSPC 2012).
class SharedSender {
 public:
  void write(const Sender& sender);
  /// Nullopt before the first write.
  [[nodiscard]] std::optional<Sender> read() const;

 private:
  static constexpr std::size_t kWords = 4;  ///< address, port and stream id, time
  std::atomic<std::uint64_t> version_{0};   ///< odd while the words are written
  std::array<std::atomic<std::uint64_t>, kWords> words_{};
};

}  // namespace nearfield
