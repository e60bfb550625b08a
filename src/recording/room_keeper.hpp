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

/// Keeps room for recordings: a thread at ordinary priority that looks at the folder every kEveryNs, so that old
/// recordings are gone before the one that is written needs their place, and those that are too old go without one;
/// nothing else removes recordings for their age. Any thread may call.
class RoomKeeper {
 public:
  static constexpr std::int64_t kEveryNs = 2'000'000'000;
  /// Room that is kept ready: five seconds of 32 x 32 microphones, or an eighth of a small quota.
  static constexpr std::uint64_t kReadyBytes = std::uint64_t{1} << 30U;

  struct Account {
    std::uint64_t used_bytes = 0;
    std::optional<std::uint64_t> free_bytes;  ///< none where that is not known
    std::uint64_t removed = 0;                ///< recordings, since the keeper was made
    std::uint64_t removed_bytes = 0;
  };

  /// `changed` is called where something was removed or could not be; by the keeper's thread and by callers of add().
  explicit RoomKeeper(std::function<void(const RecordingRoom&)> changed, RoomClocks clocks = {});
  ~RoomKeeper();
  RoomKeeper(const RoomKeeper&) = delete;
  RoomKeeper& operator=(const RoomKeeper&) = delete;

  /// Looks at once, and from now on, as these settings say.
  void use(const DaemonSettings::Recording& settings);
  /// Adds what another call of make_room() found.
  void add(const RecordingRoom& room);
  /// A file of a recording of this process is complete: it is young from now on, whatever the clock says.
  void finished(const std::filesystem::path& path);
  [[nodiscard]] Account account() const;

 private:
  void run();

  std::function<void(const RecordingRoom&)> changed_;
  mutable std::mutex mutex_;  ///< guards what follows
  std::condition_variable wake_;
  std::optional<DaemonSettings::Recording> settings_;  ///< none: there is nothing to look at yet
  bool is_new_ = false;
  bool ends_ = false;
  Account account_;
  RoomTimes times_;
  std::thread thread_;
};

}  // namespace nearfield
