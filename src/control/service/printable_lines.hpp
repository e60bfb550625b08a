#pragma once
#include <spdlog/formatter.h>

#include <memory>
#include <string>

namespace nearfield::control {

/// Formats log lines as spdlog's pattern says, with the message behind it. Control characters of the message but its
/// line ends are escaped: names of files and texts of clients may have any.
std::unique_ptr<spdlog::formatter> printable_lines(const std::string& pattern);

}  // namespace nearfield::control
