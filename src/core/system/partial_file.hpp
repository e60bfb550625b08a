#pragma once
#include <sys/types.h>

#include <filesystem>
#include <string>
#include <string_view>

#include "core/system/file_descriptor.hpp"

namespace nearfield {

/// A file that is written as PATH.partial and renamed in finish(): it appears whole or not at all. The partial file is
/// always new; one left by an earlier run is removed, and a link or another kind of file there is refused. If PATH
/// itself is a link, the file replaces the link and the link's target stays unchanged; a special file is refused. A
/// second writer is refused while the first one is open. All calls throw IoError.
class PartialFile {
 public:
  static constexpr mode_t kMode = 0666;  ///< less the umask

  /// The file never has more permissions than `mode` less the umask.
  explicit PartialFile(std::filesystem::path path, mode_t mode = kMode);
  /// Removes the partial file unless it was finished or kept.
  ~PartialFile();
  PartialFile(const PartialFile&) = delete;
  PartialFile& operator=(const PartialFile&) = delete;

  [[nodiscard]] const std::filesystem::path& path() const { return path_; }
  [[nodiscard]] const std::filesystem::path& partial_path() const { return partial_path_; }
  /// Path to the open partial file through its descriptor, valid whatever happens to its name, for libraries that open
  /// files by name.
  [[nodiscard]] std::string path_by_descriptor() const;

  void write(std::string_view bytes);
  /// Sets this owner, if this user may do so, and then this mode, before the file has its final name.
  void set_rights(uid_t user, gid_t group, mode_t mode);
  void keep() { keep_ = true; }
  /// Renames it to its final name.
  void finish();
  /// Waits until the file is on the disk, then renames it to its final name.
  void finish_on_disk();

 private:
  [[nodiscard]] bool has_its_name() const;

  std::filesystem::path path_;
  std::filesystem::path partial_path_;
  FileDescriptor file_;  ///< holds the lock that excludes a second writer
  bool keep_ = false;
};

/// Throws IoError if `path` is a directory or a special file, or a link to one: a rename would replace it.
void require_replaceable(const std::filesystem::path& path);

/// Does not wait for the disk. Throws IoError.
void write_whole_file(const std::filesystem::path& path, std::string_view bytes);

}  // namespace nearfield
