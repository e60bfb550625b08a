#include "stream/packets/socket.hpp"

#include <fmt/format.h>
#include <netdb.h>
#include <netinet/in.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <climits>
#include <cstring>
#include <memory>
#include <system_error>

#include "core/error.hpp"

namespace nearfield {
namespace {

struct HostAndPort {
  std::string host;
  std::string port;
};

HostAndPort split(const std::string& text) {
  const std::size_t colon = text.rfind(':');
  if (colon == std::string::npos || colon == 0 || colon + 1 == text.size()) {
    throw ConfigError(fmt::format("address: expected HOST:PORT, found \"{}\"", text));
  }
  std::string host = text.substr(0, colon);
  if (host.size() > 2 && host.front() == '[' && host.back() == ']') {
    host = host.substr(1, host.size() - 2);
  }
  return {host, text.substr(colon + 1)};
}

}  // namespace

std::string system_error(const std::string& what) {
  return fmt::format("{}: {}", what, std::system_category().message(errno));
}

bool Endpoint::multicast() const {
  if (family() == AF_INET) {
    sockaddr_in v4{};
    std::memcpy(&v4, &address, sizeof v4);
    return IN_MULTICAST(ntohl(v4.sin_addr.s_addr));
  }
  sockaddr_in6 v6{};
  std::memcpy(&v6, &address, sizeof v6);
  return v6.sin6_addr.s6_addr[0] == 0xFF;
}

std::uint16_t Endpoint::port() const {
  sockaddr_in v4{};  // sockaddr_in6 has its port at the same place
  std::memcpy(&v4, &address, sizeof v4);
  return ntohs(v4.sin_port);
}

Endpoint endpoint_of(const std::string& text) {
  const HostAndPort parts = split(text);
  addrinfo hints{};
  hints.ai_family = AF_UNSPEC;
  hints.ai_socktype = SOCK_DGRAM;
  hints.ai_flags = AI_NUMERICSERV;
  addrinfo* found = nullptr;
  const int failure = getaddrinfo(parts.host.c_str(), parts.port.c_str(), &hints, &found);
  if (failure != 0) {
    throw ConfigError(fmt::format("address: expected HOST:PORT, found \"{}\" ({})", text, gai_strerror(failure)));
  }
  const std::unique_ptr<addrinfo, decltype(&freeaddrinfo)> list(found, freeaddrinfo);
  Endpoint endpoint;
  endpoint.length = list->ai_addrlen;
  std::memcpy(&endpoint.address, list->ai_addr, list->ai_addrlen);
  return endpoint;
}

FileDescriptor datagram_socket(const Endpoint& endpoint) {
  FileDescriptor socket(::socket(endpoint.family(), SOCK_DGRAM | SOCK_CLOEXEC, 0));
  if (!socket.valid()) {
    throw IoError(system_error("socket"));
  }
  return socket;
}

std::uint64_t enlarge_buffer(const FileDescriptor& socket, int option, int forced_option, std::uint64_t bytes) {
  const int asked = static_cast<int>(std::min<std::uint64_t>(bytes, INT_MAX / 2));
  if (setsockopt(socket.get(), SOL_SOCKET, forced_option, &asked, sizeof asked) != 0) {
    setsockopt(socket.get(), SOL_SOCKET, option, &asked, sizeof asked);
  }
  int got = 0;
  socklen_t length = sizeof got;
  getsockopt(socket.get(), SOL_SOCKET, option, &got, &length);
  return static_cast<std::uint64_t>(got) / 2;  // the kernel doubles it for its own bookkeeping
}

namespace {

constexpr unsigned kIdShift = 32;

}  // namespace

std::string text_of(const Peer& peer) {
  const std::string address = text_of(peer.address);
  const bool is_v6 = address.find(':') != std::string::npos;
  return fmt::format("{}{}{}:{}", is_v6 ? "[" : "", address, is_v6 ? "]" : "", peer.port);
}

void SharedSender::write(const Sender& sender) {
  std::array<std::uint64_t, 2> address{};
  std::memcpy(address.data(), sender.peer.address.bytes.data(), sizeof address);
  const std::uint64_t version = version_.load(std::memory_order_relaxed);
  version_.store(version + 1, std::memory_order_relaxed);
  words_[0].store(address[0], std::memory_order_release);
  words_[1].store(address[1], std::memory_order_release);
  words_[2].store(std::uint64_t{sender.stream_id} << kIdShift | sender.peer.port, std::memory_order_release);
  words_[3].store(static_cast<std::uint64_t>(sender.seen_ns), std::memory_order_release);
  version_.store(version + 2, std::memory_order_release);
}

std::optional<Sender> SharedSender::read() const {
  std::array<std::uint64_t, kWords> words{};
  std::uint64_t version = 0;
  do {
    version = version_.load(std::memory_order_acquire);
    for (std::size_t i = 0; i < kWords; ++i) {
      words[i] = words_[i].load(std::memory_order_acquire);
    }
  } while (version % 2 != 0 || version != version_.load(std::memory_order_relaxed));
  if (version == 0) {
    return std::nullopt;
  }
  Sender sender;
  std::memcpy(sender.peer.address.bytes.data(), words.data(), sizeof sender.peer.address.bytes);
  sender.peer.port = static_cast<std::uint16_t>(words[2]);
  sender.stream_id = static_cast<std::uint32_t>(words[2] >> kIdShift);
  sender.seen_ns = static_cast<std::int64_t>(words[3]);
  return sender;
}

}  // namespace nearfield
