#pragma once
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <filesystem>
#include <functional>
#include <mutex>
#include <optional>
#include <set>
#include <stop_token>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "core/daemon_settings.hpp"
#include "core/system/clocks.hpp"

namespace nearfield {

/// Space that the recordings of a folder take, and the recordings that were removed.
struct FolderUsage {
  struct Removed {
    std::filesystem::path path;
    std::uint64_t bytes = 0;
    std::string why;  ///< the setting that asked for it, in words
  };

  std::uint64_t used_bytes = 0;             ///< size of all files *.nfr in the folder
  std::optional<std::uint64_t> free_bytes;  ///< free space for this user; none if unknown
  std::vector<Removed> removed;
  std::string problem;  ///< why no room could be made, or a file not be removed; empty: nothing went wrong
};

/// Time that max_age_s is compared with.
struct RetentionTime {
  std::int64_t now_ns = 0;  ///< CLOCK_REALTIME
  /// Recordings that are known to be younger than max_age_s, whatever the times of their files say.
  std::set<std::filesystem::path> young;
};

/// Looks at a folder of recordings and, where the settings say remove_oldest, removes recordings, those that were
/// written last the longest ago first: with a `time`, all that are older than max_age_s, and others until there is room
/// for `wanted_bytes` more within quota_bytes and above keep_free_bytes. The recording that was written last is removed
/// for its age alone. Where the removal of all others would not make that room, only as much is removed as the setting
/// itself asks for, without `wanted_bytes`; where that cannot be reached either, nothing is removed for that setting,
/// and `problem` says so. Not removed are files of other users, what does not begin with a sound record of a recording,
/// what is no regular file, and what a recorder of this machine has locked (RecordingOutput). Any number of threads and
/// processes may do this in one folder at a time: what another one has removed counts as removed.
FolderUsage make_room(const std::filesystem::path& folder, const DaemonSettings::Recording& settings,
                      std::uint64_t wanted_bytes, const std::optional<RetentionTime>& time);

struct RetentionClocks {
  std::function<std::int64_t()> realtime_ns = [] { return clock_ns(CLOCK_REALTIME); };
  std::function<std::int64_t()> boottime_ns = [] { return clock_ns(CLOCK_BOOTTIME); };  ///< never set, unlike realtime
};

/// Decides whether the times of files can be compared with the clock, for max_age_s: the clock of a machine without a
/// battery, or before the time service has answered, is wrong, and makes new recordings look years old when it is set.
/// Not for several threads at a time.
class RetentionTimes {
 public:
  static constexpr std::int64_t kSettleNs = 15 * 60 * kNsPerSecond;  ///< after the machine's start
  static constexpr std::int64_t kStepNs = 60 * kNsPerSecond;         ///< more between two calls of now() is a step
  static constexpr std::int64_t kHoldNs = 24 * 3600 * kNsPerSecond;  ///< after a step, or a shorter max_age_s
  static constexpr std::size_t kMostFinished = 65536;                ///< files that finished() remembers

  explicit RetentionTimes(RetentionClocks clocks = {});
  /// A file that this process has finished: for max_age_s from now on it counts as young.
  void finished(const std::filesystem::path& path);
  /// None where nothing is to be removed for its age: within kSettleNs of the machine's start, and after a step.
  [[nodiscard]] std::optional<RetentionTime> now(double max_age_s);

 private:
  RetentionClocks clocks_;
  std::int64_t offset_ns_;                                               ///< realtime less boottime, at the last call
  std::optional<std::int64_t> stepped_ns_;                               ///< boottime of the last step
  std::deque<std::pair<std::int64_t, std::filesystem::path>> finished_;  ///< with their boottime, oldest first
};

/// Keeps room for recordings: a thread at ordinary priority that looks at the folder every kEveryNs, so that old
/// recordings are gone before the one that is written needs their place, and those that are too old go without one;
/// nothing else removes recordings for their age. Any thread may call.
class RetentionKeeper {
 public:
  static constexpr std::int64_t kEveryNs = 2 * kNsPerSecond;

  struct Account {
    std::uint64_t used_bytes = 0;
    std::optional<std::uint64_t> free_bytes;  ///< none where that is not known
    std::uint64_t removed = 0;                ///< recordings, since the keeper was made
    std::uint64_t removed_bytes = 0;
  };

  /// `changed` is called where something was removed or could not be; by the keeper's thread and by callers of add().
  explicit RetentionKeeper(std::function<void(const FolderUsage&)> changed, RetentionClocks clocks = {});
  /// Looks at once, and from now on, as these settings say.
  void use(const DaemonSettings::Recording& settings);
  /// Adds what another call of make_room() found.
  void add(const FolderUsage& room);
  /// A file of a recording of this process is complete: it is young from now on, whatever the clock says.
  void finished(const std::filesystem::path& path);
  [[nodiscard]] Account account() const;

 private:
  void run(const std::stop_token& stop);

  std::function<void(const FolderUsage&)> changed_;
  mutable std::mutex mutex_;  ///< guards what follows
  std::condition_variable_any wake_;
  DaemonSettings::Recording settings_;  ///< without a directory there is nothing to look at
  bool is_new_ = false;
  Account account_;
  RetentionTimes times_;
  std::jthread thread_;  ///< last: it uses all of the above
};

}  // namespace nearfield
