#pragma once
#include <string>
#include <vector>

/// Ticks and units of the pictures' axes.
namespace nearfield {

/// Multiples of 1, 2 or 5 times a power of ten inside [low, high], as many as possible without exceeding `max_count`;
/// at least one if the range contains zero. Empty if the range is empty, not finite, or max_count < 1.
std::vector<double> nice_ticks(double low, double high, int max_count);

/// Labels of evenly spaced ticks, all with the same number of decimals, with a true minus sign.
std::vector<std::string> tick_labels(const std::vector<double>& ticks);

/// Fewest decimals, at least `least`, that keep all values distinct and only zero at zero; at most 9.
int decimals_for(const std::vector<double>& values, int least);

/// A decimal prefix: `value / factor` carries the unit with `prefix`.
struct SiPrefix {
  double factor = 1.0;
  std::string prefix;
};
/// The prefix with which `maximum` is between 1 and 1000, from femto to giga; none for zero and for values that are not
/// finite.
SiPrefix si_prefix(double maximum);

/// Three significant digits with prefix and unit, such as "3.42 mPa".
std::string with_si_prefix(double value, const std::string& unit);

/// A unit in typographic form: "W/m^2" with a superscript 2.
std::string written_unit(const std::string& unit);

/// "x [m]"; "y [m], downwards", since y increases downwards: pictures have the array's row 0 on top, seen from its
/// back. Only the name if the unit is 1.
std::string axis_title(const std::string& name, const std::string& unit);

/// Replaces hyphens by true minus signs.
std::string with_minus_signs(const std::string& text);

}  // namespace nearfield
