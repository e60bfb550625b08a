#pragma once
#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "core/settings.hpp"

namespace nearfield {

/// Samples first to end - 1 of a stream.
struct SampleSpan {
  std::uint64_t first = 0;
  std::uint64_t end = 0;
  [[nodiscard]] std::uint64_t size() const { return end - first; }
};

/// Positions in a stream: elements, as the source counts them (bit-times, or samples of all microphones), samples, as
/// engines count them, and the windows and hops of samples. Samples never decrease, whatever the elements of a
/// restarted source do. Windows begin where a hop begins, counted from the source's element 0.
class StreamClock {
 public:
  StreamClock() = default;
  explicit StreamClock(const FrontEndSettings& settings, std::uint64_t elements_per_sample = 1)
      : window_samples_(static_cast<std::uint64_t>(settings.window_samples)),
        hop_samples_(static_cast<std::uint64_t>(settings.hop_samples)),
        elements_per_sample_(elements_per_sample) {}

  /// Begins a stream with its first whole sample from `first_element` on, whose position is its own number where this
  /// is at least `least` and not near the limit of 64 bits, else `least`.
  void begin(std::uint64_t first_element, std::uint64_t least) {
    constexpr std::uint64_t kLargestElement = std::uint64_t{1} << 62U;
    const std::uint64_t step = elements_per_sample_;
    origin_element_ = first_element + (step - first_element % step) % step;
    origin_ = std::max(least, origin_element_ < kLargestElement ? origin_element_ / step : 0);
  }
  /// Changes the windows, not the stream.
  void use(const FrontEndSettings& settings) {
    window_samples_ = static_cast<std::uint64_t>(settings.window_samples);
    hop_samples_ = static_cast<std::uint64_t>(settings.hop_samples);
  }

  /// Position of the stream's first whole sample.
  [[nodiscard]] std::uint64_t origin() const { return origin_; }
  [[nodiscard]] std::uint64_t window_samples() const { return window_samples_; }
  [[nodiscard]] std::uint64_t hop_samples() const { return hop_samples_; }
  [[nodiscard]] std::uint64_t elements_per_sample() const { return elements_per_sample_; }
  /// Elements of so many samples.
  [[nodiscard]] std::uint64_t elements(std::uint64_t samples) const { return samples * elements_per_sample_; }

  /// The source's element at which a sample begins.
  [[nodiscard]] std::uint64_t element_of(std::uint64_t sample) const {
    return origin_element_ + elements(sample - origin_);
  }
  /// Number of the hop whose window begins at a sample, as in a replay: from the source's element 0 on.
  [[nodiscard]] std::uint64_t hop_of(std::uint64_t first_sample) const {
    return element_of(first_sample) / elements(hop_samples_);
  }
  /// First sample from this one on at which a window begins.
  [[nodiscard]] std::uint64_t at_hop(std::uint64_t sample) const {
    return sample + to_boundary(element_of(sample) / elements_per_sample_);
  }
  /// First sample of the window that begins `hops` after one that begins at `first_sample`.
  [[nodiscard]] std::uint64_t later(std::uint64_t first_sample, std::uint64_t hops) const {
    return first_sample + hops * hop_samples_;
  }
  /// End of the last of `windows` windows, a hop apart, the first of which begins at `first_sample`.
  [[nodiscard]] std::uint64_t end_of(std::uint64_t first_sample, std::uint64_t windows = 1) const {
    return later(first_sample, windows - 1) + window_samples_;
  }
  /// Number of hops from a window's begin to the first begin at or behind `sample`.
  [[nodiscard]] std::uint64_t hops_to(std::uint64_t first_sample, std::uint64_t sample) const {
    return sample > first_sample ? (sample - first_sample + hop_samples_ - 1) / hop_samples_ : 0;
  }

 private:
  /// Samples from the `number`-th on to the next begin of a hop.
  [[nodiscard]] std::uint64_t to_boundary(std::uint64_t number) const {
    return (hop_samples_ - number % hop_samples_) % hop_samples_;
  }
  std::uint64_t window_samples_ = 1;
  std::uint64_t hop_samples_ = 1;
  std::uint64_t elements_per_sample_ = 1;
  std::uint64_t origin_element_ = 0;  ///< element of the stream's first whole sample
  std::uint64_t origin_ = 0;
};

}  // namespace nearfield
