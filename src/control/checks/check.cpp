#include "control/checks/check.hpp"

#include <array>
#include <sstream>
#include <utility>

#include "config/config.hpp"
#include "config/live_samples.hpp"
#include "control/checks/check_parts.hpp"
#include "control/socket/exposure.hpp"
#include "core/daemon_settings.hpp"
#include "core/error.hpp"

namespace nearfield::control {
namespace {

/// Notes the input that the settings alone announce, so that the reader can compare it.
void look_at_input(CheckUp& up) {
  if (takes_live_samples(up.settings.daemon->source)) {
    up.note("daemon.source: " + text_of(live_input_facts(up.settings)));
  }
}

struct Look {
  const char* check;
  void (*look)(CheckUp& up);
};

/// Checks in the order in which findings are printed.
constexpr std::array kLooks = {Look{"input", look_at_input},
                               Look{"sockets", look_at_sockets},
                               Look{"stale_sockets", look_at_stale_sockets},
                               Look{"ports", look_at_ports},
                               Look{"socket_buffers", look_at_socket_buffers},
                               Look{"files", look_at_files},
                               Look{"array", look_at_array},
                               Look{"recordings", look_at_recordings},
                               Look{"limits", look_at_limits}};

}  // namespace

std::vector<std::string> configuration_problems(const std::string& path, const std::vector<std::string>& overrides) {
  std::vector<std::string> problems;
  try {
    load_daemon_settings(path, overrides);
  } catch (const ConfigError& error) {
    std::istringstream lines(error.what());
    for (std::string line; std::getline(lines, line);) {
      problems.push_back(line);
    }
  }
  return problems;
}

std::vector<Finding> machine_findings(const Settings& settings) {
  CheckUp up{.settings = settings, .daemon_runs = daemon_answers(settings), .findings = {}};
  for (const Look& look : kLooks) {
    const std::size_t before = up.findings.size();
    look.look(up);
    for (std::size_t i = before; i < up.findings.size(); ++i) {
      up.findings[i].check = look.check;
    }
  }
  for (std::string& warning : exposure_warnings(*settings.daemon)) {
    up.findings.push_back({.kind = Finding::Kind::kNote, .text = std::move(warning), .check = "exposure"});
  }
  return up.findings;
}

}  // namespace nearfield::control
