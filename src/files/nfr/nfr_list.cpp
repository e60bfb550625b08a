#include "files/nfr/nfr_list.hpp"

#include <sys/stat.h>

#include <algorithm>
#include <cstring>
#include <span>
#include <system_error>
#include <utility>

#include "core/crc32c.hpp"
#include "core/error.hpp"
#include "core/system/clocks.hpp"
#include "files/nfr/nfr_format.hpp"
#include "files/nfr/nfr_reader.hpp"

namespace nearfield::nfr {
namespace {

constexpr std::uint64_t kMostHeadBytes = std::uint64_t{1} << 20U;  ///< for a file record with positions
constexpr std::uint64_t kTailBytes = 4096;

/// Accepts regular files only, by what they are themselves (no links).
std::optional<ListedRecording> found_file(const std::filesystem::path& path) {
  struct stat status {};
  if (lstat(path.c_str(), &status) != 0 || !S_ISREG(status.st_mode)) {
    return std::nullopt;
  }
  ListedRecording found;
  found.path = path;
  found.bytes = static_cast<std::uint64_t>(status.st_size);
  found.changed_ns = std::int64_t{status.st_mtim.tv_sec} * kNsPerSecond + status.st_mtim.tv_nsec;
  return found;
}

void read_head(const Source& source, RecordHeader& header, ListedRecording& listed) {
  source.read(0, std::as_writable_bytes(std::span(&header, 1)));
  const std::uint64_t most = std::min(kMostHeadBytes, source.size_bytes() - sizeof(header));
  if (!is_sound(header) || header.kind != Kind::kFile || header.payload_bytes > most) {
    return;
  }
  std::vector<std::byte> payload(header.payload_bytes);
  source.read(sizeof(header), payload);
  const std::optional<FileInfo> info = crc32c(payload) == header.payload_crc ? file_info_of(payload) : std::nullopt;
  if (info) {
    listed.is_sound = true;
    listed.began_tai_ns = header.tai_ns;
    listed.notes = info->notes;
  }
}

/// Reads the end record, which must be the last one and end with the file.
void read_tail(const Source& source, const RecordHeader& file, ListedRecording& listed) {
  std::vector<std::byte> tail(std::min(kTailBytes, source.size_bytes() / 8 * 8));
  source.read(source.size_bytes() - tail.size(), tail);
  for (std::size_t at = tail.size() - std::min(tail.size(), sizeof(RecordHeader)); at > 0; at -= 8) {
    RecordHeader header;
    std::memcpy(&header, tail.data() + at, sizeof header);
    if (header.kind != Kind::kEnd || !is_sound(header) || header.recording_id != file.recording_id ||
        at + record_bytes(header) != tail.size()) {
      continue;
    }
    const std::span<const std::byte> payload(tail.data() + at + sizeof header, header.payload_bytes);
    if (const auto end = crc32c(payload) == header.payload_crc ? end_info_of(payload) : std::nullopt) {
      listed.reason = end->reason;
      listed.seconds = end->seconds;
      listed.began_by = end->began_by;
    }
    return;
  }
}

void read_ends(ListedRecording& listed) {
  const Source source(listed.path);
  if (source.size_bytes() < sizeof(RecordHeader)) {
    return;
  }
  RecordHeader header;
  read_head(source, header, listed);
  if (listed.is_sound) {
    read_tail(source, header, listed);
  }
}

}  // namespace

RecordingList list_recordings(const std::filesystem::path& folder, std::size_t most) {
  RecordingList list;
  std::error_code error;
  std::size_t looked_at = 0;
  const std::filesystem::directory_iterator end;
  for (std::filesystem::directory_iterator entry(folder, error); !error && entry != end; entry.increment(error)) {
    if (++looked_at > kMostEntriesLookedAt) {
      list.is_whole = false;
      break;
    }
    if (entry->path().extension() == ".nfr") {
      if (std::optional<ListedRecording> found = found_file(entry->path())) {
        list.recordings.push_back(std::move(*found));
      }
    }
  }
  list.found = list.recordings.size();
  const auto is_newer = [](const ListedRecording& a, const ListedRecording& b) {
    return a.changed_ns != b.changed_ns ? a.changed_ns > b.changed_ns : a.path < b.path;
  };
  const auto last = list.recordings.begin() + static_cast<std::ptrdiff_t>(std::min(most, list.recordings.size()));
  std::partial_sort(list.recordings.begin(), last, list.recordings.end(), is_newer);
  list.recordings.erase(last, list.recordings.end());
  for (ListedRecording& listed : list.recordings) {
    try {
      read_ends(listed);
    } catch (const Error&) {  // deleted meanwhile, or no permission
    }
  }
  return list;
}

}  // namespace nearfield::nfr
