#include "control/checks/check.hpp"

#include <fmt/format.h>
#include <net/if.h>
#include <netdb.h>
#include <netinet/in.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/socket.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <future>
#include <memory>
#include <sstream>
#include <utility>

#include "audio/capture.hpp"
#include "config/config.hpp"
#include "config/live_samples.hpp"
#include "control/service/worker.hpp"
#include "core/daemon_settings.hpp"
#include "core/error.hpp"
#include "core/system/files.hpp"
#include "core/system/network.hpp"

namespace nearfield::control {
namespace {

/// Notes the input that the settings alone announce, so that the reader can compare it.
void look_at_input(CheckUp& up) {
  if (takes_live_samples(up.settings.daemon->source)) {
    up.note("daemon.source: " + text_of(live_input_facts(up.settings)));
  }
}

/// Opens the device as the daemon would, which tells what it lacks. One that runs has it already.
void look_at_audio(CheckUp& up) {
  const DaemonSettings::Source& source = up.settings.daemon->source;
  if (source.kind != DaemonSettings::SourceKind::kAudio || up.daemon_runs) {
    return;
  }
  try {
    const audio::Capture capture({.device = source.device,
                                  .sample_rate_hz = sample_rate_of(up.settings),
                                  .microphones = up.settings.array.geometry.channels(),
                                  .channels = up.settings.array.channels});
    up.note(fmt::format("daemon.source.device: {}: {}", source.device, capture.form()));
  } catch (const Error& error) {
    up.problem(error.what());
  }
}

struct Look {
  const char* check;
  void (*look)(CheckUp& up);
};

/// Checks in the order in which findings are printed.
constexpr std::array kLooks = {Look{"input", look_at_input},           Look{"audio", look_at_audio},
                               Look{"sockets", look_at_sockets},       Look{"stale_sockets", look_at_stale_sockets},
                               Look{"ports", look_at_ports},           Look{"socket_buffers", look_at_socket_buffers},
                               Look{"files", look_at_files},           Look{"array", look_at_array},
                               Look{"recordings", look_at_recordings}, Look{"limits", look_at_limits}};

}  // namespace

std::vector<std::string> configuration_problems(const std::string& path, const std::vector<std::string>& overrides) {
  std::vector<std::string> problems;
  try {
    load_daemon_settings(path, overrides);
  } catch (const ConfigError& error) {
    std::istringstream lines(error.what());
    for (std::string line; std::getline(lines, line);) {
      problems.push_back(line);
    }
  }
  return problems;
}

std::vector<Finding> machine_findings(const Settings& settings) {
  CheckUp up{.settings = settings, .daemon_runs = daemon_answers(settings), .findings = {}};
  for (const Look& look : kLooks) {
    const std::size_t before = up.findings.size();
    look.look(up);
    for (std::size_t i = before; i < up.findings.size(); ++i) {
      up.findings[i].check = look.check;
    }
  }
  for (std::string& warning : exposure_warnings(*settings.daemon)) {
    up.findings.push_back({.kind = Finding::Kind::kNote, .text = std::move(warning), .check = "exposure"});
  }
  return up.findings;
}

namespace {

bool is_reachable(const std::string& address) {
  const std::optional<HostPort> target = parse_host_port(address);
  return target && !is_loopback(target->host);
}

}  // namespace

std::vector<std::string> exposure_warnings(const DaemonSettings& daemon) {
  std::vector<std::string> warnings;
  const DaemonSettings::Source& source = daemon.source;
  if (source.kind == DaemonSettings::SourceKind::kUdp && source.allowed_from.empty() && is_reachable(source.address)) {
    warnings.push_back(
        fmt::format("daemon.source.address: {} is reachable from other machines, and packets carry no key: whoever "
                    "reaches the port can send bits that are imaged; name the senders in daemon.source.allowed_from, "
                    "or listen at loopback",
                    source.address));
  }
  if (is_reachable(daemon.metrics.address)) {
    warnings.push_back(fmt::format(
        "daemon.metrics.address: {} is reachable from other machines, and metrics have neither password nor "
        "encryption: whoever reaches the port can read them; set daemon.metrics.address: 127.0.0.1:9187 and "
        "put a proxy before it, or off",
        daemon.metrics.address));
  }
  if (is_reachable(daemon.page.address)) {
    warnings.push_back(fmt::format(
        "daemon.page.address: {} is reachable from other machines, and nothing is encrypted: whoever listens on the "
        "way "
        "can read pictures and the token; set daemon.page.address: 127.0.0.1:7232 and put a proxy with TLS before it, "
        "or use ssh -L",
        daemon.page.address));
  }
  return warnings;
}

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
  for (const addrinfo* one = addresses.get(); one != nullptr; one = one->ai_next) {
    const FileDescriptor probe(socket(one->ai_family, port.type | SOCK_CLOEXEC, 0));
    const int on = 1;
    if (probe.valid() && (port.type == SOCK_STREAM || is_multicast(*one))) {
      setsockopt(probe.get(), SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
    }
    if (probe.valid() && bind(probe.get(), one->ai_addr, one->ai_addrlen) == 0) {
      return;
    }
    error = errno;
    if (port.type != SOCK_STREAM || !is_address_elsewhere(error)) {
      break;
    }
  }
  if (error == EADDRINUSE) {
    up.taken(fmt::format("{}: {} port {} is taken", port.key, port.word, port.address));
  } else {
    up.problem(fmt::format("{}: expected an address to listen at, found {}: {}", port.key, port.address,
                           std::strerror(error)));
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

namespace {

/// Descriptors for 64 readers of the ring, 16 control connections, the metrics' server, the device's driver and the
/// daemon's own.
constexpr rlim_t kFewestDescriptors = 192;

}  // namespace

void look_at_limits(CheckUp& up) {
  const DaemonSettings::Realtime& realtime = up.settings.daemon->realtime;
  // On a separate thread, since the priority ends with it.
  for (std::string& lack : std::async(std::launch::async, [&] { return apply_realtime(realtime); }).get()) {
    up.problem(std::move(lack));
  }
  if (realtime.lock_memory) {
    munlockall();
  }
  rlimit descriptors{};
  if (getrlimit(RLIMIT_NOFILE, &descriptors) == 0 && descriptors.rlim_cur < kFewestDescriptors) {
    up.problem(
        fmt::format("open files: expected a limit of at least {}, for readers and clients, found {}; ulimit -n {}, "
                    "or LimitNOFILE of the unit",
                    kFewestDescriptors, descriptors.rlim_cur, kFewestDescriptors));
  }
}

}  // namespace nearfield::control
