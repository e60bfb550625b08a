#pragma once
#include <array>
#include <cstdint>
#include <optional>
#include <string>

namespace nearfield {

/// An IPv4 or IPv6 address. IPv4 is held as ::ffff:a.b.c.d (RFC 4291, 2.5.5.2), so that both compare.
struct IpAddress {
  std::array<std::uint8_t, 16> bytes{};  ///< in network byte order
  friend bool operator==(const IpAddress&, const IpAddress&) = default;
};
std::string text_of(const IpAddress& address);

/// All addresses with a common prefix.
struct Network {
  IpAddress first;
  int prefix_bits = 128;  ///< out of the 128 of an IPv6 address
  [[nodiscard]] bool contains(const IpAddress& address) const;
  friend bool operator==(const Network&, const Network&) = default;
};
/// "192.168.7.5", "192.168.7.0/24", "fd00::1" or "fd00::/8"; empty for any other text. Bits after the prefix are
/// ignored.
std::optional<Network> parse_network(const std::string& text);

}  // namespace nearfield
