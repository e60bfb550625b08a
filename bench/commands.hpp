#pragma once
#include <CLI/CLI.hpp>

/// One function per benchmark: declares its arguments below `nearfield bench` and what runs once they are parsed.
namespace nearfield::bench {

/// `nearfield bench frames`, and `nearfield bench` itself.
void add_frames(CLI::App& command);
void add_front_ends(CLI::App& bench);
void add_imager(CLI::App& bench);
void add_health(CLI::App& bench);
void add_limits(CLI::App& bench);
void add_devices(CLI::App& bench);
void add_srp_phat(CLI::App& bench);

}  // namespace nearfield::bench
