#include "control/doctor/diagnosis.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <grp.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/timex.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <fstream>
#include <set>
#include <system_error>

#include "config/live_samples.hpp"
#include "control/checks/check.hpp"
#include "core/daemon_settings.hpp"
#include "core/system/files.hpp"

namespace nearfield::control {
namespace {

namespace fs = std::filesystem;
using State = Diagnosis::State;

/// Space for some configurations: the programs of `nearfield demo` take 2.7 MB with PoCL 3.1.
constexpr std::uintmax_t kLeastForProgramsBytes = 50'000'000;

/// First line of a file; empty if it can't be read.
std::string first_line(const fs::path& path) {
  std::ifstream file(path);
  std::string line;
  std::getline(file, line);
  return line;
}

std::string limit_text(int which) {
  rlimit limit{};
  if (getrlimit(static_cast<__rlimit_resource>(which), &limit) != 0) {
    return "unknown";
  }
  return limit.rlim_cur == RLIM_INFINITY ? "unlimited" : std::to_string(limit.rlim_cur);
}

/// The group whose members may use a device's file; empty if there is none, or if it is root's.
std::string group_that_may_use(const fs::path& file) {
  constexpr mode_t kBoth = S_IRGRP | S_IWGRP;
  struct stat status {};
  std::array<char, 4096> texts{};
  group entry{};
  group* found = nullptr;
  if (stat(file.c_str(), &status) != 0 || status.st_gid == 0 || (status.st_mode & kBoth) != kBoth) {
    return "";
  }
  getgrgid_r(status.st_gid, &entry, texts.data(), texts.size(), &found);
  return found == nullptr ? std::to_string(status.st_gid) : found->gr_name;
}

bool is_device_of_gpu(const std::string& name) {
  const auto begins = [&](std::string_view head) { return name.rfind(head, 0) == 0; };
  return begins("renderD") || name == "kfd" || name == "nvidiactl" || name == "nvidia-uvm" ||
         (begins("nvidia") && name.size() > 6 && std::isdigit(static_cast<unsigned char>(name[6])) != 0);
}

std::vector<fs::path> devices_of_gpus(const MachineFiles& files) {
  std::vector<fs::path> found;
  for (const char* folder : {"dev", "dev/dri"}) {
    std::error_code ignored;
    for (const fs::directory_entry& entry : fs::directory_iterator(files.at(folder), ignored)) {
      if (is_device_of_gpu(entry.path().filename())) {
        found.push_back(entry.path());
      }
    }
  }
  std::sort(found.begin(), found.end());
  return found;
}

/// Size of a receive buffer that the kernel grants for a request of so many bytes, made like the daemon's.
int given_buffer_bytes(std::int64_t wanted_bytes) {
  const FileDescriptor probe(socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0));
  const int asked = static_cast<int>(std::min<std::int64_t>(wanted_bytes, INT32_MAX / 2));
  int given = 0;
  socklen_t size = sizeof given;
  if (setsockopt(probe.get(), SOL_SOCKET, SO_RCVBUFFORCE, &asked, sizeof asked) != 0) {
    setsockopt(probe.get(), SOL_SOCKET, SO_RCVBUF, &asked, sizeof asked);
  }
  getsockopt(probe.get(), SOL_SOCKET, SO_RCVBUF, &given, &size);
  return given / 2;  // the kernel doubles it for its own bookkeeping
}

}  // namespace

std::string_view name_of(State state) {
  constexpr std::array<std::string_view, 3> kNames = {"ok", "warn", "fail"};
  return kNames[static_cast<std::size_t>(state)];
}

nlohmann::json to_json(const Diagnosis& diagnosis) {
  return {{"name", diagnosis.name},
          {"state", name_of(diagnosis.state)},
          {"found", diagnosis.found},
          {"needed", diagnosis.needed},
          {"mend", diagnosis.mend}};
}

Diagnosis diagnosis_of(std::string name, const std::vector<Finding>& findings, std::string found, std::string needed) {
  Diagnosis result{.name = std::move(name), .found = std::move(found), .needed = std::move(needed), .mend = ""};
  if (findings.empty()) {
    return result;
  }
  result.found.clear();
  for (const Finding& finding : findings) {
    const std::size_t end = finding.text.find("; ");
    const bool has_cure = end != std::string::npos;
    result.found += (result.found.empty() ? "" : "\n") + finding.text.substr(0, end);
    if (has_cure) {
      result.mend += (result.mend.empty() ? "" : "\n") + finding.text.substr(end + 2);
    }
    result.state = std::max(result.state, finding.kind == Finding::Kind::kProblem ? State::kFail : State::kWarn);
  }
  return result;
}

Diagnosis permissions_diagnosis(const MachineFiles& files) {
  Diagnosis result{.name = "permissions",
                   .found = "no device file of a GPU",
                   .needed = "read and write access to the GPUs' files in /dev",
                   .mend = ""};
  std::set<std::string> groups;
  std::vector<std::string> closed;  // not open to any group that a user should be in
  std::vector<std::string> lines;
  for (const fs::path& device : devices_of_gpus(files)) {
    const bool is_permitted = access(device.c_str(), R_OK | W_OK) == 0;
    lines.push_back(fmt::format("{}: {}", device.string(), is_permitted ? "permitted" : "not permitted to this user"));
    if (!is_permitted) {
      result.state = State::kWarn;
      if (const std::string group = group_that_may_use(device); !group.empty()) {
        groups.insert(group);
      } else {
        closed.push_back(device.string());
      }
    }
  }
  if (!lines.empty()) {
    result.found = fmt::format("{}", fmt::join(lines, "\n"));
  }
  if (!groups.empty()) {
    result.mend = fmt::format("usermod -aG {} USER, and log in again", fmt::join(groups, ","));
  }
  if (!closed.empty()) {
    result.mend +=
        fmt::format("{}let the driver's udev rule give {} a group that may read and write, and its mode 0660",
                    result.mend.empty() ? "" : "\n", fmt::join(closed, ", "));
  }
  return result;
}

Diagnosis realtime_diagnosis(const DaemonSettings::Realtime& realtime, const std::vector<Finding>& findings) {
  const std::string limits =
      fmt::format("RLIMIT_RTPRIO {}, RLIMIT_MEMLOCK {} bytes", limit_text(RLIMIT_RTPRIO), limit_text(RLIMIT_MEMLOCK));
  const std::string needed = realtime.priority == 0 && !realtime.lock_memory && realtime.cpus.empty()
                                 ? "nothing: daemon.realtime asks for none"
                                 : fmt::format("what daemon.realtime asks for: priority {}, lock_memory {}, cpus [{}]",
                                               realtime.priority, realtime.lock_memory, fmt::join(realtime.cpus, ", "));
  Diagnosis result = diagnosis_of("realtime", findings, limits, needed);
  if (!findings.empty()) {
    result.found += "\n" + limits;
  }
  return result;
}

Diagnosis socket_buffers_diagnosis(const Settings& settings, const std::vector<Finding>& findings) {
  constexpr double kLeast_s = 0.05;
  const DaemonSettings::Source& source = settings.daemon->source;
  if (source.kind != DaemonSettings::SourceKind::kUdp) {
    return {.name = "socket_buffers", .found = "the source is not udp", .needed = "nothing", .mend = ""};
  }
  const double bytes_per_s = wire_bytes_per_s(settings);
  const int given = given_buffer_bytes(source.receive_buffer_bytes);
  const std::string sizes =
      fmt::format("{} bytes, {:.0f} ms of {:.0f} MB/s", given, 1e3 * given / bytes_per_s, 1e-6 * bytes_per_s);
  Diagnosis result =
      diagnosis_of("socket_buffers", findings, sizes,
                   fmt::format("{} bytes (daemon.source.receive_buffer_bytes), at least {:.0f} ms of the wire's rate",
                               source.receive_buffer_bytes, 1e3 * kLeast_s));
  if (!findings.empty()) {
    result.found += "\n" + sizes;
  } else if (given < kLeast_s * bytes_per_s) {
    result.state = State::kWarn;
    result.mend = fmt::format("set daemon.source.receive_buffer_bytes to {:.0f} at least", kLeast_s * bytes_per_s);
  }
  return result;
}

Diagnosis clock_diagnosis(const MachineFiles& files, double stepped_s) {
  constexpr double kStep_s = 1e-3;
  const std::string source = first_line(files.at("sys/devices/system/clocksource/clocksource0/current_clocksource"));
  timex state{};
  const int code = adjtimex(&state);
  const bool is_synchronised =
      code >= 0 && code != TIME_ERROR && (static_cast<unsigned>(state.status) & STA_UNSYNC) == 0;
  Diagnosis result{.name = "clock",
                   .found = fmt::format("{}, kernel's source {}, TAI - UTC {} s",
                                        is_synchronised ? "synchronised" : "not synchronised",
                                        source.empty() ? "unknown" : source, state.tai),
                   .needed = "a clock that is synchronised, counted by the processor (tsc, kvm-clock), without steps",
                   .mend = ""};
  const auto warn = [&result](const std::string& mend) {
    result.state = State::kWarn;
    result.mend += (result.mend.empty() ? "" : "\n") + mend;
  };
  if (!is_synchronised) {
    warn("timedatectl set-ntp true");
  }
  if (source == "hpet" || source == "acpi_pm" || source == "jiffies") {
    warn("see dmesg for why the kernel left tsc; each look at this clock takes a microsecond and more");
  }
  if (std::abs(stepped_s) > kStep_s) {
    result.found += fmt::format(", stepped by {:.3f} s while this ran", stepped_s);
    warn("let one program alone set the clock: systemctl status chrony systemd-timesyncd ntpsec");
  }
  return result;
}

Diagnosis governor_diagnosis(const MachineFiles& files) {
  Diagnosis result{.name = "governor",
                   .found = "no frequency scaling that this system shows",
                   .needed = "a governor that keeps the processor's clock up: performance or schedutil",
                   .mend = ""};
  std::set<std::string> governors;
  std::error_code ignored;
  for (const fs::directory_entry& cpu : fs::directory_iterator(files.at("sys/devices/system/cpu"), ignored)) {
    if (const std::string name = first_line(cpu.path() / "cpufreq/scaling_governor"); !name.empty()) {
      governors.insert(name);
    }
  }
  if (!governors.empty()) {
    result.found = fmt::format("{}", fmt::join(governors, ", "));
  }
  if (governors.contains("powersave") || governors.contains("conservative")) {
    result.state = State::kWarn;
    result.mend = "cpupower frequency-set -g performance";
  }
  return result;
}

Diagnosis huge_pages_diagnosis(const MachineFiles& files) {
  const std::string modes = first_line(files.at("sys/kernel/mm/transparent_hugepage/enabled"));
  const std::size_t begin = modes.find('[');
  const std::size_t end = modes.find(']');
  const std::string mode =
      begin != std::string::npos && end != std::string::npos ? modes.substr(begin + 1, end - begin - 1) : "";
  Diagnosis result{.name = "huge_pages",
                   .found = mode.empty() ? "the kernel has no transparent huge pages, or does not show them" : mode,
                   .needed = "transparent huge pages, madvise or always, for the ring of bits",
                   .mend = ""};
  if (mode == "never") {
    result.state = State::kWarn;
    result.mend = "echo madvise > /sys/kernel/mm/transparent_hugepage/enabled";
  }
  return result;
}

Diagnosis cache_diagnosis(const ProgramFolder& place) {
  const fs::path& folder = place.folder;
  Diagnosis result{.name = "program_cache",
                   .found = folder.string(),
                   .needed = fmt::format("a folder that this user may write, on a disk with {:.0f} MB free: without it "
                                         "each start compiles all programs again",
                                         1e-6 * static_cast<double>(kLeastForProgramsBytes)),
                   .mend = ""};
  if (place.is_switched_off) {
    result.state = State::kWarn;
    result.found = fmt::format("switched off: {} is set to nothing", place.variable);
    result.mend = fmt::format("unset {}, or set it to a folder of this user", place.variable);
    return result;
  }
  if (folder.empty()) {
    result.state = State::kWarn;
    result.found = "none: neither NEARFIELD_CACHE_DIR, XDG_CACHE_HOME nor HOME says where";
    result.mend = "set NEARFIELD_CACHE_DIR to a folder, or HOME to the user's home";
    return result;
  }
  fs::path existing = folder;
  std::error_code ignored;
  while (!existing.empty() && existing != existing.root_path() && !fs::exists(existing, ignored)) {
    existing = existing.parent_path();
  }
  if (const std::string reason = why_not_writable(existing); !reason.empty()) {
    result.state = State::kWarn;
    result.found = fmt::format("{}: {}", folder.string(), reason.substr(0, reason.find("; ")));
    result.mend = fmt::format("{} USER {}, or set {} to a folder of this user",
                              existing == folder ? "chown" : "install -d -o", folder.string(), place.variable);
    return result;
  }
  const std::uintmax_t free_bytes = place.free_bytes ? *place.free_bytes : fs::space(existing, ignored).available;
  if (free_bytes < kLeastForProgramsBytes) {
    result.state = State::kWarn;
    result.found = fmt::format("{}: {:.1f} MB free", folder.string(), 1e-6 * static_cast<double>(free_bytes));
    result.mend = fmt::format("df -h {}; make room there, or set {} to a folder on another disk", existing.string(),
                              place.variable);
  }
  return result;
}

}  // namespace nearfield::control
