#include "publish/pictures/axis.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <set>

namespace nearfield {
namespace {

/// Rounding of a multiple of a step must not move the last tick out of the range.
constexpr double kTickSlack = 1e-9;
/// Beyond these limits, labels in powers of ten are shorter.
constexpr int kMostDecimals = 6;
constexpr double kLargestPlain = 1e6;

std::vector<double> multiples(double low, double high, double step) {
  std::vector<double> ticks;
  const double first = std::ceil(low / step - kTickSlack);
  const double last = std::floor(high / step + kTickSlack);
  for (double i = first; i <= last; i += 1.0) {
    ticks.push_back(i == 0.0 ? 0.0 : i * step);
  }
  return ticks;
}

double count_of_multiples(double low, double high, double step) {
  return std::floor(high / step + kTickSlack) - std::ceil(low / step - kTickSlack) + 1.0;
}

}  // namespace

std::vector<double> nice_ticks(double low, double high, int max_count) {
  if (!std::isfinite(high - low) || !(high > low) || max_count < 1) {
    return {};
  }
  // One of these decades' steps exceeds the range, so that at most one multiple remains.
  const int smallest = static_cast<int>(std::floor(std::log10((high - low) / max_count)));
  const int largest = static_cast<int>(std::ceil(std::log10(std::max(std::abs(low), std::abs(high))))) + 1;
  for (int exponent = smallest; exponent <= largest; ++exponent) {
    for (const double digit : {1.0, 2.0, 5.0}) {
      const double step = digit * std::pow(10.0, exponent);
      if (count_of_multiples(low, high, step) <= max_count) {
        return multiples(low, high, step);
      }
    }
  }
  return {};
}

std::vector<std::string> tick_labels(const std::vector<double>& ticks) {
  double largest = 0.0;
  for (const double tick : ticks) {
    largest = std::max(largest, std::abs(tick));
  }
  const double step = ticks.size() > 1 ? ticks[1] - ticks[0] : largest;
  const int decimals = step > 0.0 ? std::max(0, static_cast<int>(-std::floor(std::log10(step) + kTickSlack))) : 0;
  const bool plain = decimals <= kMostDecimals && largest < kLargestPlain;
  std::vector<std::string> labels;
  for (const double tick : ticks) {
    labels.push_back(with_minus_signs(plain ? fmt::format("{:.{}f}", tick, decimals) : fmt::format("{:.3g}", tick)));
  }
  return labels;
}

int decimals_for(const std::vector<double>& values, int least) {
  constexpr int kMost = 9;
  const std::set<double> different(values.begin(), values.end());
  for (int decimals = least; decimals < kMost; ++decimals) {
    std::set<double> rounded;
    for (const double value : different) {
      const double shown = std::round(value * std::pow(10.0, decimals));
      if (shown != 0.0 || value == 0.0) {
        rounded.insert(shown);
      }
    }
    if (rounded.size() == different.size()) {
      return decimals;
    }
  }
  return kMost;
}

SiPrefix si_prefix(double maximum) {
  static const std::array<SiPrefix, 9> kPrefixes = {{{1e9, "G"},
                                                     {1e6, "M"},
                                                     {1e3, "k"},
                                                     {1.0, ""},
                                                     {1e-3, "m"},
                                                     {1e-6, "\u00b5"},
                                                     {1e-9, "n"},
                                                     {1e-12, "p"},
                                                     {1e-15, "f"}}};
  if (!std::isfinite(maximum) || !(maximum > 0.0)) {
    return {};
  }
  for (const SiPrefix& prefix : kPrefixes) {
    if (maximum >= prefix.factor) {
      return prefix;
    }
  }
  return {};
}

std::string with_si_prefix(double value, const std::string& unit) {
  const SiPrefix prefix = si_prefix(std::abs(value));
  return with_minus_signs(fmt::format("{:.3g} {}{}", value / prefix.factor, prefix.prefix, written_unit(unit)));
}

std::string written_unit(const std::string& unit) {
  std::string result;
  for (std::size_t i = 0; i < unit.size(); ++i) {
    const bool is_raised = unit[i] == '^' && i + 1 < unit.size() && (unit[i + 1] == '2' || unit[i + 1] == '3');
    result += is_raised ? std::string(unit[++i] == '2' ? "\u00b2" : "\u00b3") : std::string(1, unit[i]);
  }
  return result;
}

std::string axis_title(const std::string& name, const std::string& unit) {
  const bool is_plain = unit.empty() || unit == "1";
  const bool counts_down = name == "y";
  return (is_plain ? name : name + " [" + unit + "]") + (counts_down ? ", downwards" : "");
}

std::string with_minus_signs(const std::string& text) {
  std::string result;
  for (const char letter : text) {
    result += letter == '-' ? std::string("\u2212") : std::string(1, letter);
  }
  return result;
}

}  // namespace nearfield
