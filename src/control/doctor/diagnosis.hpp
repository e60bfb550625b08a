#pragma once
#include <cstdint>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "control/checks/check.hpp"
#include "control/doctor/limited_run.hpp"
#include "nearfield/daemon_settings.hpp"
#include "nearfield/settings.hpp"

/// What `nearfield doctor` says of a machine beside a configuration. No OpenCL: what needs it, nearfieldd looks at.
namespace nearfield::control {

/// The result of one check.
struct Diagnosis {
  enum class State { kOk, kWarn, kFail };
  std::string name;
  State state = State::kOk;
  std::string found;   ///< one line a finding
  std::string needed;  ///< what the check is passed with
  std::string mend;    ///< the command or the edit that mends it; empty where nothing has to be
};
std::string_view name_of(Diagnosis::State state);
nlohmann::json to_json(const Diagnosis& diagnosis);

/// The findings of one check as a diagnosis: a problem fails, a note warns. What stands behind the first "; " of a
/// finding mends it. Without findings it is ok, and `found` says so.
Diagnosis diagnosis_of(std::string name, const std::vector<Finding>& findings, std::string found, std::string needed);

/// Where the kernel's and the administrator's files lie; another root is a test's.
struct MachineFiles {
  std::filesystem::path root = "/";
  [[nodiscard]] std::filesystem::path at(std::string_view path) const { return root / path; }
};

/// The drivers that OpenCL's loader finds ($OCL_ICD_VENDORS, else /etc/OpenCL/vendors), and whether each can be loaded.
/// Loads them into this process: for a child with a time limit. One JSON object.
std::string look_at_drivers();
/// What look_at_drivers() wrote; null: its process wrote nothing, and ended as `outcome` says.
Diagnosis drivers_diagnosis(const nlohmann::json& seen, const LimitedRun::Outcome& outcome);

/// GPUs' device files, and whether this user may use them.
Diagnosis permissions_diagnosis(const MachineFiles& files);
/// RLIMIT_RTPRIO and RLIMIT_MEMLOCK beside what daemon.realtime asks for. `findings`: of the check "limits".
Diagnosis realtime_diagnosis(const DaemonSettings::Realtime& realtime, const std::vector<Finding>& findings);
/// What the kernel gives of a receive buffer, in time of the wire's rate. `findings`: of the check "socket_buffers".
Diagnosis socket_buffers_diagnosis(const Settings& settings, const std::vector<Finding>& findings);
/// Synchronised, and by which source the kernel counts. `stepped_s`: how far CLOCK_REALTIME has moved against
/// CLOCK_MONOTONIC while the checks ran.
Diagnosis clock_diagnosis(const MachineFiles& files, double stepped_s);
Diagnosis governor_diagnosis(const MachineFiles& files);
Diagnosis huge_pages_diagnosis(const MachineFiles& files);
/// Where the device's programs are kept.
struct ProgramFolder {
  std::filesystem::path folder;                             ///< empty: nowhere
  std::string variable;                                     ///< of the environment, which chooses another folder
  bool is_switched_off = false;                             ///< the user has set `variable` to nothing
  std::optional<std::uintmax_t> free_bytes = std::nullopt;  ///< on its disk; none: the disk is asked
};
/// Whether programs of the device can be kept.
Diagnosis cache_diagnosis(const ProgramFolder& place);

/// Bytes a second that a recording of all that this configuration records writes.
double recorded_bytes_per_s(const Settings& settings);
/// Writes into the folder for at most a second, in a file without a name. One JSON object: for a child with a limit.
std::string look_at_disk(const std::string& folder);
/// What look_at_disk() wrote; null: it took longer than its limit. `findings`: of the check "recordings".
Diagnosis disk_diagnosis(const Settings& settings, const nlohmann::json& seen, const std::vector<Finding>& findings);

}  // namespace nearfield::control
