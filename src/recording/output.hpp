#pragma once
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <span>
#include <string>

#include "core/system/file_descriptor.hpp"
#include "nearfield/daemon_settings.hpp"

namespace nearfield {

/// Why a recording ended.
enum class EndCause {
  kNone,             ///< it did not
  kStopped,          ///< on request
  kBelowLevel,       ///< the level that triggered it is over
  kLongEnough,       ///< DaemonSettings::Recording::max_s
  kLargeEnough,      ///< DaemonSettings::Recording::max_bytes
  kSourceRestarted,  ///< the next file holds what follows
  kDirectoryFull,    ///< DaemonSettings::Recording::quota_bytes; from here on, what is_failure() says is one
  kFreeKept,         ///< DaemonSettings::Recording::keep_free_bytes
  kDiskFull,
  kQuota,
  kFileSizeLimit,
  kReadOnly,
  kIoError,
  kRemoved,    ///< the file has no name any more
  kNotOpened,  ///< the file could not be created
};
std::string_view name_of(EndCause cause);
/// True where a recording ended, or did not begin, against the user's will.
bool is_failure(EndCause cause);
/// For errno of a failed write.
EndCause cause_of(int error);

/// The file of a recording: made from nothing, appended to, never renamed.
class RecordingOutput {
 public:
  /// `name_template` is a folder, which is taken as it is given, and a file name with strftime's fields, of the time in
  /// UTC; where the file is there already, a number is put before its extension. Throws IoError.
  RecordingOutput(const std::string& name_template, std::int64_t utc_s);

  [[nodiscard]] const std::filesystem::path& path() const { return path_; }
  [[nodiscard]] std::uint64_t bytes() const { return bytes_; }
  /// Appends both. Returns 0, or errno; bytes() says how much got there.
  int append(std::span<const std::byte> first, std::span<const std::byte> second = {});
  /// Cuts the file back to `bytes`.
  void truncate(std::uint64_t bytes);
  /// Has the disk begin with what was appended since the last call, without waiting for it.
  void start_writeback();
  /// Waits until the disk has everything. Returns 0, or errno.
  int wait_for_disk();
  /// True when the file was deleted: what is appended is lost when it is closed.
  [[nodiscard]] bool is_removed() const;

 private:
  std::filesystem::path path_;
  FileDescriptor file_;
  std::uint64_t bytes_ = 0;
  std::uint64_t written_back_ = 0;
};

}  // namespace nearfield
