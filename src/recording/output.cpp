#include "recording/output.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <ctime>

#include "core/error.hpp"

namespace nearfield {
namespace {

constexpr int kMostNumbers = 10000;

std::filesystem::path name_at(const std::filesystem::path& name_template, std::int64_t utc_s) {
  const std::time_t seconds = utc_s;
  std::tm fields{};
  ::gmtime_r(&seconds, &fields);
  std::array<char, 4096> name{};
  const std::string file = name_template.filename().string();
  const std::size_t length = std::strftime(name.data(), name.size(), file.c_str(), &fields);
  if (length == 0 || std::string_view(name.data(), length).find('/') != std::string_view::npos) {
    throw IoError(fmt::format("recording's file name: expected one of a file in its folder, found \"{}\"", file));
  }
  return name_template.parent_path() / name.data();
}

std::filesystem::path numbered(const std::filesystem::path& path, int number) {
  if (number == 0) {
    return path;
  }
  return path.parent_path() / fmt::format("{}-{}{}", path.stem().string(), number, path.extension().string());
}

}  // namespace

std::string_view name_of(EndCause cause) {
  switch (cause) {
    case EndCause::kNone:
      return "";
    case EndCause::kStopped:
      return "stopped";
    case EndCause::kBelowLevel:
      return "below the level";
    case EndCause::kLongEnough:
      return "max_s reached";
    case EndCause::kLargeEnough:
      return "max_bytes reached";
    case EndCause::kSourceRestarted:
      return "the source restarted";
    case EndCause::kDirectoryFull:
      return "quota_bytes of the directory reached";
    case EndCause::kFreeKept:
      return "keep_free_bytes of the disk reached";
    case EndCause::kDiskFull:
      return "disk full";
    case EndCause::kQuota:
      return "quota exceeded";
    case EndCause::kFileSizeLimit:
      return "file size limit reached";
    case EndCause::kReadOnly:
      return "read-only file system";
    case EndCause::kIoError:
      return "I/O error";
    case EndCause::kRemoved:
      return "the file was removed";
    case EndCause::kNotOpened:
      return "the file could not be created";
  }
  return "?";
}

bool is_failure(EndCause cause) { return cause >= EndCause::kDirectoryFull; }

EndCause cause_of(int error) {
  switch (error) {
    case ENOSPC:
      return EndCause::kDiskFull;
    case EDQUOT:
      return EndCause::kQuota;
    case EFBIG:
      return EndCause::kFileSizeLimit;
    case EROFS:
      return EndCause::kReadOnly;
    default:
      return EndCause::kIoError;
  }
}

RecordingOutput::RecordingOutput(const std::string& name_template, std::int64_t utc_s) {
  const std::filesystem::path wanted = name_at(name_template, utc_s);
  constexpr mode_t kMode = 0640;
  for (int number = 0; number < kMostNumbers && !file_.valid(); ++number) {
    path_ = numbered(wanted, number);
    file_ = FileDescriptor(open(path_.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_APPEND | O_CLOEXEC, kMode));
    if (!file_.valid() && errno != EEXIST) {
      break;
    }
  }
  if (!file_.valid()) {
    throw IoError(fmt::format("{}: can't be created: {}", path_.string(), std::strerror(errno)));
  }
  (void)::flock(file_.get(), LOCK_EX | LOCK_NB);  // tells make_room() of the writer; NFS: LOCK_SH needs a reader
}

int RecordingOutput::append(std::span<const std::byte> first, std::span<const std::byte> second) {
  while (!first.empty() || !second.empty()) {
    // writev() declares its input as not const.
    const auto part = [](std::span<const std::byte> bytes) {
      // NOLINTNEXTLINE(cppcoreguidelines-pro-type-const-cast)
      return iovec{.iov_base = const_cast<std::byte*>(bytes.data()), .iov_len = bytes.size()};
    };
    const std::array<iovec, 2> parts{part(first), part(second)};
    const ssize_t written = ::writev(file_.get(), parts.data(), static_cast<int>(parts.size()));
    if (written < 0 && errno == EINTR) {
      continue;
    }
    if (written <= 0) {
      return written < 0 ? errno : EIO;
    }
    const auto count = static_cast<std::size_t>(written);
    bytes_ += count;
    const std::size_t of_first = std::min(count, first.size());
    first = first.subspan(of_first);
    second = second.subspan(count - of_first);
  }
  return 0;
}

void RecordingOutput::truncate(std::uint64_t bytes) {
  if (bytes < bytes_ && ::ftruncate(file_.get(), static_cast<off_t>(bytes)) == 0) {
    bytes_ = bytes;
  }
}

void RecordingOutput::start_writeback() {
  (void)::sync_file_range(file_.get(), static_cast<off_t>(written_back_), static_cast<off_t>(bytes_ - written_back_),
                          SYNC_FILE_RANGE_WRITE);
  written_back_ = bytes_;
}

bool RecordingOutput::is_removed() const {
  struct stat status {};
  return ::fstat(file_.get(), &status) == 0 && status.st_nlink == 0;
}

int RecordingOutput::wait_for_disk() { return ::fdatasync(file_.get()) == 0 ? 0 : errno; }

}  // namespace nearfield
