#pragma once
#include <cstdint>
#include <filesystem>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "nearfield/daemon_settings.hpp"

namespace nearfield {

/// What the recordings of a folder take, and what was removed for others.
struct RecordingRoom {
  struct Removed {
    std::filesystem::path path;
    std::uint64_t bytes = 0;
    std::string why;  ///< the setting that asked for it, in words
  };

  std::uint64_t used_bytes = 0;             ///< of all files *.nfr in the folder
  std::optional<std::uint64_t> free_bytes;  ///< that the disk has for this user; none where that is not known
  std::vector<Removed> removed;
  bool others_remove = false;  ///< another process, or thread, was removing recordings: there may be more room soon
  std::string problem;         ///< why no room could be made, or a file not be removed; empty: nothing went wrong
};

/// What max_age_s is compared with.
struct RoomTime {
  std::int64_t now_ns = 0;  ///< CLOCK_REALTIME
  /// Recordings that are known to be younger than max_age_s, whatever the times of their files say.
  std::set<std::filesystem::path> young;
};

/// Looks at a folder of recordings and, where the settings say remove_oldest, removes recordings, those that were
/// written last the longest ago first: with a `time`, all that are older than max_age_s, and others until there is room
/// for `wanted_bytes` more within quota_bytes and above keep_free_bytes. The recording that was written last is removed
/// for its age alone. Where the removal of all others would not make that room, only as much is removed as the setting
/// itself asks for, without `wanted_bytes`; where that cannot be reached either, nothing is removed for that setting,
/// and `problem` says so.
///
/// Not removed are files of other users, what does not begin with a sound record of a recording, what is no regular
/// file, and a file that is open anywhere on this machine, to be written or read: the file system is asked by a lease
/// (fcntl(2), F_SETLEASE), and where it has none, what Nearfield writes is locked (flock(2)); without locks nothing is
/// removed. Any number of processes may do this in one folder at a time: one does it, the others look only. Throws
/// nothing but what the system throws when it has no memory.
RecordingRoom make_room(const std::filesystem::path& folder, const DaemonSettings::Recording& settings,
                        std::uint64_t wanted_bytes, const std::optional<RoomTime>& time);

}  // namespace nearfield
