#include "files/nfr/nfr_source.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "core/error.hpp"

namespace nearfield::nfr {

Source::Source(const std::filesystem::path& path)
    : path_(path),
      file_(open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK)) {  // do not block on a pipe without a writer
  struct stat status {};
  if (!file_.valid() || fstat(file_.get(), &status) != 0) {
    throw NoInputError(fmt::format("{}: cannot be read: {}", path.string(), std::strerror(errno)));
  }
  if (!S_ISREG(status.st_mode)) {
    throw NoInputError(fmt::format("{}: found {}, expected a recording", path.string(),
                                   S_ISDIR(status.st_mode) ? "a directory" : "a special file"));
  }
  size_bytes_ = static_cast<std::uint64_t>(status.st_size);
}

void Source::read(std::uint64_t offset, std::span<std::byte> bytes) const {
  if (!file_.valid()) {
    std::copy_n(memory_.begin() + static_cast<std::ptrdiff_t>(offset), bytes.size(), bytes.begin());
    return;
  }
  while (!bytes.empty()) {
    const ssize_t count = pread(file_.get(), bytes.data(), bytes.size(), static_cast<off_t>(offset));
    if (count < 0 && errno == EINTR) {
      continue;
    }
    if (count <= 0) {
      throw DataError(fmt::format("{}: {} bytes at {} can't be read: {}", path_.string(), bytes.size(), offset,
                                  count == 0 ? "the file became shorter" : std::strerror(errno)));
    }
    bytes = bytes.subspan(static_cast<std::size_t>(count));
    offset += static_cast<std::uint64_t>(count);
  }
}

}  // namespace nearfield::nfr
