#pragma once
#include <sys/types.h>

#include <array>
#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "core/access.hpp"

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

/// True for the error of socket() or bind() at an address that this machine does not have, such as ::1 without IPv6.
bool is_address_elsewhere(int error);

/// The process at the other end of a UNIX socket, as recorded by the kernel at the connection.
struct PeerProcess {
  static constexpr uid_t kUnknown = static_cast<uid_t>(-1);  ///< no user has this number
  pid_t process = 0;
  uid_t user = kUnknown;
  std::vector<gid_t> groups;  ///< primary and supplementary
};

/// An unknown user without groups if the kernel has no record.
PeerProcess peer_of(int socket);

/// Access rule of a socket: permits root, this process's own user, and the users and groups of an Access.
class PeerRule {
 public:
  /// Looks names up; throws ConfigError that lists all that are unknown below `key`, such as "daemon.control".
  PeerRule(const SocketAccess& access, const std::string& key);
  [[nodiscard]] bool permits(const PeerProcess& peer) const;

 private:
  std::set<uid_t> users_;
  std::set<gid_t> groups_;
};

}  // namespace nearfield
