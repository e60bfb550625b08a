#pragma once
#include <sys/socket.h>

#include <cstdint>
#include <string>
#include <utility>

namespace nearfield {

/// A file descriptor that closes itself.
class Descriptor {
 public:
  Descriptor() = default;
  explicit Descriptor(int number) : number_(number) {}
  Descriptor(Descriptor&& other) noexcept : number_(std::exchange(other.number_, -1)) {}
  Descriptor& operator=(Descriptor&& other) noexcept {
    std::swap(number_, other.number_);
    return *this;
  }
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  ~Descriptor();
  [[nodiscard]] int number() const { return number_; }

 private:
  int number_ = -1;
};

/// Where UDP goes to or comes from.
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
Descriptor datagram_socket(const Endpoint& endpoint);

/// Asks for a larger kernel buffer (SO_RCVBUF or SO_SNDBUF), by privilege where there is one; the bytes that were got.
std::uint64_t enlarge_buffer(const Descriptor& socket, int option, int forced_option, std::uint64_t bytes);

/// "WHAT: reason", the system's.
std::string system_error(const std::string& what);

}  // namespace nearfield
