#pragma once
#include <CLI/CLI.hpp>

namespace nearfield::cli {

/// `nearfield bench health`.
void add_health(CLI::App& bench);

}  // namespace nearfield::cli
