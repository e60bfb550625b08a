#pragma once
#include <cstdint>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "control/checks/check.hpp"
#include "core/daemon_settings.hpp"
#include "core/settings.hpp"
#include "core/system/limited_run.hpp"

/// Checks of `nearfield doctor` on a machine, besides the configuration. Without OpenCL: nearfieldd makes the checks
/// that need it.
namespace nearfield::control {

/// The result of one check.
struct Diagnosis {
  enum class State { kOk, kWarn, kFail };
  std::string name;
  State state = State::kOk;
  std::string found;   ///< one line per finding
  std::string needed;  ///< condition to pass the check
  std::string mend;    ///< command or edit that remedies it; empty if not needed
};
std::string_view name_of(Diagnosis::State state);
nlohmann::json to_json(const Diagnosis& diagnosis);

/// The findings of one check as a diagnosis: a problem fails, a note warns. The text after the first "; " of a finding
/// is its remedy. Without findings the state is ok with the text `found`.
Diagnosis diagnosis_of(std::string name, const std::vector<Finding>& findings, std::string found, std::string needed);

/// Location of the kernel's and the administrator's files; tests use another root.
struct MachineFiles {
  std::filesystem::path root = "/";
  [[nodiscard]] std::filesystem::path at(std::string_view path) const { return root / path; }
};

/// Lists the drivers that OpenCL's loader finds ($OCL_ICD_VENDORS, else /etc/OpenCL/vendors), and tries to load each
/// into this process: for a child with a time limit. Returns one JSON object.
std::string look_at_drivers();
/// Diagnosis from the output of look_at_drivers(); null: its process wrote nothing, and ended with `outcome`.
Diagnosis drivers_diagnosis(const nlohmann::json& seen, const LimitedRun::Outcome& outcome);

/// Checks that this user may use the device files of GPUs.
Diagnosis permissions_diagnosis(const MachineFiles& files);
/// Compares RLIMIT_RTPRIO and RLIMIT_MEMLOCK with the needs of daemon.realtime. `findings`: of the check "limits".
Diagnosis realtime_diagnosis(const DaemonSettings::Realtime& realtime, const std::vector<Finding>& findings);
/// Receive buffer that the kernel grants, as a time at the wire's rate. `findings`: of the check "socket_buffers".
Diagnosis socket_buffers_diagnosis(const Settings& settings, const std::vector<Finding>& findings);
/// State and source of the clock's synchronisation. `stepped_s`: change of CLOCK_REALTIME relative to CLOCK_MONOTONIC
/// while the checks ran.
Diagnosis clock_diagnosis(const MachineFiles& files, double stepped_s);
Diagnosis governor_diagnosis(const MachineFiles& files);
Diagnosis huge_pages_diagnosis(const MachineFiles& files);
/// Cache folder of the device's programs.
struct ProgramFolder {
  std::filesystem::path folder;                             ///< empty: none
  std::string variable;                                     ///< environment variable that chooses another folder
  bool is_switched_off = false;                             ///< the user has set `variable` to an empty text
  std::optional<std::uintmax_t> free_bytes = std::nullopt;  ///< on its disk; nullopt: to be measured
};
/// Checks that programs of the device can be cached.
Diagnosis cache_diagnosis(const ProgramFolder& place);

/// Write rate of a recording with this configuration, bytes per second.
double recorded_bytes_per_s(const Settings& settings);
/// Measures writes into the folder for at most a second, in a file without a name. Returns one JSON object: for a child
/// with a time limit.
std::string look_at_disk(const std::string& folder);
/// Diagnosis from the output of look_at_disk(); null: it exceeded its time limit. `findings`: of the check
/// "recordings".
Diagnosis disk_diagnosis(const Settings& settings, const nlohmann::json& seen, const std::vector<Finding>& findings);

}  // namespace nearfield::control
