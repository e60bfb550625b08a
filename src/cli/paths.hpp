#pragma once
#include <string>
#include <vector>

namespace nearfield::cli {

/// Throws UsageError if `output` is empty or is the same file as one of `inputs` (empty ones are ignored).
void require_own_output(const std::string& output, const std::vector<std::string>& inputs);

}  // namespace nearfield::cli
