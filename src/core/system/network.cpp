#include "core/system/network.hpp"

#include <arpa/inet.h>
#include <fmt/format.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <cstring>
#include <optional>

#include "core/daemon_settings.hpp"
#include "core/error.hpp"
#include "nearfield/runtime_folder.h"

namespace nearfield {
namespace {

constexpr int kAllBits = 128;
constexpr int kMappedBits = 96;  ///< bits before the IPv4 address in its IPv6 form
constexpr std::size_t kMappedBytes = 12;
constexpr std::array<std::uint8_t, kMappedBytes> kMapped{0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xFF, 0xFF};

struct Parsed {
  IpAddress address;
  bool is_v4 = false;
};

std::optional<Parsed> parse_address(const std::string& text) {
  Parsed parsed;
  in_addr four{};
  if (inet_pton(AF_INET, text.c_str(), &four) == 1) {
    std::copy(kMapped.begin(), kMapped.end(), parsed.address.bytes.begin());
    std::memcpy(parsed.address.bytes.data() + kMappedBytes, &four, sizeof four);
    parsed.is_v4 = true;
    return parsed;
  }
  if (inet_pton(AF_INET6, text.c_str(), parsed.address.bytes.data()) == 1) {
    return parsed;
  }
  return std::nullopt;
}

}  // namespace

std::string text_of(const IpAddress& address) {
  std::array<char, INET6_ADDRSTRLEN> text{};
  const bool is_v4 = std::equal(kMapped.begin(), kMapped.end(), address.bytes.begin());
  inet_ntop(is_v4 ? AF_INET : AF_INET6, address.bytes.data() + (is_v4 ? kMappedBytes : 0), text.data(), text.size());
  return text.data();
}

bool Network::contains(const IpAddress& address) const {
  constexpr int kByte = 8;
  for (int bit = 0; bit < prefix_bits; bit += kByte) {
    const auto byte = static_cast<std::size_t>(bit / kByte);
    const int unused = std::max(0, bit + kByte - prefix_bits);
    if (((first.bytes[byte] ^ address.bytes[byte]) >> unused) != 0) {
      return false;
    }
  }
  return true;
}

std::optional<Network> parse_network(const std::string& text) {
  const std::size_t slash = text.find('/');
  const std::optional<Parsed> parsed = parse_address(text.substr(0, slash));
  if (!parsed) {
    return std::nullopt;
  }
  const int before = parsed->is_v4 ? kMappedBits : 0;
  int prefix = kAllBits - before;
  if (slash != std::string::npos) {
    const char* const end = text.data() + text.size();
    const auto [stop, error] = std::from_chars(text.data() + slash + 1, end, prefix);
    if (error != std::errc{} || stop != end || prefix < 0 || prefix > kAllBits - before) {
      return std::nullopt;
    }
  }
  return Network{parsed->address, before + prefix};
}

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

bool is_address_elsewhere(int error) { return error == EADDRNOTAVAIL || error == EAFNOSUPPORT; }

PeerRule::PeerRule(const SocketAccess& access, const std::string& key) : users_({0, geteuid()}) {
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

namespace {

static_assert(DaemonSettings::Ring::kFile == NF_FRAMES_SOCKET, "the reader in C opens the same file");
static_assert(DaemonSettings::Control::kFile == NF_CONTROL_SOCKET);

using PathBuffer = std::array<char, sizeof(sockaddr_un::sun_path)>;
using Rule = int (*)(const char* file, char* path, std::size_t bytes);

std::string path_by(Rule rule, std::string_view file) {
  PathBuffer path{};
  if (rule(std::string(file).c_str(), path.data(), path.size()) == 0) {
    throw IoError(
        fmt::format("{}: expected a default folder of sockets with a path of at most {} bytes in all, found a "
                    "longer one; set NEARFIELD_RUNTIME_DIR, or name the socket",
                    file, path.size() - 1));
  }
  return path.data();
}

/// A user other than root cannot create a folder in /run: the message names the variable to set instead.
void require_folder(const std::string& path, std::string_view file) {
  const bool is_system = path.starts_with(NF_SYSTEM_FOLDER "/");
  if (is_system && geteuid() != 0 && access(NF_SYSTEM_FOLDER, W_OK | X_OK) != 0) {
    throw IoError(
        fmt::format("{}: expected a folder in which this user may make sockets, found none, and no "
                    "XDG_RUNTIME_DIR; set NEARFIELD_RUNTIME_DIR to a folder of your own, or give "
                    "daemon.publish.ring.socket and daemon.control.socket ({})",
                    NF_SYSTEM_FOLDER, file));
  }
}

}  // namespace

std::string socket_to_serve(const std::string& setting, std::string_view file) {
  if (setting != kAutoSocket) {
    return setting;
  }
  std::string path = path_by(nf_socket_to_serve, file);
  require_folder(path, file);
  return path;
}

std::string socket_to_connect(const std::string& setting, std::string_view file) {
  return setting == kAutoSocket ? path_by(nf_socket_to_connect, file) : setting;
}

}  // namespace nearfield
