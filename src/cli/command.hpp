#pragma once
#include <CLI/CLI.hpp>

/// One function per command: declares its arguments and its action. Listed in main.cpp's table.
namespace nearfield::cli {

void add_simulate(CLI::App& app);
void add_encode(CLI::App& app);
void add_replay(CLI::App& app);
void add_calibrate(CLI::App& app);
void add_csm(CLI::App& app);
void add_convert(CLI::App& app);
void add_compare(CLI::App& app);
void add_points(CLI::App& app);
void add_masks(CLI::App& app);
void add_bridge(CLI::App& app);
void add_pictures(CLI::App& app);
void add_templates(CLI::App& app);
void add_sections(CLI::App& app);
void add_export(CLI::App& app);
void add_beampattern(CLI::App& app);
void add_inspect(CLI::App& app);
void add_devices(CLI::App& app);
void add_doctor(CLI::App& app);
void add_demo(CLI::App& app);
void add_bench(CLI::App& app);
void add_send(CLI::App& app);
void add_play(CLI::App& app);
void add_tap(CLI::App& app);
void add_ctl(CLI::App& app);
void add_page(CLI::App& app);
void add_settings(CLI::App& app);
void add_report(CLI::App& app);

}  // namespace nearfield::cli
