#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "config/config.hpp"
#include "config/written_file.hpp"
#include "core/daemon_settings.hpp"
#include "core/error.hpp"

namespace nearfield {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

using Lines = std::vector<std::string>;

DaemonSettings load_text(const std::string& text, const Lines& overrides = {}) {
  return *load_daemon_settings(WrittenFile(text).path(), overrides).daemon;
}

Lines errors_of(const std::string& text, const Lines& overrides = {}) {
  return error_lines(text, [&](const std::string& path) { (void)load_daemon_settings(path, overrides); });
}

TEST(DaemonConfig, DefaultsListenOnLoopbackOnly) {
  const DaemonSettings daemon = load_text("");
  EXPECT_TRUE(daemon == DaemonSettings{});
  EXPECT_TRUE(is_loopback(parse_host_port(daemon.source.address)->host));
  EXPECT_TRUE(is_loopback(parse_host_port(daemon.metrics.address)->host));
  EXPECT_EQ(daemon.publish.zmq.endpoint, "");
}

TEST(DaemonConfig, ReadsEveryKey) {
  const DaemonSettings daemon = load_text(
      "daemon:\n"
      "  source: {kind: simulate, payload: samples, device: 'hw:1', address: '[::]:7', interface: lo, path: -,\n"
      "           scene: /dev/null, pace: fast, loop: true,\n"
      "           receive_buffer_bytes: 70000, reorder_bit_times: 5, ring_bit_times: 5000,\n"
      "           allowed_from: [10.1.2.3, 'fd00::/8'], require_crc: true, takeover_after_ms: 20, restart_hold_off_ms: "
      "0,\n"
      "           max_jump_bit_times: 7}\n"
      "  publish:\n"
      "    phase_reference: stream\n"
      "    ring: {socket: off, allowed_users: [root, 1001], allowed_groups: ['7'], slots: 3}\n"
      "    zmq: {endpoint: 'tcp://*:9', curve_secret_file: credential:curve.key, max_rate_hz: 2.5,\n"
      "          curve_clients: ['rq:rM>}U?@Lns47E1%kR.o@n%FcmmsL/@{H8]yf7', "
      "'Yne@$w-vo<fVvi]a<NY6T1ed:M$fCG*[IaLV{hID']}\n"
      "  recording: {directory: /r, what: images, trigger: level, level: 0.5, quiet_s: 0.25, pause_s: 9,\n"
      "              pre_trigger_s: 2, max_bytes: 5000000000, max_s: 7, quota_bytes: 6000000000, sync_s: 3,\n"
      "              bits_queue_bytes: 1048576, images_queue_bytes: 1048577}\n"
      "  control: {socket: /c, allowed_users: [], allowed_groups: ['7']}\n"
      "  metrics: {address: off}\n"
      "  page: {address: '[::1]:7', allowed_hosts: [array.lab], allowed_origins: ['https://array.lab'], token_file: "
      "credential:page,\n"
      "         pictures_hz: 30}\n"
      "  realtime: {priority: 50, cpus: [1, 3], lock_memory: true, poll_us: 80}\n"
      "  deadlines: {frame_ms: 20}\n"
      "  overload: {pause_dashboards_ms: 1, pause_recordings_ms: 2, shed_hops_ms: 3}\n"
      "  log: {target: journal, level: warning}\n"
      "  no_input: {after_ms: 50, is_fault: true}\n");
  DaemonSettings expected;
  expected.source = {DaemonSettings::SourceKind::kSimulate,
                     DaemonSettings::Payload::kSamples,
                     {},
                     SampleFormat::kF32,
                     "hw:1",
                     "[::]:7",
                     "lo",
                     "-",
                     "/dev/null",
                     DaemonSettings::Pace::kFast,
                     true,
                     70000,
                     5,
                     5000,
                     {"10.1.2.3", "fd00::/8"},
                     true,
                     20.0,
                     0.0,
                     7};
  expected.publish.phase_reference = DaemonSettings::PhaseReference::kStream;
  expected.publish.ring = {"", {{"root", "1001"}, {"7"}}, 3};
  expected.publish.zmq = {"tcp://*:9",
                          "credential:curve.key",
                          2.5,
                          {"rq:rM>}U?@Lns47E1%kR.o@n%FcmmsL/@{H8]yf7", "Yne@$w-vo<fVvi]a<NY6T1ed:M$fCG*[IaLV{hID"}};
  expected.recording = {.directory = "/r",
                        .what = DaemonSettings::RecordWhat::kImages,
                        .trigger = DaemonSettings::Trigger::kLevel,
                        .level = 0.5,
                        .quiet_s = 0.25,
                        .pause_s = 9.0,
                        .pre_trigger_s = 2.0,
                        .max_bytes = 5000000000,
                        .max_s = 7.0,
                        .quota_bytes = 6000000000,
                        .sync_s = 3.0,
                        .bits_queue_bytes = 1048576,
                        .images_queue_bytes = 1048577};
  expected.control = {"/c", {{}, {"7"}}};
  expected.metrics.address = "";
  expected.page = {"[::1]:7", {"array.lab"}, {"https://array.lab"}, "credential:page", 30.0};
  expected.realtime = {50, {1, 3}, true, 80.0};
  expected.deadlines.frame_ms = 20.0;
  expected.overload = {1.0, 2.0, 3.0};
  expected.log = {DaemonSettings::LogTarget::kJournal, DaemonSettings::LogLevel::kWarning};
  expected.no_input = {50.0, true};
  EXPECT_TRUE(daemon == expected);
}

TEST(DaemonConfig, PathsCountFromTheFile) {
  const WrittenFile file("daemon: {source: {path: a.h5}, recording: {directory: ../r}, control: {socket: c.sock}}\n");
  const DaemonSettings daemon = *load_daemon_settings(file.path(), {"daemon.source.scene=s.yaml"}).daemon;
  EXPECT_EQ(daemon.source.path, (file.folder() / "a.h5").string());
  EXPECT_EQ(daemon.recording.directory, (file.folder().parent_path() / "r").string());
  EXPECT_EQ(daemon.control.socket, (file.folder() / "c.sock").string());
  EXPECT_EQ(daemon.source.scene, (std::filesystem::current_path() / "s.yaml").string());
}

TEST(DaemonConfig, ADashAloneInAnOverrideIsStandardInput) {
  const DaemonSettings daemon = load_text("", {"daemon.source.kind=pipe", "daemon.source.path=-"});
  EXPECT_EQ(daemon.source.path, "-");
}

struct BadSetting {
  std::string daemon;
  std::string message;  ///< part of it
};

TEST(DaemonConfig, RefusesWrongValues) {
  const std::string long_path(200, 'x');
  const std::vector<BadSetting> cases = {
      {"source: {kind: tcp}", "daemon.source.kind: expected one of udp, pipe, audio, file, simulate, found \"tcp\""},
      {"source: {address: 7230}", "daemon.source.address: expected HOST:PORT"},
      {"source: {address: off}", "daemon.source.address: expected HOST:PORT"},
      {"source: {address: 'a:70000'}", "daemon.source.address: expected HOST:PORT"},
      {"source: {address: '::1:7'}", "daemon.source.address: expected HOST:PORT"},
      {"source: {path: ''}", "daemon.source.path: expected a path or null, found the text \"\""},
      {"source: {pace: slow}", "daemon.source.pace: expected one of realtime, fast"},
      {"source: {payload: words}", "daemon.source.payload: expected one of bits, samples, found \"words\""},
      {"source: {loop: 1}", "daemon.source.loop: expected true or false, found \"1\""},
      {"source: {receive_buffer_bytes: 1}", "receive_buffer_bytes: expected an integer from 65536 to 4294967296"},
      {"source: {reorder_bit_times: -1}", "daemon.source.reorder_bit_times: expected an integer from 0"},
      {"source: {ring_bit_times: 4e6}", "daemon.source.ring_bit_times: expected an integer from 4096"},
      {"source: {allowed_from: 10.0.0.1}", "daemon.source.allowed_from: expected a list of texts"},
      {"source: {allowed_from: [10.0.0.1, 10.0.0.0/33]}",
       "daemon.source.allowed_from: expected addresses and networks"},
      {"source: {takeover_after_ms: 0}", "daemon.source.takeover_after_ms: expected a time from 1 to 600000 ms"},
      {"source: {restart_hold_off_ms: -1}", "daemon.source.restart_hold_off_ms: expected a time from 0 to 600000 ms"},
      {"source: {max_jump_bit_times: -1}", "daemon.source.max_jump_bit_times: expected an integer from 0"},
      {"source: {require_crc: 1}", "daemon.source.require_crc: expected true or false"},
      {"publish: {phase_reference: hop}", "daemon.publish.phase_reference: expected one of window, stream"},
      {"publish: {ring: {socket: /" + long_path + "}}", "daemon.publish.ring.socket: expected a path of at most 107"},
      {"publish: {ring: {mode: 0660}}", "daemon.publish.ring.mode: unknown key"},
      {"publish: {ring: {allowed_users: root}}", "daemon.publish.ring.allowed_users: expected a list of texts"},
      {"publish: {ring: {allowed_users: [a, [b]]}}", "daemon.publish.ring.allowed_users[1]: expected a text, found a"},
      {"publish: {ring: {slots: 1}}", "daemon.publish.ring.slots: expected an integer from 2 to 65536"},
      {"publish: {zmq: {endpoint: 127.0.0.1:1}}", "daemon.publish.zmq.endpoint: expected tcp://HOST:PORT"},
      {"publish: {zmq: {max_rate_hz: 0}}", "daemon.publish.zmq.max_rate_hz: expected a rate > 0 Hz"},
      {"recording: {what: sound}", "daemon.recording.what: expected one of bits, images, both"},
      {"recording: {trigger: loud}", "daemon.recording.trigger: expected one of none, level, external"},
      {"recording: {level: 0}", "daemon.recording.level: expected a level > 0"},
      {"recording: {pre_trigger_s: 61}", "daemon.recording.pre_trigger_s: expected a time from 0 to 60 s"},
      {"recording: {max_bytes: 1}", "daemon.recording.max_bytes: expected an integer from 1048576"},
      {"recording: {max_s: 0}", "daemon.recording.max_s: expected a time > 0 s"},
      {"recording: {quiet_s: -1}", "daemon.recording.quiet_s: expected a time from 0 to 86400 s"},
      {"recording: {pause_s: 1e6}", "daemon.recording.pause_s: expected a time from 0 to 86400 s"},
      {"recording: {quota_bytes: 0}", "daemon.recording.quota_bytes: expected an integer from 1048576"},
      {"recording: {sync_s: -1}", "daemon.recording.sync_s: expected a time from 0 to 86400 s"},
      {"recording: {bits_queue_bytes: 1}", "daemon.recording.bits_queue_bytes: expected an integer from 1048576"},
      {"recording: {images_queue_bytes: 1}", "daemon.recording.images_queue_bytes: expected an integer from 1048576"},
      {"metrics: {address: localhost}", "daemon.metrics.address: expected HOST:PORT, such as 127.0.0.1:9187, or off"},
      {"page: {address: localhost}", "daemon.page.address: expected HOST:PORT, such as 127.0.0.1:7232, or off"},
      {"page: {address: '0.0.0.0:7232'}",
       "daemon.page.address: expected loopback, such as 127.0.0.1:7232, as long as daemon.page.token_file names no "
       "file"},
      {"page: {allowed_hosts: ['http://a']}", "daemon.page.allowed_hosts: expected names of hosts without a path"},
      {"page: {allowed_origins: [a.lab]}", "daemon.page.allowed_origins: expected origins without a path"},
      {"page: {pictures_hz: 0}", "daemon.page.pictures_hz: expected a rate"},
      {"realtime: {priority: 100}", "daemon.realtime.priority: expected an integer from 0 to 99"},
      {"realtime: {cpus: [0, -1]}", "daemon.realtime.cpus[1]: expected an integer from 0 to 1023"},
      {"deadlines: {frame_ms: 0}", "daemon.deadlines.frame_ms: expected a time from 1 to 600000 ms"},
      {"log: {target: syslog}", "daemon.log.target: expected one of auto, journal, stderr"},
      {"log: {level: loud}", "daemon.log.level: expected one of debug, info, warning, error"},
      {"no_input: {is_fault: maybe}", "daemon.no_input.is_fault: expected true or false"},
      {"no_input: {after: 5}", "daemon.no_input.after: unknown key; did you mean daemon.no_input.after_ms?"},
      {"sources: {}", "daemon.sources: unknown key; did you mean daemon.source?"},
      {"control: 5", "daemon.control: expected a mapping"},
  };
  for (const BadSetting& bad : cases) {
    EXPECT_THAT(errors_of("daemon: {" + bad.daemon + "}"),
                ElementsAre(testing::AllOf(testing::StartsWith("lab.yaml:1:"), HasSubstr(bad.message))))
        << bad.daemon;
  }
}

TEST(DaemonConfig, RefusesContradictions) {
  const std::string key = "rq:rM>}U?@Lns47E1%kR.o@n%FcmmsL/@{H8]yf7";  // zmq_curve(7)'s example
  const std::vector<BadSetting> cases = {
      {"source: {kind: pipe}", "daemon.source.path: a source of kind pipe expects a named pipe, or - for stdin"},
      {"source: {kind: file}", "daemon.source.path: a source of kind file expects a capture, found nothing"},
      {"source: {kind: file, path: -}", "daemon.source.path: a source of kind file expects a capture, found \"-\""},
      {"source: {kind: udp, sample_rate_hz: 48000}",
       "daemon.source.sample_rate_hz: expected a source of kind audio, or udp or pipe with payload samples"},
      {"source: {kind: file, path: /dev/null, payload: samples, sample_rate_hz: 48000}",
       "daemon.source.sample_rate_hz: expected a source of kind audio, or udp or pipe with payload samples"},
      {"source: {kind: udp, format: s16}", "daemon.source.format: expected a source of kind pipe with payload samples"},
      {"source: {kind: simulate}", "daemon.source.scene: a source of kind simulate expects a scene"},
      {"source: {ring_bit_times: 8192}", "daemon.source.reorder_bit_times: expected less than ring_bit_times, 8192"},
      {"publish: {zmq: {endpoint: 'tcp://0.0.0.0:1'}}", "daemon.publish.zmq.endpoint: expected loopback"},
      {"publish: {zmq: {endpoint: 'tcp://*:1'}}", "daemon.publish.zmq.endpoint: expected loopback"},
      {"publish: {zmq: {endpoint: 'tcp://*:1', curve_secret_file: /dev/null}}",
       "daemon.publish.zmq.curve_clients: expected the public keys of those who may subscribe, found none"},
      {"publish: {zmq: {endpoint: 'tcp://127.0.0.1:1', curve_clients: ['" + key + "']}}",
       "daemon.publish.zmq.curve_secret_file: expected the server's secret key"},
      {"overload: {pause_recordings_ms: 5}", "daemon.overload.pause_recordings_ms: expected at least"},
      {"overload: {shed_hops_ms: 5}", "daemon.overload.shed_hops_ms: expected at least"},
  };
  for (const BadSetting& bad : cases) {
    EXPECT_THAT(errors_of("daemon: {" + bad.daemon + "}"), ElementsAre(HasSubstr(bad.message))) << bad.daemon;
  }
  for (const std::string& good : std::vector<std::string>{
           "overload: {pause_recordings_ms: 25, shed_hops_ms: 50}",
           "overload: {pause_recordings_ms: 50, shed_hops_ms: 25}", "recording: {quota_bytes: off}",
           "source: {kind: pipe, path: -}", "source: {kind: simulate, scene: /dev/null}",
           "publish: {zmq: {endpoint: 'tcp://127.3.2.1:1'}}", "publish: {zmq: {endpoint: 'tcp://[::1]:1'}}",
           "publish: {zmq: {endpoint: 'ipc:///run/z'}}",
           "publish: {zmq: {endpoint: 'tcp://*:1', curve_secret_file: /dev/null, curve_clients: ['" + key + "']}}"}) {
    EXPECT_THAT(errors_of("daemon: {" + good + "}"), IsEmpty()) << good;
  }
}

TEST(DaemonConfig, JudgesWhatNoInputWillChange) {
  const std::string bad =
      "front_end:\n  frequencies_hz: [1000, 100000]\nholography:\n  planes_m: [0.03]\narray:\n  rows: 8\n";
  EXPECT_THAT(errors_of(bad),
              ElementsAre(HasSubstr("lab.yaml:4:14: holography.planes_m[0]: expected a plane"),
                          HasSubstr("array.layout: sorama-cam expects 32 x 32"),
                          HasSubstr("lab.yaml:2:26: front_end.frequencies_hz[1]: expected at most 23437.5 Hz")));
  // A file says its own clock, of at most 6.144 MHz.
  EXPECT_THAT(errors_of(bad + "daemon: {source: {kind: file, path: /dev/null}}\n"),
              ElementsAre(HasSubstr("lab.yaml:2:26: front_end.frequencies_hz[1]: expected at most 96000 Hz")));
}

// The rate of live samples bounds what can be imaged of them, whatever clock no microphone of theirs has.
TEST(DaemonConfig, KnowsTheRateOfLiveSamples) {
  const std::string samples =
      "array: {rows: 8, columns: 8, pitch_x_m: 0.02, pitch_y_m: 0.02, layout: row-major}\n"
      "front_end: {kind: dot_product, frequencies_hz: [30000]}\nholography: {standoff_m: 0.03}\n";
  EXPECT_THAT(errors_of(samples + "daemon: {source: {payload: samples}}\n"),
              testing::Contains(HasSubstr("daemon.source.sample_rate_hz: expected how many samples of a channel come a "
                                          "second")));
  EXPECT_THAT(errors_of(samples + "daemon: {source: {payload: samples, sample_rate_hz: 51200}}\n"),
              ElementsAre(HasSubstr("expected at most 25600 Hz")));
  EXPECT_THAT(errors_of(samples + "daemon: {source: {payload: samples, sample_rate_hz: 96000}}\n"), IsEmpty());
}

// As the data sheets of digital microphones give it: a sine of 1 Pa rms at -26 dBFS has a peak of 0.0501 of full scale.
TEST(DaemonConfig, TheUnitOfSamplesMayBeALevel) {
  const auto unit_of = [](const std::string& text) {
    const WrittenFile file("array: {preset: minidsp-uma16, pascal_per_unit: " + text +
                           "}\nholography: {standoff_m: 0.05}\ndaemon: {source: {payload: samples}}\n");
    return load_daemon_settings(file.path(), {}).array.pascal_per_unit.value();
  };
  EXPECT_NEAR(unit_of("-26 dBFS"), 28.21727, 1e-5);
  EXPECT_NEAR(unit_of("0dBFS"), 1.41421356, 1e-8);
  EXPECT_EQ(unit_of("10"), 10.0);
  EXPECT_THAT(errors_of("array: {pascal_per_unit: loud dBFS}\n"), testing::Contains(HasSubstr("a level from -200")));
}

// A preset gives what is not given, and only that.
TEST(DaemonConfig, AnArrayByItsName) {
  const std::string source = "holography: {standoff_m: 0.05}\ndaemon: {source: {kind: audio, device: 'hw:1'}}\n";
  const auto loaded = [&](const std::string& text) {
    return load_daemon_settings(WrittenFile(text + source).path(), {});
  };
  const Settings uma = loaded("array: {preset: minidsp-uma16}\n");
  EXPECT_EQ(uma.array.geometry.channels(), 16);
  EXPECT_NEAR(uma.array.geometry.pitch_x_m, 0.042, 1e-9);
  EXPECT_EQ(uma.daemon->source.sample_rate_hz, 48'000.0);
  EXPECT_EQ(uma.array.channels, std::vector<int>());
  const MicrophonePosition first = uma.array.geometry.placement->positions_m[0];
  const MicrophonePosition& centre = uma.array.geometry.placement->centre_m;
  EXPECT_NEAR(first.x_m - centre.x_m, 0.021, 1e-9);
  EXPECT_NEAR(first.y_m - centre.y_m, -0.063, 1e-9);
  const Settings ring = loaded("array: {preset: respeaker-6}\n");
  EXPECT_EQ(ring.array.channels, (std::vector<int>{0, 1, 2, 3, 4, 5}));
  EXPECT_EQ(ring.daemon->source.sample_rate_hz, 16'000.0);
  EXPECT_THAT(errors_of("array: {preset: minidsp-uma16, rows: 5}\n" + source),
              ElementsAre(HasSubstr("array.rows: expected nothing or 4, which array.preset minidsp-uma16 gives")));
  EXPECT_THAT(errors_of("array: {preset: uma16}\n" + source), testing::Contains(HasSubstr("minidsp-uma16")));
}

TEST(DaemonConfig, RefusesAUnitOfBits) {
  EXPECT_THAT(errors_of("array: {pascal_per_unit: 10}\n"),
              ElementsAre(HasSubstr("array.pascal_per_unit: expected none with daemon.source.payload bits")));
}

TEST(DaemonConfig, WantsWhatItNamesToExist) {
  EXPECT_THAT(errors_of("daemon:\n  source:\n    kind: file\n    path: /nowhere.h5\n  control:\n"
                        "    allowed_users: [root, no-such-user]\n    allowed_groups: [no-such-group]\n"),
              ElementsAre("lab.yaml:6:27: daemon.control.allowed_users[1]: expected one of this system's names, or a "
                          "number, found \"no-such-user\"",
                          HasSubstr("lab.yaml:7:22: daemon.control.allowed_groups[0]: "),
                          "lab.yaml:4:11: daemon.source.path: expected an existing file, found none at /nowhere.h5"));
  EXPECT_THAT(errors_of("array: {calibration: /nowhere.h5}"),
              ElementsAre(HasSubstr("lab.yaml:1:22: array.calibration: expected")));
  EXPECT_THAT(errors_of("daemon: {source: {path: /nowhere.h5}}"), IsEmpty()) << "udp reads no file";
}

/// What is missing is missing in the nearest section that was given.
TEST(DaemonConfig, PointsAtTheSectionOfAKeyThatIsMissing) {
  EXPECT_THAT(errors_of("daemon:\n  no_input: {}\n  source:\n    kind: pipe\n"),
              ElementsAre(HasSubstr("lab.yaml:3:3: daemon.source.path: a source of kind pipe expects")));
  EXPECT_THAT(errors_of("processors:\n  far: {}\n"), ElementsAre(HasSubstr("lab.yaml:2:3: processors.far.kind: ")));
}

TEST(DaemonConfig, ListsEveryProblem) {
  std::string text = "daemon:\n";
  for (int i = 0; i < 200; ++i) {
    text += "  wrong" + std::to_string(i) + ": 1\n";
  }
  EXPECT_THAT(errors_of(text), testing::SizeIs(200));
}

TEST(HostPort, IsParsed) {
  const auto text_of = [](const char* text) {
    const std::optional<HostPort> parsed = parse_host_port(text);
    return parsed ? parsed->host + "|" + std::to_string(parsed->port) : "none";
  };
  EXPECT_EQ(text_of("127.0.0.1:0"), "127.0.0.1|0");
  EXPECT_EQ(text_of("[::1]:65535"), "::1|65535");
  EXPECT_EQ(text_of("lab-pc.example:80"), "lab-pc.example|80");
  for (const char* bad : {"", ":", ":80", "host", "host:", "host:x", "host:-1", "host:65536", "host:80 ", "ho st:80",
                          "::1:80", "[]:80", "a,b:80", "host:+8"}) {
    EXPECT_EQ(text_of(bad), "none") << bad;
  }
}

TEST(HostPort, KnowsLoopback) {
  for (const char* inside : {"127.0.0.1", "127.255.0.9", "::1", "localhost"}) {
    EXPECT_TRUE(is_loopback(inside)) << inside;
  }
  for (const char* outside : {"128.0.0.1", "0.0.0.0", "::", "*", "127.0.0.1.example", "", "localhost.example"}) {
    EXPECT_FALSE(is_loopback(outside)) << outside;
  }
}

}  // namespace
}  // namespace nearfield
