#include "core/system/regular_file.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <vector>

#include "core/error.hpp"
#include "core/system/file_descriptor.hpp"
#include "core/system/partial_file.hpp"

namespace nearfield {

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

}  // namespace nearfield
