#pragma once
#include <sys/socket.h>

#include <array>
#include <atomic>
#include <cstdint>
#include <optional>
#include <string>

#include "core/system/files.hpp"
#include "core/system/network.hpp"

namespace nearfield {

/// Source or destination of UDP datagrams.
struct Endpoint {
  sockaddr_storage address{};
  socklen_t length = 0;

  [[nodiscard]] int family() const { return address.ss_family; }
  [[nodiscard]] const sockaddr* raw() const { return reinterpret_cast<const sockaddr*>(&address); }
  [[nodiscard]] bool multicast() const;
  [[nodiscard]] std::uint16_t port() const;
};

/// Resolves HOST:PORT or [V6]:PORT. Throws ConfigError.
Endpoint endpoint_of(const std::string& text);

/// A datagram socket of the endpoint's family. Throws IoError.
FileDescriptor datagram_socket(const Endpoint& endpoint);

/// Requests a larger kernel buffer (SO_RCVBUF or SO_SNDBUF), with privilege if available; returns the granted bytes.
std::uint64_t enlarge_buffer(const FileDescriptor& socket, int option, int forced_option, std::uint64_t bytes);

/// "WHAT: reason", with the reason of errno.
std::string system_error(const std::string& what);

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
