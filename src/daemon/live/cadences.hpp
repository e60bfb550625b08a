#pragma once
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "daemon/live/publisher.hpp"
#include "engine/engine.hpp"

namespace nearfield::daemon {

/// At which hops the processors have frames, and how many hops each has shed since its last one.
class Cadences {
 public:
  /// Takes over an engine's processors; one that the previous engine had, too, keeps its count of shed hops. align()
  /// must follow.
  void use(const Engine& engine) {
    const std::vector<Cadence> before = std::exchange(cadences_, {});
    for (std::size_t p = 0; p < engine.processors(); ++p) {
      const std::string& name = engine.header(p).processor;
      const auto same =
          std::find_if(before.begin(), before.end(), [&](const Cadence& c) { return c.processor == name; });
      cadences_.push_back({.processor = name,
                           .every = static_cast<std::uint64_t>(engine.every_hops(p)),
                           .shed = same == before.end() ? 0 : same->shed,
                           .has_frames = same != before.end() && same->has_frames});
    }
  }
  /// Aligns the frames with those of a replay: at hops that are multiples of the cadence.
  void align(std::uint64_t next_hop) {
    for (Cadence& cadence : cadences_) {
      cadence.next = (next_hop + cadence.every - 1) / cadence.every * cadence.every;
    }
  }
  [[nodiscard]] std::size_t processors() const { return cadences_.size(); }

  /// Counts the hops shed before a window, and advances to it. Returns the hops that the processor's frame of this
  /// window counts as shed; nullopt if it has no frame. `has_products`: its own window is in the stream.
  std::optional<std::uint64_t> frame_at(std::size_t processor, std::uint64_t hop, std::uint64_t shed_hops,
                                        bool has_products) {
    Cadence& cadence = cadences_[processor];
    cadence.shed += shed_hops;
    const bool is_due = hop >= cadence.next || cadence.next - hop > cadence.every;  // bit-times wrap after 2^64
    if (!is_due) {
      return std::nullopt;
    }
    cadence.next = (hop / cadence.every + 1) * cadence.every;
    if (!has_products) {
      cadence.shed += cadence.has_frames ? cadence.every : 0;
      return std::nullopt;
    }
    cadence.has_frames = true;
    return std::exchange(cadence.shed, 0);
  }
  /// Counts a frame that is not computed as shed, with those that it counted.
  void shed_frame(std::size_t processor, std::uint64_t shed_hops) {
    cadences_[processor].shed += cadences_[processor].every + shed_hops;
  }

 private:
  struct Cadence {
    std::string processor;
    std::uint64_t every = 1;
    std::uint64_t next = 0;  ///< the first hop number at which it is due again
    std::uint64_t shed = 0;  ///< hops since its last frame
    bool has_frames = false;
  };
  std::vector<Cadence> cadences_;  ///< [processor]
};

/// Pending frame of a slow-cadence processor, without its products.
struct LateFrame {
  Frame frame;
  FinishedBatch batch;
  std::size_t window = 0;
  Pauses pauses;  ///< state at its window
};

/// Frames of slow-cadence processors: due for the batch that is being published, then pending on their devices.
class LateFrames {
 public:
  void add(const LateFrame& due) { due_.push_back(due); }
  [[nodiscard]] bool has_frames() const { return !pending_.empty(); }
  /// Enqueues the processors that are due, after the batch's frames are published. One whose device is still busy with
  /// earlier windows gets no frame of these.
  void begin(Engine& engine, const FinishedBatch& batch, Cadences& cadences) {
    processors_.clear();
    const auto earlier = static_cast<std::ptrdiff_t>(pending_.size());  // their products must not be taken over
    for (const LateFrame& one : due_) {
      const std::size_t processor = one.frame.processor;
      const bool is_pending = std::any_of(pending_.begin(), pending_.begin() + earlier,
                                          [&](const LateFrame& other) { return other.frame.processor == processor; });
      if (is_pending || engine.is_under_way(processor)) {
        cadences.shed_frame(processor, one.frame.shed_hops);
        continue;
      }
      processors_.push_back(processor);
      pending_.push_back(one);
    }
    due_.clear();
    engine.begin_late(batch, processors_);
  }
  /// Removes the first pending frame whose products are ready; nullopt if there is none.
  std::optional<LateFrame> next_complete(Engine& engine) {
    for (auto one = pending_.begin(); one != pending_.end(); ++one) {
      if (!engine.is_under_way(one->frame.processor)) {
        LateFrame complete = *one;
        pending_.erase(one);
        return complete;
      }
    }
    return std::nullopt;
  }

 private:
  std::vector<LateFrame> due_;
  std::vector<std::size_t> processors_;
  std::vector<LateFrame> pending_;
};

}  // namespace nearfield::daemon
