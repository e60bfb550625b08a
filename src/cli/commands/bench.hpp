#pragma once
#include <string>
#include <vector>

namespace nearfield::cli {

inline constexpr const char* kBench = "bench";  ///< the command

/// Becomes nearfield-bench, the program in this one's folder or else the one in PATH. Returns only by throwing:
/// NoInputError if there is none.
[[noreturn]] void become_bench(std::vector<std::string> arguments);

}  // namespace nearfield::cli
