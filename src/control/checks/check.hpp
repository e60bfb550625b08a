#pragma once
#include <string>
#include <vector>

#include "nearfield/settings.hpp"

/// What `nearfieldd --check` says: first of the configuration as text, then of this machine.
namespace nearfield::control {

/// Everything that is wrong with a configuration of nearfieldd, one message each, as "FILE:LINE: KEY: expected ...,
/// found ..."; none when it is right. Throws NoInputError when the file can't be read. Looks at no device.
std::vector<std::string> configuration_problems(const std::string& path, const std::vector<std::string>& overrides);

/// Something that a look at this machine found, with what would mend it. A problem: a daemon that starts now ends, or
/// does not do what the configuration asks for. A note: it runs, with less than a default asks for, or the thing is
/// worth knowing.
struct Finding {
  enum class Kind { kProblem, kNote };
  Kind kind = Kind::kProblem;
  std::string text;
};

/// Looks at sockets and their folders, ports, files, the folder of recordings, limits and exposure, as this user.
/// Changes nothing: no folder is made, and each port is let go at once. A socket or port that is taken is a note where
/// a nearfieldd answers at the control socket: then a running daemon's new configuration is being checked.
std::vector<Finding> machine_findings(const Settings& settings);

}  // namespace nearfield::control
