#pragma once
#include <CLI/CLI.hpp>
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

/// The input of a command that makes frames of it, and whose settings it takes.
struct InputArguments {
  std::string input;
  std::string config;
  std::string config_of;
  std::vector<std::string> overrides;
};
/// Declares input, -c, --config-of and --set.
void add_input(CLI::App& command, InputArguments& arguments);
/// As settings_for_input(); logs which they are, where the input or another file carries them.
Settings settings_of(const InputArguments& arguments);

}  // namespace nearfield::cli
