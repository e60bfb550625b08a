#include "files/time_data/byte_file.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

namespace nearfield::time_data {

ByteFile::ByteFile(const std::filesystem::path& path) : path_(path) {
  struct stat status {};
  if (::stat(path.c_str(), &status) != 0) {
    throw NoInputError(fmt::format("{}: cannot be read: {}", path.string(), std::strerror(errno)));
  }
  if (!S_ISREG(status.st_mode)) {
    throw NoInputError(fmt::format("{}: found {}, expected a file", path.string(),
                                   S_ISDIR(status.st_mode) ? "a directory" : "a special file"));
  }
  descriptor_ = FileDescriptor(open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!descriptor_.valid()) {
    throw NoInputError(fmt::format("{}: cannot be read: {}", path.string(), std::strerror(errno)));
  }
  size_bytes_ = static_cast<std::uint64_t>(status.st_size);
}

void ByteFile::read(std::uint64_t offset, std::span<std::byte> bytes, std::string_view what) const {
  if (offset > size_bytes_ || bytes.size() > size_bytes_ - offset) {
    throw wrong(what, fmt::format("the end of the file at byte {}", size_bytes_),
                fmt::format("{} bytes from byte {} on", bytes.size(), offset));
  }
  while (!bytes.empty()) {
    const ssize_t count = pread(descriptor_.get(), bytes.data(), bytes.size(), static_cast<off_t>(offset));
    if (count < 0 && errno == EINTR) {
      continue;
    }
    if (count <= 0) {
      throw wrong(what, count == 0 ? "the end of the file" : std::strerror(errno),
                  fmt::format("{} bytes from byte {} on", bytes.size(), offset));
    }
    bytes = bytes.subspan(static_cast<std::size_t>(count));
    offset += static_cast<std::uint64_t>(count);
  }
}

std::string ByteFile::text(std::uint64_t offset, std::size_t most) const {
  const std::uint64_t left = offset < size_bytes_ ? size_bytes_ - offset : 0;
  std::string found(static_cast<std::size_t>(std::min<std::uint64_t>(left, most)), '\0');
  read(offset, std::as_writable_bytes(std::span(found)), "text");
  return found;
}

DataError ByteFile::wrong(std::string_view place, std::string_view found, std::string_view expected) const {
  return DataError(fmt::format("{}: {}: found {}, expected {}", path_.string(), place, found, expected));
}

namespace {

constexpr std::size_t kBufferBytes = 65536;
constexpr std::size_t kLongestLine = 1024;

}  // namespace

void LineReader::fill() {
  offset_ += begin_;
  begin_ = 0;
  buffer_ = file_->text(offset_, kBufferBytes);
}

void LineReader::go_to(std::uint64_t offset) {
  offset_ = offset;
  begin_ = 0;
  buffer_.clear();
}

std::optional<std::string_view> LineReader::next() {
  std::size_t end = buffer_.find('\n', begin_);
  if (end == std::string::npos) {
    fill();
    if (buffer_.empty()) {
      return std::nullopt;
    }
    end = buffer_.find('\n');
  }
  const std::size_t stop = end == std::string::npos ? buffer_.size() : end;
  if (stop - begin_ > kLongestLine) {
    throw file_->wrong(fmt::format("byte {}", offset()), "a line of more than 1024 characters", "lines of 80");
  }
  std::string_view line = std::string_view(buffer_).substr(begin_, stop - begin_);
  begin_ = end == std::string::npos ? buffer_.size() : end + 1;
  if (line.ends_with('\r')) {
    line.remove_suffix(1);
  }
  return line;
}

}  // namespace nearfield::time_data
