#pragma once
#include <filesystem>
#include <string>
#include <vector>

#include "control/checks/check.hpp"

/// What the checks of machine_findings() share; not for use outside src/control.
namespace nearfield::control {

/// The findings so far, and the facts that several checks use.
struct CheckUp {
  const Settings& settings;
  bool daemon_runs = false;  ///< one answers at the control socket
  std::vector<Finding> findings;

  void problem(std::string text) { findings.push_back({Finding::Kind::kProblem, std::move(text)}); }
  void note(std::string text) { findings.push_back({Finding::Kind::kNote, std::move(text)}); }
  /// A problem where the user gave `key`; of a default a note.
  void lack(const std::string& key, std::string text) {
    settings.explicit_keys.contains(key) ? problem(std::move(text)) : note(std::move(text));
  }
  /// Another process uses what only one process can use.
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

/// Why this user cannot make files in a folder, with the remedy; empty where the user can.
std::string why_not_writable(const std::filesystem::path& folder);
/// True where a process answers at the control socket of these settings.
bool daemon_answers(const Settings& settings);

}  // namespace nearfield::control
