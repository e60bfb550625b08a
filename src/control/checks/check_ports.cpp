#include <fmt/format.h>
#include <net/if.h>
#include <netdb.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <cerrno>
#include <cstring>
#include <fstream>
#include <memory>

#include "control/checks/check_parts.hpp"
#include "core/daemon_settings.hpp"
#include "core/system/file_descriptor.hpp"

namespace nearfield::control {
namespace {

/// A port at which the daemon must listen.
struct Port {
  std::string key;
  std::string address;  ///< HOST:PORT
  int type = SOCK_STREAM;
  const char* word = "TCP";
};

using Addresses = std::unique_ptr<addrinfo, void (*)(addrinfo*)>;

Addresses resolve(const HostPort& target, int type, int& error) {
  addrinfo hints{};
  hints.ai_socktype = type;
  hints.ai_flags = AI_PASSIVE | AI_NUMERICSERV;
  addrinfo* found = nullptr;
  const std::string port = std::to_string(target.port);
  error = getaddrinfo(target.host == "*" ? nullptr : target.host.c_str(), port.c_str(), &hints, &found);
  return {found, freeaddrinfo};
}

bool is_multicast(const addrinfo& address) {
  if (address.ai_family == AF_INET) {
    sockaddr_in v4{};
    std::memcpy(&v4, address.ai_addr, sizeof v4);
    return IN_MULTICAST(ntohl(v4.sin_addr.s_addr));
  }
  sockaddr_in6 v6{};
  std::memcpy(&v6, address.ai_addr, sizeof v6);
  return IN6_IS_ADDR_MULTICAST(&v6.sin6_addr);
}

/// Binds like the daemon, and closes.
void look_at_port(const Port& port, CheckUp& up) {
  const std::optional<HostPort> target = parse_host_port(port.address);
  if (!target) {
    return;
  }
  int error = 0;
  const Addresses addresses = resolve(*target, port.type, error);
  if (error != 0) {
    up.problem(fmt::format("{}: expected an address of this machine, found {}: {}", port.key, port.address,
                           gai_strerror(error)));
    return;
  }
  const FileDescriptor probe(socket(addresses->ai_family, port.type | SOCK_CLOEXEC, 0));
  const int on = 1;
  if (port.type == SOCK_STREAM || is_multicast(*addresses)) {
    setsockopt(probe.get(), SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
  }
  if (!probe.valid() || bind(probe.get(), addresses->ai_addr, addresses->ai_addrlen) == 0) {
    return;
  }
  if (errno == EADDRINUSE) {
    up.taken(fmt::format("{}: {} port {} is taken", port.key, port.word, port.address));
  } else {
    up.problem(fmt::format("{}: expected an address to listen at, found {}: {}", port.key, port.address,
                           std::strerror(errno)));
  }
}

/// Checks the page's address: at the default address a daemon whose port is taken runs without a page.
void look_at_page(const std::string& address, CheckUp& up) {
  const std::string key = "daemon.page.address";
  CheckUp own{.settings = up.settings, .daemon_runs = up.daemon_runs, .findings = {}};
  look_at_port({key, address}, own);
  for (Finding& finding : own.findings) {
    if (!up.settings.explicit_keys.contains(key)) {
      finding = {Finding::Kind::kNote, finding.text + "; a daemon that starts now has no page"};
    }
    up.findings.push_back(std::move(finding));
  }
}

std::uint64_t largest_buffer() {
  std::uint64_t bytes = 0;
  std::ifstream("/proc/sys/net/core/rmem_max") >> bytes;
  return bytes;
}

/// Checks the receive buffer, which the kernel grants by privilege or up to net.core.rmem_max.
void look_at_receive_buffer(std::int64_t wanted_bytes, CheckUp& up) {
  const FileDescriptor probe(socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0));
  const int asked = static_cast<int>(std::min<std::int64_t>(wanted_bytes, INT32_MAX / 2));
  if (!probe.valid() || setsockopt(probe.get(), SOL_SOCKET, SO_RCVBUFFORCE, &asked, sizeof asked) == 0) {
    return;
  }
  if (const std::uint64_t most = largest_buffer(); most < static_cast<std::uint64_t>(asked)) {
    up.lack("daemon.source.receive_buffer_bytes",
            fmt::format("daemon.source.receive_buffer_bytes: expected {} bytes, found at most {} for this user "
                        "(net.core.rmem_max); sysctl -w net.core.rmem_max={}, or give CAP_NET_ADMIN",
                        asked, most, asked));
  }
}

}  // namespace

void look_at_ports(CheckUp& up) {
  constexpr std::string_view kTcp = "tcp://";
  const DaemonSettings& daemon = *up.settings.daemon;
  if (daemon.source.kind == DaemonSettings::SourceKind::kUdp) {
    look_at_port({"daemon.source.address", daemon.source.address, SOCK_DGRAM, "UDP"}, up);
    const std::string& interface = daemon.source.interface;
    if (!interface.empty() && if_nametoindex(interface.c_str()) == 0) {
      up.problem(
          fmt::format("daemon.source.interface: expected a network interface of this machine, found \"{}\"; "
                      "ip link lists them",
                      interface));
    }
  }
  if (!daemon.metrics.address.empty()) {
    look_at_port({"daemon.metrics.address", daemon.metrics.address}, up);
  }
  if (!daemon.page.address.empty()) {
    look_at_page(daemon.page.address, up);
  }
  if (daemon.publish.zmq.endpoint.starts_with(kTcp)) {
    look_at_port({"daemon.publish.zmq.endpoint", daemon.publish.zmq.endpoint.substr(kTcp.size())}, up);
  }
}

void look_at_socket_buffers(CheckUp& up) {
  if (up.settings.daemon->source.kind == DaemonSettings::SourceKind::kUdp) {
    look_at_receive_buffer(up.settings.daemon->source.receive_buffer_bytes, up);
  }
}

}  // namespace nearfield::control
