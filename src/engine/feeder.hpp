#pragma once
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>

#include "engine/engine.hpp"

namespace nearfield {

/// Which samples an engine still needs for its next windows: those behind what it was fed with last, or, where windows
/// do not follow on the last ones, their history too. For live streams and recordings alike.
class Feeder {
 public:
  explicit Feeder(const FrontEndSettings& settings)
      : window_samples_(static_cast<std::uint64_t>(settings.window_samples)),
        hop_samples_(static_cast<std::uint64_t>(settings.hop_samples)) {}

  /// Nothing lies before `origin`, and nothing has been fed.
  void begin(std::uint64_t origin) {
    origin_ = origin;
    fed_.reset();
  }
  /// Windows of another engine, which has not been fed yet.
  void use(const FrontEndSettings& settings) {
    window_samples_ = static_cast<std::uint64_t>(settings.window_samples);
    hop_samples_ = static_cast<std::uint64_t>(settings.hop_samples);
    fed_.reset();
  }
  /// First sample that a window at `first_window` needs.
  [[nodiscard]] std::uint64_t begin_of(std::uint64_t first_window, const Engine& engine) const {
    return first_window - std::min(engine.history_samples(), first_window - origin_);
  }
  /// What `windows` windows, a hop apart and the first from `first_window` on, still need; it must be pushed next.
  SampleSpan next(std::uint64_t first_window, std::size_t windows, Engine& engine) {
    return until(first_window, first_window + (windows - 1) * hop_samples_ + window_samples_, engine);
  }
  /// The same up to `end`.
  SampleSpan until(std::uint64_t first_window, std::uint64_t end, Engine& engine) {
    const std::uint64_t needed = begin_of(first_window, engine);
    const bool follows = fed_ && *fed_ >= needed;
    if (!follows) {
      engine.seek(first_window, origin_);
    }
    const SampleSpan span{.first = follows ? std::min(*fed_, end) : needed, .end = end};
    fed_ = follows ? std::max(*fed_, end) : end;
    return span;
  }

 private:
  std::uint64_t window_samples_;
  std::uint64_t hop_samples_;
  std::uint64_t origin_ = 0;
  std::optional<std::uint64_t> fed_;  ///< end of what was fed
};

}  // namespace nearfield
