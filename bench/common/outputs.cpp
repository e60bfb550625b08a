#include "bench/common/outputs.hpp"

#include <spdlog/spdlog.h>

namespace nearfield::bench {

void add_json(CLI::App& command, std::string& path) {
  command
      .add_option("--json", path,
                  "print the results as JSON instead of tables; with a name, write them to this file, where "
                  "- is standard output")
      ->expected(0, 1)
      ->default_str(std::string(kStandardOutput))
      ->type_name("[FILE]");
}

void write_json(const std::string& path, const std::string& text) {
  if (path == kStandardOutput) {
    fmt::print("{}", text);
  } else if (!path.empty()) {
    write_text(path, text);
  }
}

void add_outputs(CLI::App& command, Outputs& outputs) {
  add_json(command, outputs.json);
  command.add_option("--csv", outputs.csv, "file for the figures as CSV");
  command.add_option("--png", outputs.png, "folder for plots");
  command.add_option("--device", outputs.device, "INDEX, or part of a platform's or device's name, or NAME:INDEX");
}

void require_outputs(const Outputs& outputs) {
  if (!outputs.png.empty()) {
    require_report_program({"--png", outputs.png});
  }
}

void show_progress(const std::string& what) { spdlog::info("{}", what); }

}  // namespace nearfield::bench
