#pragma once
#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <charconv>
#include <exception>
#include <span>
#include <string>
#include <string_view>

#include "core/error.hpp"

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

/// Formats text that was read from a file for a message, or hides it.
class FileTextStyle {
 public:
  explicit FileTextStyle(bool is_shown) : is_shown_(is_shown) {}
  /// `"text"`, shortened and without control characters, or `other text`.
  std::string operator()(std::string_view text) const;

 private:
  bool is_shown_;
};

/// The content of a text file is wrong, and the message quotes it. A user who may set a path through the control socket
/// or the live page can have the daemon open files that only the daemon's user may read: what(), which all clients get,
/// contains only the line and what was expected there; message_for_owner(), printed for the user with whose rights the
/// file was read, also quotes its text.
class FileTextError : public DataError {
 public:
  /// `message` creates the message, given a FileTextStyle.
  template <class Message>
  explicit FileTextError(const Message& message)
      : DataError(message(FileTextStyle(false))), for_owner_(message(FileTextStyle(true))) {}
  [[nodiscard]] const std::string& for_owner() const noexcept { return for_owner_; }

 private:
  std::string for_owner_;
};

/// The message that a program prints on its own terminal, for the user with whose rights it runs.
std::string message_for_owner(const std::exception& error);

/// std::from_chars(), which also takes a plus sign before the number, as Fortran and ODAS write it.
inline std::from_chars_result number_from(const char* at, const char* end, double& value) {
  const bool has_plus = end - at > 1 && *at == '+' && at[1] != '-' && at[1] != '+';
  return std::from_chars(at + (has_plus ? 1 : 0), end, value);
}

/// True for a column's name that denotes a coordinate in m: x_m, X, "x [m]" or "x (m)" for the axis 'x'.
inline bool names_place(std::string_view cell, char axis) {
  std::string name;
  for (const char c : cell) {
    if (std::isspace(static_cast<unsigned char>(c)) == 0) {
      name += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
    }
  }
  if (name.empty() || name.front() != axis) {
    return false;
  }
  const std::string unit = name.substr(1);
  return unit.empty() || unit == "_m" || unit == "[m]" || unit == "(m)";
}

/// True for the names of three columns, x, y and z.
inline bool is_heading_of_places(std::string_view line) {
  for (const char axis : {'x', 'y', 'z'}) {
    const std::size_t comma = line.find(',');
    if ((comma == std::string_view::npos) != (axis == 'z') || !names_place(line.substr(0, comma), axis)) {
      return false;
    }
    line.remove_prefix(axis == 'z' ? line.size() : comma + 1);
  }
  return true;
}

}  // namespace nearfield
