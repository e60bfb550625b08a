#include "cli/command.hpp"

#include <fmt/format.h>

#include <filesystem>

#include "nearfield/error.hpp"

namespace nearfield::cli {

void require_other_file(const std::string& output, const std::string& input) {
  std::error_code not_there;
  if (std::filesystem::equivalent(output, input, not_there)) {
    throw UsageError(fmt::format("--output: {} is the input {}; expected another file", output, input));
  }
}

}  // namespace nearfield::cli
