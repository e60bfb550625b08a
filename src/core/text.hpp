#pragma once
#include <fmt/format.h>

#include <span>
#include <string>
#include <string_view>

namespace nearfield {

enum class LineEnds { kKept, kEscaped };

/// Makes untrusted text (file names, values of settings) safe for a terminal and a log: control characters as \x1b, \t,
/// \n; all else unchanged.
std::string printable(std::string_view text, LineEnds line_ends = LineEnds::kEscaped);

/// Like printable(), for text that a message quotes from a file: long text is cut and ends in "...".
std::string shown_text(std::string_view text);

/// "-0.31 to 0.31 m in x, -0.2 to 0.2 m in y, 0 to 0 m in z" over all positions, [place][x, y, z] in m: reveals a wrong
/// unit, sign or order of axes.
std::string text_of_extent(std::span<const double> xyz_m);

/// A length, rounded to 0 if it is only the rounding error of a mean of 0.
double without_rounding(double length_m);

/// A share of one as "4 %", "0.38 %", "94 %" or "less than 0.01 %", never with a power of ten.
inline std::string text_of_percent(double share) {
  constexpr double kPercent = 100.0;
  constexpr double kFewDigits = 9.95;
  constexpr double kLeast = 0.01;
  const double percent = kPercent * share;
  if (percent < kLeast) {
    return "less than 0.01 %";
  }
  return percent < kFewDigits ? fmt::format("{:.2g} %", percent) : fmt::format("{:.0f} %", percent);
}

}  // namespace nearfield
