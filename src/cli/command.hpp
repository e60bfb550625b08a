#pragma once
#include <CLI/CLI.hpp>
#include <string>

/// One function per command: declares its arguments and what runs once they are parsed. Listed in main.cpp's table.
namespace nearfield::cli {

void add_simulate(CLI::App& app);
void add_encode(CLI::App& app);
void add_replay(CLI::App& app);
void add_compare(CLI::App& app);
void add_inspect(CLI::App& app);
void add_devices(CLI::App& app);

/// Throws UsageError if writing `output` would replace `input`; an `input` that is empty or not there can't be
/// replaced.
void require_other_file(const std::string& output, const std::string& input);

}  // namespace nearfield::cli
