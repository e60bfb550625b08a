#pragma once
#include <CLI/CLI.hpp>

namespace nearfield::cli {

/// The options of `nearfield bench frames` and what runs with them, for the subcommand and for plain `bench`.
void add_frames(CLI::App& command);

}  // namespace nearfield::cli
