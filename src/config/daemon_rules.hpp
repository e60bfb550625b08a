#pragma once
#include <string>
#include <vector>

#include "config/premises.hpp"
#include "core/daemon_settings.hpp"

namespace nearfield {

/// Adds the contradictions among the settled keys below `daemon`.
void check_daemon(const DaemonSettings& daemon, const IsSettled& is_settled, std::vector<Contradiction>& found);

/// Adds the contradictions of daemon.limits that follow from the settings alone.
void check_limits(const Settings& settings, const IsSettled& is_settled, std::vector<Contradiction>& found);

/// Names in the settings that do not exist on this machine: users, groups and files that nearfieldd reads.
std::vector<Contradiction> missing_here(const Settings& settings, const IsSettled& is_settled);

}  // namespace nearfield
