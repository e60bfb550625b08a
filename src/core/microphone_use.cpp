#include "core/microphone_use.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <span>

#include "core/text.hpp"

namespace nearfield {
namespace {

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
    lacks.push_back(
        fmt::format("{} of the information missing", text_of_percent(static_cast<double>(use.missing_information))));
  }
  return lacks.empty() ? text : fmt::format("{}; {}", text, fmt::join(lacks, ", "));
}

}  // namespace nearfield
