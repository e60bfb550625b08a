#include <fmt/format.h>
#include <spdlog/spdlog.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cmath>
#include <csignal>
#include <cstdlib>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "config/config.hpp"
#include "config/device_choice.hpp"
#include "config/live_samples.hpp"
#include "config/load_yaml.hpp"
#include "config/premises.hpp"
#include "control/checks/check.hpp"
#include "control/crash/crash_report.hpp"
#include "control/service/command_line.hpp"
#include "core/daemon_settings.hpp"
#include "core/error.hpp"
#include "core/system/files.hpp"
#include "core/system/memory.hpp"
#include "core/text.hpp"
#include "daemon/daemon.hpp"
#include "daemon/device_check.hpp"
#include "daemon/faults.hpp"
#include "daemon/signals.hpp"
#include "daemon/warm_up/warm_child.hpp"
#include "engine/devices.hpp"
#include "stream/sources/playback.hpp"
#include "version/version.hpp"

namespace {

using nearfield::ExitCode;
using nearfield::control::Finding;
using nearfield::daemon::DaemonOptions;
using nearfield::daemon::Faults;

struct Arguments {
  DaemonOptions options;
  std::string summary;
  std::string device;
  bool check = false;
  bool json = false;
  bool verbose = false;
  bool quiet = false;
};

Faults faults() {
#ifdef NEARFIELD_FAULTS
  const char* wanted = std::getenv("NEARFIELDD_FAULT");
  return nearfield::daemon::faults_of(wanted == nullptr ? "" : wanted);
#else
  return {};
#endif
}

/// Memory needs that follow from the settings alone, and the memory of this machine.
struct MemoryCheck {
  std::vector<nearfield::daemon::MemoryNeed> needs;  ///< for the run's device and the host; empty: unknown
  nearfield::daemon::FreeMemory room;
  nearfield::DeviceInfos devices;
};

MemoryCheck memory_of(const nearfield::Settings& settings) {
  using namespace nearfield::daemon;
  MemoryCheck memory;
  try {
    memory.devices = nearfield::find_devices(nearfield::ocl::find_device(settings.device), settings);
  } catch (const nearfield::Error&) {  // device_findings() reports it
  }
  memory.needs = needs_of_source(settings);
  const bool describes_itself = memory.needs.empty();  // its geometry is not known here
  if (!describes_itself) {
    for (MemoryNeed& need : needs_of_epoch(settings, memory.devices.of_processors)) {
      memory.needs.push_back(std::move(need));
    }
  }
  memory.room = free_memory(memory.devices.all);
  return memory;
}

/// Problem of a scene that the daemon is to play itself, or nullopt.
std::optional<Finding> scene_problem(const nearfield::DaemonSettings::Source& source) {
  try {
    if (source.kind == nearfield::DaemonSettings::SourceKind::kSimulate) {
      nearfield::require_scene_without_tracks(source.scene);
    }
  } catch (const nearfield::ConfigError& error) {
    return Finding{Finding::Kind::kProblem, error.what(), "files"};
  } catch (const nearfield::Error& error) {  // from a file that the scene names
    return Finding{Finding::Kind::kProblem, fmt::format("daemon.source.scene: {}", nearfield::message_for_owner(error)),
                   "files"};
  }
  return std::nullopt;
}

/// Findings that a daemon would have if it started now.
struct CheckResult {
  std::vector<Finding> findings;
  std::optional<MemoryCheck> memory;  ///< if the configuration is valid
  std::vector<std::string> premises;  ///< if the configuration is valid
  [[nodiscard]] std::size_t problems() const {
    return static_cast<std::size_t>(std::count_if(findings.begin(), findings.end(), [](const Finding& finding) {
      return finding.kind == Finding::Kind::kProblem;
    }));
  }
};

/// Rate of decimated samples in the settings; 0 if the source is a file or a scene, which has its own.
double announced_rate_hz(const nearfield::Settings& settings) {
  return nearfield::is_bare(settings.daemon->source) ? nearfield::sample_rate_of(settings) : 0.0;
}

/// Checks this machine for a valid configuration.
CheckResult look_around(const nearfield::daemon::ConfigurationSource& configuration) {
  const nearfield::Settings settings = nearfield::load_daemon_settings(configuration.path, configuration.overrides);
  CheckResult result{.findings = nearfield::control::machine_findings(settings),
                     .memory = memory_of(settings),
                     .premises = nearfield::premises(settings, announced_rate_hz(settings))};
  if (std::optional<Finding> problem = scene_problem(settings.daemon->source)) {
    result.findings.push_back(std::move(*problem));
  }
  for (std::string& problem : memory_problems(result.memory->needs, result.memory->room)) {
    result.findings.push_back({Finding::Kind::kProblem, std::move(problem), "memory"});
  }
  for (Finding& finding : nearfield::daemon::device_findings(settings)) {
    result.findings.push_back(std::move(finding));
  }
  return result;
}

nlohmann::json memory_json(const MemoryCheck& memory) {
  double host_needed_bytes = 0.0;
  double device_needed_bytes = 0.0;
  for (const nearfield::daemon::MemoryNeed& need : memory.needs) {
    host_needed_bytes += need.host_bytes;
    device_needed_bytes += need.device == 0 ? need.device_bytes : 0.0;
  }
  return {{"is_known", !memory.needs.empty()},
          {"host_free_bytes", memory.room.host_bytes},
          {"host_needed_bytes", host_needed_bytes},
          {"device_needed_bytes", device_needed_bytes}};
}

nlohmann::json devices_json(const MemoryCheck& memory) {
  nlohmann::json devices = nlohmann::json::array();
  for (const nearfield::ocl::DeviceInfo& device : memory.devices.all) {
    devices.push_back({{"name", device.name},
                       {"platform", device.platform},
                       {"version", device.version},
                       {"driver", device.driver},
                       {"is_gpu", device.is_gpu},
                       {"has_fp64", device.has_fp64},
                       {"global_memory_bytes", device.global_memory_bytes},
                       {"local_memory_bytes", device.local_memory_bytes}});
  }
  return devices;
}

void print_json(const CheckResult& result, const std::string& name) {
  nlohmann::json findings = nlohmann::json::array();
  for (const Finding& finding : result.findings) {
    findings.push_back({{"check", finding.check},
                        {"kind", finding.kind == Finding::Kind::kNote ? "note" : "problem"},
                        {"text", finding.text}});
  }
  nlohmann::json answer = {{"configuration", name},
                           {"problems", result.problems()},
                           {"findings", std::move(findings)},
                           {"premises", result.premises}};
  answer["memory"] = result.memory ? memory_json(*result.memory) : nlohmann::json();
  answer["devices"] = result.memory ? devices_json(*result.memory) : nlohmann::json();
  fmt::print("{}\n", answer.dump(2, ' ', false, nlohmann::json::error_handler_t::replace));
}

/// Reports the configuration's own problems first; the machine is checked if there are none.
int check(const nearfield::daemon::ConfigurationSource& configuration, bool as_json) {
  CheckResult result;
  for (std::string& problem : nearfield::control::configuration_problems(configuration.path, configuration.overrides)) {
    result.findings.push_back({Finding::Kind::kProblem, std::move(problem), "configuration"});
  }
  if (result.findings.empty()) {
    result = look_around(configuration);
  }
  const std::string name = configuration.path.empty()                        ? "defaults"
                           : configuration.path == nearfield::kStandardInput ? "standard input"
                                                                             : configuration.path;
  const ExitCode code = result.problems() == 0 ? ExitCode::kOk : ExitCode::kBadConfig;
  if (as_json) {
    print_json(result, name);
    return static_cast<int>(code);
  }
  for (const Finding& finding : result.findings) {
    fmt::print("{}{}\n", finding.kind == Finding::Kind::kNote ? "note: " : "", finding.text);
  }
  for (const std::string& line : result.premises) {
    fmt::print("{}\n", line);
  }
  if (code == ExitCode::kOk) {
    fmt::print("{}: no problems\n", name);
  }
  return static_cast<int>(code);
}

/// Puts options before the values of --set, which take precedence.
void put_options_into_overrides(Arguments& arguments) {
  std::vector<std::string>& overrides = arguments.options.configuration.overrides;
  std::vector<std::string> said = nearfield::device_overrides(arguments.device);
  if (arguments.verbose || arguments.quiet) {
    said.push_back(fmt::format("daemon.log.level={}", arguments.verbose ? "debug" : "warning"));
  }
  overrides.insert(overrides.begin(), said.begin(), said.end());
}

void write_summary(const std::string& path, const nlohmann::json& summary) {
  if (path == "-") {
    fmt::print("{}\n", summary.dump(2));
    return;
  }
  nearfield::PartialFile file(path);
  file.write(summary.dump(2) + "\n");
  file.finish_on_disk();
}

int run(Arguments& arguments) {
  put_options_into_overrides(arguments);
  if (arguments.check) {
    nearfield::daemon::release_signals();
    return check(arguments.options.configuration, arguments.json);
  }
  if (arguments.json && arguments.summary.empty()) {
    arguments.summary = "-";
  }
  if (!arguments.summary.empty() && arguments.summary != "-") {
    nearfield::require_replaceable(arguments.summary);  // fails now instead of after hours
  }
  nearfield::control::report_crashes("nearfieldd", fmt::format("{} {}", nearfield::version(), nearfield::commit()),
                                     nearfield::control::crash_folder());
  std::signal(SIGPIPE, SIG_IGN);  // readers may disconnect at any time
  std::signal(SIGXFSZ, SIG_IGN);  // a file at its limit is an error to report
  nearfield::keep_large_blocks_apart();
  const Faults wanted = faults();
  arguments.options.fault = wanted.frame;
  arguments.options.web_fault = wanted.web;
  arguments.options.source_fault = wanted.source;
  arguments.options.control_fault = wanted.control;
  arguments.options.mask_fault = wanted.mask;
  arguments.options.turn_limit_ns = std::llround(1e9 * wanted.turn_limit_s);
  if (wanted.warming_limit_s > 0.0) {
    arguments.options.configuration.reading_limit_s = wanted.warming_limit_s;
    arguments.options.configuration.compiling_limit_s = wanted.warming_limit_s;
  }
  nearfield::daemon::Daemon daemon(arguments.options);
  daemon.run();
  if (!arguments.summary.empty()) {
    write_summary(arguments.summary, daemon.summary());
  }
  return static_cast<int>(ExitCode::kOk);
}

int run_with_arguments(int argc, char** argv) {
  if (const Faults wanted = faults(); wanted.start) {
    wanted.start();
  }
  CLI::App app{"Nearfield's daemon: from live one-bit microphones to a controller"};
  Arguments arguments;
  app.set_version_flag("--version", [] { return nearfield::version_text("nearfieldd"); });
  arguments.options.version = std::string(nearfield::version());
  arguments.options.commit = std::string(nearfield::commit());
  app.add_option("-c,--config", arguments.options.configuration.path,
                 "settings, YAML (- is standard input, which is not read again); without it all defaults hold");
  app.add_option("--set", arguments.options.configuration.overrides, "one setting, KEY=VALUE; may be repeated")
      ->allow_extra_args(false)
      ->take_all();
  app.add_option("--device", arguments.device, "INDEX, or part of a platform's or device's name, or NAME:INDEX");
  app.add_flag("--check", arguments.check, "say what is wrong with the settings and on this machine, and end");
  app.add_option("--frames", arguments.options.frames, "N, the first N frames: end after them");
  app.add_option("--duration", arguments.options.duration_s, "end after so many seconds")
      ->check(CLI::NonNegativeNumber);
  app.add_option("--summary", arguments.summary,
                 "write a summary of the run here at its end, JSON; - is standard output");
  app.add_flag("--json", arguments.json, "print the summary at the end, or with --check what was found, as JSON");
  CLI::Option* const verbose =
      app.add_flag("-v,--verbose", arguments.verbose, "also say what is done; as --set daemon.log.level=debug");
  app.add_flag("-q,--quiet", arguments.quiet, "warnings and errors alone; as --set daemon.log.level=warning")
      ->excludes(verbose);
  int code = static_cast<int>(ExitCode::kOk);
  app.callback([&] { code = run(arguments); });
  const int parsed = nearfield::control::parse_command_line(app, argc, argv, "nearfieldd");
  return parsed == static_cast<int>(ExitCode::kOk) ? code : parsed;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc == 2 && std::string_view(argv[1]) == "--warm") {
    return nearfield::daemon::run_warm_child(faults().warming);
  }
  nearfield::daemon::hold_signals();
  const int code = nearfield::control::run_program([&] { return run_with_arguments(argc, argv); }, "nearfieldd");
  spdlog::shutdown();
  return code;
}
