#pragma once
#include <CLI/CLI.hpp>

namespace nearfield::cli {

/// `nearfield bench fidelity`.
void add_fidelity(CLI::App& bench);

}  // namespace nearfield::cli
