#pragma once
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "engine/engine.hpp"

namespace nearfield {

/// Schedule of masked microphones besides those of the settings: none before the first change.
class MaskSchedule {
 public:
  /// Masks `channels` for the windows that begin at this sample or later.
  void add(std::uint64_t first_sample, std::vector<int> channels) {
    changes_.insert_or_assign(first_sample, std::move(channels));
  }
  /// Drops changes that no window from this sample on needs.
  void forget_before(std::uint64_t first_sample);
  /// Mask for a window that begins at this sample.
  [[nodiscard]] const std::vector<int>& at(std::uint64_t first_sample) const;
  /// Number of the `windows` windows, `hop_samples` apart and the first at `first_sample`, that share its mask.
  [[nodiscard]] std::size_t together(std::uint64_t first_sample, std::size_t windows, std::uint64_t hop_samples) const;

 private:
  std::map<std::uint64_t, std::vector<int>> changes_;
};

/// Applies a mask schedule to an engine.
class ScheduledMask {
 public:
  explicit ScheduledMask(Engine& engine) : engine_(&engine) {}
  /// Call it before a window is computed. Waits for the device where the mask changes.
  void use(const MaskSchedule& schedule, std::uint64_t first_sample);
  /// True if use() has nothing to do.
  [[nodiscard]] bool is_in_effect(const MaskSchedule& schedule, std::uint64_t first_sample) const {
    return in_effect_ == schedule.at(first_sample);
  }
  /// Makes the next use() set the mask unconditionally.
  void forget() { in_effect_.reset(); }

 private:
  Engine* engine_;
  /// Masked channels, ascending; empty for those of the settings alone, as an engine begins. No value: unknown.
  std::optional<std::vector<int>> in_effect_ = std::vector<int>();
};

}  // namespace nearfield
