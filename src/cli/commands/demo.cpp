#include <fcntl.h>
#include <fmt/format.h>
#include <nearfield_ring.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <cmath>
#include <complex>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <memory>
#include <nlohmann/json.hpp>
#include <numbers>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "cli/command.hpp"
#include "cli/own_daemon.hpp"
#include "cli/terminal_picture.hpp"
#include "config/words.hpp"
#include "control/socket/client.hpp"
#include "core/daemon_settings.hpp"
#include "core/error.hpp"
#include "core/system/files.hpp"
#include "core/system/host.hpp"
#include "page/guard.hpp"

namespace nearfield::cli {
namespace {

namespace fs = std::filesystem;
using DemoClock = std::chrono::steady_clock;

struct DemoArguments {
  bool in_terminal = false;
  double duration_s = 0.0;  ///< from the first picture on; 0: until Ctrl-C
};

/// Period of the scene: a whole number of periods of both tones, so that nothing jumps.
constexpr double kLoop_s = 1.0;

/// A source that moves in a circle once per loop, and one at rest. The array is small, so that two processors that have
/// other work, too, simulate its bits in seconds and shed no frame.
std::string scene_of_demo() {
  constexpr int kLegs = 24;
  constexpr double kHalfWidth_m = 0.09;
  constexpr double kHalfHeight_m = 0.07;
  std::string yaml = fmt::format(
      "version: 1\n"
      "array: {{rows: 12, columns: 12, pitch_x_m: 0.025, pitch_y_m: 0.025, sensitivity_dbfs: -26}}\n"
      "standoff_m: 0.03\n"
      "duration_s: {}\n"
      "seed: 5\n"
      "sigma_delta: {{order: 2}}\n"
      "sources:\n"
      "  - {{kind: monopole, frequency_hz: 2014, x_m: -0.02, y_m: 0.01, z_m: -0.02, volume_velocity_m3_s: 3.0e-5}}\n"
      "  - kind: monopole\n"
      "    frequency_hz: 2014\n"
      "    volume_velocity_m3_s: 1.0e-4\n"
      "    path:\n",
      kLoop_s);
  for (int i = 0; i <= kLegs; ++i) {
    const double turn = 2.0 * std::numbers::pi * i / kLegs;
    yaml += fmt::format("      - {{t_s: {:.6f}, x_m: {:.6f}, y_m: {:.6f}, z_m: -0.02}}\n", kLoop_s * i / kLegs,
                        kHalfWidth_m * std::cos(turn), kHalfHeight_m * std::sin(turn));
  }
  return yaml;
}

/// Settings with sockets at their default names, which NEARFIELD_RUNTIME_DIR moves into the demo's folder; a free port
/// for the page. Waiting hops are computed late rather than shed: nobody controls anything with these frames.
std::string settings_of_demo(const fs::path& scene) {
  return fmt::format(
      "version: 1\n"
      "array: {{rows: 12, columns: 12, pitch_x_m: 0.025, pitch_y_m: 0.025}}\n"
      "front_end: {{window_samples: 1024, hop_samples: 1024, frequencies_hz: [2014.16]}}\n"
      "holography:\n"
      "  standoff_m: 0.03\n"
      "  planes_m: [0.0]\n"
      "  upsample: 2\n"
      "processors:\n"
      "  here: {{kind: spectrum, points: [[0.0, 0.0]], every_hops: 9}}\n"
      "daemon:\n"
      "  source: {{kind: simulate, scene: {}}}\n"
      "  publish: {{phase_reference: stream, zmq: {{endpoint: off}}}}\n"
      "  page: {{address: \"127.0.0.1:0\"}}\n"
      "  metrics: {{address: off}}\n"
      "  recording: {{directory: off}}\n"
      "  overload: {{shed_hops_ms: 500}}\n"
      "  deadlines: {{frame_ms: 60000}}\n"
      "  log: {{target: stderr}}\n",
      quoted(scene.string()));
}

void write_file(const fs::path& path, const std::string& text) {
  errno = 0;
  std::ofstream file(path);
  file << text;
  file.close();
  if (!file) {
    throw IoError(fmt::format("{}: can't be written: {}", path.string(), std::strerror(errno)));
  }
}

double seconds_since(DemoClock::time_point start) {
  return std::chrono::duration<double>(DemoClock::now() - start).count();
}

/// The last lines of a file.
std::string end_of(const fs::path& path) {
  constexpr std::size_t kLines = 5;
  std::ifstream file(path);
  std::vector<std::string> lines;
  for (std::string line; std::getline(file, line);) {
    lines.push_back(line);
  }
  std::string text;
  for (std::size_t i = lines.size() - std::min(lines.size(), kLines); i < lines.size(); ++i) {
    text += "\n  " + lines[i];
  }
  return text;
}

/// The demo's own nearfieldd, with all its files in a folder that is removed with it.
class DemoDaemon {
 public:
  DemoDaemon() : folder_(temporary_folder(), "nearfield-demo") {
    const fs::path config = folder_.path() / "demo.yaml";
    const fs::path scene = folder_.path() / "scene.yaml";
    write_file(scene, scene_of_demo());
    write_file(config, settings_of_demo(scene));
    daemon_ = std::make_unique<OwnDaemon>(std::vector<std::string>{"-c", config.string()}, folder_.path(), log());
  }
  /// Throws the daemon's error if it has ended.
  void require_running() {
    if (const std::optional<int> code = daemon_->exit_code()) {
      const bool is_missing = *code == static_cast<int>(ExitCode::kNoInput) && fs::file_size(log()) == 0;
      throw Error(*code == 0 ? ExitCode::kInternal : static_cast<ExitCode>(*code),
                  is_missing
                      ? fmt::format("demo: expected the program {} beside this one or in a folder of PATH, "
                                    "found none",
                                    OwnDaemon::kProgram)
                      : fmt::format("demo: {} ended with exit code {}:{}", OwnDaemon::kProgram, *code, end_of(log())));
    }
  }
  [[nodiscard]] fs::path ring_socket() const { return folder_.path() / DaemonSettings::Ring::kFile; }
  [[nodiscard]] fs::path folder() const { return folder_.path(); }
  /// A page for this user only that redirects to `url`. The browser gets a command line, which all users can see: the
  /// token must not be in it.
  [[nodiscard]] fs::path write_way_to(const std::string& url) const {
    fs::path page = folder_.path() / "live_page.html";
    write_secret_file(page, fmt::format("<!doctype html>\n<meta charset=\"utf-8\">\n<title>Nearfield</title>\n"
                                        "<meta http-equiv=\"refresh\" content=\"0; url={0}\">\n"
                                        "<a href=\"{0}\">The live page</a>\n",
                                        url));
    return page;
  }
  /// URL of the live page, with the token that permits changes.
  [[nodiscard]] std::string page_url() const {
    control::Client client(folder_.path() / DaemonSettings::Control::kFile);
    const control::json page = client.call({{"command", "status"}}).value("page", control::json());
    if (!page.is_object()) {
      return "";
    }
    const control::json token = page.value("token_file", control::json());
    return page.at("url").get<std::string>() +
           (token.is_string() ? "?token=" + page::read_token(token.get<std::string>()) : "");
  }

 private:
  [[nodiscard]] fs::path log() const { return folder_.path() / "log"; }
  OwnFolder folder_;  ///< outlives the daemon
  std::unique_ptr<OwnDaemon> daemon_;
};

struct CloseDemoRing {
  void operator()(nf_ring* ring) const { nf_ring_close(ring); }
};
using DemoRing = std::unique_ptr<nf_ring, CloseDemoRing>;

/// Prints on standard error, even if nobody reads it.
void say(const std::string& text) { std::fputs(text.c_str(), stderr); }

/// True if the output has reached standard output; false once the reader of a pipe has ended.
bool is_printed() { return std::fflush(stdout) == 0 && std::ferror(stdout) == 0; }

/// Waits until the daemon has a ring with a frame; null if a signal was received first.
DemoRing wait_for_pictures(DemoDaemon& daemon, DemoClock::time_point start) {
  constexpr std::chrono::milliseconds kLook{50};
  const bool is_shown = can_redraw(STDERR_FILENO);
  DemoRing ring;
  while (!StopSignal::raised()) {
    daemon.require_running();
    nf_ring* opened = nullptr;
    if (!ring && nf_ring_open(daemon.ring_socket().c_str(), &opened) == NF_RING_OK) {
      ring.reset(opened);
    }
    nf_frame frame;
    if (ring && nf_ring_read_latest(ring.get(), INT64_MAX, &frame) == NF_RING_OK) {
      say(fmt::format("{}first picture after {:.1f} s\n", is_shown ? "\r\x1b[K" : "", seconds_since(start)));
      return ring;
    }
    if (is_shown) {
      say(fmt::format("\r{:.0f} s ", seconds_since(start)));
    }
    std::this_thread::sleep_for(kLook);
  }
  return nullptr;
}

/// The program that opens the desktop's browser, in its own session, which Ctrl-C does not reach.
class BrowserOpener {
 public:
  BrowserOpener() = default;
  BrowserOpener(const BrowserOpener&) = delete;
  BrowserOpener& operator=(const BrowserOpener&) = delete;
  ~BrowserOpener() { reap(); }

  /// False if no program that finds the desktop's browser is installed.
  bool opens(const fs::path& page);
  /// Collects the exit code of the program if it has ended. It often becomes the browser, and is not waited for.
  void reap() {
    if (process_ != 0 && waitpid(process_, nullptr, WNOHANG) != 0) {
      process_ = 0;
    }
  }

 private:
  pid_t process_ = 0;
};

bool has_desktop() {
  return std::ranges::any_of(std::array{"DISPLAY", "WAYLAND_DISPLAY"}, [](const char* name) {
    const char* const value = std::getenv(name);
    return value != nullptr && *value != '\0';
  });
}

bool BrowserOpener::opens(const fs::path& page) {
  std::vector<std::string> words = {"xdg-open", page.string()};
  posix_spawn_file_actions_t quiet{};
  posix_spawn_file_actions_init(&quiet);
  for (const int stream : {STDOUT_FILENO, STDERR_FILENO}) {
    posix_spawn_file_actions_addopen(&quiet, stream, "/dev/null", O_WRONLY, 0);
  }
  sigset_t defaults{};
  sigemptyset(&defaults);
  sigaddset(&defaults, SIGPIPE);
  posix_spawnattr_t attributes{};
  posix_spawnattr_init(&attributes);
  posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSID | POSIX_SPAWN_SETSIGDEF);
  posix_spawnattr_setsigdefault(&attributes, &defaults);
  pid_t process = 0;
  const bool is_started =
      posix_spawnp(&process, words.front().c_str(), &quiet, &attributes, argv_of(words).data(), environ) == 0;
  posix_spawnattr_destroy(&attributes);
  posix_spawn_file_actions_destroy(&quiet);
  process_ = is_started ? process : 0;
  return is_started;
}

/// Counts of received frames, with the figures of the last second.
class DemoTally {
 public:
  void add(const nf_frame& frame, std::uint64_t skipped) {
    ++frames_;
    skipped_ += skipped;
    shed_ += frame.shed_hops;
    missing_ = std::max(missing_, frame.missing_bit_times);
    ages_ns_.push_back(frame.age_ns);
    if (const double passed_s = seconds_since(since_); passed_s >= 1.0) {
      rate_hz_ = static_cast<double>(ages_ns_.size()) / passed_s;
      std::nth_element(ages_ns_.begin(), ages_ns_.begin() + static_cast<std::ptrdiff_t>(ages_ns_.size() / 2),
                       ages_ns_.end());
      age_ms_ = 1e-6 * static_cast<double>(ages_ns_[ages_ns_.size() / 2]);
      ages_ns_.clear();
      since_ = DemoClock::now();
    }
  }
  [[nodiscard]] std::string line() const {
    const std::string now =
        rate_hz_ == 0.0 ? "" : fmt::format("{:.1f} frames a second, age {:.1f} ms; ", rate_hz_, age_ms_);
    return fmt::format("{}{} frames, lost: {} bit-times, {} hops shed, {} frames skipped", now, frames_, missing_,
                       shed_, skipped_);
  }

 private:
  std::uint64_t frames_ = 0, skipped_ = 0, shed_ = 0, missing_ = 0;
  std::vector<std::int64_t> ages_ns_;  ///< since since_
  DemoClock::time_point since_ = DemoClock::now();
  double rate_hz_ = 0.0, age_ms_ = 0.0;
};

/// Uses the terminal's alternate screen while pictures are drawn: its previous content is restored.
class OtherScreen {
 public:
  explicit OtherScreen(bool is_used) : is_used_(is_used) { put("\x1b[?1049h\x1b[?25l\x1b[2J"); }
  OtherScreen(const OtherScreen&) = delete;
  OtherScreen& operator=(const OtherScreen&) = delete;
  ~OtherScreen() { put("\x1b[0m\x1b[?25h\x1b[?1049l"); }
  [[nodiscard]] bool is_used() const { return is_used_; }

 private:
  void put(const char* codes) const {
    if (is_used_) {
      std::fputs(codes, stdout);
      std::fflush(stdout);
    }
  }
  bool is_used_;
};

/// Draws the pressure on the surface; the oscillation of 2 kHz is slowed down to half a cycle per second.
class TerminalDrawing {
 public:
  explicit TerminalDrawing(std::string url)
      : screen_(can_redraw(STDOUT_FILENO)), in_colours_(takes_colours(STDOUT_FILENO)), url_(std::move(url)) {}

  /// False once standard output accepts no more.
  bool draw(const nf_ring* ring, const nf_frame& frame, const DemoTally& tally) {
    const nf_ring_layout& layout = *nf_ring_get_layout(ring);
    const nf_complex* const pixels = nf_ring_image(&layout, &frame, 0, 0);
    if (pixels == nullptr || seconds_since(drawn_) < interval_s()) {
      return true;
    }
    drawn_ = DemoClock::now();
    values_.clear();
    const std::size_t count = std::size_t{layout.rows} * layout.columns;
    float largest = 0.0F;
    for (std::size_t i = 0; i < count; ++i) {
      values_.emplace_back(pixels[i].re, pixels[i].im);
      largest = std::max(largest, std::abs(values_.back()));
    }
    constexpr double kForget = 0.98;  // decay of the scale per picture
    top_ = std::max({static_cast<double>(largest), kForget * top_, kLeastTop});
    return put({.values = values_, .rows = static_cast<int>(layout.rows), .columns = static_cast<int>(layout.columns)},
               tally);
  }

 private:
  static constexpr int kLinesOfText = 4;
  static constexpr double kLeastTop = 1e-9;
  static constexpr double kTurnsPerSecond = 0.5;

  /// Interval of pictures: two a second to a pipe, twenty to a screen.
  [[nodiscard]] double interval_s() const { return screen_.is_used() ? 0.05 : 0.5; }
  [[nodiscard]] bool put(const PhasorImage& image, const DemoTally& tally) const {
    TextSize room = terminal_size(STDOUT_FILENO);
    room.lines = std::max(1, room.lines - kLinesOfText);
    const double phase_rad = 2.0 * std::numbers::pi * kTurnsPerSecond * seconds_since(start_);
    std::string text = screen_.is_used() ? "\x1b[H" : "";
    text += in_colours_ ? draw_moment(image, phase_rad, top_, room) : draw_magnitudes(image, top_, room);
    const char* const end = screen_.is_used() ? "\x1b[K\n" : "\n";
    text += fmt::format("{}, scale up to {:.3g} Pa{}", in_colours_ ? "pressure on the surface" : "its magnitude", top_,
                        end);
    text += tally.line() + end;
    text += fmt::format("{}; Ctrl-C ends{}", url_, screen_.is_used() ? "\x1b[K\x1b[J" : "\n\n");
    std::fputs(text.c_str(), stdout);
    return is_printed();
  }

  OtherScreen screen_;
  bool in_colours_;
  std::string url_;
  DemoClock::time_point start_ = DemoClock::now();
  DemoClock::time_point drawn_{};
  double top_ = kLeastTop;
  std::vector<std::complex<float>> values_;
};

/// Reads every frame until a signal is received, the time is over, or nobody reads the drawing any more.
void follow(DemoDaemon& daemon, nf_ring* ring, TerminalDrawing* drawing, BrowserOpener& browser, double duration_s,
            DemoTally& tally) {
  constexpr std::int64_t kTurnNs = 50'000'000;
  const DemoClock::time_point start = DemoClock::now();
  while (!StopSignal::raised() && (duration_s == 0.0 || seconds_since(start) < duration_s)) {
    browser.reap();
    nf_frame frame;
    std::uint64_t skipped = 0;
    const nf_ring_status status = nf_ring_read_next(ring, kTurnNs, &frame, &skipped);
    if (status == NF_RING_OK) {
      tally.add(frame, skipped);
      if (drawing != nullptr && !drawing->draw(ring, frame, tally)) {
        return;
      }
    } else if (status == NF_RING_RETIRED || status == NF_RING_GONE) {  // settings changed by the page; or its end
      daemon.require_running();
      nf_ring_reopen(ring);
      std::this_thread::sleep_for(std::chrono::nanoseconds(kTurnNs));
    }
  }
}

void run_demo(const DemoArguments& arguments) {
  const DemoClock::time_point start = DemoClock::now();
  StopSignal::watch();
  StopSignal::watch_hangup();
  std::signal(SIGPIPE, SIG_IGN);  // flushing standard output detects the end of a pipe's reader
  say("144 one-bit microphones before a source that moves are simulated and imaged on this machine; the first "
      "picture takes some 10 s\n");
  DemoDaemon daemon;
  const DemoRing ring = wait_for_pictures(daemon, start);
  if (!ring) {
    return;
  }
  const std::string url = daemon.page_url();
  fmt::print("live page: {}\n", url);
  fmt::print("other commands find this daemon with NEARFIELD_RUNTIME_DIR={}\n", daemon.folder().string());
  if (!is_printed()) {
    return;
  }
  DemoTally tally;
  BrowserOpener browser;
  if (!arguments.in_terminal && !url.empty() && has_desktop() && browser.opens(daemon.write_way_to(url))) {
    fmt::print("the page opens in the browser; Ctrl-C ends the demo\n");
    if (!is_printed()) {
      return;
    }
    follow(daemon, ring.get(), nullptr, browser, arguments.duration_s, tally);
  } else {
    TerminalDrawing drawing(url);
    follow(daemon, ring.get(), &drawing, browser, arguments.duration_s, tally);
  }
  if (is_printed()) {
    fmt::print("{}\n", tally.line());
  }
}

}  // namespace

void add_demo(CLI::App& app) {
  auto arguments = std::make_shared<DemoArguments>();
  CLI::App* command = app.add_subcommand(
      "demo", "Show a moving hologram of a simulated array, in the browser or the terminal, until Ctrl-C");
  command->add_flag("--terminal", arguments->in_terminal, "draw in the terminal, even where there is a browser");
  command->add_option("--duration", arguments->duration_s, "end so many seconds after the first picture")
      ->check(CLI::NonNegativeNumber);
  command->callback([arguments] {
    run_demo(*arguments);
    std::signal(SIGPIPE, SIG_DFL);  // nothing is left to remove: a closed pipe may end the process, like every command
  });
}

}  // namespace nearfield::cli
