#include "files/facts.hpp"

#include <fmt/chrono.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>

#include "core/system/clocks.hpp"

namespace nearfield {

std::string text_of_bytes(std::uint64_t bytes) {
  constexpr std::array<std::string_view, 4> kUnits{"kB", "MB", "GB", "TB"};
  if (bytes < 1000) {
    return fmt::format("{} bytes", bytes);
  }
  double size = static_cast<double>(bytes) / 1000.0;
  std::size_t unit = 0;
  while (size >= 1000.0 && unit + 1 < kUnits.size()) {
    size /= 1000.0;
    ++unit;
  }
  return fmt::format("{:.4g} {}", size, kUnits[unit]);
}

std::string text_of_mm(double length_m) { return fmt::format("{:.4g} mm", 1000.0 * length_m); }

std::string text_of_values(const std::vector<double>& values, std::string_view unit) {
  constexpr std::size_t kMostListed = 12;
  const std::string_view space = unit.empty() ? "" : " ";
  std::vector<std::string> texts;
  for (const double value : values) {
    texts.push_back(fmt::format("{:.7g}", value));
  }
  if (texts.size() <= kMostListed) {
    return fmt::format("{}{}{} ({})", fmt::join(texts, ", "), space, unit, texts.size());
  }
  const auto [lowest, highest] = std::minmax_element(values.begin(), values.end());
  return fmt::format("{:.7g} to {:.7g}{}{} ({})", *lowest, *highest, space, unit, texts.size());
}

std::string without_controls(std::string_view text) {
  // Control characters U+0080 to U+009F, some of which terminals obey, are two bytes of UTF-8.
  constexpr char kBeforeControl = '\xC2';
  const auto is_second_of_control = [](char character) {
    return static_cast<unsigned char>(character) >= 0x80U && static_cast<unsigned char>(character) < 0xA0U;
  };
  std::string shown;
  shown.reserve(text.size());
  for (std::size_t i = 0; i < text.size(); ++i) {
    const bool is_pair = text[i] == kBeforeControl && i + 1 < text.size() && is_second_of_control(text[i + 1]);
    const bool is_single = static_cast<unsigned char>(text[i]) < 0x20U || text[i] == 0x7F;
    shown += is_pair || is_single ? ' ' : text[i];
    i += is_pair ? 1U : 0U;
  }
  return shown;
}

std::string text_of_time(std::int64_t time_ns) {
  if (time_ns == 0) {
    return "not stated";
  }
  const std::int64_t remainder = time_ns % kNsPerSecond;
  const std::int64_t nanoseconds = remainder < 0 ? remainder + kNsPerSecond : remainder;
  const std::time_t seconds = static_cast<std::time_t>((time_ns - nanoseconds) / kNsPerSecond);
  return fmt::format("{:%Y-%m-%d %H:%M:%S}.{:09} TAI", fmt::gmtime(seconds), nanoseconds);
}

std::string text_of_range(const ValueRange& range, std::string_view unit) {
  if (!range.is_known()) {
    return "none";
  }
  const std::string_view space = unit.empty() ? "" : " ";
  return range.least == range.most ? fmt::format("{:.4g}{}{}", range.least, space, unit)
                                   : fmt::format("{:.4g} to {:.4g}{}{}", range.least, range.most, space, unit);
}

}  // namespace nearfield
