#pragma once
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <string>
#include <string_view>

#include "bench/common/files.hpp"
#include "bench/common/report_program.hpp"

/// What several benchmarks write, and the options for it.
namespace nearfield::bench {

/// Empty where they were not given.
struct Outputs {
  std::string json;
  std::string csv;
  std::string png;
  std::string device;
};

inline constexpr std::string_view kStandardOutput = "-";

/// --json [FILE]; without a name the path is kStandardOutput.
void add_json(CLI::App& command, std::string& path);
/// To the file or to standard output; nothing where the path is empty. Throws IoError.
void write_json(const std::string& path, const std::string& text);

/// --json, --csv, --png and --device.
void add_outputs(CLI::App& command, Outputs& outputs);

/// Refuses before anything is measured what write_outputs() could not write; throws what require_report_program()
/// throws.
void require_outputs(const Outputs& outputs);

/// What is measured now, on stderr.
void show_progress(const std::string& what);

/// Prints the report's table and writes the requested files. Throws IoError, and what run_report_program() throws.
template <class Report>
void write_outputs(const Report& report, const Outputs& outputs) {
  if (outputs.json != kStandardOutput) {
    fmt::print("{}", to_table(report));
  }
  write_json(outputs.json, outputs.json.empty() ? "" : to_json_text(report));
  if (!outputs.csv.empty()) {
    write_text(outputs.csv, to_csv(report));
  }
  if (!outputs.png.empty()) {
    run_report_program(to_json_text(report), {"--png", outputs.png});
  }
}

}  // namespace nearfield::bench
