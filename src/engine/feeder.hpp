#pragma once
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>

#include "engine/engine.hpp"

namespace nearfield {

/// Tracks which samples an engine still needs for its next windows: those behind the last feed or, after a jump, their
/// history too. Used for live streams and recordings.
class Feeder {
 public:
  explicit Feeder(const FrontEndSettings& settings) : clock_(settings) {}

  /// Starts a stream at `origin`, with nothing fed yet.
  void begin(std::uint64_t origin) {
    origin_ = origin;
    fed_.reset();
  }
  /// Switches to the windows of another engine, which has not been fed yet.
  void use(const FrontEndSettings& settings) {
    clock_.use(settings);
    fed_.reset();
  }
  /// First sample needed for a window at `first_window`.
  [[nodiscard]] std::uint64_t begin_of(std::uint64_t first_window, const Engine& engine) const {
    return first_window - std::min(engine.history_samples(), first_window - origin_);
  }
  /// Samples that `windows` windows, a hop apart and the first at `first_window`, still need; they must be pushed next.
  SampleSpan next(std::uint64_t first_window, std::size_t windows, Engine& engine) {
    return until(first_window, clock_.end_of(first_window, windows), engine);
  }
  /// next() with an explicit end of the span.
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
  StreamClock clock_;
  std::uint64_t origin_ = 0;
  std::optional<std::uint64_t> fed_;  ///< end of the samples fed so far
};

}  // namespace nearfield
