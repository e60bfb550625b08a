#pragma once
#include <algorithm>
#include <cctype>
#include <charconv>
#include <string>
#include <string_view>

/// Parsing of positions in text files of other programs: numbers, and the names of columns.
namespace nearfield {

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
