#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <ctime>
#include <filesystem>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "cl/program_cache.hpp"
#include "cli/command.hpp"
#include "cli/own_daemon.hpp"
#include "config/config.hpp"
#include "config/device_choice.hpp"
#include "config/load_yaml.hpp"
#include "control/checks/check.hpp"
#include "control/doctor/diagnosis.hpp"
#include "core/daemon_settings.hpp"
#include "core/error.hpp"
#include "core/system/clocks.hpp"
#include "core/system/host.hpp"
#include "core/system/limited_run.hpp"
#include "core/text.hpp"

namespace nearfield::cli {
namespace {

using control::Diagnosis;
using control::Finding;
using nlohmann::json;

/// Time limit of children, which run concurrently, so that the command ends within ten seconds.
constexpr double kDoctorLimit_s = 7.0;
/// Time limit of machine_answer(), in a further child, if nearfieldd has given no answer.
constexpr double kMachineLimit_s = 2.0;

struct DoctorArguments {
  std::string config;
  std::string device;
  std::vector<std::string> overrides;
  bool as_json = false;
};

/// Command line of `nearfieldd --check --json` for a configuration, run in a child because drivers may hang.
std::vector<std::string> check_line(const DoctorArguments& arguments, bool with_configuration) {
  std::vector<std::string> line = {program_to_run(OwnDaemon::kProgram), "--check", "--json"};
  if (with_configuration && !arguments.config.empty()) {
    line.insert(line.end(), {"-c", arguments.config});
  }
  for (const std::string& one : with_configuration ? arguments.overrides : std::vector<std::string>{}) {
    line.insert(line.end(), {"--set", one});
  }
  return line;
}

/// The object that the child printed, or null.
json object_of(const LimitedRun::Outcome& outcome) {
  const json read = json::parse(outcome.output, nullptr, false);
  return outcome.end == LimitedRun::End::kDone && read.is_object() ? read : json();
}

std::string text_of(const json& object) { return object.dump(-1, ' ', false, json::error_handler_t::replace); }

/// Findings as JSON for findings_of(), in the format of nearfieldd --check --json.
json json_of(const std::vector<Finding>& findings) {
  json list = json::array();
  for (const Finding& finding : findings) {
    list.push_back({{"check", finding.check},
                    {"kind", finding.kind == Finding::Kind::kNote ? "note" : "problem"},
                    {"text", finding.text}});
  }
  return {{"findings", std::move(list)}};
}

std::vector<Finding> findings_of(const json& answer, std::string_view check) {
  std::vector<Finding> some;
  for (const json& finding : answer.value("findings", json::array())) {
    if (finding.at("check") == check) {
      some.push_back({.kind = finding.at("kind") == "note" ? Finding::Kind::kNote : Finding::Kind::kProblem,
                      .text = finding.at("text").get<std::string>(),
                      .check = std::string(check)});
    }
  }
  return some;
}

constexpr double kBytesOfMebibyte = 1024.0 * 1024.0;

std::string device_text(const json& device) {
  return fmt::format("{} ({}, driver {}), {}, {:.0f} MiB of memory, {:.0f} KiB of local memory",
                     device.at("name").get<std::string>(), device.at("platform").get<std::string>(),
                     device.at("driver").get<std::string>(), device.at("is_gpu").get<bool>() ? "GPU" : "no GPU",
                     device.at("global_memory_bytes").get<double>() / kBytesOfMebibyte,
                     device.at("local_memory_bytes").get<double>() / 1024.0);
}

/// A line that names a faster driver, where images are made by PoCL on a processor; else empty.
std::string faster_driver(const json& devices) {
  const auto is_of = [](const json& device, std::string_view platform) {
    return device.at("platform").get<std::string>().starts_with(platform);
  };
  if (devices.empty() || devices.front().at("is_gpu").get<bool>() ||
      !is_of(devices.front(), "Portable Computing Language") ||
      std::any_of(devices.begin(), devices.end(), [&](const json& one) { return is_of(one, "Intel(R) OpenCL"); })) {
    return "";
  }
  return "\nIntel's OpenCL for processors takes less time for a frame: docs/results/opencl.md says how much, and how "
         "to get it";
}

/// `answer`: that of nearfieldd --check --json; null if there is none, for the reason in `outcome`.
Diagnosis device_diagnosis(const json& answer, const LimitedRun::Outcome& outcome) {
  constexpr double kLeastLocalBytes = 32.0 * 1024.0;  // minimum of OpenCL 1.2
  Diagnosis result{.name = "device",
                   .found = "",
                   .needed = "an OpenCL device with 32 KiB of local memory, for daemon and commands alike",
                   .mend = ""};
  if (!answer.is_object()) {
    const bool is_missing = outcome.exit_code == LimitedRun::kNotFound && outcome.end == LimitedRun::End::kDone;
    const bool is_late = outcome.end == LimitedRun::End::kLate;
    result.state = Diagnosis::State::kFail;
    result.found = is_missing ? fmt::format("no program {} beside this one or in a folder of PATH", OwnDaemon::kProgram)
                   : is_late  ? fmt::format("OpenCL does not answer within {:g} s", kDoctorLimit_s)
                              : fmt::format("{} --check {}, without an answer", OwnDaemon::kProgram, outcome.ending());
    result.mend = is_missing ? "install the package nearfield, or build the target nearfieldd"
                  : outcome.end == LimitedRun::End::kDone
                      ? fmt::format("{} --check says why", OwnDaemon::kProgram)
                      : "move the drivers' files in /etc/OpenCL/vendors away one after the other";
    return result;
  }
  std::vector<Finding> problems = findings_of(answer, "device");
  std::erase_if(problems, [](const Finding& finding) { return finding.kind == Finding::Kind::kNote; });
  std::string found;
  const json devices = answer.value("devices", json());
  for (const json& device : devices.is_array() ? devices : json::array()) {
    found += (found.empty() ? "" : "\n") + device_text(device);
  }
  found += faster_driver(devices.is_array() ? devices : json::array());
  result = control::diagnosis_of("device", problems, found, result.needed);
  if (!problems.empty() && result.mend.empty()) {
    result.mend = "see the check drivers";
  }
  if (problems.empty() && devices.is_array() && !devices.empty() &&
      devices.front().at("local_memory_bytes").get<double>() < kLeastLocalBytes) {
    result.state = Diagnosis::State::kWarn;
    result.mend = "choose another device: device.platform, device.index";
  }
  return result;
}

Diagnosis memory_diagnosis(const json& answer) {
  const json memory = answer.is_object() ? answer.value("memory", json()) : json();
  if (!memory.is_object()) {
    return {.name = "memory",
            .state = Diagnosis::State::kWarn,
            .found = "not looked at, because of device",
            .needed = "what the configuration keeps in memory",
            .mend = "see the check device"};
  }
  const double host_free = memory.at("host_free_bytes").get<double>() / kBytesOfMebibyte;
  const bool is_known = memory.at("is_known").get<bool>();
  const std::string needed = is_known ? fmt::format("{:.0f} MiB of this machine, {:.0f} MiB of its device at least",
                                                    memory.at("host_needed_bytes").get<double>() / kBytesOfMebibyte,
                                                    memory.at("device_needed_bytes").get<double>() / kBytesOfMebibyte)
                                      : "known once the source is opened, which describes its array itself";
  Diagnosis result =
      control::diagnosis_of("memory", findings_of(answer, "memory"), fmt::format("{:.0f} MiB free", host_free), needed);
  if (result.state == Diagnosis::State::kFail && result.mend.empty()) {
    result.mend = "fewer planes or frequencies, a smaller holography.upsample or daemon.source.ring_bit_times";
  }
  return result;
}

/// PoCL's cache folder.
std::filesystem::path folder_of_pocl() {
  const auto variable = [](const char* name) {
    const char* const value = std::getenv(name);
    return std::filesystem::path(value == nullptr ? "" : value);
  };
  if (const std::optional<std::string> folder = ocl::private_pocl_cache()) {
    return *folder;
  }
  if (!variable("POCL_CACHE_DIR").empty()) {
    return variable("POCL_CACHE_DIR");
  }
  if (!variable("XDG_CACHE_HOME").empty()) {
    return variable("XDG_CACHE_HOME") / "pocl";
  }
  return variable("HOME").empty() ? std::filesystem::path() : variable("HOME") / ".cache" / "pocl";
}

/// Cache folder of the first device's programs: Nearfield's or PoCL's.
control::ProgramFolder cache_of(const json& answer) {
  const json devices = answer.is_object() ? answer.value("devices", json()) : json();
  const std::string platform =
      devices.is_array() && !devices.empty() ? devices.front().at("platform").get<std::string>() : "";
  const std::filesystem::path own = ocl::program_cache_folder(platform);
  if (own.empty() && platform == ocl::kPoclPlatform) {
    return {.folder = folder_of_pocl(), .variable = "POCL_CACHE_DIR"};
  }
  constexpr const char* kVariable = "NEARFIELD_CACHE_DIR";
  return {.folder = own, .variable = kVariable, .is_switched_off = own.empty() && std::getenv(kVariable) != nullptr};
}

/// The settings if they are valid; otherwise adds their problems.
std::optional<Settings> settings_of(const DoctorArguments& arguments, std::vector<Finding>& problems) {
  try {
    for (std::string& problem : control::configuration_problems(arguments.config, arguments.overrides)) {
      problems.push_back({.kind = Finding::Kind::kProblem, .text = std::move(problem)});
    }
    if (problems.empty()) {
      return load_daemon_settings(arguments.config, arguments.overrides);
    }
  } catch (const Error& error) {  // a file that can't be read
    problems.push_back({.kind = Finding::Kind::kProblem, .text = message_for_owner(error)});
  }
  return std::nullopt;
}

/// The wall clock beside the monotonic one: what a step of it changes.
std::int64_t wall_offset_ns() { return clock_ns(CLOCK_REALTIME) - monotonic_ns(); }

/// Adds the checks that depend on a valid configuration. `all`: an object with the findings, from nearfieldd --check
/// --json or json_of(); null: no process ended in time.
void add_configured(const Settings& settings, const json& all, const json& disk, std::vector<Diagnosis>& diagnoses) {
  if (!all.is_object()) {
    diagnoses.push_back({.name = "files",
                         .state = Diagnosis::State::kFail,
                         .found = fmt::format("the places that the settings name do not answer within {:g} s, or end "
                                              "the process that looks at them",
                                              kMachineLimit_s),
                         .needed = "files, folders and sockets that can be looked at",
                         .mend = "look for a disk or a network folder that hangs: findmnt, dmesg"});
    return;
  }
  diagnoses.push_back(control::realtime_diagnosis(settings.daemon->realtime, findings_of(all, "limits")));
  diagnoses.push_back(control::socket_buffers_diagnosis(settings, findings_of(all, "socket_buffers")));
  diagnoses.push_back(control::disk_diagnosis(settings, disk, findings_of(all, "recordings")));
  struct Plain {
    const char* check;
    const char* found;
    const char* needed;
  };
  for (const Plain& plain :
       {Plain{"sockets", "free", "places for the sockets that this user may use and no process serves"},
        Plain{"stale_sockets", "none", "no socket's file that a process left behind"},
        Plain{"ports", "free", "free ports at addresses of this machine"},
        Plain{"files", "there", "files that the settings name, readable"},
        Plain{"exposure", "this machine alone", "nothing that other machines reach, unless that is wanted"}}) {
    diagnoses.push_back(control::diagnosis_of(plain.check, findings_of(all, plain.check), plain.found, plain.needed));
    if (diagnoses.back().state != Diagnosis::State::kOk && diagnoses.back().mend.empty()) {
      diagnoses.back().mend = "correct what is named";
    }
  }
}

/// The machine's findings without those of its devices, for a nearfieldd that does not answer because of a driver. Not
/// concurrent with nearfieldd's own check, as both try the same ports.
json machine_answer(const Settings& settings) {
  LimitedRun machine([&settings] { return text_of(json_of(control::machine_findings(settings))); }, kMachineLimit_s);
  return object_of(machine.wait());
}

std::string configuration_name(const DoctorArguments& arguments) {
  return arguments.config.empty()             ? "defaults"
         : arguments.config == kStandardInput ? "standard input"
                                              : arguments.config;
}

std::vector<Diagnosis> examine(const DoctorArguments& arguments) {
  const std::int64_t before_ns = wall_offset_ns();
  std::vector<Finding> problems;
  const std::optional<Settings> settings = settings_of(arguments, problems);
  LimitedRun device(check_line(arguments, settings.has_value()), kDoctorLimit_s,
                    arguments.config == kStandardInput ? standard_input_text() : "");
  LimitedRun drivers([] { return control::look_at_drivers(); }, kDoctorLimit_s);
  const std::string folder = settings ? settings->daemon->recording.directory : "";
  LimitedRun disk([&folder] { return folder.empty() ? "" : control::look_at_disk(folder); }, kDoctorLimit_s);
  std::vector<Diagnosis> diagnoses;
  diagnoses.push_back(control::diagnosis_of(
      "configuration", problems, arguments.config.empty() ? "defaults" : configuration_name(arguments) + ": right",
      "settings as docs/reference/settings.md describes them"));
  if (!problems.empty()) {
    diagnoses.back().mend = "correct the lines that are named; what depends on them was not looked at";
  }
  const LimitedRun::Outcome of_drivers = drivers.wait();
  diagnoses.push_back(control::drivers_diagnosis(object_of(of_drivers), of_drivers));
  const LimitedRun::Outcome outcome = device.wait();
  const json answer = object_of(outcome);
  diagnoses.push_back(device_diagnosis(answer, outcome));
  if (settings) {
    diagnoses.push_back(memory_diagnosis(answer));
  }
  diagnoses.push_back(control::permissions_diagnosis({}));
  if (settings) {
    add_configured(*settings, answer.is_object() ? answer : machine_answer(*settings), object_of(disk.wait()),
                   diagnoses);
  }
  diagnoses.push_back(control::governor_diagnosis({}));
  diagnoses.push_back(control::huge_pages_diagnosis({}));
  diagnoses.push_back(control::cache_diagnosis(cache_of(answer)));
  diagnoses.push_back(control::clock_diagnosis({}, kSecondsPerNs * static_cast<double>(wall_offset_ns() - before_ns)));
  return diagnoses;
}

/// Prints the lines of a text, each indented to the table's second column.
void print_part(std::string_view label, std::string_view text) {
  while (!text.empty()) {
    const std::size_t end = text.find('\n');
    fmt::print("      {:<8}{}\n", label, text.substr(0, end));
    label = "";
    text = end == std::string_view::npos ? "" : text.substr(end + 1);
  }
}

void print(const Diagnosis& diagnosis) {
  fmt::print("{:<4}  {}\n", control::name_of(diagnosis.state), diagnosis.name);
  print_part("found", diagnosis.found);
  print_part("needed", diagnosis.needed);
  if (diagnosis.state != Diagnosis::State::kOk) {
    print_part("mend", diagnosis.mend);
  }
}

void run_doctor(const DoctorArguments& arguments) {
  const std::vector<Diagnosis> diagnoses = examine(arguments);
  const auto count = [&](Diagnosis::State state) {
    return std::count_if(diagnoses.begin(), diagnoses.end(),
                         [state](const Diagnosis& one) { return one.state == state; });
  };
  const auto failed = count(Diagnosis::State::kFail);
  if (arguments.as_json) {
    json checks = json::array();
    for (const Diagnosis& diagnosis : diagnoses) {
      checks.push_back(control::to_json(diagnosis));
    }
    const json report = {
        {"configuration", configuration_name(arguments)}, {"ok", failed == 0}, {"checks", std::move(checks)}};
    fmt::print("{}\n", report.dump(2, ' ', false, json::error_handler_t::replace));
  } else {
    for (const Diagnosis& diagnosis : diagnoses) {
      print(diagnosis);
    }
    fmt::print("{} ok, {} to look at, {} failed\n", count(Diagnosis::State::kOk), count(Diagnosis::State::kWarn),
               failed);
  }
  if (failed > 0) {
    throw Error(ExitCode::kDiffers, fmt::format("doctor: {} of {} checks failed", failed, diagnoses.size()));
  }
}

}  // namespace

void add_doctor(CLI::App& app) {
  auto arguments = std::make_shared<DoctorArguments>();
  CLI::App* command = app.add_subcommand(
      "doctor", "Look at this machine beside a configuration: what was found, what is needed, and what mends it");
  command->add_option("-c,--config", arguments->config,
                      "settings of nearfieldd, YAML (- is standard input); without it all defaults hold");
  command->add_option("--set", arguments->overrides, "one setting, KEY=VALUE; may be repeated")
      ->allow_extra_args(false)
      ->take_all();
  command->add_option("--device", arguments->device, "INDEX, or part of a platform's or device's name, or NAME:INDEX");
  command->add_flag("--json", arguments->as_json, "print one JSON object");
  command->callback([arguments] {
    const std::vector<std::string> device = device_overrides(arguments->device);
    arguments->overrides.insert(arguments->overrides.begin(), device.begin(), device.end());
    run_doctor(*arguments);
  });
}

}  // namespace nearfield::cli
