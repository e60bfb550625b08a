#include "config/daemon_rules.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace nearfield {
namespace {

using Source = DaemonSettings::Source;
using SourceKind = DaemonSettings::SourceKind;

void check_source(const Source& source, const IsSettled& is_settled, std::vector<Contradiction>& found) {
  const bool wants_path = source.kind == SourceKind::kPipe || source.kind == SourceKind::kFile;
  if (wants_path && source.path.empty() && is_settled("daemon.source.path")) {
    found.push_back({"daemon.source.path", "",
                     fmt::format("a source of kind {} expects {}, found nothing", name_of(source.kind),
                                 source.kind == SourceKind::kPipe ? "a named pipe, or - for stdin" : "a capture")});
  }
  if (source.kind == SourceKind::kFile && source.path == "-" && is_settled("daemon.source.path")) {
    found.push_back({"daemon.source.path", "", "a source of kind file expects a capture, found \"-\"; use kind pipe"});
  }
  if (source.kind == SourceKind::kSimulate && source.scene.empty() && is_settled("daemon.source.scene")) {
    found.push_back({"daemon.source.scene", "", "a source of kind simulate expects a scene, found nothing"});
  }
}

/// Empty for an endpoint that only this machine reaches; else its host.
std::string outside_host(const std::string& endpoint) {
  constexpr std::string_view kTcp = "tcp://";
  if (!endpoint.starts_with(kTcp)) {
    return "";
  }
  const std::optional<HostPort> target = parse_host_port(std::string_view(endpoint).substr(kTcp.size()));
  return target && !is_loopback(target->host) ? target->host : "";
}

void check_zmq(const DaemonSettings::Zmq& zmq, std::vector<Contradiction>& found) {
  if (const std::string host = outside_host(zmq.endpoint); !host.empty() && zmq.curve_secret_file.empty()) {
    found.push_back({"daemon.publish.zmq.endpoint", "",
                     fmt::format("expected loopback, such as tcp://127.0.0.1:7231, as long as "
                                 "daemon.publish.zmq.curve_secret_file names no key; found {}",
                                 host)});
  }
  if (!zmq.curve_secret_file.empty() && zmq.curve_clients.empty()) {
    found.push_back({"daemon.publish.zmq.curve_clients", "",
                     "expected the public keys of those who may subscribe, found none; CURVE alone lets in every "
                     "client that has a key, whichever"});
  }
  if (zmq.curve_secret_file.empty() && !zmq.curve_clients.empty()) {
    found.push_back({"daemon.publish.zmq.curve_secret_file", "",
                     "expected the server's secret key, as curve_clients names who may subscribe; found none"});
  }
}

/// Dashboards go first; whether hops or recordings go next is the user's choice, by the two figures.
void check_overload(const DaemonSettings::Overload& overload, std::vector<Contradiction>& found) {
  for (const auto& [key, limit_ms] : {std::pair{"daemon.overload.pause_recordings_ms", overload.pause_recordings_ms},
                                      {"daemon.overload.shed_hops_ms", overload.shed_hops_ms}}) {
    if (limit_ms < overload.pause_dashboards_ms) {
      found.push_back({key, "",
                       fmt::format("expected at least pause_dashboards_ms, {}, as dashboards go first; found {}",
                                   overload.pause_dashboards_ms, limit_ms)});
    }
  }
}

}  // namespace

void check_daemon(const DaemonSettings& daemon, const IsSettled& is_settled, std::vector<Contradiction>& found) {
  const auto settled = [&](std::initializer_list<std::string_view> keys) {
    return std::all_of(keys.begin(), keys.end(), is_settled);
  };
  if (settled({"daemon.source.kind"})) {
    check_source(daemon.source, is_settled, found);
  }
  if (settled({"daemon.source.reorder_bit_times", "daemon.source.ring_bit_times"}) &&
      daemon.source.reorder_bit_times >= daemon.source.ring_bit_times) {
    found.push_back({"daemon.source.reorder_bit_times", "",
                     fmt::format("expected less than ring_bit_times, {}, found {}", daemon.source.ring_bit_times,
                                 daemon.source.reorder_bit_times)});
  }
  if (settled({"daemon.publish.zmq.endpoint", "daemon.publish.zmq.curve_secret_file",
               "daemon.publish.zmq.curve_clients"})) {
    check_zmq(daemon.publish.zmq, found);
  }
  if (settled({"daemon.overload.pause_dashboards_ms", "daemon.overload.pause_recordings_ms",
               "daemon.overload.shed_hops_ms"})) {
    check_overload(daemon.overload, found);
  }
}

}  // namespace nearfield
