#pragma once
#include <spdlog/formatter.h>

#include <memory>
#include <string>

namespace nearfield::control {

/// Formats log lines by spdlog's pattern, followed by the message. Control characters of the message except line ends
/// are escaped: names of files and texts of clients may contain any.
std::unique_ptr<spdlog::formatter> printable_lines(const std::string& pattern);

}  // namespace nearfield::control
