#include <fmt/format.h>
#include <sys/stat.h>
#include <yaml-cpp/yaml.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <optional>
#include <utility>

#include "config/config.hpp"
#include "config/live_samples.hpp"
#include "config/premises.hpp"
#include "config/schema/section.hpp"
#include "core/daemon_settings.hpp"

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
  const bool is_audio = source.kind == SourceKind::kAudio;
  if (source.sample_rate_hz && !takes_live_samples(source) && is_settled("daemon.source.payload")) {
    found.push_back({"daemon.source.sample_rate_hz", "",
                     fmt::format("expected a source of kind audio, or udp or pipe with payload samples, whose rate it "
                                 "is, found kind {} and payload {}",
                                 name_of(source.kind), name_of(source.payload))});
  }
  if (!source.sample_rate_hz && takes_live_samples(source) && is_settled("daemon.source.sample_rate_hz")) {
    found.push_back({"daemon.source.sample_rate_hz", "",
                     fmt::format("expected how many samples of a channel come a second, such as 48000, as {}, found "
                                 "nothing",
                                 is_audio ? "the source is an audio device" : "daemon.source.payload is samples")});
  }
  const bool takes_format = source.kind == SourceKind::kPipe && source.payload == DaemonSettings::Payload::kSamples;
  if (source.format != SampleFormat::kF32 && !takes_format && is_settled("daemon.source.payload")) {
    found.push_back({"daemon.source.format", "",
                     fmt::format("expected a source of kind pipe with payload samples, whose type it is, found kind {} "
                                 "and payload {}; packets carry float32, and an audio device says its own",
                                 name_of(source.kind), name_of(source.payload))});
  }
  if (is_audio && source.device.empty() && is_settled("daemon.source.device")) {
    found.push_back({"daemon.source.device", "",
                     "a source of kind audio expects a device of ALSA, such as hw:UMA16, found nothing; `nearfield "
                     "devices --audio` lists them"});
  }
  if (source.kind == SourceKind::kSimulate && source.scene.empty() && is_settled("daemon.source.scene")) {
    found.push_back({"daemon.source.scene", "", "a source of kind simulate expects a scene, found nothing"});
  }
}

/// Host of an endpoint that other machines can reach; empty for other endpoints.
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

void check_page(const DaemonSettings::Page& page, std::vector<Contradiction>& found) {
  const std::optional<HostPort> target = parse_host_port(page.address);
  if (target && !is_loopback(target->host) && page.token_file.empty()) {
    found.push_back(
        {"daemon.page.address", "",
         fmt::format("expected loopback, such as 127.0.0.1:7232, as long as daemon.page.token_file names no "
                     "file with a token; found {}",
                     page.address)});
  }
}

/// A level or limit trigger that can never start a recording would fail silently.
void check_recording(const DaemonSettings::Recording& recording, std::vector<Contradiction>& found) {
  const bool is_by_rise =
      recording.trigger == DaemonSettings::Trigger::kLevel || recording.trigger == DaemonSettings::Trigger::kLimit;
  if (is_by_rise && recording.directory.empty()) {
    found.push_back({"daemon.recording.directory", "",
                     fmt::format("expected a folder, as daemon.recording.trigger is {}, found nothing",
                                 name_of(recording.trigger))});
  }
  if (recording.max_age_s > 0.0 && !recording.remove_oldest) {
    found.push_back(
        {"daemon.recording.max_age_s", "",
         "expected daemon.recording.remove_oldest to be true, without which nothing is removed; found false"});
  }
  // The newest recording is never removed: a larger one would leave no space for the next.
  if (recording.remove_oldest && recording.quota_bytes > 0 && recording.max_bytes > recording.quota_bytes / 2) {
    found.push_back({"daemon.recording.max_bytes", "",
                     fmt::format("expected at most half of daemon.recording.quota_bytes, {}, as remove_oldest is true; "
                                 "found {}",
                                 recording.quota_bytes / 2, recording.max_bytes)});
  }
}

/// Dashboards are paused first; the two figures determine whether hops or recordings are next.
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

bool is_name_of_limit(const std::string& name) {
  constexpr std::size_t kLongest = 31;
  const auto fits = [](char c) { return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '_'; };
  return !name.empty() && name.size() <= kLongest && name.front() >= 'a' && name.front() <= 'z' &&
         std::all_of(name.begin(), name.end(), fits);
}

bool has_processor(const Settings& settings, const std::string& name) {
  return (name == kFirstProcessor && settings.holography.imager != ImagerKind::kNone) ||
         std::any_of(settings.processors.begin(), settings.processors.end(),
                     [&](const ProcessorSettings& processor) { return processor.name == name; });
}

void check_limit(const Settings& settings, const DaemonSettings::Limit& limit, const IsSettled& is_settled,
                 std::vector<Contradiction>& found) {
  const std::string path = "daemon.limits." + limit.name;
  if (!is_name_of_limit(limit.name)) {
    found.push_back({path, "", "expected a name of at most 31 lower-case letters, digits and _, a letter first"});
  }
  if (!has_processor(settings, limit.processor) && is_settled(path + ".processor")) {
    found.push_back(
        {path + ".processor", "",
         fmt::format("expected {}a processor of the section processors, found \"{}\"",
                     settings.holography.imager == ImagerKind::kNone ? "" : fmt::format("{} or ", kFirstProcessor),
                     limit.processor)});
  }
  if (limit.above.has_value() == limit.above_db.has_value() && is_settled(path + ".above") &&
      is_settled(path + ".above_db")) {
    found.push_back(
        {path, "", fmt::format("expected either above or above_db, found {}", limit.above ? "both" : "neither")});
  }
  if (limit.point_m && limit.region_m) {
    found.push_back({path, "", "expected point_m, region_m or neither, found both"});
  }
  if (!limit.column.empty() && limit.statistic != DaemonSettings::Statistic::kMax) {
    found.push_back({path + ".statistic", "", "expected max beside column, as a table has no mean, found mean"});
  }
}

}  // namespace

void check_limits(const Settings& settings, const IsSettled& is_settled, std::vector<Contradiction>& found) {
  constexpr std::size_t kMost = 64;
  const std::vector<DaemonSettings::Limit>& limits = settings.daemon->limits;
  if (limits.size() > kMost) {
    found.push_back({"daemon.limits", "", fmt::format("expected at most {}, found {}", kMost, limits.size())});
  }
  for (const DaemonSettings::Limit& limit : limits) {
    check_limit(settings, limit, is_settled, found);
  }
  const bool is_triggered = settings.daemon->recording.trigger == DaemonSettings::Trigger::kLimit;
  const auto recorded =
      std::find_if(limits.begin(), limits.end(), [](const DaemonSettings::Limit& limit) { return limit.record; });
  if (is_settled("daemon.recording.trigger") && is_triggered && recorded == limits.end()) {
    found.push_back(
        {"daemon.recording.trigger", "", "limit expects one of daemon.limits with record: true, found none"});
  }
  if (is_settled("daemon.recording.trigger") && !is_triggered && recorded != limits.end()) {
    found.push_back({"daemon.limits." + recorded->name + ".record", "",
                     fmt::format("true expects daemon.recording.trigger: limit, found {}",
                                 name_of(settings.daemon->recording.trigger))});
  }
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
  if (settled({"daemon.page.address", "daemon.page.token_file"})) {
    check_page(daemon.page, found);
  }
  if (settled({"daemon.recording.trigger", "daemon.recording.directory"})) {
    check_recording(daemon.recording, found);
  }
  if (settled({"daemon.overload.pause_dashboards_ms", "daemon.overload.pause_recordings_ms",
               "daemon.overload.shed_hops_ms"})) {
    check_overload(daemon.overload, found);
  }
}

namespace {

using LookUp = std::optional<std::uint32_t> (*)(const std::string& name);

void check_names(const std::vector<std::string>& names, const std::string& key, LookUp look_up,
                 std::vector<Contradiction>& found) {
  for (std::size_t i = 0; i < names.size(); ++i) {
    if (!look_up(names[i])) {
      found.push_back({key, fmt::format("[{}]", i),
                       fmt::format("expected one of this system's names, or a number, found \"{}\"", names[i])});
    }
  }
}

void check_access(const DaemonSettings::Access& access, const std::string& key, std::vector<Contradiction>& found) {
  check_names(access.allowed_users, key + ".allowed_users", user_id, found);
  check_names(access.allowed_groups, key + ".allowed_groups", group_id, found);
}

void check_file(const std::string& path, const std::string& key, const IsSettled& is_settled,
                std::vector<Contradiction>& found) {
  const bool names_file = !path.empty() && path != "-" && !path.starts_with("credential:");
  struct stat status {};
  if (!names_file || !is_settled(key) || stat(path.c_str(), &status) == 0) {
    return;
  }
  found.push_back({key, "",
                   errno == ENOENT ? fmt::format("expected an existing file, found none at {}", path)
                                   : fmt::format("expected a file that this user may reach at {}, found: {}", path,
                                                 std::strerror(errno))});
}

}  // namespace

std::vector<PathOfProcessor> paths_of_processors(const Settings& settings) {
  Settings described = settings;
  const schema::Section section = schema::describe(described);
  std::vector<PathOfProcessor> paths;
  for (const schema::NamedSetting& setting : schema::all_settings(section)) {
    const bool is_of_processor = setting.key.starts_with("holography.") || setting.key.starts_with("processors.");
    if (is_of_processor && setting.entry->facts.type == "path") {
      const YAML::Node value = YAML::Load(setting.entry->written());
      if (value.IsScalar() && !value.Scalar().empty()) {
        paths.push_back({.key = setting.key, .path = value.Scalar()});
      }
    }
  }
  return paths;
}

std::vector<Contradiction> missing_here(const Settings& settings, const IsSettled& is_settled) {
  const DaemonSettings& daemon = *settings.daemon;
  std::vector<Contradiction> found;
  check_access(daemon.publish.ring.access, "daemon.publish.ring", found);
  check_access(daemon.control.access, "daemon.control", found);
  if (settings.holography.imager == ImagerKind::kNone && settings.processors.empty()) {
    found.push_back({"processors", "", "expected at least one with holography.imager: none, found none"});
  }
  check_file(settings.array.calibration_path, "array.calibration", is_settled, found);
  for (const PathOfProcessor& one : paths_of_processors(settings)) {
    check_file(one.path, one.key, is_settled, found);
  }
  const DaemonSettings::SourceKind kind = daemon.source.kind;
  if (kind == DaemonSettings::SourceKind::kPipe || kind == DaemonSettings::SourceKind::kFile) {
    check_file(daemon.source.path, "daemon.source.path", is_settled, found);
  }
  if (kind == DaemonSettings::SourceKind::kSimulate) {
    check_file(daemon.source.scene, "daemon.source.scene", is_settled, found);
  }
  if (!daemon.publish.zmq.endpoint.empty()) {
    check_file(daemon.publish.zmq.curve_secret_file, "daemon.publish.zmq.curve_secret_file", is_settled, found);
  }
  if (!daemon.page.address.empty()) {
    check_file(daemon.page.token_file, "daemon.page.token_file", is_settled, found);
  }
  return found;
}

}  // namespace nearfield
