#include <fmt/chrono.h>
#include <fmt/format.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <ctime>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <memory>
#include <nlohmann/json.hpp>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "cli/bugreport/redaction.hpp"
#include "cli/command.hpp"
#include "cli/own_daemon.hpp"
#include "control/crash/crash_report.hpp"
#include "control/socket/client.hpp"
#include "core/daemon_settings.hpp"
#include "core/error.hpp"
#include "core/system/files.hpp"
#include "core/system/host.hpp"
#include "core/system/limited_run.hpp"

namespace nearfield::cli {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

constexpr const char* kLogLines = "1000";
/// Most output of a child; a longer log is cut.
constexpr std::size_t kMostOutputBytes = std::size_t{4} << 20U;

/// Time limits of a child before it is killed and left out, or --limit if that is shorter: one that reads local data,
/// one that asks the drivers (a doctor gives them 7 s itself), one that reads the journal, one that packs; and all
/// addr2line together.
constexpr double kQuickLimit_s = 5.0;
constexpr double kDriverLimit_s = 15.0;
constexpr double kLogLimit_s = 10.0;
constexpr double kPackLimit_s = 60.0;
constexpr double kNamesLimit_s = 20.0;

struct ReportArguments {
  std::string output;
  std::string socket{kAutoSocket};
  std::string config;
  double limit_s = kPackLimit_s;
};

void require_not_stopped() {
  if (StopSignal::raised()) {
    throw Error(ExitCode::kInterrupted, "bugreport: stopped");
  }
}

/// Runs a program without a shell, in a process that is killed at its time limit; its standard error is discarded.
/// Output beyond kMostOutputBytes is dropped.
LimitedRun::Outcome run_child(const std::vector<std::string>& words, double limit_s) {
  LimitedRun child(words, limit_s);
  LimitedRun::Outcome outcome = child.wait(StopSignal::raised);
  require_not_stopped();
  outcome.output.resize(std::min(outcome.output.size(), kMostOutputBytes));
  return outcome;
}

bool succeeded(const LimitedRun::Outcome& outcome) {
  return outcome.end == LimitedRun::End::kDone && outcome.exit_code == 0;
}

bool is_missing(const LimitedRun::Outcome& outcome) {
  return outcome.end == LimitedRun::End::kDone && outcome.exit_code == LimitedRun::kNotFound;
}

std::string text_of_file(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}

/// Files of a report, in a folder that is removed with this object.
class Report {
 public:
  /// Limits programs for the report to at most `limit_s`.
  Report(std::string name, double limit_s)
      : name_(std::move(name)), folder_(temporary_folder(), "nearfield-bugreport"), limit_s_(limit_s) {
    fs::create_directory(folder_.path() / name_);
  }

  /// Output of a program within `limit_s`, or within the report's own limit if that is shorter.
  [[nodiscard]] LimitedRun::Outcome ask(const std::vector<std::string>& words, double limit_s) const {
    return run_child(words, std::min(limit_s, limit_s_));
  }

  /// Writes an internal file for a program, which is not packed. Returns its path.
  [[nodiscard]] std::string keep_aside(const std::string& file, const std::string& text) const {
    const fs::path path = folder_.path() / file;
    write_whole_file(path, text);
    return path.string();
  }

  /// Adds a text, always redacted. `what` is printed in the list, and is in the archive's contents.txt.
  void add(const std::string& file, const std::string& what, const std::string& text) {
    add_whole(file, what, redacted(text, names_));
  }
  void add(const std::string& file, const std::string& what, const json& object) {
    add_whole(file, what, redacted(object, names_).dump(2, ' ', false, json::error_handler_t::replace) + "\n");
  }
  /// Adds a list of versions, some of which look like addresses.
  void add_versions(const std::string& file, const std::string& what, const std::string& text) {
    add_whole(file, what, without_names(text, names_));
  }
  void leave_out(const std::string& what, const std::string& why) {
    contents_ += fmt::format("{:<14} {:>8}        {}: {}\n", "-", "", what, redacted(why, names_));
  }
  [[nodiscard]] const std::string& contents() const { return contents_; }

  void pack(const std::string& output) const {
    write_whole_file(folder_.path() / name_ / "contents.txt", contents_);
    const std::string archive = (folder_.path() / "report.tar.gz").string();
    const LimitedRun::Outcome tar = run_child(
        {"tar", "-C", folder_.path().string(), "--owner=0", "--group=0", "-czf", archive, name_}, kPackLimit_s);
    if (!succeeded(tar)) {
      throw IoError(fmt::format("bugreport: tar {}", is_missing(tar) ? "is not installed" : tar.ending()));
    }
    PartialFile file(output);
    file.write(text_of_file(archive));
    file.finish();
  }

 private:
  void add_whole(const std::string& file, const std::string& what, const std::string& text) {
    write_whole_file(folder_.path() / name_ / file, text);
    contents_ += fmt::format("{:<14} {:>8} bytes  {}\n", file, text.size(), what);
  }

  std::string name_;
  OwnFolder folder_;
  double limit_s_;
  PrivateNames names_ = private_names();
  std::string contents_;
};

std::string utc_now() { return fmt::format("{:%Y%m%dT%H%M%SZ}", fmt::gmtime(std::time(nullptr))); }

std::string machine() {
  utsname kernel{};
  uname(&kernel);
  std::string text = fmt::format("{}\nkernel {} {} {}\nprocessors {}\n\n/etc/os-release\n{}\n/proc/meminfo\n",
                                 utc_now(), kernel.release, kernel.version, kernel.machine,
                                 sysconf(_SC_NPROCESSORS_ONLN), text_of_file("/etc/os-release"));
  std::istringstream memory(text_of_file("/proc/meminfo"));
  constexpr int kLines = 5;
  std::string line;
  for (int i = 0; i < kLines && std::getline(memory, line); ++i) {
    text += line + "\n";
  }
  std::istringstream processors(text_of_file("/proc/cpuinfo"));
  while (std::getline(processors, line)) {
    if (line.starts_with("model name")) {
      text += line + "\n";
      break;
    }
  }
  return text;
}

std::string version_of(const Report& report, const char* program) {
  const LimitedRun::Outcome version = report.ask({program_to_run(program), "--version"}, kQuickLimit_s);
  return succeeded(version) ? version.output : fmt::format("{} --version {}\n", program, version.ending());
}

void add_programs(Report& report) {
  report.add("version.txt", "what `nearfield --version` and `nearfieldd --version` print",
             version_of(report, "nearfield") + version_of(report, OwnDaemon::kProgram));
  report.add("machine.txt", "system, kernel, processors, memory", machine());
  const LimitedRun::Outcome packages =
      report.ask({"dpkg-query", "-W", "-f", "${db:Status-Abbrev} ${Package} ${Version}\n", "*nearfield*", "*opencl*",
                  "pocl*", "libpocl*", "libclfft*", "libclblast*", "libhdf5*", "libzmq*", "*nvidia-driver*", "systemd"},
                 kQuickLimit_s);
  if (is_missing(packages)) {
    report.leave_out("packages", "this system has no dpkg-query");
  } else if (packages.end != LimitedRun::End::kDone) {
    report.leave_out("packages", fmt::format("dpkg-query {}", packages.ending()));
  } else {  // 1: some are unknown
    report.add_versions("packages.txt", "versions of the packages that Nearfield uses", packages.output);
  }
  const LimitedRun::Outcome devices = report.ask({program_to_run("nearfield"), "devices"}, kDriverLimit_s);
  if (succeeded(devices)) {
    report.add("devices.txt", "what `nearfield devices` prints", devices.output);
  } else {
    report.leave_out("devices", fmt::format("`nearfield devices` {}", devices.ending()));
  }
}

/// Adds status and configuration of the running daemon. Returns its configuration; empty if no daemon answers.
std::string add_daemon(Report& report, const std::string& socket) {
  try {
    control::Client client(socket_to_connect(socket, DaemonSettings::Control::kFile));
    const json status = client.call({{"command", "status"}});
    const json config = client.call({{"command", "config"}});
    auto text = config.at("yaml").get<std::string>();
    report.add("status.json", "what `nearfield ctl status --json` prints, without addresses of other machines", status);
    report.add("config.yaml", "what `nearfield ctl config` prints, without addresses, hosts and keys of others", text);
    return text;
  } catch (const Error& error) {
    report.leave_out("status and configuration", error.what());
    return "";
  }
}

/// Adds the doctor's result for the named configuration, else for the daemon's, else for the defaults. The doctor's
/// exit code is 1 if a check fails, with the same object.
void add_doctor(Report& report, const std::string& named, const std::string& of_daemon) {
  std::vector<std::string> words = {program_to_run("nearfield"), "doctor", "--json"};
  std::string of = "all defaults, as no daemon answers";
  if (!named.empty()) {
    words.insert(words.end(), {"-c", named});
    of = "the named configuration";
  } else if (!of_daemon.empty()) {
    words.insert(words.end(), {"-c", report.keep_aside("daemon.yaml", of_daemon)});
    of = "the daemon's configuration, whose ports and sockets are in use";
  }
  const LimitedRun::Outcome doctor = report.ask(words, kDriverLimit_s);
  if (doctor.end == LimitedRun::End::kDone && json::accept(doctor.output)) {
    report.add("doctor.json", fmt::format("what `nearfield doctor --json` found for {}", of),
               json::parse(doctor.output));
  } else {
    report.leave_out("doctor", fmt::format("`nearfield doctor --json` {}, without JSON", doctor.ending()));
  }
}

void add_log(Report& report) {
  const LimitedRun::Outcome log = report.ask({"journalctl", "--no-pager", "-q", "-o", "short-iso", "-n", kLogLines,
                                              "-u", "nearfieldd.service", "-u", "nearfieldd@*"},
                                             kLogLimit_s);
  if (is_missing(log)) {
    report.leave_out("log", "this system has no journalctl");
  } else if (!succeeded(log)) {
    report.leave_out("log", fmt::format("journalctl {}", log.ending()));
  } else if (log.output.empty()) {
    report.leave_out("log", "the journal has no line of nearfieldd that this user may read");
  } else {
    report.add("log.txt", fmt::format("the journal's last {} lines of nearfieldd, without addresses", kLogLines),
               log.output);
  }
}

/// The report with the names and lines of its frames appended, if addr2line is installed. The names stay mangled: in
/// others, "d::da" would be redacted as an address.
std::string with_names(const std::string& crash) {
  const auto start = std::chrono::steady_clock::now();
  std::string text = crash;
  std::istringstream lines(crash);
  for (std::string line; std::getline(lines, line);) {
    const std::size_t open = line.rfind('(');  // MODULE(FUNCTION+0xOFFSET) [0xADDRESS], or without function and blank
    const std::size_t place = line.find_first_not_of("(+", open);
    const std::size_t close = line.find(')', open);
    if (open == std::string::npos || close == std::string::npos || !line.ends_with(']')) {
      continue;
    }
    const std::chrono::duration<double> passed = std::chrono::steady_clock::now() - start;
    const double left_s = kNamesLimit_s - passed.count();
    const LimitedRun::Outcome names = run_child(
        {"addr2line", "-fie", program_to_run(line.substr(0, open)), line.substr(place, close - place)}, left_s);
    if (is_missing(names)) {
      return text + "no names: addr2line (package binutils) is not installed\n";
    }
    if (names.end == LimitedRun::End::kLate) {
      return text + fmt::format("no further names: addr2line took longer than {:g} s\n", kNamesLimit_s);
    }
    text += fmt::format("{}\n{}", line.substr(0, close + 1), names.output);
  }
  return text;
}

/// Adds the newest crash of the daemons that this user and the services have run.
void add_crash(Report& report) {
  std::vector<fs::path> folders = control::crash_folders_of_services();
  folders.push_back(control::crash_folder());
  if (const fs::path crash = control::newest_crash(folders); !crash.empty()) {
    report.add("crash.txt",
               fmt::format("the newest report of a crash, {}", (crash.parent_path().parent_path().filename() /
                                                                crash.parent_path().filename() / crash.filename())
                                                                   .string()),
               with_names(text_of_file(crash)));
    return;
  }
  report.leave_out("crash", "no report of a crash that this user may read; those of the services: as root");
}

void run(const ReportArguments& arguments) {
  const std::string name = "nearfield_bugreport_" + utc_now();
  const std::string output = arguments.output.empty() ? name + ".tar.gz" : arguments.output;
  require_replaceable(output);
  StopSignal::watch();
  StopSignal::watch_hangup();
  Report report(name, arguments.limit_s);
  add_programs(report);
  const std::string config = add_daemon(report, arguments.socket);
  add_doctor(report, arguments.config, config);
  add_log(report);
  add_crash(report);
  require_not_stopped();
  report.pack(output);
  fmt::print(
      "{}\n{} holds the files above, no sound and no results. Nothing was sent: look into it before you give it "
      "away.\n",
      report.contents(), output);
}

}  // namespace

void add_bugreport(CLI::App& app) {
  const auto arguments = std::make_shared<ReportArguments>();
  CLI::App* command = app.add_subcommand("bugreport", "Pack what a bug report needs, without sound, into a .tar.gz");
  command->add_option("-o,--output", arguments->output,
                      "archive to write; default: nearfield_bugreport_TIME.tar.gz here");
  command->add_option("-c,--config", arguments->config,
                      "settings that `nearfield doctor` looks at, YAML; default: those of the daemon that answers");
  command->add_option("--socket", arguments->socket, "of the daemon: daemon.control.socket")->capture_default_str();
  command
      ->add_option("--limit", arguments->limit_s,
                   "leave out what a program, such as `nearfield devices`, does not answer within so many seconds; "
                   "default: 5 to 15, by program")
      ->check(CLI::PositiveNumber);
  command->callback([arguments] { run(*arguments); });
}

}  // namespace nearfield::cli
