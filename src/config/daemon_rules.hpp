#pragma once
#include <string>
#include <vector>

#include "config/contradictions.hpp"
#include "nearfield/daemon_settings.hpp"

namespace nearfield {

/// Adds what contradicts itself among the settled keys below `daemon`.
void check_daemon(const DaemonSettings& daemon, const IsSettled& is_settled, std::vector<Contradiction>& found);

/// Adds what cannot hold of daemon.limits, as far as the settings alone say it.
void check_limits(const Settings& settings, const IsSettled& is_settled, std::vector<Contradiction>& found);

/// What the settings name and this machine does not have: users, groups and files that nearfieldd reads.
std::vector<Contradiction> missing_here(const Settings& settings, const IsSettled& is_settled);

}  // namespace nearfield
