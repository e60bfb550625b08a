#include "recording/retention.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <pthread.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <system_error>
#include <tuple>

#include "core/system/files.hpp"
#include "core/system/threads.hpp"
#include "files/nfr/nfr_format.hpp"

namespace nearfield {
namespace {

constexpr std::int64_t kBlockBytes = 512;  ///< unit of st_blocks
/// Room that the keeper has ready: five seconds of 32 x 32 microphones, or an eighth of a small quota.
constexpr std::int64_t kReadyBytes = std::int64_t{1} << 30U;
constexpr std::int64_t kReadyShare = 8;

struct RetentionFile {
  std::filesystem::path path;
  std::int64_t bytes = 0;
  std::int64_t disk_bytes = 0;  ///< bytes that its removal frees
  std::int64_t changed_ns = 0;
  bool is_own = false;
  bool is_gone = false;  ///< removed, here or by others, and counted so
};

/// Permission of make_room() for a file.
enum class Use {
  kForeign,  ///< no recording, another user's, or not there any more
  kWritten,  ///< a recording that a recorder has open
  kFree      ///< a recording that can be removed
};

/// Regular files *.nfr, oldest first; what cannot be looked at is not there.
std::vector<RetentionFile> files_in(const std::filesystem::path& folder, std::error_code& error) {
  std::vector<RetentionFile> files;
  const std::filesystem::directory_iterator end;
  for (std::filesystem::directory_iterator entry(folder, error); !error && entry != end; entry.increment(error)) {
    struct stat status {};
    if (entry->path().extension() == ".nfr" && ::lstat(entry->path().c_str(), &status) == 0 &&
        S_ISREG(status.st_mode)) {
      files.push_back({.path = entry->path(),
                       .bytes = status.st_size,
                       // With another name of the file, the disk keeps the blocks.
                       .disk_bytes = status.st_nlink == 1 ? status.st_blocks * kBlockBytes : 0,
                       .changed_ns = status.st_mtim.tv_sec * kNsPerSecond + status.st_mtim.tv_nsec,
                       .is_own = status.st_uid == ::geteuid()});
    }
  }
  std::sort(files.begin(), files.end(), [](const RetentionFile& a, const RetentionFile& b) {
    return std::tie(a.changed_ns, a.path) < std::tie(b.changed_ns, b.path);
  });
  return files;
}

void count_gone(RetentionFile& file, FolderUsage& room) {
  file.is_gone = true;
  room.used_bytes -= static_cast<std::uint64_t>(file.bytes);
  if (room.free_bytes) {
    *room.free_bytes += static_cast<std::uint64_t>(file.disk_bytes);
  }
}

void complain(const RetentionFile& file, FolderUsage& room) {
  room.problem = fmt::format("{}: can't be removed: {}", file.path.string(), std::strerror(errno));
}

/// A recorder has an exclusive lock of what it writes, which refuses a shared one; those who make room at the same time
/// get theirs. Where the file system has no locks, every recording counts as written.
Use look_at(RetentionFile& file, FolderUsage& room) {
  if (file.is_gone || !file.is_own) {
    return Use::kForeign;
  }
  const FileDescriptor opened(::open(file.path.c_str(), O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC));
  if (!opened.valid()) {
    errno == ENOENT ? count_gone(file, room) : complain(file, room);
    return Use::kForeign;
  }
  nfr::RecordHeader header;
  if (::pread(opened.get(), &header, sizeof header, 0) != static_cast<ssize_t>(sizeof header) ||
      !nfr::is_sound(header) || header.kind != nfr::Kind::kFile) {
    return Use::kForeign;
  }
  const bool is_free = ::flock(opened.get(), LOCK_SH | LOCK_NB) == 0;
  if (!is_free && errno != EWOULDBLOCK) {
    complain(file, room);
  }
  return is_free ? Use::kFree : Use::kWritten;
}

/// Looks again before: another recording may have the name meanwhile.
void remove(RetentionFile& file, const std::string& why, FolderUsage& room) {
  if (look_at(file, room) != Use::kFree) {
    return;
  }
  if (::unlink(file.path.c_str()) == 0) {
    room.removed.push_back({.path = file.path, .bytes = static_cast<std::uint64_t>(file.bytes), .why = why});
  } else if (errno != ENOENT) {
    complain(file, room);
    return;
  }
  count_gone(file, room);
}

/// One of the two limits: how far the folder is beyond it, and in words why a recording goes, or why none does.
struct Limit {
  std::int64_t RetentionFile::*gain;
  std::function<std::int64_t()> lack_bytes;
  std::function<std::string()> why;
  std::function<std::string(std::int64_t most_bytes)> why_not;
};

/// Removes what gains the bytes that are lacking and, where all but the newest recording have as much, `wanted_bytes`
/// beyond; nothing where they do not even have the former.
void remove_for(const Limit& limit, std::int64_t wanted_bytes, std::vector<RetentionFile>& files, FolderUsage& room) {
  if (limit.lack_bytes() + wanted_bytes <= 0) {
    return;
  }
  const RetentionFile* newest = nullptr;
  std::int64_t most_bytes = 0;
  for (auto file = files.rbegin(); file != files.rend(); ++file) {
    const Use use = look_at(*file, room);
    if (newest == nullptr && use != Use::kForeign) {
      newest = &*file;
    } else if (use == Use::kFree) {
      most_bytes += (*file).*limit.gain;
    }
  }
  if (limit.lack_bytes() > most_bytes) {
    room.problem = limit.why_not(most_bytes);
    return;
  }
  const std::int64_t beyond_bytes = limit.lack_bytes() + wanted_bytes <= most_bytes ? wanted_bytes : 0;
  for (RetentionFile& file : files) {
    if (limit.lack_bytes() + beyond_bytes > 0 && &file != newest && file.*limit.gain > 0) {
      remove(file, limit.why(), room);
    }
  }
}

}  // namespace

FolderUsage make_room(const std::filesystem::path& folder, const DaemonSettings::Recording& settings,
                      std::uint64_t wanted_bytes, const std::optional<RetentionTime>& time) {
  FolderUsage room;
  std::error_code error;
  std::vector<RetentionFile> files = files_in(folder, error);
  for (const RetentionFile& file : files) {
    room.used_bytes += static_cast<std::uint64_t>(file.bytes);
  }
  struct statvfs disk {};
  if (::statvfs(folder.c_str(), &disk) == 0) {
    room.free_bytes = std::uint64_t{disk.f_bavail} * disk.f_frsize;
  }
  if (!settings.remove_oldest) {
    return room;
  }
  if (error && error != std::errc::no_such_file_or_directory) {
    room.problem =
        fmt::format("{}: can't be opened, so that no recording is removed: {}", folder.string(), error.message());
  }
  for (RetentionFile& file : files) {
    const double age_s = time ? static_cast<double>(time->now_ns - file.changed_ns) / kNsPerSecond : 0.0;
    if (settings.max_age_s > 0.0 && age_s > settings.max_age_s && !time->young.contains(file.path)) {
      remove(file, fmt::format("max_age_s: {:.0f} s old", age_s), room);
    }
  }
  const auto wanted = static_cast<std::int64_t>(wanted_bytes);
  const auto used_bytes = [&] { return static_cast<std::int64_t>(room.used_bytes); };
  const auto free_bytes = [&] { return static_cast<std::int64_t>(*room.free_bytes); };
  if (const std::int64_t quota = settings.quota_bytes; quota > 0) {
    const auto why = [&] { return fmt::format("quota_bytes: {} bytes of {} used", used_bytes(), quota); };
    const auto why_not = [&](std::int64_t most_bytes) {
      return fmt::format(
          "quota_bytes: {} bytes are used, of {} permitted, and {} of them are in the newest recording and in files "
          "that are being written, no recordings or another user's: nothing is removed for it",
          used_bytes(), quota, used_bytes() - most_bytes);
    };
    remove_for({&RetentionFile::bytes, [&] { return used_bytes() - quota; }, why, why_not}, wanted, files, room);
  }
  if (const std::int64_t kept = settings.keep_free_bytes; kept > 0 && room.free_bytes) {
    const auto why = [&] { return fmt::format("keep_free_bytes: {} bytes of the disk free", free_bytes()); };
    const auto why_not = [&](std::int64_t most_bytes) {
      return fmt::format(
          "keep_free_bytes: {} bytes of the disk are free, of {} to be kept, and {} were free without all recordings "
          "but the newest: nothing is removed for it",
          free_bytes(), kept, free_bytes() + most_bytes);
    };
    remove_for({&RetentionFile::disk_bytes, [&] { return kept - free_bytes(); }, why, why_not}, wanted, files, room);
  }
  return room;
}

RetentionTimes::RetentionTimes(RetentionClocks clocks)
    : clocks_(std::move(clocks)), offset_ns_(clocks_.realtime_ns() - clocks_.boottime_ns()) {}

void RetentionTimes::finished(const std::filesystem::path& path) {
  finished_.emplace_back(clocks_.boottime_ns(), path);
  if (finished_.size() > kMostFinished) {
    finished_.pop_front();
  }
}

std::optional<RetentionTime> RetentionTimes::now(double max_age_s) {
  constexpr double kMost_s = 9e9;  // 285 years
  const auto max_age_ns = static_cast<std::int64_t>(std::min(max_age_s, kMost_s) * 1e9);
  const std::int64_t boottime_ns = clocks_.boottime_ns();
  RetentionTime time{.now_ns = clocks_.realtime_ns(), .young = {}};
  const std::int64_t offset_ns = time.now_ns - boottime_ns;
  if (std::abs(offset_ns - std::exchange(offset_ns_, offset_ns)) > kStepNs) {
    stepped_ns_ = boottime_ns;
  }
  if (boottime_ns < kSettleNs || (stepped_ns_ && boottime_ns - *stepped_ns_ < std::min(kHoldNs, max_age_ns))) {
    return std::nullopt;
  }
  for (const auto& [finished_ns, path] : finished_) {
    if (boottime_ns - finished_ns < max_age_ns) {
      time.young.insert(path);
    }
  }
  return time;
}

RetentionKeeper::RetentionKeeper(std::function<void(const FolderUsage&)> changed, RetentionClocks clocks)
    : changed_(std::move(changed)),
      times_(std::move(clocks)),
      thread_([this](const std::stop_token& stop) { run(stop); }) {}

void RetentionKeeper::use(const DaemonSettings::Recording& settings) {
  const std::lock_guard lock(mutex_);
  settings_ = settings;
  is_new_ = true;
  wake_.notify_one();
}

void RetentionKeeper::add(const FolderUsage& room) {
  {
    const std::lock_guard lock(mutex_);
    account_.used_bytes = room.used_bytes;
    account_.free_bytes = room.free_bytes;
    account_.removed += room.removed.size();
    for (const FolderUsage::Removed& one : room.removed) {
      account_.removed_bytes += one.bytes;
    }
  }
  if (!room.removed.empty() || !room.problem.empty()) {
    changed_(room);
  }
}

void RetentionKeeper::finished(const std::filesystem::path& path) {
  const std::lock_guard lock(mutex_);
  times_.finished(path);
}

RetentionKeeper::Account RetentionKeeper::account() const {
  const std::lock_guard lock(mutex_);
  return account_;
}

void RetentionKeeper::run(const std::stop_token& stop) {
  pthread_setname_np(pthread_self(), "nf-room");
  give_signal_stack();
  std::unique_lock lock(mutex_);
  while (!stop.stop_requested()) {
    wake_.wait_for(lock, stop, std::chrono::nanoseconds(kEveryNs), [this] { return std::exchange(is_new_, false); });
    if (stop.stop_requested() || settings_.directory.empty()) {
      continue;
    }
    const DaemonSettings::Recording settings = settings_;
    const std::optional<RetentionTime> time = times_.now(settings.max_age_s);
    lock.unlock();
    const std::int64_t share_bytes = settings.quota_bytes == 0 ? kReadyBytes : settings.quota_bytes / kReadyShare;
    add(make_room(settings.directory, settings, static_cast<std::uint64_t>(std::min(kReadyBytes, share_bytes)), time));
    lock.lock();
  }
}

}  // namespace nearfield
