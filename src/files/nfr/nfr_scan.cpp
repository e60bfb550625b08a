#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "core/error.hpp"
#include "core/system/threads.hpp"
#include "files/nfr/nfr_reader.hpp"

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

namespace {

constexpr std::uint64_t kSearchBytes = 65536;
constexpr std::uint64_t kAlignment = 8;

RecordHeader header_at(const Source& source, std::uint64_t offset) {
  RecordHeader header;
  source.read(offset, std::as_writable_bytes(std::span(&header, 1)));
  return header;
}

}  // namespace

bool Scan::is_next(const RecordHeader& header, std::uint64_t offset) const {
  return is_sound(header) && header.recording_id == recording_id_ &&
         (!last_sequence_ || header.sequence > *last_sequence_) &&
         record_bytes(header) <= source_->size_bytes() - offset;
}

std::optional<Record> Scan::record_at(std::uint64_t offset) const {
  const std::uint64_t size = source_->size_bytes();
  if (offset > size || size - offset < sizeof(RecordHeader)) {
    return std::nullopt;
  }
  const RecordHeader header = header_at(*source_, offset);
  return is_next(header, offset) ? std::optional(Record{.header = header, .offset = offset}) : std::nullopt;
}

std::optional<Record> Scan::search() const {
  const std::uint64_t size = source_->size_bytes();
  std::vector<std::byte> buffer(std::min(kSearchBytes, size - std::min(offset_, size)));
  for (std::uint64_t from = offset_; from < size; from += kSearchBytes) {
    const std::uint64_t count = std::min(kSearchBytes, size - from);
    Stoppable::end_if_stopped();
    source_->read(from, std::span(buffer).first(count));
    for (std::uint64_t at = 0; at + sizeof(kMagic) <= count; at += kAlignment) {
      if (std::memcmp(buffer.data() + at, &kMagic, sizeof(kMagic)) != 0) {
        continue;
      }
      if (const std::optional<Record> record = record_at(from + at)) {
        return record;
      }
    }
  }
  return std::nullopt;
}

std::optional<Record> Scan::next() {
  Stoppable::end_if_stopped();
  std::optional<Record> record = record_at(offset_);
  if (!record) {
    record = search();
  }
  const std::uint64_t size = source_->size_bytes();
  if (!record) {
    tail_bytes_ = size - std::min(offset_, size);
    offset_ = size;
    return std::nullopt;
  }
  if (record->offset != offset_) {
    ++damaged_places_;
    damaged_bytes_ += record->offset - offset_;
  }
  if (last_sequence_ || from_start_) {
    lost_records_ += record->header.sequence - (last_sequence_ ? *last_sequence_ + 1 : 0);
  }
  last_sequence_ = record->header.sequence;
  offset_ = record->offset + record_bytes(record->header);
  return record;
}

}  // namespace nearfield::nfr
