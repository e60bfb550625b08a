#pragma once
#include <fmt/format.h>

#include <string>

namespace nearfield {

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
