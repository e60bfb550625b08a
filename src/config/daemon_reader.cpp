#include <fmt/format.h>
#include <sys/un.h>

#include <algorithm>
#include <charconv>
#include <string_view>

#include "config/settings_reader.hpp"
#include "nearfield/network.hpp"

namespace nearfield {
namespace {

using std::filesystem::path;

constexpr std::int64_t kSmallestReceiveBuffer = 65536;
constexpr std::int64_t kLargestReceiveBuffer = std::int64_t{4} << 30;
constexpr int kLongestReorder = 1 << 24;
constexpr std::int64_t kSmallestRing = 1 << 12;
constexpr std::int64_t kLargestRing = std::int64_t{1} << 26;
constexpr std::int64_t kLargestJump = std::int64_t{1} << 40;
constexpr int kFewestSlots = 2;
constexpr int kMostSlots = 65536;
constexpr std::int64_t kSmallestRecording = 1 << 20;
constexpr std::int64_t kLargestRecording = std::int64_t{1} << 50;
constexpr std::int64_t kSmallestQueue = 1 << 20;
constexpr std::int64_t kLargestQueue = std::int64_t{16} << 30;
constexpr std::uint32_t kHighestMode = 0777;
constexpr int kHighestPriority = 99;
constexpr int kHighestCpu = 1023;
constexpr std::size_t kLongestSocketPath = sizeof(sockaddr_un::sun_path) - 1;

constexpr NumberRule kRate{0.0, 1e5, true, "a rate > 0 Hz, at most 100000 Hz"};
constexpr NumberRule kLevel{0.0, 1e12, true, "a level > 0"};
constexpr NumberRule kHistory{0.0, 60.0, false, "a time from 0 to 60 s"};
constexpr NumberRule kWait{0.0, 86400.0, false, "a time from 0 to 86400 s"};
constexpr NumberRule kDuration{0.0, 1e7, true, "a time > 0 s, at most 1e7 s"};
constexpr NumberRule kDeadline{1.0, 600000.0, false, "a time from 1 to 600000 ms"};
constexpr NumberRule kHoldOff{0.0, 600000.0, false, "a time from 0 to 600000 ms"};

/// The text below `key`, empty where it is the word for none ("off"); problems for an empty text.
std::optional<std::string> text_or_off(YamlMap& map, const std::string& key, const std::string& expected) {
  if (map.is_word(key, "off")) {
    return "";
  }
  std::optional<std::string> text = map.text(key);
  if (text && text->empty()) {
    map.problem(key, expected);
    return std::nullopt;
  }
  return text;
}

/// Keys in Z85 (ZeroMQ RFC 32), 32 bytes each.
std::optional<std::vector<std::string>> read_keys(YamlMap& map, const std::string& key) {
  constexpr std::string_view kZ85 =
      "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ.-:+=^!/*?&<>()[]{}@%$#";
  constexpr std::size_t kCharacters = 40;
  std::optional<std::vector<std::string>> keys = map.texts(key);
  const auto is_key = [&](const std::string& text) {
    return text.size() == kCharacters && text.find_first_not_of(kZ85) == std::string::npos;
  };
  if (keys && !std::all_of(keys->begin(), keys->end(), is_key)) {
    map.problem(key, "keys in Z85, 40 characters each, in quotes");
    return std::nullopt;
  }
  return keys;
}

/// Addresses and networks, as text.
std::optional<std::vector<std::string>> read_networks(YamlMap& map, const std::string& key) {
  std::optional<std::vector<std::string>> texts = map.texts(key);
  const auto is_network = [](const std::string& text) { return parse_network(text).has_value(); };
  if (texts && !std::all_of(texts->begin(), texts->end(), is_network)) {
    map.problem(key, "addresses and networks, such as [192.168.7.5, 192.168.8.0/24, 'fd00::/8']");
    return std::nullopt;
  }
  return texts;
}

std::string absolute(const path& folder, const std::string& text) {
  return std::filesystem::absolute(folder / text).lexically_normal().string();
}

/// A path, absolute; empty for null. Texts that begin with `verbatim` are no paths and stay.
std::optional<std::string> path_or_null(YamlMap& map, const std::string& key, const path& folder,
                                        std::string_view verbatim) {
  if (map.is_null(key)) {
    return "";
  }
  if (map.is_word(key, "")) {
    map.problem(key, "a path or null");
    return std::nullopt;
  }
  std::optional<std::string> text = map.text(key);
  if (text && (verbatim.empty() || !text->starts_with(verbatim))) {
    text = absolute(folder, *text);
  }
  return text;
}

/// A path, empty for off, or the word auto as it is.
std::optional<std::string> read_socket(YamlMap& map, const path& folder) {
  std::optional<std::string> text = text_or_off(map, "socket", "a path, auto or off");
  if (!text || text->empty() || *text == kAutoSocket) {
    return text;
  }
  std::string socket = absolute(folder, *text);
  if (socket.size() > kLongestSocketPath) {
    map.problem("socket", fmt::format("a path of at most {} bytes from the root on", kLongestSocketPath));
    return std::nullopt;
  }
  return socket;
}

std::optional<std::string> read_address(YamlMap& map, const std::string& expected) {
  std::optional<std::string> text = map.text("address");
  if (text && !parse_host_port(*text)) {
    map.problem("address", expected);
    return std::nullopt;
  }
  return text;
}

bool is_endpoint(const std::string& text) {
  constexpr std::string_view kTcp = "tcp://";
  constexpr std::string_view kIpc = "ipc://";
  return (text.starts_with(kTcp) && parse_host_port(std::string_view(text).substr(kTcp.size()))) ||
         (text.starts_with(kIpc) && text.size() > kIpc.size());
}

/// Bytes, or the word for none (off), which is 0.
std::optional<std::int64_t> read_quota(YamlMap& map) {
  if (map.is_word("quota_bytes", "off")) {
    return 0;
  }
  return map.integer64("quota_bytes", kSmallestRecording, kLargestRecording);
}

/// An octal text such as 0660.
std::optional<std::uint32_t> read_mode(YamlMap& map) {
  std::optional<std::string> text = map.text("mode");
  if (!text) {
    return std::nullopt;
  }
  constexpr int kOctal = 8;
  std::uint32_t mode = 0;
  const char* const end = text->data() + text->size();
  const auto [stop, error] = std::from_chars(text->data(), end, mode, kOctal);
  if (error != std::errc{} || stop != end || mode > kHighestMode) {
    map.problem("mode", "an octal file mode from 0 to 0777");
    return std::nullopt;
  }
  return mode;
}

}  // namespace

void SettingsReader::read_daemon(YamlMap map, const path& folder) {
  read_source(map.map("source"), folder);
  read_publish(map.map("publish"), folder);
  read_recording(map.map("recording"), folder);
  read_control(map.map("control"), folder);
  read_metrics(map.map("metrics"));
  read_realtime(map.map("realtime"));
  read_deadlines(map.map("deadlines"));
  read_overload(map.map("overload"));
  read_log(map.map("log"));
  read_no_input(map.map("no_input"));
  map.finish();
}

void SettingsReader::read_source(YamlMap map, const path& folder) {
  using Kind = DaemonSettings::SourceKind;
  using Pace = DaemonSettings::Pace;
  DaemonSettings::Source& source = settings_.daemon.source;
  take_choice(map, "kind", {Kind::kUdp, Kind::kPipe, Kind::kFile, Kind::kSimulate}, source.kind);
  take(map, "address", read_address(map, "HOST:PORT, such as " + DaemonSettings::Source{}.address), source.address);
  take_choice(map, "payload", {DaemonSettings::Payload::kBits, DaemonSettings::Payload::kSamples}, source.payload);
  take(map, "interface", map.is_null("interface") ? std::optional<std::string>("") : map.text("interface"),
       source.interface);
  const bool is_stdin = map.is_word("path", "-");
  take(map, "path", is_stdin ? std::optional<std::string>("-") : path_or_null(map, "path", folder, ""), source.path);
  take(map, "scene", path_or_null(map, "scene", folder, ""), source.scene);
  take_choice(map, "pace", {Pace::kRealtime, Pace::kFast}, source.pace);
  take(map, "loop", map.boolean("loop"), source.loop);
  take(map, "receive_buffer_bytes",
       map.integer64("receive_buffer_bytes", kSmallestReceiveBuffer, kLargestReceiveBuffer),
       source.receive_buffer_bytes);
  take(map, "reorder_bit_times", map.integer("reorder_bit_times", 0, kLongestReorder), source.reorder_bit_times);
  take(map, "ring_bit_times", map.integer64("ring_bit_times", kSmallestRing, kLargestRing), source.ring_bit_times);
  take(map, "allowed_from", read_networks(map, "allowed_from"), source.allowed_from);
  take(map, "require_crc", map.boolean("require_crc"), source.require_crc);
  take(map, "takeover_after_ms", map.number("takeover_after_ms", kDeadline), source.takeover_after_ms);
  take(map, "restart_hold_off_ms", map.number("restart_hold_off_ms", kHoldOff), source.restart_hold_off_ms);
  take(map, "max_jump_bit_times", map.integer64("max_jump_bit_times", 0, kLargestJump), source.max_jump_bit_times);
  map.finish();
}

void SettingsReader::read_publish(YamlMap map, const path& folder) {
  using Reference = DaemonSettings::PhaseReference;
  take_choice(map, "phase_reference", {Reference::kWindow, Reference::kStream},
              settings_.daemon.publish.phase_reference);
  read_ring(map.map("ring"), folder);
  read_zmq(map.map("zmq"), folder);
  map.finish();
}

void SettingsReader::read_ring(YamlMap map, const path& folder) {
  DaemonSettings::Ring& ring = settings_.daemon.publish.ring;
  take(map, "socket", read_socket(map, folder), ring.socket);
  read_access(map, ring.access);
  take(map, "slots", map.integer("slots", kFewestSlots, kMostSlots), ring.slots);
  map.finish();
}

void SettingsReader::read_zmq(YamlMap map, const path& folder) {
  DaemonSettings::Zmq& zmq = settings_.daemon.publish.zmq;
  const std::string expected = "tcp://HOST:PORT, ipc://PATH or off";
  std::optional<std::string> endpoint = text_or_off(map, "endpoint", expected);
  if (endpoint && !endpoint->empty() && !is_endpoint(*endpoint)) {
    map.problem("endpoint", expected);
    endpoint.reset();
  }
  take(map, "endpoint", endpoint, zmq.endpoint);
  take(map, "curve_secret_file", path_or_null(map, "curve_secret_file", folder, "credential:"), zmq.curve_secret_file);
  take(map, "curve_clients", read_keys(map, "curve_clients"), zmq.curve_clients);
  take(map, "max_rate_hz", map.number("max_rate_hz", kRate), zmq.max_rate_hz);
  map.finish();
}

void SettingsReader::read_recording(YamlMap map, const path& folder) {
  using What = DaemonSettings::RecordWhat;
  using Trigger = DaemonSettings::Trigger;
  DaemonSettings::Recording& recording = settings_.daemon.recording;
  take(map, "directory", path_or_null(map, "directory", folder, ""), recording.directory);
  take_choice(map, "what", {What::kBits, What::kImages, What::kBoth}, recording.what);
  take_choice(map, "trigger", {Trigger::kNone, Trigger::kLevel, Trigger::kExternal}, recording.trigger);
  take(map, "level", map.number("level", kLevel), recording.level);
  take(map, "quiet_s", map.number("quiet_s", kWait), recording.quiet_s);
  take(map, "pause_s", map.number("pause_s", kWait), recording.pause_s);
  take(map, "pre_trigger_s", map.number("pre_trigger_s", kHistory), recording.pre_trigger_s);
  take(map, "max_bytes", map.integer64("max_bytes", kSmallestRecording, kLargestRecording), recording.max_bytes);
  take(map, "max_s", map.number("max_s", kDuration), recording.max_s);
  take(map, "quota_bytes", read_quota(map), recording.quota_bytes);
  take(map, "sync_s", map.number("sync_s", kWait), recording.sync_s);
  take(map, "bits_queue_bytes", map.integer64("bits_queue_bytes", kSmallestQueue, kLargestQueue),
       recording.bits_queue_bytes);
  take(map, "images_queue_bytes", map.integer64("images_queue_bytes", kSmallestQueue, kLargestQueue),
       recording.images_queue_bytes);
  map.finish();
}

void SettingsReader::read_control(YamlMap map, const path& folder) {
  take(map, "socket", read_socket(map, folder), settings_.daemon.control.socket);
  read_access(map, settings_.daemon.control.access);
  map.finish();
}

void SettingsReader::read_access(YamlMap& map, DaemonSettings::Access& access) {
  take(map, "mode", read_mode(map), access.mode);
  take(map, "allowed_users", map.texts("allowed_users"), access.allowed_users);
  take(map, "allowed_groups", map.texts("allowed_groups"), access.allowed_groups);
}

void SettingsReader::read_metrics(YamlMap map) {
  const std::optional<std::string> address =
      map.is_word("address", "off")
          ? std::optional<std::string>("")
          : read_address(map, "HOST:PORT, such as " + DaemonSettings::Metrics{}.address + ", or off");
  take(map, "address", address, settings_.daemon.metrics.address);
  map.finish();
}

void SettingsReader::read_realtime(YamlMap map) {
  DaemonSettings::Realtime& realtime = settings_.daemon.realtime;
  take(map, "priority", map.integer("priority", 0, kHighestPriority), realtime.priority);
  take(map, "cpus", map.integers("cpus", 0, kHighestCpu), realtime.cpus);
  take(map, "lock_memory", map.boolean("lock_memory"), realtime.lock_memory);
  map.finish();
}

void SettingsReader::read_deadlines(YamlMap map) {
  take(map, "frame_ms", map.number("frame_ms", kDeadline), settings_.daemon.deadlines.frame_ms);
  map.finish();
}

void SettingsReader::read_overload(YamlMap map) {
  DaemonSettings::Overload& overload = settings_.daemon.overload;
  take(map, "pause_dashboards_ms", map.number("pause_dashboards_ms", kDeadline), overload.pause_dashboards_ms);
  take(map, "pause_recordings_ms", map.number("pause_recordings_ms", kDeadline), overload.pause_recordings_ms);
  take(map, "shed_hops_ms", map.number("shed_hops_ms", kDeadline), overload.shed_hops_ms);
  map.finish();
}

void SettingsReader::read_log(YamlMap map) {
  using Target = DaemonSettings::LogTarget;
  using Level = DaemonSettings::LogLevel;
  take_choice(map, "target", {Target::kAuto, Target::kJournal, Target::kStderr}, settings_.daemon.log.target);
  take_choice(map, "level", {Level::kDebug, Level::kInfo, Level::kWarning, Level::kError}, settings_.daemon.log.level);
  map.finish();
}

void SettingsReader::read_no_input(YamlMap map) {
  DaemonSettings::NoInput& no_input = settings_.daemon.no_input;
  take(map, "after_ms", map.number("after_ms", kDeadline), no_input.after_ms);
  take(map, "is_fault", map.boolean("is_fault"), no_input.is_fault);
  map.finish();
}

}  // namespace nearfield
