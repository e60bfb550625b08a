#pragma once
#include <CLI/CLI.hpp>
#include <string>
#include <vector>

#include "core/settings.hpp"

namespace nearfield::cli {

/// Settings of a command that reads `input`: a recording's own settings unless `config` names a file, with the
/// overrides on top; for other inputs `config` or the defaults. `config_of` names a recording or an images file whose
/// settings are used instead.
struct InputSettings {
  Settings settings;
  std::string description;  ///< origin of the settings, a sentence for the user; empty if the input has none
};

/// Throws what load_settings() throws, and what reading a recording throws; DataError if `config_of` contains no
/// settings.
InputSettings settings_for_input(const std::string& input, const std::string& config,
                                 const std::vector<std::string>& overrides, const std::string& config_of = "");

/// Arguments of a command that computes frames from an input.
struct InputArguments {
  std::string input;
  std::string config;
  std::string config_of;
  std::vector<std::string> overrides;
};
/// Declares input, -c, --config-of and --set.
void add_input(CLI::App& command, InputArguments& arguments);
/// Like settings_for_input(); logs the origin of the settings if the input or another file contains them.
Settings settings_of(const InputArguments& arguments);

}  // namespace nearfield::cli
