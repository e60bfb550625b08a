#include "config/words.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <string>
#include <vector>

#include "config/config.hpp"
#include "config/schema/processor_kinds.hpp"
#include "core/error.hpp"

namespace nearfield {
namespace {

constexpr int kLongestWindow = 65536;  ///< the limit of the schema

int scaled(int samples, int factor, int most, const std::string& key) {
  if (samples > most / factor) {
    throw ConfigError(fmt::format("{}: expected at most {} samples with front_end.decimation {}, found {}", key,
                                  most / factor, factor * kBitsPerWord, samples));
  }
  return samples * factor;
}

}  // namespace

Settings in_words(Settings settings) {
  const int factor = settings.front_end.decimation / kBitsPerWord;
  if (factor <= 1) {
    return settings;
  }
  FrontEndSettings& front_end = settings.front_end;
  front_end.window_samples = scaled(front_end.window_samples, factor, kLongestWindow, "front_end.window_samples");
  front_end.hop_samples =
      scaled(front_end.hop_samples, factor, std::numeric_limits<int>::max(), "front_end.hop_samples");
  for (ProcessorSettings& processor : settings.processors) {
    if (needs_of(settings, processor).sample_window > 0) {
      throw ConfigError(
          fmt::format("front_end.decimation: expected 32 with processors.{}, as {} works on decimated samples, "
                      "found {}",
                      processor.name, processor.kind, front_end.decimation));
    }
    if (processor.front_end.window_samples) {
      processor.front_end.window_samples =
          scaled(*processor.front_end.window_samples, factor, kLongestWindow,
                 fmt::format("processors.{}.front_end.window_samples", processor.name));
    }
  }
  front_end.decimation = kBitsPerWord;
  return settings;
}

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
