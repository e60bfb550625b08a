#include "config/suggestion.hpp"

#include <algorithm>
#include <vector>

namespace nearfield {
namespace {

constexpr std::size_t kLongestName = 80;
constexpr std::size_t kShortestPrefix = 3;

bool begins_alike(std::string_view a, std::string_view b) {
  return std::min(a.size(), b.size()) >= kShortestPrefix && (a.starts_with(b) || b.starts_with(a));
}

}  // namespace

std::size_t edit_distance(std::string_view a, std::string_view b) {
  std::vector<std::size_t> before(b.size() + 1);
  std::vector<std::size_t> above(b.size() + 1);
  std::vector<std::size_t> row(b.size() + 1);
  for (std::size_t j = 0; j <= b.size(); ++j) {
    above[j] = j;
  }
  for (std::size_t i = 1; i <= a.size(); ++i) {
    row[0] = i;
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const std::size_t replaced = above[j - 1] + (a[i - 1] == b[j - 1] ? 0 : 1);
      row[j] = std::min({above[j] + 1, row[j - 1] + 1, replaced});
      if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1]) {
        row[j] = std::min(row[j], before[j - 2] + 1);
      }
    }
    std::swap(before, above);
    std::swap(above, row);
  }
  return above[b.size()];
}

void Suggestion::offer(std::string_view name, std::string_view shown) {
  if (misspelt_.size() > kLongestName) {
    return;
  }
  const std::size_t farthest = std::max<std::size_t>(1, misspelt_.size() / 3);
  const std::size_t edits = edit_distance(misspelt_, name);
  const std::size_t distance = edits > farthest && begins_alike(misspelt_, name) ? farthest : edits;
  if (distance <= farthest && distance < distance_) {
    distance_ = distance;
    best_ = shown;
  }
}

}  // namespace nearfield
