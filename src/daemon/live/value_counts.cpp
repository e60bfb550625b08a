#include "daemon/live/value_counts.hpp"

#include <algorithm>
#include <bit>
#include <cmath>

namespace nearfield::daemon {
namespace {

/// Few enough to take only some us of a frame; the next piece samples other channels.
constexpr std::size_t kOfPiece = 256;
/// Pressures and full-scale values lie between these.
constexpr float kSmallest = 1e-18F;
constexpr float kLargest = 1e12F;
/// Below so many steps, float32 has at least 8 values between multiples.
constexpr float kTelling = 0x1p20F;

using Numbers = std::array<std::uint64_t, sizeof(ValueCounts::Counts) / sizeof(std::uint64_t)>;

}  // namespace

void ValueCounts::count(std::span<const std::uint32_t> words) {
  if (words.empty()) {
    return;
  }
  const std::size_t first = turn_++ * kOfPiece % words.size();
  for (const std::uint32_t word : words.subspan(first, std::min(kOfPiece, words.size() - first))) {
    const float value = std::bit_cast<float>(word);
    const float size = std::abs(value);
    ++counts_.values;
    if (!std::isfinite(value)) {
      ++counts_.non_finite;
      continue;
    }
    if (size == 0.0F) {
      ++counts_.zero;
      continue;
    }
    counts_.tiny += size < kSmallest ? 1 : 0;
    counts_.huge += size > kLargest ? 1 : 0;
    counts_.beyond_one += size > 1.0F ? 1 : 0;
    for (std::size_t i = 0; i < kSteps.size(); ++i) {
      if (size < kSteps[i] * kTelling) {
        const float steps = size / kSteps[i];
        ++(steps == std::floor(steps) ? counts_.multiples : counts_.others)[i];
      }
    }
  }
  const auto numbers = std::bit_cast<Numbers>(counts_);
  for (std::size_t i = 0; i < numbers.size(); ++i) {
    shared_[i].store(numbers[i], std::memory_order_relaxed);
  }
}

ValueCounts::Counts ValueCounts::counts() const {
  Numbers numbers{};
  std::transform(shared_.begin(), shared_.end(), numbers.begin(),
                 [](const std::atomic<std::uint64_t>& number) { return number.load(std::memory_order_relaxed); });
  return std::bit_cast<Counts>(numbers);
}

ValueCounts::Counts difference(const ValueCounts::Counts& now, const ValueCounts::Counts& before) {
  auto numbers = std::bit_cast<Numbers>(now);
  const auto old = std::bit_cast<Numbers>(before);
  for (std::size_t i = 0; i < numbers.size(); ++i) {
    numbers[i] -= old[i];
  }
  return std::bit_cast<ValueCounts::Counts>(numbers);
}

}  // namespace nearfield::daemon
