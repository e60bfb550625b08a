#include "control/socket/exposure.hpp"

#include <fmt/format.h>

#include "core/daemon_settings.hpp"

namespace nearfield::control {
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

}  // namespace nearfield::control
