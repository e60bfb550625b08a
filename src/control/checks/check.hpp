#pragma once
#include <string>
#include <vector>

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

}  // namespace nearfield::control
