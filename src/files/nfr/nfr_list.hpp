#pragma once
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

/// The recordings of a folder, without reading them.
namespace nearfield::nfr {

/// What the first and the last record of a recording say.
struct ListedRecording {
  std::filesystem::path path;
  std::uint64_t bytes = 0;
  std::int64_t changed_ns = 0;        ///< when the file was last written, Unix time
  bool is_sound = false;              ///< it begins with a sound file record; else what follows is not known
  std::int64_t began_tai_ns = 0;      ///< when the file record was written
  std::string notes;                  ///< of the request
  std::optional<std::string> reason;  ///< of its end; nothing where it has no end record: it is written, or was cut off
  std::optional<double> seconds;      ///< from its first bit or frame to its last; nothing in older files
  std::string began_by = {};          ///< of its end, in words; empty where nothing says it
};

struct RecordingList {
  std::vector<ListedRecording> recordings;  ///< newest first
  std::uint64_t found = 0;                  ///< files *.nfr; more than `recordings` has where there are more than asked
  bool is_whole = true;                     ///< false where the folder has more entries than were looked at
};

inline constexpr std::size_t kMostEntriesLookedAt = 20000;

/// The files *.nfr of `folder`, of which the `most` that were written last are opened, and of each the head and the
/// last 4 KiB read. A folder that cannot be read, and a file that disappears meanwhile, are as if not there.
RecordingList list_recordings(const std::filesystem::path& folder, std::size_t most);

}  // namespace nearfield::nfr
