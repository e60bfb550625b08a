#pragma once
#include <sys/types.h>

#include <set>
#include <string>
#include <vector>

#include "nearfield/daemon_settings.hpp"

namespace nearfield::control {

/// Who is at the other end of a UNIX socket, in the kernel's word at the time it connected.
struct Peer {
  pid_t process = 0;
  uid_t user = 0;
  std::vector<gid_t> groups;  ///< primary and supplementary
};

/// Throws IoError when the kernel does not say.
Peer peer_of(int socket);

/// Who may use a socket: root, this process's own user, and the users and groups of an Access.
class PeerRule {
 public:
  /// Looks names up; throws ConfigError that lists all that are unknown below `key`, such as "daemon.control".
  PeerRule(const DaemonSettings::Access& access, const std::string& key);
  [[nodiscard]] bool permits(const Peer& peer) const;

 private:
  std::set<uid_t> users_;
  std::set<gid_t> groups_;
};

}  // namespace nearfield::control
