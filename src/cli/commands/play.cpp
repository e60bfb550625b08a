#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <exception>
#include <filesystem>
#include <fstream>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "cli/command.hpp"
#include "cli/own_daemon.hpp"
#include "config/config.hpp"
#include "config/device_choice.hpp"
#include "config/load_yaml.hpp"
#include "config/words.hpp"
#include "core/daemon_settings.hpp"
#include "core/error.hpp"
#include "core/system/threads.hpp"
#include "core/system/unix_server.hpp"
#include "files/files.hpp"
#include "files/nfr/nfr_convert.hpp"

namespace nearfield::cli {
namespace {

namespace fs = std::filesystem;

struct PlayArguments {
  std::string input;
  std::string config;
  std::string device;
  std::vector<std::string> overrides;
  std::optional<double> start_s;
  std::optional<double> seconds;
  bool prints_json = false;
};

/// Input of nearfieldd, and its settings.
struct Playing {
  std::string path;
  std::string config;
  std::vector<std::string> overrides;
};

/// Bit-times of the part to play. Throws UsageError if the recording has none there.
nfr::ConvertRange part_of(const nfr::Reader& reader, const PlayArguments& arguments) {
  nfr::ConvertRange range;
  if (!arguments.start_s && !arguments.seconds) {
    return range;
  }
  const nfr::BitsSummary& bits = reader.summary().bits;
  const double rate_hz = reader.info().sample_rate_hz;
  const double length_s = static_cast<double>(bits.expected()) / rate_hz;
  const double start_s = arguments.start_s.value_or(0.0);
  if (start_s >= length_s) {
    throw UsageError(
        fmt::format("--start: expected a time within the recording's {:.3f} s, found {:g} s", length_s, start_s));
  }
  const double seconds = std::min(arguments.seconds.value_or(length_s), length_s - start_s);
  range.from = bits.first_bit_time + static_cast<std::uint64_t>(std::floor(start_s * rate_hz));
  range.to = std::min(*range.from + static_cast<std::uint64_t>(std::ceil(seconds * rate_hz)), bits.end_bit_time);
  return range;
}

/// Throws IoError if the capture would leave other programs little space on the disk.
void require_room(const nfr::Reader& reader, const nfr::ConvertRange& range, const fs::path& folder) {
  constexpr std::uint64_t kBytesPerWord = sizeof(std::uint32_t);
  const nfr::BitsSummary& bits = reader.summary().bits;
  const std::uint64_t words = reader.words_per_bit_time();
  const std::uint64_t bit_times = range.to.value_or(bits.end_bit_time) - range.from.value_or(bits.first_bit_time);
  const std::uint64_t needed_bytes = bit_times * words * kBytesPerWord;
  const std::uint64_t free_bytes = fs::space(folder).available;
  if (needed_bytes > free_bytes / 2) {
    throw IoError(
        fmt::format("{}: expected room for the recording, at most half of what is free, {} of {} bytes, found that it "
                    "needs {}; play a part by --start and --seconds, or set TMPDIR",
                    folder.parent_path().string(), free_bytes / 2, free_bytes, needed_bytes));
  }
}

/// Writes a recording's bits as a capture, and its settings as a configuration, in `folder`.
Playing of_recording(const PlayArguments& arguments, const fs::path& folder) {
  nfr::Reader reader{fs::path(arguments.input)};
  if (reader.summary().bits.records == 0) {
    throw DataError(fmt::format(
        "{}: expected a recording with bits, found frames alone, of which nothing can be computed", arguments.input));
  }
  const nfr::ConvertRange range = part_of(reader, arguments);
  require_room(reader, range, folder);
  Playing playing{.path = folder / "capture.h5", .config = folder / "play.yaml", .overrides = arguments.overrides};
  InputSettings carried = settings_for_input(arguments.input, arguments.config, arguments.overrides);
  const bool states_unit = !reader.info().holds_samples || reader.info().pascal_per_unit;
  (void)pascal_per_unit_for(carried.settings, arguments.input, states_unit);
  if (states_unit) {
    carried.settings.array.pascal_per_unit.reset();  // the run's scale does not apply to what is played
  }
  fmt::print(arguments.prints_json ? stderr : stdout, "{}\n", carried.description);
  std::ofstream file(playing.config);
  file << to_yaml(carried.settings);
  file.close();
  if (!file) {
    throw IoError(fmt::format("{}: can't be written", playing.config));
  }
  Progress progress("convert");
  const auto show = [&](double share) {
    Stoppable::end_if_stopped();
    progress.show(share);
  };
  // Correctable: settings may change the lengths when it is played again, like those of the live array could.
  (void)nfr::convert_bits(reader, playing.path, range, show, true);
  return playing;
}

/// Prepares the input; captures and time data are played directly.
Playing prepared(const PlayArguments& arguments, const fs::path& folder) {
  if (detect_file_kind(arguments.input) == FileKind::kRecording) {
    return of_recording(arguments, folder);
  }
  if (arguments.start_s || arguments.seconds) {
    throw UsageError(
        fmt::format("{}: expected a recording (.nfr), of which --start and --seconds choose a part, found "
                    "another file",
                    arguments.input));
  }
  return {.path = fs::absolute(arguments.input).string(), .config = arguments.config, .overrides = arguments.overrides};
}

/// Settings that keep the daemon from conflicting with others, from recording again, and from removing recordings by
/// the rules of another daemon's configuration; the user's settings follow these. Throws what load_settings() throws.
std::vector<std::string> own_settings(const Playing& playing) {
  constexpr std::string_view kTrigger = "daemon.recording.trigger=";
  std::vector<std::string> own = {"daemon.source.kind=file",         "daemon.source.path=" + quoted(playing.path),
                                  "daemon.source.loop=true",         "daemon.source.pace=realtime",
                                  "daemon.publish.ring.socket=auto", "daemon.publish.zmq.endpoint=off",
                                  "daemon.control.socket=auto",      "daemon.metrics.address=off",
                                  "daemon.page.address=127.0.0.1:0", "daemon.recording.remove_oldest=false",
                                  "daemon.recording.max_age_s=off"};
  if (std::any_of(playing.overrides.begin(), playing.overrides.end(),
                  [&](const std::string& one) { return one.starts_with(kTrigger); })) {
    return own;
  }
  std::vector<std::string> settings = own;
  settings.insert(settings.end(), playing.overrides.begin(), playing.overrides.end());
  const Settings played = load_settings(playing.config, settings);
  for (const DaemonSettings::Limit& limit : played.daemon->limits) {
    if (limit.record) {
      own.push_back(fmt::format("daemon.limits.{}.record=false", limit.name));
    }
  }
  own.push_back(std::string(kTrigger) + "none");
  return own;
}

std::vector<std::string> command_line(const Playing& playing) {
  std::vector<std::string> line;
  if (!playing.config.empty()) {
    line.insert(line.end(), {"-c", playing.config});
  }
  for (const std::vector<std::string>& settings : {own_settings(playing), playing.overrides}) {
    for (const std::string& one : settings) {
      line.insert(line.end(), {"--set", one});
    }
  }
  return line;
}

/// Prints the addresses of the daemon's sockets, as a line for people or of JSON for programs.
void say_sockets(const PlayArguments& arguments, const fs::path& sockets) {
  const std::string ring = sockets / DaemonSettings::Ring::kFile;
  const std::string control = sockets / DaemonSettings::Control::kFile;
  if (arguments.prints_json) {
    fmt::print("{}\n", nlohmann::json{{"ring", ring}, {"control", control}}.dump());
  } else {
    fmt::print("{} is played again and again, until Ctrl-C; its sockets: {} and {}\n", arguments.input, ring, control);
    fmt::print("other commands find them with NEARFIELD_RUNTIME_DIR={}\n", sockets.string());
  }
  std::fflush(stdout);
}

void run(const PlayArguments& arguments) {
  StopSignal::watch();
  StopSignal::watch_hangup();
  const fs::path socket = socket_to_serve(std::string(kAutoSocket), DaemonSettings::Ring::kFile);
  make_socket_folder(socket, false);
  const OwnFolder sockets(socket.parent_path(), "play");
  const OwnFolder files(fs::temp_directory_path(), "play");
  Playing playing;
  try {
    const StoppedBySignal stoppable;
    playing = prepared(arguments, files.path());
  } catch (const Stopped&) {
    return;
  }
  if (StopSignal::raised()) {
    return;
  }
  const std::vector<std::string> line = command_line(playing);
  if (playing.config == kStandardInput) {  // already read by this process; the daemon reads it again
    put_on_standard_input(standard_input_text());
  }
  say_sockets(arguments, sockets.path());
  OwnDaemon daemon(line, sockets.path());
  constexpr std::chrono::milliseconds kLook{20};
  while (!daemon.exit_code() && !StopSignal::raised()) {
    std::this_thread::sleep_for(kLook);
  }
  if (const int code = daemon.end(); code != 0) {
    throw Error(static_cast<ExitCode>(code),
                fmt::format("play: {} ended with exit code {}", OwnDaemon::kProgram, code));
  }
}

}  // namespace

void add_play(CLI::App& app) {
  auto arguments = std::make_shared<PlayArguments>();
  CLI::App* command =
      app.add_subcommand("play", "Open a recording like a live array: a daemon of its own plays it again and again");
  command->add_option("input", arguments->input, "recording of bits (.nfr), or a capture or time data, HDF5")
      ->required();
  command->add_option("-c,--config", arguments->config,
                      "settings, YAML (- is standard input); without it those that a recording carries, else the "
                      "defaults");
  command->add_option("--set", arguments->overrides, "one setting, KEY=VALUE; may be repeated")
      ->allow_extra_args(false)
      ->take_all();
  command->add_option("--device", arguments->device, "INDEX, or part of a platform's or device's name, or NAME:INDEX");
  command->add_option("--start", arguments->start_s, "of a recording: where the part that is played begins, s")
      ->check(CLI::NonNegativeNumber);
  command->add_option("--seconds", arguments->seconds, "of a recording: how long the part is")
      ->check(CLI::PositiveNumber);
  command->add_flag("--json", arguments->prints_json,
                    "print the sockets' names as one line of JSON, before the daemon starts");
  command->callback([arguments] {
    const std::vector<std::string> device = device_overrides(arguments->device);
    arguments->overrides.insert(arguments->overrides.begin(), device.begin(), device.end());
    run(*arguments);
  });
}

}  // namespace nearfield::cli
