#include "core/system/regular_file.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "core/error.hpp"

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

}  // namespace nearfield
