#include "recording/room.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <set>
#include <system_error>
#include <utility>

#include "core/system/clocks.hpp"
#include "core/system/file_descriptor.hpp"
#include "files/nfr/nfr_format.hpp"
#include "nearfield/daemon_settings.hpp"

namespace nearfield {
namespace {

constexpr std::uint64_t kBlockBytes = 512;  ///< unit of st_blocks

struct Candidate {
  std::filesystem::path path;
  std::uint64_t bytes = 0;
  std::uint64_t disk_bytes = 0;  ///< freed on the disk by its removal
  std::int64_t changed_ns = 0;
};

/// Permission of make_room() to remove a file.
enum class Use {
  kForeign,  ///< not a recording, another user's, or deleted
  kOpen,     ///< a recording that is open somewhere
  kFree      ///< a recording that can be removed
};

/// Regular files *.nfr, oldest first, without those that cannot be examined.
std::vector<Candidate> candidates_in(const std::filesystem::path& folder) {
  std::vector<Candidate> found;
  std::error_code error;
  const std::filesystem::directory_iterator end;
  for (std::filesystem::directory_iterator entry(folder, error); !error && entry != end; entry.increment(error)) {
    struct stat status {};
    if (entry->path().extension() != ".nfr" || ::lstat(entry->path().c_str(), &status) != 0 ||
        !S_ISREG(status.st_mode)) {
      continue;
    }
    found.push_back(
        {.path = entry->path(),
         .bytes = static_cast<std::uint64_t>(status.st_size),
         // Another hard link keeps the blocks allocated.
         .disk_bytes = status.st_nlink == 1 ? static_cast<std::uint64_t>(status.st_blocks) * kBlockBytes : 0,
         .changed_ns = std::int64_t{status.st_mtim.tv_sec} * kNsPerSecond + status.st_mtim.tv_nsec});
  }
  std::sort(found.begin(), found.end(), [](const Candidate& a, const Candidate& b) {
    return a.changed_ns != b.changed_ns ? a.changed_ns < b.changed_ns : a.path < b.path;
  });
  return found;
}

bool is_recording(int file) {
  nfr::RecordHeader header;
  return ::pread(file, &header, sizeof header, 0) == static_cast<ssize_t>(sizeof header) && nfr::is_sound(header) &&
         header.kind == nfr::Kind::kFile;
}

/// Opens for writing where possible, as flock(2) on NFS gives LOCK_EX only to a descriptor that can write. Read-only
/// files on other file systems are removable too.
FileDescriptor open_to_lock(const std::filesystem::path& path) {
  constexpr int kFlags = O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC;
  FileDescriptor file(::open(path.c_str(), O_RDWR | kFlags));
  if (!file.valid() && errno == EACCES) {
    file = FileDescriptor(::open(path.c_str(), O_RDONLY | kFlags));
  }
  return file;
}

/// A file with the locks that keep others from opening it unnoticed, or the reason why there are none.
struct Seized {
  FileDescriptor file;
  Use use = Use::kForeign;
  int error = 0;  ///< errno of a call that should not fail
};

/// Checks that nobody else has the file open. While the result's descriptor exists, nobody can open the file unnoticed:
/// an open() waits until the lease is returned when the descriptor is closed.
Seized seize(const std::filesystem::path& path) {
  Seized seized{.file = open_to_lock(path)};
  if (!seized.file.valid()) {
    const bool is_open = errno == EWOULDBLOCK || errno == ETXTBSY;
    const bool is_foreign = errno == EACCES || errno == EPERM || errno == ELOOP || errno == ENOENT;
    seized.error = is_open || is_foreign ? 0 : errno;
    seized.use = is_open ? Use::kOpen : Use::kForeign;
    return seized;
  }
  const int file = seized.file.get();
  if (!is_recording(file)) {
    return seized;
  }
  seized.use = Use::kOpen;
  if (::flock(file, LOCK_EX | LOCK_NB) != 0) {
    seized.error = errno == EWOULDBLOCK ? 0 : errno;
    return seized;
  }
  (void)::fcntl(file, F_SETSIG, SIGURG);  // sent when another opens it: ignored by default, unlike SIGIO
  if (::fcntl(file, F_SETLEASE, F_WRLCK) == 0 || errno == EINVAL || errno == EOPNOTSUPP || errno == ENOLCK) {
    seized.use = Use::kFree;
  } else if (errno == EACCES || errno == EPERM) {
    seized.use = Use::kForeign;
  }
  return seized;
}

/// Removes recordings of one folder, whose lock it holds, and updates the totals.
class Remover {
 public:
  Remover(std::vector<Candidate> candidates, RecordingRoom& room) : candidates_(std::move(candidates)), room_(room) {}

  void remove_old(const RoomTime& time, double max_age_s);
  /// Removes for the quota and for the disk's free space.
  void remove_for(const DaemonSettings::Recording& settings, std::uint64_t wanted_bytes);

 private:
  /// Totals after removing all that can be removed, except the newest.
  struct Least {
    std::uint64_t used_bytes = 0;
    std::uint64_t free_bytes = 0;  ///< at most
    const Candidate* newest = nullptr;
  };

  bool remove(const Candidate& candidate, const std::string& why);
  [[nodiscard]] Least least();
  void complain(const std::filesystem::path& path, int error);

  std::vector<Candidate> candidates_;  ///< oldest first
  std::set<std::filesystem::path> removed_;
  RecordingRoom& room_;
};

void Remover::complain(const std::filesystem::path& path, int error) {
  room_.problem = fmt::format("{}: can't be removed: {}", path.string(), std::strerror(error));
}

bool Remover::remove(const Candidate& candidate, const std::string& why) {
  const Seized seized = seize(candidate.path);
  if (seized.use != Use::kFree || seized.error != 0) {
    if (seized.error != 0) {
      complain(candidate.path, seized.error);
    }
    return false;
  }
  if (::unlink(candidate.path.c_str()) != 0) {
    complain(candidate.path, errno);
    return false;
  }
  room_.used_bytes -= candidate.bytes;
  if (room_.free_bytes) {
    *room_.free_bytes += candidate.disk_bytes;
  }
  room_.removed.push_back({.path = candidate.path, .bytes = candidate.bytes, .why = why});
  removed_.insert(candidate.path);
  return true;
}

void Remover::remove_old(const RoomTime& time, double max_age_s) {
  for (const Candidate& candidate : candidates_) {
    const double age_s = static_cast<double>(time.now_ns - candidate.changed_ns) / kNsPerSecond;
    if (age_s <= max_age_s) {
      return;
    }
    if (!time.young.contains(candidate.path)) {
      (void)remove(candidate, fmt::format("max_age_s: {:.0f} s old", age_s));
    }
  }
}

Remover::Least Remover::least() {
  Least least{.used_bytes = room_.used_bytes, .free_bytes = room_.free_bytes.value_or(0), .newest = nullptr};
  for (auto candidate = candidates_.rbegin(); candidate != candidates_.rend(); ++candidate) {
    if (removed_.contains(candidate->path)) {
      continue;
    }
    const Seized seized = seize(candidate->path);
    if (seized.error != 0) {
      complain(candidate->path, seized.error);
    }
    if (seized.use == Use::kForeign) {
      continue;
    }
    if (least.newest == nullptr) {
      least.newest = &*candidate;
    } else if (seized.use == Use::kFree) {
      least.used_bytes -= std::min(least.used_bytes, candidate->bytes);
      least.free_bytes += candidate->disk_bytes;
    }
  }
  return least;
}

void Remover::remove_for(const DaemonSettings::Recording& settings, std::uint64_t wanted_bytes) {
  const auto quota = static_cast<std::uint64_t>(settings.quota_bytes);
  const auto kept = static_cast<std::uint64_t>(settings.keep_free_bytes);
  const auto is_over = [&](std::uint64_t wanted) { return quota > 0 && room_.used_bytes + wanted > quota; };
  const auto is_short = [&](std::uint64_t wanted) {
    return kept > 0 && room_.free_bytes && *room_.free_bytes < kept + wanted;
  };
  if (!is_over(wanted_bytes) && !is_short(wanted_bytes)) {
    return;
  }
  const Least least = this->least();
  const std::uint64_t for_quota = least.used_bytes + wanted_bytes <= quota ? wanted_bytes : 0;
  const std::uint64_t for_disk = least.free_bytes >= kept + wanted_bytes ? wanted_bytes : 0;
  const bool can_quota = least.used_bytes <= quota;
  const bool can_disk = least.free_bytes >= kept;
  for (const Candidate& candidate : candidates_) {
    if (can_quota && is_over(for_quota)) {
      if (&candidate != least.newest && !removed_.contains(candidate.path)) {
        (void)remove(candidate, fmt::format("quota_bytes: {} bytes of {} used", room_.used_bytes, quota));
      }
    } else if (can_disk && is_short(for_disk)) {
      if (&candidate != least.newest && candidate.disk_bytes > 0 && !removed_.contains(candidate.path)) {
        (void)remove(candidate, fmt::format("keep_free_bytes: {} bytes of the disk free", *room_.free_bytes));
      }
    } else {
      break;
    }
  }
  if (is_over(0) && !can_quota) {
    room_.problem = fmt::format(
        "quota_bytes: {} bytes are used, of {} permitted, and {} of them are in the newest recording and in files that "
        "are open, no recordings or another user's: nothing is removed for it",
        room_.used_bytes, quota, least.used_bytes);
  } else if (is_short(0) && !can_disk) {
    room_.problem = fmt::format(
        "keep_free_bytes: {} bytes of the disk are free, of {} to be kept, and {} were free without all recordings "
        "but the newest: nothing is removed for it",
        *room_.free_bytes, kept, least.free_bytes);
  }
}

/// Lock of the one process that removes, on the folder itself, which leaves no file behind. Not valid if others hold
/// it, or if there is none, as `room` then says.
FileDescriptor lock_of(const std::filesystem::path& folder, RecordingRoom& room) {
  FileDescriptor lock(::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (lock.valid() && ::flock(lock.get(), LOCK_EX | LOCK_NB) == 0) {
    return lock;
  }
  room.others_remove = lock.valid() && errno == EWOULDBLOCK;
  if (!room.others_remove && errno != ENOENT) {
    room.problem = fmt::format("{}: can't be {}, so that no recording is removed: {}", folder.string(),
                               lock.valid() ? "locked" : "opened", std::strerror(errno));
  }
  return {};
}

}  // namespace

RecordingRoom make_room(const std::filesystem::path& folder, const DaemonSettings::Recording& settings,
                        std::uint64_t wanted_bytes, const std::optional<RoomTime>& time) {
  RecordingRoom room;
  const FileDescriptor lock = settings.remove_oldest ? lock_of(folder, room) : FileDescriptor();
  std::vector<Candidate> candidates = candidates_in(folder);
  for (const Candidate& candidate : candidates) {
    room.used_bytes += candidate.bytes;
  }
  struct statvfs disk {};
  if (::statvfs(folder.c_str(), &disk) == 0) {
    room.free_bytes = std::uint64_t{disk.f_bavail} * disk.f_frsize;
  }
  if (lock.valid()) {
    Remover remover(std::move(candidates), room);
    if (time && settings.max_age_s > 0.0) {
      remover.remove_old(*time, settings.max_age_s);
    }
    remover.remove_for(settings, wanted_bytes);
  }
  return room;
}

}  // namespace nearfield
