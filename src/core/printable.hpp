#pragma once
#include <string>
#include <string_view>

namespace nearfield {

enum class LineEnds { kKept, kEscaped };

/// Text of strangers (names of files, values of settings) made fit for a terminal and a log: control characters as
/// \x1b, \t, \n; all else as it is.
std::string printable(std::string_view text, LineEnds line_ends = LineEnds::kEscaped);

/// The same of text that a message quotes from a file: cut, with "..." behind it, where it gets long.
std::string shown_text(std::string_view text);

}  // namespace nearfield
