#pragma once
#include <cstddef>
#include <cstdint>
#include <deque>
#include <filesystem>
#include <functional>
#include <optional>

#include "core/system/clocks.hpp"
#include "recording/room.hpp"

namespace nearfield {

struct RoomClocks {
  std::function<std::int64_t()> realtime_ns = [] { return clock_ns(CLOCK_REALTIME); };
  std::function<std::int64_t()> boottime_ns = [] { return clock_ns(CLOCK_BOOTTIME); };  ///< never set, unlike realtime
};

/// Decides, for max_age_s, if modification times can be compared with the clock. On a machine without a battery, or
/// before the time service has answered, the clock is wrong and makes new recordings look years old once it is set. Not
/// thread-safe.
class RoomTimes {
 public:
  /// Time after boot that the time service needs.
  static constexpr std::int64_t kSettleNs = 15 * 60 * kNsPerSecond;
  /// Largest difference of the two clocks' advance between calls of now(); more is a step.
  static constexpr std::int64_t kStepNs = 60 * kNsPerSecond;
  /// Time after a step during which nothing is removed; a shorter max_age_s replaces it.
  static constexpr std::int64_t kHoldNs = 24 * 3600 * kNsPerSecond;
  /// Most files that finished() remembers.
  static constexpr std::size_t kMostFinished = 65536;

  explicit RoomTimes(RoomClocks clocks = {});

  /// Registers a file that this process has finished: it counts as young for max_age_s from now on.
  void finished(const std::filesystem::path& path);
  /// Nullopt where nothing may be removed for its age: within kSettleNs of boot, and after a step.
  [[nodiscard]] std::optional<RoomTime> now(double max_age_s);

 private:
  struct Finished {
    std::int64_t boottime_ns = 0;
    std::filesystem::path path;
  };

  RoomClocks clocks_;
  std::int64_t offset_ns_ = 0;              ///< realtime minus boottime, at the last call
  std::optional<std::int64_t> stepped_ns_;  ///< boottime of the last step
  std::deque<Finished> finished_;           ///< oldest first
};

}  // namespace nearfield
