#include "cli/paths.hpp"

#include <fmt/format.h>

#include <filesystem>

#include "core/error.hpp"

namespace nearfield::cli {

void require_own_output(const std::string& output, const std::vector<std::string>& inputs) {
  if (output.empty()) {
    throw UsageError("--output: expected a path, found an empty one");
  }
  for (const std::string& input : inputs) {
    std::error_code unknown;  // either may not exist
    const bool same_name =
        std::filesystem::weakly_canonical(output, unknown) == std::filesystem::weakly_canonical(input, unknown);
    if (!input.empty() && (same_name || std::filesystem::equivalent(output, input, unknown))) {
      throw UsageError(fmt::format("--output: {} is {} too; expected a file of its own", output, input));
    }
  }
}

}  // namespace nearfield::cli
