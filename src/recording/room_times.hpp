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

/// Decides whether the times of files can be compared with the clock, for max_age_s: the clock of a machine without a
/// battery, or before the time service has answered, is wrong, and makes new recordings look years old when it is set.
/// Not for several threads at a time.
class RoomTimes {
 public:
  /// After the machine's start, for the time service.
  static constexpr std::int64_t kSettleNs = 15 * 60 * kNsPerSecond;
  /// That the clocks may differ by from one call of now() to the next; more is a step.
  static constexpr std::int64_t kStepNs = 60 * kNsPerSecond;
  /// After a step; a shorter max_age_s holds instead.
  static constexpr std::int64_t kHoldNs = 24 * 3600 * kNsPerSecond;
  /// Files that finished() remembers.
  static constexpr std::size_t kMostFinished = 65536;

  explicit RoomTimes(RoomClocks clocks = {});

  /// A file that this process has finished: for max_age_s from now on it counts as young.
  void finished(const std::filesystem::path& path);
  /// None where nothing is to be removed for its age: within kSettleNs of the machine's start, and after a step.
  [[nodiscard]] std::optional<RoomTime> now(double max_age_s);

 private:
  struct Finished {
    std::int64_t boottime_ns = 0;
    std::filesystem::path path;
  };

  RoomClocks clocks_;
  std::int64_t offset_ns_ = 0;              ///< realtime less boottime, at the last call
  std::optional<std::int64_t> stepped_ns_;  ///< boottime of the last step
  std::deque<Finished> finished_;           ///< oldest first
};

}  // namespace nearfield
