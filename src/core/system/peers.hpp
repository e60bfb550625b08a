#pragma once
#include <sys/types.h>

#include <set>
#include <string>
#include <vector>

#include "core/daemon_settings.hpp"

namespace nearfield {

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
  PeerRule(const DaemonSettings::Access& access, const std::string& key);
  [[nodiscard]] bool permits(const PeerProcess& peer) const;

 private:
  std::set<uid_t> users_;
  std::set<gid_t> groups_;
};

}  // namespace nearfield
