#pragma once
#include <sys/socket.h>

#include <cstdint>
#include <string>

#include "core/system/file_descriptor.hpp"

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

}  // namespace nearfield
