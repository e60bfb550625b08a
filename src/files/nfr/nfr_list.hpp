#pragma once
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

/// Lists the recordings of a folder without reading them in full.
namespace nearfield::nfr {

/// Content of the first and the last record of a recording.
struct ListedRecording {
  std::filesystem::path path;
  std::uint64_t bytes = 0;
  std::int64_t changed_ns = 0;        ///< time of the last write, Unix time
  bool is_sound = false;              ///< true if it begins with a valid file record; else the rest is unknown
  std::int64_t began_tai_ns = 0;      ///< time of the file record
  std::string notes;                  ///< notes of the request
  std::optional<std::string> reason;  ///< why it ended; nothing if it is being written, or was cut off
  std::optional<double> seconds;      ///< from its first bit or frame to its last; nothing in older files
  std::string began_by = {};          ///< start trigger in words; empty if unknown
};

struct RecordingList {
  std::vector<ListedRecording> recordings;  ///< newest first
  std::uint64_t found = 0;                  ///< number of files *.nfr; may exceed the size of `recordings`
  bool is_whole = true;                     ///< false if the folder has more entries than the scan limit
};

inline constexpr std::size_t kMostEntriesLookedAt = 20000;

/// Lists the files *.nfr of `folder`: opens the `most` that were written last, and reads the head and the last 4 KiB of
/// each. A folder that cannot be read, and a file that disappears meanwhile, are ignored.
RecordingList list_recordings(const std::filesystem::path& folder, std::size_t most);

}  // namespace nearfield::nfr
