#pragma once
#include <filesystem>
#include <string>
#include <vector>

#include "control/checks/check.hpp"

/// Parts shared by the checks of machine_findings(); not for use outside src/control.
namespace nearfield::control {

/// The findings so far, and the facts that several checks use.
struct CheckUp {
  const Settings& settings;
  bool daemon_runs = false;  ///< a daemon answers at the control socket
  std::vector<Finding> findings;

  void problem(std::string text) { findings.push_back({Finding::Kind::kProblem, std::move(text)}); }
  void note(std::string text) { findings.push_back({Finding::Kind::kNote, std::move(text)}); }
  /// Adds a problem if the user gave `key`, a note if it has its default.
  void lack(const std::string& key, std::string text) {
    settings.explicit_keys.contains(key) ? problem(std::move(text)) : note(std::move(text));
  }
  /// Adds the finding that another process uses an exclusive resource.
  void taken(const std::string& text) {
    daemon_runs ? note(text + "; a nearfieldd runs with it: it can take this configuration, a second one cannot start")
                : problem(text + "; end that process, or give another one");
  }
};

void look_at_array(CheckUp& up);
void look_at_sockets(CheckUp& up);
void look_at_stale_sockets(CheckUp& up);
void look_at_ports(CheckUp& up);
void look_at_socket_buffers(CheckUp& up);
void look_at_files(CheckUp& up);
void look_at_recordings(CheckUp& up);
void look_at_limits(CheckUp& up);

/// Reason that this user cannot make files in a folder, with the remedy; empty if the user can.
std::string why_not_writable(const std::filesystem::path& folder);
/// True if a process answers at the control socket of these settings.
bool daemon_answers(const Settings& settings);

}  // namespace nearfield::control
