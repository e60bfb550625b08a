#pragma once
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "engine/engine.hpp"

namespace nearfield {

/// Which microphones are masked from which sample on, beside those of the settings: none before the first change.
class MaskSchedule {
 public:
  /// For the windows that begin at this sample or later.
  void add(std::uint64_t first_sample, std::vector<int> channels) {
    changes_.insert_or_assign(first_sample, std::move(channels));
  }
  /// Drops what no window from this sample on needs.
  void forget_before(std::uint64_t first_sample);
  /// Of a window that begins there.
  [[nodiscard]] const std::vector<int>& at(std::uint64_t first_sample) const;
  /// How many of `windows` windows, `hop_samples` apart and the first at `first_sample`, are computed with its mask.
  [[nodiscard]] std::size_t together(std::uint64_t first_sample, std::size_t windows, std::uint64_t hop_samples) const;

 private:
  std::map<std::uint64_t, std::vector<int>> changes_;
};

/// Keeps an engine's mask to a schedule.
class ScheduledMask {
 public:
  explicit ScheduledMask(Engine& engine) : engine_(&engine) {}
  /// Before a window is computed. Waits where the mask changes.
  void use(const MaskSchedule& schedule, std::uint64_t first_sample);
  /// Whether use() has nothing to do.
  [[nodiscard]] bool is_in_effect(const MaskSchedule& schedule, std::uint64_t first_sample) const {
    return in_effect_ == schedule.at(first_sample);
  }
  /// The next use() sets the mask, whatever was set before.
  void forget() { in_effect_.reset(); }

 private:
  Engine* engine_;
  /// Ascending; those of the settings alone, as an engine begins. Nothing where it is not known.
  std::optional<std::vector<int>> in_effect_ = std::vector<int>();
};

}  // namespace nearfield
