#pragma once
#include <fmt/format.h>

#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "bench/common/timing.hpp"
#include "cl/device.hpp"

namespace CLI {  // NOLINT(readability-identifier-naming): as CLI11 calls it
class App;
}

/// Reports that several benchmarks write, their options, and the program that makes plots and pages of them
/// (bench/report, in Python).
namespace nearfield::bench {

/// A folder of its own that goes away with it. Throws IoError when there can't be one.
class TemporaryFolder {
 public:
  TemporaryFolder();
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;
  ~TemporaryFolder();
  [[nodiscard]] const std::filesystem::path& path() const { return path_; }

 private:
  std::filesystem::path path_;
};

/// Writes `path`.partial and renames it. Throws IoError; nothing is left then.
void write_text(const std::filesystem::path& path, std::string_view text);

/// Version and commit of the program, the benchmark's name, and device and driver.
nlohmann::ordered_json report_head(std::string_view benchmark, const ocl::DeviceInfo& device);
nlohmann::ordered_json to_json(const Distribution& distribution);
nlohmann::ordered_json to_json(const Ceilings& ceilings);

/// Runs nearfield-bench-report, from beside this program or from PATH, on a report's JSON and waits for it; what it
/// prints goes to this program's stdout. Throws an Error where it fails, with its message and exit code: NoInputError's
/// where it, python3 or a package of Python is not installed.
void run_report_program(std::string_view json, const std::vector<std::string>& options);

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

/// Refuses before anything is measured what write_outputs() could not write; throws what run_report_program() would
/// throw because something is not installed.
void require_outputs(const Outputs& outputs);

/// Prints the present measurement on stderr.
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
