#pragma once
#include <string>
#include <string_view>
#include <vector>

/// The program that makes plots and pages of what a benchmark wrote: bench/report, in Python.
namespace nearfield::bench {

/// Throws what run_report_program() with these options would throw because something is not installed; measures and
/// draws nothing.
void require_report_program(const std::vector<std::string>& options);

/// Runs nearfield-bench-report, from beside this program or from PATH, on a report's JSON and waits for it; what it
/// prints goes to this program's stdout. Throws an Error where it fails, with its message and exit code: NoInputError's
/// where it, python3 or a package of Python is not installed.
void run_report_program(std::string_view json, const std::vector<std::string>& options);

}  // namespace nearfield::bench
