#include "bench/common/outputs.hpp"

#include <spdlog/spdlog.h>

namespace nearfield::bench {

void add_outputs(CLI::App& command, Outputs& outputs) {
  command.add_option("--json", outputs.json, "results as JSON");
  command.add_option("--csv", outputs.csv, "the figures as CSV");
  command.add_option("--png", outputs.png, "folder for plots or pictures");
  command.add_option("--device", outputs.device, "INDEX, or part of a platform's or device's name, or NAME:INDEX");
}

void require_outputs(const Outputs& outputs) {
  if (!outputs.png.empty()) {
    require_report_program({"--png", outputs.png});
  }
}

void show_progress(const std::string& what) { spdlog::info("{}", what); }

}  // namespace nearfield::bench
