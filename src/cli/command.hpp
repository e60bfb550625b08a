#pragma once
#include <CLI/CLI.hpp>
#include <atomic>
#include <chrono>
#include <csignal>
#include <stop_token>
#include <string>
#include <thread>
#include <vector>

#include "core/settings.hpp"
#include "core/system/threads.hpp"

/// One function per command: declares its arguments and its action. Listed in main.cpp's table.
namespace nearfield::cli {

void add_simulate(CLI::App& app);
void add_encode(CLI::App& app);
void add_replay(CLI::App& app);
void add_calibrate(CLI::App& app);
void add_combine(CLI::App& app);
void add_csm(CLI::App& app);
void add_convert(CLI::App& app);
void add_compare(CLI::App& app);
void add_summary(CLI::App& app);
void add_levels(CLI::App& app);
void add_masks(CLI::App& app);
void add_bridge(CLI::App& app);
void add_pictures(CLI::App& app);
void add_templates(CLI::App& app);
void add_export(CLI::App& app);
void add_beampattern(CLI::App& app);
void add_inspect(CLI::App& app);
void add_devices(CLI::App& app);
void add_doctor(CLI::App& app);
void add_demo(CLI::App& app);
void add_bench(CLI::App& app);
void add_send(CLI::App& app);
void add_play(CLI::App& app);
void add_tap(CLI::App& app);
void add_ctl(CLI::App& app);
void add_page(CLI::App& app);
void add_settings(CLI::App& app);
void add_new(CLI::App& app);
void add_bugreport(CLI::App& app);

/// Throws UsageError if `output` is empty or is the same file as one of `inputs` (empty ones are ignored).
void require_own_output(const std::string& output, const std::vector<std::string>& inputs);

/// Shows the progress of long work: a bar on a terminal, elsewhere a plain line every tenth; nothing with -q. On
/// stderr.
class Progress {
 public:
  explicit Progress(std::string what);
  ~Progress();
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;
  /// `share`: completed part, 0 to 1.
  void show(double share);

 private:
  void draw_bar(double share);
  std::string what_;
  bool shown_;  ///< not with -q
  bool terminal_;
  bool drawn_ = false;
  int tenth_ = 0;
  std::chrono::steady_clock::time_point last_;
};

/// SIGINT and SIGTERM as a flag that long work polls.
class StopSignal {
 public:
  /// Prevents the two signals from ending the process from now on.
  static void watch() {
    raised_ = false;
    std::signal(SIGINT, on_signal);
    std::signal(SIGTERM, on_signal);
  }
  /// Watches SIGHUP as well, unless it is ignored, such as under nohup: for work that must not outlive its terminal.
  static void watch_hangup() {
    if (std::signal(SIGHUP, on_signal) == SIG_IGN) {
      std::signal(SIGHUP, SIG_IGN);
    }
  }
  /// True if one of the signals was received since watch().
  static bool raised() { return raised_; }

 private:
  static void on_signal(int /*signal*/) { raised_ = true; }
  inline static std::atomic<bool> raised_ = false;  // NOLINT: a signal handler reaches nothing else
};

/// During its lifetime, a signal that StopSignal watches cancels computations of this thread at their cancellation
/// points.
class StoppedBySignal {
 public:
  StoppedBySignal()
      : watch_([this](const std::stop_token& ended) {
          constexpr std::chrono::milliseconds kLook{20};
          while (!ended.stop_requested()) {
            if (StopSignal::raised()) {
              source_.request_stop();
              return;
            }
            std::this_thread::sleep_for(kLook);
          }
        }) {}

 private:
  std::stop_source source_;
  Stoppable stoppable_{source_.get_token()};
  std::jthread watch_;
};

/// Adds `--wait [SECONDS]`, 60 without a number: the longest wait for a daemon that is still starting.
inline void add_wait(CLI::App& command, double& wait_s) {
  command.add_option("--wait", wait_s, "wait so many seconds, 60 without a number, until the daemon answers")
      ->expected(0, 1)
      ->default_str("60")
      ->check(CLI::Range(0.0, 1e6))
      ->type_name("[SECONDS]");
}

/// Notes on standard error that a command waits for nearfieldd.
void say_waiting(double wait_s);

/// Calls `answers` every 50 ms until it returns true, `wait_s` have passed or StopSignal was raised; false in the last
/// two cases. Says after a second that it waits.
template <typename Answers>
bool wait_for(double wait_s, const Answers& answers) {
  constexpr std::chrono::milliseconds kPause{50};
  const auto begin = std::chrono::steady_clock::now();
  bool has_said = false;
  while (!answers()) {
    const auto waited = std::chrono::steady_clock::now() - begin;
    if (StopSignal::raised() || waited >= std::chrono::duration<double>(wait_s)) {
      return false;
    }
    if (!has_said && waited >= std::chrono::seconds(1)) {
      say_waiting(wait_s);
      has_said = true;
    }
    std::this_thread::sleep_for(kPause);
  }
  return true;
}

inline constexpr const char* kBench = "bench";  ///< the command

/// Becomes nearfield-bench, the program in this one's folder or else the one in PATH. Returns only by throwing:
/// NoInputError if there is none.
[[noreturn]] void become_bench(std::vector<std::string> arguments);

/// Settings of a command that reads `input`: a recording's own settings unless `config` names a file, with the
/// overrides on top; for other inputs `config` or the defaults. `config_of` names a recording or an images file whose
/// settings are used instead.
struct InputSettings {
  Settings settings;
  std::string description;  ///< origin of the settings, a sentence for the user; empty if the input has none
};

/// Throws what load_settings() throws, and what reading a recording throws; DataError if `config_of` contains no
/// settings.
InputSettings settings_for_input(const std::string& input, const std::string& config,
                                 const std::vector<std::string>& overrides, const std::string& config_of = "");

/// Arguments of a command that computes frames from an input.
struct InputArguments {
  std::string input;
  std::string config;
  std::string config_of;
  std::vector<std::string> overrides;
};
/// Declares input, -c, --config-of and --set.
void add_input(CLI::App& command, InputArguments& arguments);
/// Like settings_for_input(); logs the origin of the settings if the input or another file contains them.
Settings settings_of(const InputArguments& arguments);

}  // namespace nearfield::cli
