#pragma once
#include <string>
#include <string_view>

namespace nearfield {

enum class LineEnds { kKept, kEscaped };

/// Makes untrusted text (file names, values of settings) safe for a terminal and a log: control characters as \x1b, \t,
/// \n; all else unchanged.
std::string printable(std::string_view text, LineEnds line_ends = LineEnds::kEscaped);

/// Like printable(), for text that a message quotes from a file: long text is cut and ends in "...".
std::string shown_text(std::string_view text);

}  // namespace nearfield
