#pragma once
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <span>
#include <string>

#include "core/daemon_settings.hpp"
#include "core/system/files.hpp"

namespace nearfield {

/// Why a recording ended.
enum class EndCause {
  kNone,             ///< it has not ended
  kStopped,          ///< on request
  kBelowLevel,       ///< the level that triggered it is no longer exceeded
  kLongEnough,       ///< DaemonSettings::Recording::max_s
  kLargeEnough,      ///< DaemonSettings::Recording::max_bytes
  kSourceRestarted,  ///< the next file holds the new stream
  kDirectoryFull,    ///< DaemonSettings::Recording::quota_bytes; the first cause that is_failure() accepts
  kFreeKept,         ///< DaemonSettings::Recording::keep_free_bytes
  kDiskFull,
  kQuota,
  kFileSizeLimit,
  kReadOnly,
  kIoError,
  kRemoved,    ///< the file was deleted
  kNotOpened,  ///< the file could not be created
};
std::string_view name_of(EndCause cause);
/// True where a recording ended, or did not begin, against the user's will.
bool is_failure(EndCause cause);
/// Maps errno of a failed write.
EndCause cause_of(int error);

/// The file of a recording: newly created, appended to, never renamed.
class RecordingOutput {
 public:
  /// `name_template` is a folder, taken literally, and a file name with strftime's fields, in UTC; if that file exists,
  /// a number is inserted before its extension. Throws IoError.
  RecordingOutput(const std::string& name_template, std::int64_t utc_s);

  [[nodiscard]] const std::filesystem::path& path() const { return path_; }
  [[nodiscard]] std::uint64_t bytes() const { return bytes_; }
  /// Appends both. Returns 0, or errno; bytes() says how much was written.
  int append(std::span<const std::byte> first, std::span<const std::byte> second = {});
  /// Cuts the file back to `bytes`.
  void truncate(std::uint64_t bytes);
  /// Makes the kernel start to write what was appended since the last call, without waiting for it.
  void start_writeback();
  /// Waits until all data are on the disk. Returns 0, or errno.
  int wait_for_disk();
  /// True if the file was deleted: appended data are lost when it is closed.
  [[nodiscard]] bool is_removed() const;

 private:
  std::filesystem::path path_;
  FileDescriptor file_;
  std::uint64_t bytes_ = 0;
  std::uint64_t written_back_ = 0;
};

}  // namespace nearfield
