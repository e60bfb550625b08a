#pragma once
#include <filesystem>
#include <string>
#include <vector>

#include "core/daemon_settings.hpp"
#include "core/settings.hpp"

/// The findings of `nearfieldd --check`: first about the configuration as text, then about this machine.
namespace nearfield::control {

/// Problems of a configuration of nearfieldd, one message each, as "FILE:LINE:COLUMN: KEY: expected ..., found ...";
/// empty if it is valid. Throws NoInputError if the file can't be read. Opens no device.
std::vector<std::string> configuration_problems(const std::string& path, const std::vector<std::string>& overrides);

/// A finding on this machine, with its remedy. A problem: a daemon that starts now ends, or deviates from the
/// configuration. A note: it runs, with less than a default sets, or the user should know of it.
struct Finding {
  enum class Kind { kProblem, kNote };
  Kind kind = Kind::kProblem;
  std::string text;        ///< "KEY: expected ..., found ...; REMEDY"
  std::string check = {};  ///< name of its check: "sockets", "stale_sockets", "ports", "socket_buffers", ...
};

/// Checks sockets and their folders, ports, files, the folder of recordings, limits and exposure, as this user. Changes
/// nothing: no folder is made, and each port is closed immediately. A socket or port that is taken is a note if a
/// nearfieldd answers at the control socket: then a running daemon's new configuration is being checked.
std::vector<Finding> machine_findings(const Settings& settings);

/// Parts of a configuration that other machines can reach without a password or a key, one warning each: the possible
/// actions of a client that reaches the port, and the setting that prevents them. Empty if all is on loopback.
std::vector<std::string> exposure_warnings(const DaemonSettings& daemon);

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
