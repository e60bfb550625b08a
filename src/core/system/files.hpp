#pragma once
#include <sys/types.h>
#include <unistd.h>

#include <filesystem>
#include <string>
#include <string_view>
#include <utility>

namespace nearfield {

/// Owns a file descriptor.
class FileDescriptor {
 public:
  FileDescriptor() = default;
  explicit FileDescriptor(int descriptor) : descriptor_(descriptor) {}
  FileDescriptor(FileDescriptor&& other) noexcept : descriptor_(std::exchange(other.descriptor_, -1)) {}
  FileDescriptor& operator=(FileDescriptor&& other) noexcept {
    std::swap(descriptor_, other.descriptor_);
    return *this;
  }
  ~FileDescriptor() {
    if (descriptor_ >= 0) {
      close(descriptor_);
    }
  }
  [[nodiscard]] int get() const { return descriptor_; }
  [[nodiscard]] bool valid() const { return descriptor_ >= 0; }
  /// Releases ownership; the caller must close the descriptor.
  [[nodiscard]] int release() { return std::exchange(descriptor_, -1); }

 private:
  int descriptor_ = -1;
};

/// Writes all the bytes, also where signals interrupt it; false if it fails, with the reason in errno.
bool write_all(int descriptor, std::string_view bytes);

/// A pipe; both ends are closed in a program that a child process becomes.
struct PipeEnds {
  FileDescriptor read_end;
  FileDescriptor write_end;
};
/// Throws IoError.
PipeEnds make_pipe();

/// A file in memory that holds `text`, to be read from its beginning: the standard input of a process that reads when
/// it likes. Throws IoError.
FileDescriptor memory_file(const std::string& text);

/// Opens a regular file for reading. A pipe or a device is refused at once: opening or reading it could wait for ever.
/// Throws NoInputError; `expected` names what the file should be, such as "a YAML file".
FileDescriptor open_regular_file(const std::filesystem::path& path, std::string_view expected);

/// The first `most_bytes` bytes of an open file, fewer if it is shorter; `path` is for messages. Throws NoInputError.
std::string read_open_file(const FileDescriptor& file, const std::filesystem::path& path, std::size_t most_bytes);

/// The first `most_bytes` bytes of a regular file, fewer if it is shorter. Throws NoInputError.
std::string read_regular_file(const std::filesystem::path& path, std::string_view expected, std::size_t most_bytes);

/// The first `most_bytes` bytes of a file that root or this process's user alone can read and change, or that a group
/// of root or of this process can read: systemd passes a credential as a file of the group root, readable by that
/// group. Throws NoInputError if it cannot be read, ConfigError if others could read or change it; `expected` names
/// what the file should hold, such as "a token".
std::string read_secret_file(const std::filesystem::path& path, std::string_view expected, std::size_t most_bytes);

/// Writes a file of mode 0600 less the umask, whole or not at all, replacing an older one. Throws IoError.
void write_secret_file(const std::filesystem::path& path, std::string_view bytes);

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
