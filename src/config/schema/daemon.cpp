#include <fmt/format.h>
#include <sys/un.h>

#include <algorithm>

#include "config/schema/section.hpp"
#include "config/words.hpp"
#include "core/daemon_settings.hpp"
#include "core/system/network.hpp"

namespace nearfield::schema {
namespace {

using std::filesystem::path;

constexpr std::int64_t kMebibyte = std::int64_t{1} << 20;
constexpr std::int64_t kGibibyte = std::int64_t{1} << 30;
constexpr std::int64_t kSmallestReceiveBuffer = 65536;
constexpr std::int64_t kLargestReceiveBuffer = 4 * kGibibyte;
constexpr int kLongestReorder = 1 << 24;
constexpr std::int64_t kSmallestRing = 1 << 12;
constexpr std::int64_t kLargestRing = std::int64_t{1} << 26;
constexpr std::int64_t kLargestJump = std::int64_t{1} << 40;
constexpr double kLowestSampleRate_hz = 1.0;
constexpr double kHighestSampleRate_hz = 1e7;
constexpr int kFewestSlots = 2;
constexpr int kMostSlots = 65536;
constexpr std::int64_t kSmallestRecording = kMebibyte;
constexpr double kLongestAge_s = 1e10;
constexpr std::int64_t kLargestRecording = std::int64_t{1} << 50;
constexpr std::int64_t kSmallestQueue = kMebibyte;
constexpr std::int64_t kLargestQueue = 16 * kGibibyte;
constexpr int kHighestPriority = 99;
constexpr int kHighestCpu = 1023;
constexpr double kMostPollUs = 1e6;
constexpr std::size_t kLongestSocketPath = sizeof(sockaddr_un::sun_path) - 1;

constexpr Range kWait{.what = "a time from", .maximum = 86400.0, .unit = "s"};
constexpr Range kLimit{.what = "a time from", .minimum = 1.0, .maximum = 600000.0, .unit = "ms"};

/// Keys in Z85 (ZeroMQ RFC 32), 32 bytes each.
Form<std::vector<std::string>> curve_keys() {
  const auto are_keys = [](const std::vector<std::string>& keys) {
    constexpr std::string_view kZ85 =
        "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ.-:+=^!/*?&<>()[]{}@%$#";
    constexpr std::size_t kCharacters = 40;
    return std::all_of(keys.begin(), keys.end(), [&](const std::string& key) {
      return key.size() == kCharacters && key.find_first_not_of(kZ85) == std::string::npos;
    });
  };
  return ranging(where(texts(), are_keys, "keys in Z85, 40 characters each, in quotes"), "40 characters of Z85 each");
}

Form<std::vector<std::string>> networks() {
  const auto are_networks = [](const std::vector<std::string>& texts) {
    return std::all_of(texts.begin(), texts.end(),
                       [](const std::string& text) { return parse_network(text).has_value(); });
  };
  return where(texts(), are_networks, "addresses and networks, such as [192.168.7.5, 192.168.8.0/24, 'fd00::/8']");
}

/// The path of a UNIX socket; the word auto is stored unchanged, off as an empty text. `automatic` is the meaning of
/// auto.
Form<std::string> socket_path(const std::string& automatic) {
  Form<std::string> form = where(
      text(), [](const std::string& value) { return !value.empty(); }, "a path, auto or off");
  form.facts.type = "path";
  form.facts.range = fmt::format("at most {} bytes", kLongestSocketPath);
  form.facts.words.push_back({std::string(kAutoSocket), automatic});
  form.read = [read = std::move(form.read)](YamlMap& map, const std::string& key,
                                            const path& folder) -> std::optional<std::string> {
    std::optional<std::string> value = read(map, key, folder);
    if (!value || *value == kAutoSocket) {
      return value;
    }
    value = std::filesystem::absolute(folder / *value).lexically_normal().string();
    if (value->size() > kLongestSocketPath) {
      map.problem(key, fmt::format("a path of at most {} bytes from the root on", kLongestSocketPath));
      value.reset();
    }
    return value;
  };
  return or_word({"off", "none"}, "", std::move(form));
}

bool is_endpoint(const std::string& text) {
  constexpr std::string_view kTcp = "tcp://";
  constexpr std::string_view kIpc = "ipc://";
  return (text.starts_with(kTcp) && parse_host_port(std::string_view(text).substr(kTcp.size()))) ||
         (text.starts_with(kIpc) && text.size() > kIpc.size());
}

Form<std::string> endpoint() {
  return or_word({"off", "none"}, "", where(text(), is_endpoint, "tcp://HOST:PORT, ipc://PATH or off"));
}

void describe(Section& section, DaemonSettings::Source& source) {
  using Daemon = DaemonSettings;
  section.add("kind", source.kind,
              choice<Daemon::SourceKind>({{Daemon::SourceKind::kUdp, "packets"},
                                          {Daemon::SourceKind::kPipe, "wire words or samples"},
                                          {Daemon::SourceKind::kAudio, "a sound card or USB array, by ALSA"},
                                          {Daemon::SourceKind::kFile, "a capture"},
                                          {Daemon::SourceKind::kSimulate, "a scene"}}),
              "what is read");
  section.add("payload", source.payload,
              choice<Daemon::Payload>({{Daemon::Payload::kBits, "one a microphone and bit-time"},
                                       {Daemon::Payload::kSamples,
                                        "one of every channel at sample_rate_hz, in units of array.pascal_per_unit, "
                                        "such as of a sound card or decimated by an FPGA"}}),
              "what udp and pipe carry");
  section.add(
      "sample_rate_hz", source.sample_rate_hz,
      or_none(number({"a rate from", kLowestSampleRate_hz, kHighestSampleRate_hz, "Hz"}), "not given"),
      "how many samples of a channel come a second, 48000 of most sound cards; required by audio, and by udp and "
      "pipe with payload samples");
  section.add("format", source.format,
              choice<SampleFormat>({{SampleFormat::kF32, "float32"},
                                    {SampleFormat::kS16, "full scale is 1, as of all integers"},
                                    {SampleFormat::kS24, "three bytes"},
                                    {SampleFormat::kS32, ""}}),
              "pipe with payload samples: their type, little-endian");
  section.add("device", source.device, or_null(text(), "none"),
              "audio: a device of ALSA, such as hw:UMA16; `nearfield devices --audio` lists them");
  section.add(
      "address", source.address, host_port("HOST:PORT, such as " + DaemonSettings::Source{}.address),
      "udp: HOST:PORT to listen at, or [IPV6]:PORT; 0.0.0.0:7230 listens on every interface; or a multicast group "
      "and its port");
  section.add("interface", source.interface, or_null(text(), "any"),
              "udp: the network interface on which a multicast group is joined, such as eth1");
  section.add("path", source.path, path_or_null("none", [](const std::string& path) { return path == "-"; }),
              "pipe: a named pipe, or - for stdin; file: a capture, time data or a recording of samples");
  section.add("scene", source.scene, path_or_null("none"), "simulate: a scene, YAML");
  section.add("pace", source.pace,
              choice<Daemon::Pace>({{Daemon::Pace::kRealtime, ""}, {Daemon::Pace::kFast, "as fast as it goes"}}),
              "how fast file and simulate deliver");
  section.add("loop", source.loop, boolean(), "file: begin again at its end");
  section.add("receive_buffer_bytes", source.receive_buffer_bytes,
              integer64(kSmallestReceiveBuffer, kLargestReceiveBuffer, "bytes"),
              "udp: size of the socket's buffer (net.core.rmem_max bounds it without privilege)");
  section.add("reorder_bit_times", source.reorder_bit_times, integer(0, kLongestReorder, "bit-times"),
              "udp: how far behind the newest bit a packet may still come");
  section.add(
      "ring_bit_times", source.ring_bit_times, integer64(kSmallestRing, kLargestRing, "bit-times"),
      "bits in host memory between the source and the engine, or front_end.decimation times as many as samples");
  section.add("allowed_from", source.allowed_from, networks(),
              "udp: addresses and networks that may send, such as [192.168.7.5, 192.168.8.0/24]; []: any");
  section.add("require_crc", source.require_crc, boolean(), "udp: true refuses packets without a CRC");
  section.add("takeover_after_ms", source.takeover_after_ms, number(kLimit),
              "udp: how long a stream must be silent before another one may begin");
  section.add("restart_hold_off_ms", source.restart_hold_off_ms,
              number({.what = "a time from", .maximum = 600000.0, .unit = "ms"}),
              "udp: how long after a stream's start no other one may begin");
  section.add("max_jump_bit_times", source.max_jump_bit_times, integer64(0, kLargestJump, "bit-times"),
              "udp: the longest gap in a stream's clock, forward or back");
}

void describe(Section& section, DaemonSettings::Access& access) {
  section.add("allowed_users", access.allowed_users, texts(),
              "names or numbers, beside root and the daemon's own user");
  section.add("allowed_groups", access.allowed_groups, texts(), "names or numbers; supplementary groups count");
}

void describe(Section& section, DaemonSettings::Ring& ring) {
  section.add("socket", ring.socket,
              socket_path("/run/nearfield/frames.sock, or $XDG_RUNTIME_DIR/nearfield/frames.sock of a user who is not "
                          "root, or $NEARFIELD_RUNTIME_DIR/frames.sock where that is set, where readers look by "
                          "themselves"),
              "where readers look for it");
  describe(section, ring.access);
  section.add("slots", ring.slots, integer(kFewestSlots, kMostSlots, "frames"),
              "how far a slow reader may lag behind; at least 4 are made, and no more than 256 MiB hold");
}

void describe(Section& section, DaemonSettings::Zmq& zmq) {
  section.add("endpoint", zmq.endpoint, endpoint(),
              "tcp://HOST:PORT or ipc://PATH; beyond loopback only with a CURVE key");
  section.add("curve_secret_file", zmq.curve_secret_file,
              path_or_null("none", [](const std::string& path) { return path.starts_with("credential:"); }),
              "the server's secret key, Z85; credential:NAME takes it from systemd's credentials");
  section.add("curve_clients", zmq.curve_clients, curve_keys(),
              "with a secret key: public keys of those who may subscribe, each in quotes");
  section.add("max_rate_hz", zmq.max_rate_hz,
              number({.what = "a rate", .maximum = 1e5, .unit = "Hz", .open_minimum = true}),
              "frames a second at most");
}

void describe(Section& section, DaemonSettings::Publish& publish) {
  using Reference = DaemonSettings::PhaseReference;
  section.add("phase_reference", publish.phase_reference,
              choice<Reference>(
                  {{Reference::kWindow, "the window's first bit"},
                   {Reference::kStream, "bit-time 0, so that phasors of a steady tone do not turn from hop to hop"}}),
              "where phases count from");
  describe(section.section("ring", "Shared memory for controllers on this host."), publish.ring);
  describe(
      section.section("zmq", "ZeroMQ PUB for dashboards and loggers: the newest hologram, never a queue of old ones."),
      publish.zmq);
}

void describe_trigger(Section& section, DaemonSettings::Recording& recording) {
  using Trigger = DaemonSettings::Trigger;
  section.add("trigger", recording.trigger,
              choice<Trigger>({{Trigger::kNone, "from `ctl record start`"},
                               {Trigger::kLevel, "from an image above the level"},
                               {Trigger::kExternal, "from `ctl record trigger`"},
                               {Trigger::kLimit, "from a limit of daemon.limits with record: true"}}),
              "what begins a recording");
  section.add("level", recording.level, number({.what = "a level", .maximum = 1e12, .open_minimum = true}),
              "of the level trigger: largest magnitude of an image, or largest intensity, in its unit");
  section.add(
      "quiet_s", recording.quiet_s, number(kWait),
      "of the triggers level and limit: the level must not have been exceeded for so long before a rise begins a "
      "recording, and so long below it ends one");
  section.add("pause_s", recording.pause_s, number(kWait),
              "of the triggers level and limit: from a recording's end until a rise may begin the next");
  section.add("pre_trigger_s", recording.pre_trigger_s, number({.what = "a time from", .maximum = 60.0, .unit = "s"}),
              "history in memory that a trigger saves too");
}

void describe(Section& section, DaemonSettings::Recording& recording) {
  using What = DaemonSettings::RecordWhat;
  section.add("directory", recording.directory, path_or_null("nothing can be recorded"), "folder of the files");
  section.add("what", recording.what, choice<What>({{What::kBits, ""}, {What::kImages, ""}, {What::kBoth, ""}}),
              "what is recorded; of live samples bits are the samples");
  describe_trigger(section, recording);
  section.add("max_bytes", recording.max_bytes, integer64(kSmallestRecording, kLargestRecording, "bytes"),
              "size of one recording");
  section.add("max_s", recording.max_s, number({.what = "a time", .maximum = 1e7, .unit = "s", .open_minimum = true}),
              "length of one recording");
  section.add(
      "quota_bytes", recording.quota_bytes,
      or_word({"off", "no quota"}, 0, integer64(kSmallestRecording, kLargestRecording, "bytes")),
      "size of all recordings (*.nfr) in the directory: once they have it, the recording ends and no other begins, "
      "unless older ones may be removed");
  section.add(
      "remove_oldest", recording.remove_oldest, boolean(),
      "true: the oldest recordings are removed where quota_bytes, max_age_s or keep_free_bytes ask for it, never "
      "one that is being written; false: nothing is removed");
  section.add("max_age_s", recording.max_age_s,
              or_word({"off", "any age"}, 0.0,
                      number({.what = "a time", .maximum = kLongestAge_s, .unit = "s", .open_minimum = true})),
              "with remove_oldest: age at which a recording is removed, from its last byte on");
  section.add("keep_free_bytes", recording.keep_free_bytes,
              or_word({"off", "none"}, 0, integer64(kSmallestRecording, kLargestRecording, "bytes")),
              "of the disk: with less, the recording ends and no other begins, unless older ones may be removed");
  section.add("sync_s", recording.sync_s, number(kWait), "waits for the disk this often; 0: only at a recording's end");
  section.add("bits_queue_bytes", recording.bits_queue_bytes, integer64(kSmallestQueue, kLargestQueue, "bytes"),
              "bits that wait for the disk, beside the history: 0.35 s of 32 x 32 microphones");
  section.add("images_queue_bytes", recording.images_queue_bytes, integer64(kSmallestQueue, kLargestQueue, "bytes"),
              "images that wait for the disk, their history included");
}

void describe(Section& section, DaemonSettings::Control& control) {
  section.add("socket", control.socket, socket_path("control.sock in the same folder as the ring's"),
              "where `nearfield ctl` connects");
  describe(section, control.access);
}

void describe(Section& section, DaemonSettings::Metrics& metrics) {
  section.add(
      "address", metrics.address,
      or_word({"off", "none"}, "", host_port("HOST:PORT, such as " + DaemonSettings::Metrics{}.address + ", or off")),
      "HOST:PORT of Prometheus text at /metrics");
}

Form<std::vector<std::string>> page_hosts() {
  const auto are_hosts = [](const std::vector<std::string>& hosts) {
    return std::all_of(hosts.begin(), hosts.end(), [](const std::string& host) {
      return !host.empty() && host.find_first_of(" /@,") == std::string::npos;
    });
  };
  return where(texts(), are_hosts, "names of hosts without a path, such as [array.lab.example]");
}

Form<std::vector<std::string>> page_origins() {
  const auto are_origins = [](const std::vector<std::string>& origins) {
    return std::all_of(origins.begin(), origins.end(), [](const std::string& origin) {
      const std::size_t begin = origin.find("://");
      return (origin.starts_with("http://") || origin.starts_with("https://")) && origin.size() > begin + 3 &&
             origin.find('/', begin + 3) == std::string::npos;
    });
  };
  return where(texts(), are_origins, "origins without a path, such as ['https://array.lab.example']");
}

void describe(Section& section, DaemonSettings::Page& page) {
  section.add(
      "address", page.address,
      or_word({"off", "none"}, "", host_port("HOST:PORT, such as " + DaemonSettings::Page{}.address + ", or off")),
      "HOST:PORT of the page; beyond loopback only with a token_file");
  section.add("allowed_hosts", page.allowed_hosts, page_hosts(),
              "names by which browsers may reach it, and scrapers the metrics, beside localhost, 127.0.0.1 and [::1]");
  section.add("allowed_origins", page.allowed_origins, page_origins(),
              "pages of other servers that may read and control through it");
  section.add("token_file", page.token_file,
              path_or_null("a random one, in a file named as the control socket with .page_token behind it",
                           [](const std::string& path) { return path.starts_with("credential:"); }),
              "holds the token by which a browser may change settings; credential:NAME takes it from systemd's "
              "credentials");
  section.add("pictures_hz", page.pictures_hz,
              number({.what = "a rate", .maximum = 240.0, .unit = "Hz", .open_minimum = true}),
              "pictures a second at most that a browser gets of a subscription");
  section.add("camera", page.camera, path_or_null("none"),
              "a camera at this computer, such as /dev/video0, that compresses its frames to JPEG: the page lays the "
              "map over its video (docs/use/page.md); opened while a browser shows it");
}

void describe(Section& section, DaemonSettings::Realtime& realtime) {
  section.add("priority", realtime.priority, integer(0, kHighestPriority), "SCHED_FIFO; 0: the ordinary scheduler");
  section.add("cpus", realtime.cpus, integers(0, kHighestCpu), "processors to run on; empty: any");
  section.add("lock_memory", realtime.lock_memory, boolean(), "keep all memory from being swapped out");
  section.add("poll_us", realtime.poll_us,
              or_auto(number({.what = "a time from", .minimum = 0.0, .maximum = kMostPollUs, .unit = "us"}),
                      "250 where frames come from a GPU and four processors may be used, else 0"),
              "from so long before a hop's last bits are expected until so long after, the engine's thread looks for "
              "them without sleeping (docs/use/daemon.md); 0: it sleeps");
}

void describe(Section& section, DaemonSettings::Overload& overload) {
  section.add("pause_dashboards_ms", overload.pause_dashboards_ms, number(kLimit),
              "frames for dashboards are given up");
  section.add("pause_recordings_ms", overload.pause_recordings_ms, number(kLimit),
              "bits and images for the recorder are given up: a gap; below shed_hops_ms, recordings go before hops");
  section.add("shed_hops_ms", overload.shed_hops_ms, number(kLimit),
              "whole hops are given up, oldest first, flagged and counted; their bits are recorded all the same");
}

void describe(Section& section, DaemonSettings::Log& log) {
  using Target = DaemonSettings::LogTarget;
  using Level = DaemonSettings::LogLevel;
  section.add(
      "target", log.target,
      choice<Target>(
          {{Target::kAuto, "the journal when started by systemd"}, {Target::kJournal, ""}, {Target::kStderr, ""}}),
      "where lines go", Effect::kRestart);
  section.add("level", log.level,
              choice<Level>({{Level::kDebug, ""}, {Level::kInfo, ""}, {Level::kWarning, ""}, {Level::kError, ""}}),
              "the least grave lines that are written");
}

void describe(Section& section, DaemonSettings::NoInput& no_input) {
  section.add("after_ms", no_input.after_ms, number(kLimit),
              "time without a window of which half came, until \"no input\" is the declared state");
  section.add("is_fault", no_input.is_fault, boolean(), "true: then the process ends, for systemd to restart");
}

}  // namespace

void describe(Section& section, DaemonSettings& daemon) {
  describe(section.section("source", "The stream of bits or samples.", Effect::kRestart), daemon.source);
  describe(section.section("publish", "Where frames go.", Effect::kRestart), daemon.publish);
  describe(section.section("recording", "What is kept on disk (docs/use/recording.md)."), daemon.recording);
  describe(section.section("control", "Socket of `nearfield ctl`; keys as in publish.ring.", Effect::kRestart),
           daemon.control);
  describe(section.section("metrics", "", Effect::kRestart), daemon.metrics);
  describe(section.section("page", "The live page for browsers (docs/reference/page_protocol.md).", Effect::kRestart),
           daemon.page);
  describe(
      section.section("realtime",
                      "Of the threads that carry the stream. Needs CAP_SYS_NICE or LimitRTPRIO; without, a warning "
                      "and the ordinary scheduler.",
                      Effect::kRestart),
      daemon.realtime);
  section.section("deadlines")
      .add("frame_ms", daemon.deadlines.frame_ms, number(kLimit),
           "a frame that takes longer ends the process, for systemd to restart");
  describe(section.section("overload",
                           "Ages of the oldest bits that wait, from which on something is given up; dashboards first."),
           daemon.overload);
  describe(section.section("log"), daemon.log);
  describe(section.section("no_input", "", Effect::kRestart), daemon.no_input);
  describe_limits(
      section.section("limits",
                      "Levels that products are watched for: a section a limit, under a name of your choice, such "
                      "as {loud: {point_m: [0.1, 0], frequency_hz: 1000, above: 2}} (docs/use/limits.md)."),
      daemon);
}

}  // namespace nearfield::schema
