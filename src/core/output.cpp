#include "core/output.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <functional>

namespace nearfield {

std::string flaw_of_mask(const MaskChange& change, int microphones) {
  const std::vector<int>& channels = change.channels;
  if (std::adjacent_find(channels.begin(), channels.end(), std::greater_equal<>()) != channels.end()) {
    return "expected channels in ascending order, each once";
  }
  if (!channels.empty() && (channels.front() < 0 || channels.back() >= microphones)) {
    return fmt::format("expected channels from 0 to {}, found {}", microphones - 1,
                       channels.front() < 0 ? channels.front() : channels.back());
  }
  return "";
}

}  // namespace nearfield
