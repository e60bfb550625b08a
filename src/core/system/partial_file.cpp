#include "core/system/partial_file.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <utility>

#include "core/error.hpp"

namespace nearfield {
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
  while (!bytes.empty()) {
    const ssize_t count = ::write(file_.get(), bytes.data(), bytes.size());
    if (count < 0 && errno != EINTR) {
      throw_system_error(partial_path_, "cannot be written");
    }
    bytes.remove_prefix(count < 0 ? 0 : static_cast<std::size_t>(count));
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
