#include <fmt/format.h>
#include <poll.h>
#include <pthread.h>
#include <spdlog/sinks/stdout_color_sinks.h>
#include <spdlog/spdlog.h>
#include <sys/eventfd.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <array>
#include <csignal>
#include <cstdlib>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <thread>

#include "config/config.hpp"
#include "control/checks/check.hpp"
#include "control/service/command_line.hpp"
#include "core/system/file_descriptor.hpp"
#include "core/system/partial_file.hpp"
#include "daemon/daemon.hpp"
#include "daemon/device_check.hpp"
#include "daemon/faults.hpp"
#include "daemon/last_words.hpp"
#include "daemon/memory_need.hpp"
#include "daemon/warm_up/warm_child.hpp"
#include "nearfield/error.hpp"
#include "pipeline/devices.hpp"
#include "stream/sources/playback_source.hpp"

namespace {

using nearfield::ExitCode;
using nearfield::FileDescriptor;
using nearfield::control::Finding;
using nearfield::daemon::DaemonOptions;
using nearfield::daemon::Faults;

struct Arguments {
  DaemonOptions options;
  std::string summary;
  bool check = false;
};

/// Before any thread starts, so that all inherit it and only run() takes them.
void block_signals() {
  sigset_t blocked;
  sigemptyset(&blocked);
  for (const int signal : {SIGTERM, SIGINT, SIGHUP}) {
    sigaddset(&blocked, signal);
  }
  pthread_sigmask(SIG_BLOCK, &blocked, nullptr);
  std::signal(SIGPIPE, SIG_IGN);  // readers may go at any time
  std::signal(SIGXFSZ, SIG_IGN);  // a file at its limit is an error to report
}

/// Ends the process at SIGTERM or SIGINT while it starts: compiling takes seconds, and nothing needs to be put away
/// yet. Once this is destroyed, signals wait for Daemon::run().
class EndAtSignal {
 public:
  EndAtSignal() : started_(eventfd(0, EFD_CLOEXEC)) {
    sigset_t wanted;
    sigemptyset(&wanted);
    sigaddset(&wanted, SIGTERM);
    sigaddset(&wanted, SIGINT);
    signals_ = FileDescriptor(signalfd(-1, &wanted, SFD_CLOEXEC));
    thread_ = std::thread([this] { wait(); });
  }
  EndAtSignal(const EndAtSignal&) = delete;
  EndAtSignal& operator=(const EndAtSignal&) = delete;
  ~EndAtSignal() {
    const std::uint64_t one = 1;
    [[maybe_unused]] const ssize_t written = write(started_.get(), &one, sizeof one);
    thread_.join();
  }

 private:
  void wait() const {
    std::array<pollfd, 2> waiting = {pollfd{started_.get(), POLLIN, 0}, pollfd{signals_.get(), POLLIN, 0}};
    while (poll(waiting.data(), waiting.size(), -1) < 0) {
    }
    if (waiting[0].revents == 0) {
      nearfield::daemon::end_process(ExitCode::kOk, "asked to stop while it started");
    }
  }

  FileDescriptor started_;
  FileDescriptor signals_;
  std::thread thread_;
};

Faults faults() {
#ifdef NEARFIELD_FAULTS
  const char* wanted = std::getenv("NEARFIELDD_FAULT");
  return nearfield::daemon::faults_of(wanted == nullptr ? "" : wanted);
#else
  return {};
#endif
}

/// What the settings alone say of the memory that they need, where it is not there.
std::vector<std::string> lacking_memory(const nearfield::Settings& settings) {
  using namespace nearfield::daemon;
  nearfield::DeviceInfos devices;
  try {
    devices = nearfield::find_devices(nearfield::ocl::find_device(settings.device), settings);
  } catch (const nearfield::Error&) {  // device_findings() says so
  }
  std::vector<MemoryNeed> needs = needs_of_source(settings);
  const bool describes_itself = needs.empty();  // its geometry is not known here
  if (!describes_itself) {
    for (MemoryNeed& need : needs_of_epoch(settings, devices.of_processors)) {
      needs.push_back(std::move(need));
    }
  }
  return memory_problems(needs, memory_room(devices.all));
}

/// What is wrong with a scene that the daemon is to play itself.
std::optional<Finding> scene_problem(const nearfield::DaemonSettings::Source& source) {
  try {
    if (source.kind == nearfield::DaemonSettings::SourceKind::kSimulate) {
      nearfield::require_scene_without_tracks(source.scene);
    }
  } catch (const nearfield::ConfigError& error) {
    return Finding{Finding::Kind::kProblem, error.what()};
  } catch (const nearfield::NoInputError&) {  // machine_findings() says so
  }
  return std::nullopt;
}

/// What a daemon that starts now with a configuration that is right would find on this machine.
std::vector<Finding> look_around(const nearfield::daemon::ConfigurationSource& configuration) {
  const nearfield::Settings settings = nearfield::load_daemon_settings(configuration.path, configuration.overrides);
  std::vector<Finding> findings = nearfield::control::machine_findings(settings);
  if (std::optional<Finding> problem = scene_problem(settings.daemon.source)) {
    findings.push_back(std::move(*problem));
  }
  for (std::string& problem : lacking_memory(settings)) {
    findings.push_back({Finding::Kind::kProblem, std::move(problem)});
  }
  for (Finding& finding : nearfield::daemon::device_findings(settings)) {
    findings.push_back(std::move(finding));
  }
  return findings;
}

/// The configuration's own problems are reported first; the machine is checked where there are none.
int check(const nearfield::daemon::ConfigurationSource& configuration) {
  std::vector<Finding> findings;
  for (std::string& problem : nearfield::control::configuration_problems(configuration.path, configuration.overrides)) {
    findings.push_back({Finding::Kind::kProblem, std::move(problem)});
  }
  if (findings.empty()) {
    findings = look_around(configuration);
  }
  std::size_t problems = 0;
  for (const Finding& finding : findings) {
    const bool is_note = finding.kind == Finding::Kind::kNote;
    problems += is_note ? 0 : 1;
    fmt::print("{}{}\n", is_note ? "note: " : "", finding.text);
  }
  const std::string name = configuration.path.empty() ? "defaults" : configuration.path;
  if (problems == 0) {
    fmt::print("{}: no problems\n", name);
  }
  return static_cast<int>(problems == 0 ? ExitCode::kOk : ExitCode::kBadConfig);
}

void write_summary(const std::string& path, const nlohmann::json& summary) {
  nearfield::PartialFile file(path);
  file.write(summary.dump(2) + "\n");
  file.finish_on_disk();
}

int run(Arguments& arguments) {
  if (arguments.check) {
    return check(arguments.options.configuration);
  }
  if (!arguments.summary.empty()) {
    nearfield::require_replaceable(arguments.summary);  // now, and not after hours
  }
  block_signals();
  const Faults wanted = faults();
  arguments.options.fault = wanted.frame;
  if (wanted.warming_limit_s > 0.0) {
    arguments.options.configuration.reading_limit_s = wanted.warming_limit_s;
    arguments.options.configuration.compiling_limit_s = wanted.warming_limit_s;
  }
  std::optional<nearfield::daemon::Daemon> daemon;
  {
    const EndAtSignal end_at_signal;
    daemon.emplace(arguments.options);
  }
  daemon->run();
  if (!arguments.summary.empty()) {
    write_summary(arguments.summary, daemon->summary());
  }
  return static_cast<int>(ExitCode::kOk);
}

int guarded(Arguments& arguments) {
  try {
    return run(arguments);
  } catch (const nearfield::Error& error) {
    spdlog::error("{}", error.what());
    return static_cast<int>(error.exit_code());
  } catch (const std::bad_alloc&) {
    spdlog::error("out of memory");
  } catch (const std::exception& error) {
    spdlog::error("internal error: {}", error.what());
  }
  return static_cast<int>(ExitCode::kInternal);
}

/// Until the configuration is read, log lines go to stderr, as those of `nearfield`.
void set_up_first_log() {
  auto log = spdlog::stderr_color_mt("start");
  log->set_pattern("nearfieldd: %^%l%$: %v");
  spdlog::set_default_logger(std::move(log));
}

}  // namespace

int main(int argc, char** argv) {
  if (argc == 2 && std::string_view(argv[1]) == "--warm") {
    return nearfield::daemon::run_warm_child(faults().warming);
  }
  set_up_first_log();
  CLI::App app{"Nearfield's daemon: from live one-bit microphones to a controller"};
  Arguments arguments;
  app.set_version_flag("--version", NEARFIELD_VERSION);
  arguments.options.version = NEARFIELD_VERSION;
  app.add_option("-c,--config", arguments.options.configuration.path, "settings, YAML; without it all defaults hold");
  app.add_option("--set", arguments.options.configuration.overrides, "one setting, KEY=VALUE; may be repeated")
      ->allow_extra_args(false)
      ->take_all();
  app.add_flag("--check", arguments.check, "say what is wrong with the settings and on this machine, and end");
  app.add_option("--frames", arguments.options.frames, "end after so many frames");
  app.add_option("--duration", arguments.options.duration_s, "end after so many seconds")
      ->check(CLI::NonNegativeNumber);
  app.add_option("--summary", arguments.summary, "write a summary of the run here at its end, JSON");
  try {
    app.parse(argc, argv);
  } catch (const CLI::Success& request) {
    return app.exit(request);
  } catch (const CLI::ParseError& error) {
    spdlog::error("{}", nearfield::control::usage_problem(app, error, "nearfieldd"));
    return static_cast<int>(ExitCode::kUsage);
  }
  const int code = guarded(arguments);
  spdlog::shutdown();
  return code;
}
