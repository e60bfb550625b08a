#include "core/system/files.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <system_error>
#include <vector>

#include "core/error.hpp"

namespace nearfield {

bool write_all(int descriptor, std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t count = write(descriptor, bytes.data(), bytes.size());
    if (count < 0 && errno != EINTR) {
      return false;
    }
    bytes.remove_prefix(count < 0 ? 0 : static_cast<std::size_t>(count));
  }
  return true;
}

PipeEnds make_pipe() {
  std::array<int, 2> ends{};
  if (pipe2(ends.data(), O_CLOEXEC) != 0) {
    throw IoError(fmt::format("can't make a pipe: {}", std::generic_category().message(errno)));
  }
  return {.read_end = FileDescriptor(ends[0]), .write_end = FileDescriptor(ends[1])};
}

FileDescriptor memory_file(const std::string& text) {
  FileDescriptor file(memfd_create("standard input", MFD_CLOEXEC));
  if (!file.valid() || !write_all(file.get(), text) || lseek(file.get(), 0, SEEK_SET) != 0) {
    throw IoError(fmt::format("standard input of a process: {}", std::generic_category().message(errno)));
  }
  return file;
}

FileDescriptor open_regular_file(const std::filesystem::path& path, std::string_view expected) {
  FileDescriptor file(open(path.c_str(), O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC));
  struct stat status {};
  if (!file.valid() || fstat(file.get(), &status) != 0) {
    throw NoInputError(
        fmt::format("{}: expected {}, cannot be read: {}", path.string(), expected, std::strerror(errno)));
  }
  if (!S_ISREG(status.st_mode)) {
    throw NoInputError(fmt::format("{}: expected {}, found {}", path.string(), expected,
                                   S_ISDIR(status.st_mode) ? "a folder" : "a special file"));
  }
  return file;
}

std::string read_open_file(const FileDescriptor& file, const std::filesystem::path& path, std::size_t most_bytes) {
  std::string text(most_bytes, '\0');
  std::size_t filled = 0;
  while (filled < most_bytes) {
    const ssize_t count = read(file.get(), text.data() + filled, most_bytes - filled);
    if (count < 0 && errno == EINTR) {
      continue;
    }
    if (count < 0) {
      throw NoInputError(fmt::format("{}: reading failed: {}", path.string(), std::strerror(errno)));
    }
    if (count == 0) {
      break;
    }
    filled += static_cast<std::size_t>(count);
  }
  text.resize(filled);
  return text;
}

std::string read_regular_file(const std::filesystem::path& path, std::string_view expected, std::size_t most_bytes) {
  return read_open_file(open_regular_file(path, expected), path, most_bytes);
}

namespace {

bool is_secret(const struct stat& status) {
  std::vector<gid_t> groups(static_cast<std::size_t>(std::max(0, getgroups(0, nullptr))));
  groups.resize(static_cast<std::size_t>(std::max(0, getgroups(static_cast<int>(groups.size()), groups.data()))));
  groups.insert(groups.end(), {0, getegid()});
  const bool own_group = std::find(groups.begin(), groups.end(), status.st_gid) != groups.end();
  const mode_t allowed = S_IRUSR | S_IWUSR | (own_group ? S_IRGRP : 0U);
  return (status.st_uid == 0 || status.st_uid == geteuid()) && (status.st_mode & 0777U & ~allowed) == 0;
}

}  // namespace

std::string read_secret_file(const std::filesystem::path& path, std::string_view expected, std::size_t most_bytes) {
  const FileDescriptor file = open_regular_file(path, expected);
  struct stat status {};  // status of the file that is read, even if its name is replaced meanwhile
  if (fstat(file.get(), &status) != 0) {
    throw NoInputError(
        fmt::format("{}: expected {}, cannot be read: {}", path.string(), expected, std::strerror(errno)));
  }
  if (!is_secret(status)) {
    throw ConfigError(
        fmt::format("{}: expected {} of root or this user, of mode 0600, or 0640 with a group of this process, found "
                    "user {}, group {}, mode {:04o}",
                    path.string(), expected, status.st_uid, status.st_gid, status.st_mode & 07777U));
  }
  return read_open_file(file, path, most_bytes);
}

void write_secret_file(const std::filesystem::path& path, std::string_view bytes) {
  PartialFile file(path, S_IRUSR | S_IWUSR);  // from its creation: a process that has it open could read it later
  file.write(bytes);
  file.finish();
}

namespace {

namespace fs = std::filesystem;

[[noreturn]] void throw_system_error(const fs::path& path, std::string_view what) {
  throw IoError(fmt::format("{}: {}: {}", path.string(), what, std::strerror(errno)));
}

/// fcntl() lock instead of HDF5's own, which would also keep readers away.
void lock(int descriptor, const fs::path& path) {
  struct flock whole {};
  whole.l_type = F_WRLCK;
  whole.l_whence = SEEK_SET;
  if (fcntl(descriptor, F_OFD_SETLK, &whole) != 0 && (errno == EAGAIN || errno == EACCES)) {
    throw IoError(fmt::format("{}: cannot be written: another program is writing it", path.string()));
  }
}

/// Removes a file left by an earlier run. Throws IoError when it is being written, or cannot come from an earlier run.
void remove_left_over(const fs::path& partial) {
  struct stat status {};
  if (lstat(partial.c_str(), &status) != 0) {
    return;
  }
  if (!S_ISREG(status.st_mode)) {
    const char* found = S_ISLNK(status.st_mode) ? "a link" : S_ISDIR(status.st_mode) ? "a directory" : "a special file";
    throw IoError(fmt::format("{}: found {}, expected a new or a regular file", partial.string(), found));
  }
  const FileDescriptor old(open(partial.c_str(), O_RDWR | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC));
  if (!old.valid() && errno != ENOENT) {
    throw_system_error(partial, "cannot be replaced");
  }
  if (old.valid()) {
    lock(old.get(), partial);
  }
  if (unlink(partial.c_str()) != 0 && errno != ENOENT) {
    throw_system_error(partial, "cannot be replaced");
  }
}

}  // namespace

void require_replaceable(const fs::path& path) {
  struct stat status {};
  if (stat(path.c_str(), &status) == 0 && !S_ISREG(status.st_mode)) {
    throw IoError(fmt::format("{}: found {}, expected a new or a regular file", path.string(),
                              S_ISDIR(status.st_mode) ? "a directory" : "a special file"));
  }
}

PartialFile::PartialFile(fs::path path, mode_t mode) : path_(std::move(path)), partial_path_(path_) {
  partial_path_ += ".partial";
  require_replaceable(path_);
  remove_left_over(partial_path_);
  file_ = FileDescriptor(open(partial_path_.c_str(), O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, mode));
  if (!file_.valid()) {
    throw_system_error(partial_path_, "cannot be created");
  }
  lock(file_.get(), partial_path_);
}

PartialFile::~PartialFile() {
  if (file_.valid() && !keep_ && has_its_name()) {
    unlink(partial_path_.c_str());
  }
}

std::string PartialFile::path_by_descriptor() const { return fmt::format("/proc/self/fd/{}", file_.get()); }

void PartialFile::write(std::string_view bytes) {
  if (!write_all(file_.get(), bytes)) {
    throw_system_error(partial_path_, "cannot be written");
  }
}

void PartialFile::set_rights(uid_t user, gid_t group, mode_t mode) {
  [[maybe_unused]] const int owned = fchown(file_.get(), user, group);
  if (fchmod(file_.get(), mode) != 0) {
    throw_system_error(partial_path_, "cannot be given its mode");
  }
}

void PartialFile::finish() {
  if (!has_its_name()) {
    throw IoError(fmt::format("{}: was removed or replaced while it was written", partial_path_.string()));
  }
  if (rename(partial_path_.c_str(), path_.c_str()) != 0) {
    throw_system_error(path_, "cannot be given its name");
  }
  file_ = FileDescriptor();
}

void PartialFile::finish_on_disk() {
  if (fsync(file_.get()) != 0) {
    throw_system_error(partial_path_, "cannot be written");
  }
  finish();
}

bool PartialFile::has_its_name() const {
  struct stat own {};
  struct stat found {};
  return fstat(file_.get(), &own) == 0 && lstat(partial_path_.c_str(), &found) == 0 && own.st_dev == found.st_dev &&
         own.st_ino == found.st_ino;
}

void write_whole_file(const fs::path& path, std::string_view bytes) {
  PartialFile file(path);
  file.write(bytes);
  file.finish();
}

}  // namespace nearfield
