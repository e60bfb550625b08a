#include "core/system/peers.hpp"

#include <fmt/format.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <optional>

#include "core/daemon_settings.hpp"
#include "core/error.hpp"

namespace nearfield {
namespace {

template <typename Id, typename LookUp>
void look_up(const std::vector<std::string>& names, const std::string& key, const LookUp& look_up_one,
             std::set<Id>& ids, std::string& problems) {
  for (const std::string& name : names) {
    if (const std::optional<Id> id = look_up_one(name)) {
      ids.insert(*id);
    } else {
      problems += fmt::format("{}{}: expected one of this system's names, or a number, found \"{}\"",
                              problems.empty() ? "" : "\n", key, name);
    }
  }
}

/// Empty if the kernel does not support the option.
std::vector<gid_t> supplementary_groups(int socket) {
  socklen_t bytes = 0;
  getsockopt(socket, SOL_SOCKET, SO_PEERGROUPS, nullptr, &bytes);  // fails, and returns the size
  std::vector<gid_t> groups(bytes / sizeof(gid_t));
  if (groups.empty() || getsockopt(socket, SOL_SOCKET, SO_PEERGROUPS, groups.data(), &bytes) != 0) {
    return {};
  }
  return groups;
}

}  // namespace

PeerProcess peer_of(int socket) {
  ucred credentials{};
  socklen_t bytes = sizeof credentials;
  if (getsockopt(socket, SOL_SOCKET, SO_PEERCRED, &credentials, &bytes) != 0) {
    return {};
  }
  PeerProcess peer{credentials.pid, credentials.uid, supplementary_groups(socket)};
  peer.groups.push_back(credentials.gid);
  return peer;
}

PeerRule::PeerRule(const DaemonSettings::Access& access, const std::string& key) : users_({0, geteuid()}) {
  std::string problems;
  look_up(access.allowed_users, key + ".allowed_users", user_id, users_, problems);
  look_up(access.allowed_groups, key + ".allowed_groups", group_id, groups_, problems);
  if (!problems.empty()) {
    throw ConfigError(problems);
  }
}

bool PeerRule::permits(const PeerProcess& peer) const {
  if (peer.user == PeerProcess::kUnknown) {
    return false;  // even if the settings name this number
  }
  return users_.contains(peer.user) ||
         std::any_of(peer.groups.begin(), peer.groups.end(), [this](gid_t group) { return groups_.contains(group); });
}

}  // namespace nearfield
