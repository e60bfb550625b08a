#include "nearfield/microphone_use.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <span>

namespace nearfield {
namespace {

/// "4", "0.38" or "94", without a power of ten.
std::string text_of_percent(float share) {
  constexpr float kPercent = 100.0F;
  constexpr float kFewDigits = 9.95F;
  const float percent = kPercent * share;
  return percent < kFewDigits ? fmt::format("{:.2g} %", percent) : fmt::format("{:.0f} %", percent);
}

std::string text_of_masked(const std::vector<int>& masked) {
  constexpr std::size_t kMostShown = 16;
  const std::size_t shown = std::min(masked.size(), kMostShown);
  const std::string more = masked.size() > shown ? fmt::format(" and {} more", masked.size() - shown) : "";
  return fmt::format("{} masked ({}{})", masked.size(), fmt::join(std::span(masked).first(shown), ", "), more);
}

}  // namespace

std::string text_of(const MicrophoneUse& use) {
  std::string text = use.fewest_used == use.most_used
                         ? fmt::format("{} of {} used", use.most_used, use.microphones)
                         : fmt::format("{} to {} of {} used", use.fewest_used, use.most_used, use.microphones);
  std::vector<std::string> lacks;
  if (!use.masked.empty()) {
    lacks.push_back(text_of_masked(use.masked));
  }
  if (const std::size_t known = use.fewest_used + use.masked.size(); known < use.microphones) {
    lacks.push_back(fmt::format("{} not finite", use.microphones - known));
  }
  if (use.missing_information > 0.0F) {
    lacks.push_back(fmt::format("{} of the information missing", text_of_percent(use.missing_information)));
  }
  return lacks.empty() ? text : fmt::format("{}; {}", text, fmt::join(lacks, ", "));
}

}  // namespace nearfield
