#include "config/daemon_section.hpp"

#include <algorithm>
#include <utility>

#include "config/yaml_text.hpp"

namespace nearfield {
namespace {

std::string or_word(const std::string& text, const std::string& word) { return text.empty() ? word : quoted(text); }

std::string text_list(const std::vector<std::string>& texts) {
  std::vector<std::string> all(texts.size());
  std::transform(texts.begin(), texts.end(), all.begin(), quoted);
  return list(all);
}

std::string source_section(const DaemonSettings::Source& source) {
  return fmt::format(
      "  source:\n"
      "    kind: {}\n"
      "    payload: {}\n"
      "    address: {}\n"
      "    interface: {}\n"
      "    path: {}\n"
      "    scene: {}\n"
      "    pace: {}\n"
      "    loop: {}\n"
      "    receive_buffer_bytes: {}\n"
      "    reorder_bit_times: {}\n"
      "    ring_bit_times: {}\n"
      "    allowed_from: {}\n"
      "    require_crc: {}\n"
      "    takeover_after_ms: {}\n"
      "    restart_hold_off_ms: {}\n"
      "    max_jump_bit_times: {}\n",
      name_of(source.kind), name_of(source.payload), quoted(source.address), or_word(source.interface, "null"),
      or_word(source.path, "null"), or_word(source.scene, "null"), name_of(source.pace), source.loop,
      source.receive_buffer_bytes, source.reorder_bit_times, source.ring_bit_times, text_list(source.allowed_from),
      source.require_crc, source.takeover_after_ms, source.restart_hold_off_ms, source.max_jump_bit_times);
}

/// The keys of a socket, each line behind `indent`.
std::string socket_keys(const std::string& indent, const std::string& socket, const DaemonSettings::Access& access) {
  return fmt::format(
      "{0}socket: {1}\n"
      "{0}mode: \"{2:04o}\"\n"
      "{0}allowed_users: {3}\n"
      "{0}allowed_groups: {4}\n",
      indent, or_word(socket, "off"), access.mode, text_list(access.allowed_users), text_list(access.allowed_groups));
}

std::string publish_section(const DaemonSettings::Publish& publish) {
  const std::string ring = socket_keys("      ", publish.ring.socket, publish.ring.access);
  return fmt::format(
      "  publish:\n"
      "    phase_reference: {}\n"
      "    ring:\n"
      "{}"
      "      slots: {}\n"
      "    zmq:\n"
      "      endpoint: {}\n"
      "      curve_secret_file: {}\n"
      "      curve_clients: {}\n"
      "      max_rate_hz: {}\n",
      name_of(publish.phase_reference), ring, publish.ring.slots, or_word(publish.zmq.endpoint, "off"),
      or_word(publish.zmq.curve_secret_file, "null"), text_list(publish.zmq.curve_clients), publish.zmq.max_rate_hz);
}

std::string recording_section(const DaemonSettings::Recording& recording) {
  return fmt::format(
      "  recording:\n"
      "    directory: {}\n"
      "    what: {}\n"
      "    trigger: {}\n"
      "    level: {}\n"
      "    quiet_s: {}\n"
      "    pause_s: {}\n"
      "    pre_trigger_s: {}\n"
      "    max_bytes: {}\n"
      "    max_s: {}\n"
      "    quota_bytes: {}\n"
      "    sync_s: {}\n"
      "    bits_queue_bytes: {}\n"
      "    images_queue_bytes: {}\n",
      or_word(recording.directory, "null"), name_of(recording.what), name_of(recording.trigger), recording.level,
      recording.quiet_s, recording.pause_s, recording.pre_trigger_s, recording.max_bytes, recording.max_s,
      recording.quota_bytes == 0 ? "off" : fmt::format("{}", recording.quota_bytes), recording.sync_s,
      recording.bits_queue_bytes, recording.images_queue_bytes);
}

std::string operation_sections(const DaemonSettings& daemon) {
  return fmt::format(
      "  realtime:\n"
      "    priority: {}\n"
      "    cpus: {}\n"
      "    lock_memory: {}\n"
      "  deadlines:\n"
      "    frame_ms: {}\n"
      "  overload:\n"
      "    pause_dashboards_ms: {}\n"
      "    pause_recordings_ms: {}\n"
      "    shed_hops_ms: {}\n"
      "  log:\n"
      "    target: {}\n"
      "    level: {}\n"
      "  no_input:\n"
      "    after_ms: {}\n"
      "    is_fault: {}\n",
      daemon.realtime.priority, list(daemon.realtime.cpus), daemon.realtime.lock_memory, daemon.deadlines.frame_ms,
      daemon.overload.pause_dashboards_ms, daemon.overload.pause_recordings_ms, daemon.overload.shed_hops_ms,
      name_of(daemon.log.target), name_of(daemon.log.level), daemon.no_input.after_ms, daemon.no_input.is_fault);
}

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

std::string daemon_section(const DaemonSettings& daemon) {
  return "daemon:\n" + source_section(daemon.source) + publish_section(daemon.publish) +
         recording_section(daemon.recording) + "  control:\n" +
         socket_keys("    ", daemon.control.socket, daemon.control.access) +
         fmt::format("  metrics:\n    address: {}\n", or_word(daemon.metrics.address, "off")) +
         operation_sections(daemon);
}

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
