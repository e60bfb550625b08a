#pragma once
#include <cstdint>
#include <filesystem>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "nearfield/daemon_settings.hpp"

namespace nearfield {

/// Disk space of the recordings of a folder, and the recordings removed to free some.
struct RecordingRoom {
  struct Removed {
    std::filesystem::path path;
    std::uint64_t bytes = 0;
    std::string why;  ///< the setting that demanded it, in words
  };

  std::uint64_t used_bytes = 0;             ///< total of all files *.nfr in the folder
  std::optional<std::uint64_t> free_bytes;  ///< free on the disk for this user; nullopt where unknown
  std::vector<Removed> removed;
  bool others_remove = false;  ///< another process or thread was removing recordings: more may be free soon
  std::string problem;         ///< reason why no space was freed, or a file not removed; empty: nothing went wrong
};

/// Reference time for max_age_s.
struct RoomTime {
  std::int64_t now_ns = 0;  ///< CLOCK_REALTIME
  /// Recordings known to be younger than max_age_s, whatever their modification times.
  std::set<std::filesystem::path> young;
};

/// Measures a folder of recordings and, with the setting remove_oldest, removes recordings, least recently written
/// first: with a `time`, all that are older than max_age_s, then others until `wanted_bytes` more fit within
/// quota_bytes and above keep_free_bytes. The most recently written recording is removed for its age only. If removing
/// all others would not free that much, only as much is removed as the setting itself demands, without `wanted_bytes`;
/// if that cannot be reached either, nothing is removed for that setting, and `problem` says so.
///
/// It does not remove files of other users, files that do not begin with a sound record of a recording, files that are
/// not regular, and files open anywhere on this machine, for writing or reading. It checks the last by a lease
/// (fcntl(2), F_SETLEASE), and where the file system has none, by the lock (flock(2)) on what Nearfield writes; without
/// locks nothing is removed. Any number of processes may call this for one folder at a time: one removes, the others
/// only measure. Throws nothing but the system's exception when there is no memory.
RecordingRoom make_room(const std::filesystem::path& folder, const DaemonSettings::Recording& settings,
                        std::uint64_t wanted_bytes, const std::optional<RoomTime>& time);

}  // namespace nearfield
