#include "control/check.hpp"

#include <sstream>

#include "config/config.hpp"
#include "nearfield/error.hpp"

namespace nearfield::control {

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

}  // namespace nearfield::control
