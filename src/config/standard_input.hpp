#pragma once
#include <string_view>

namespace nearfield {

/// The path that stands for standard input in load_yaml(), which reads it once for all calls.
inline constexpr std::string_view kStandardInput = "-";

}  // namespace nearfield
