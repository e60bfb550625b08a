#pragma once
#include <string>
#include <vector>

#include "nearfield/settings.hpp"

namespace nearfield::cli {

/// What a command that reads `input` runs with: a recording's own settings unless `config` names a file, with the
/// overrides on top; of other inputs `config` or the defaults. `config_of` names a recording or an images file whose
/// settings are used instead.
struct InputSettings {
  Settings settings;
  std::string description;  ///< which they are, a sentence for the user; empty where the input carries none
};

/// Throws what load_settings() throws, and what reading a recording throws; DataError where `config_of` carries no
/// settings.
InputSettings settings_for_input(const std::string& input, const std::string& config,
                                 const std::vector<std::string>& overrides, const std::string& config_of = "");

}  // namespace nearfield::cli
