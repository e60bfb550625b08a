#pragma once
#include <string>
#include <string_view>
#include <vector>

/// The program that makes plots and pages of what a benchmark wrote: bench/report, in Python.
namespace nearfield::bench {

/// Runs nearfield-bench-report, from beside this program or from PATH, on a report's JSON and waits for it; what it
/// prints goes to this program's outputs. Throws NoInputError where it is not installed, and an Error with its exit
/// code where it fails.
void run_report_program(std::string_view json, const std::vector<std::string>& options);

}  // namespace nearfield::bench
