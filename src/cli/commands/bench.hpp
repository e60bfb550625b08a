#pragma once
#include <string>
#include <vector>

namespace nearfield::cli {

inline constexpr const char* kBench = "bench";  ///< the command

/// Becomes nearfield-bench, the program beside this one or else the one that PATH leads to. Returns only by throwing:
/// NoInputError where there is none.
[[noreturn]] void become_bench(std::vector<std::string> arguments);

}  // namespace nearfield::cli
