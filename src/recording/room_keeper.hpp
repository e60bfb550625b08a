#pragma once
#include <condition_variable>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <mutex>
#include <optional>
#include <thread>

#include "nearfield/daemon_settings.hpp"
#include "recording/room.hpp"
#include "recording/room_times.hpp"

namespace nearfield {

/// Enforces the retention limits of recordings: a thread at ordinary priority that checks the folder every kEveryNs, so
/// that old recordings are removed before the current one needs their space, and too old ones even without one; nothing
/// else removes recordings for their age. Any thread may call.
class RoomKeeper {
 public:
  static constexpr std::int64_t kEveryNs = 2'000'000'000;
  /// Space kept free: five seconds of 32 x 32 microphones, or an eighth of a small quota.
  static constexpr std::uint64_t kReadyBytes = std::uint64_t{1} << 30U;

  struct Account {
    std::uint64_t used_bytes = 0;
    std::optional<std::uint64_t> free_bytes;  ///< nullopt where unknown
    std::uint64_t removed = 0;                ///< recordings removed since the keeper was made
    std::uint64_t removed_bytes = 0;
  };

  /// `changed` is called by the keeper's thread and by callers of add(), when something was removed or could not be.
  explicit RoomKeeper(std::function<void(const RecordingRoom&)> changed, RoomClocks clocks = {});
  ~RoomKeeper();
  RoomKeeper(const RoomKeeper&) = delete;
  RoomKeeper& operator=(const RoomKeeper&) = delete;

  /// Checks the folder with these settings at once and from now on.
  void use(const DaemonSettings::Recording& settings);
  /// Adds the result of another call of make_room().
  void add(const RecordingRoom& room);
  /// Registers a complete file of this process: it counts as young from now on, whatever the clock says.
  void finished(const std::filesystem::path& path);
  [[nodiscard]] Account account() const;

 private:
  void run();

  std::function<void(const RecordingRoom&)> changed_;
  mutable std::mutex mutex_;  ///< guards the following members
  std::condition_variable wake_;
  std::optional<DaemonSettings::Recording> settings_;  ///< nullopt: no folder to check yet
  bool is_new_ = false;
  bool ends_ = false;
  Account account_;
  RoomTimes times_;
  std::thread thread_;
};

}  // namespace nearfield
