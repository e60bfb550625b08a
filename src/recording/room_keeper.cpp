#include "recording/room_keeper.hpp"

#include <pthread.h>

#include <algorithm>
#include <chrono>
#include <utility>

#include "nearfield/daemon_settings.hpp"

namespace nearfield {
namespace {

/// Keeps no more than this part of a small quota free.
constexpr std::int64_t kReadyShare = 8;

std::uint64_t ready_bytes(const DaemonSettings::Recording& settings) {
  return settings.quota_bytes == 0
             ? RoomKeeper::kReadyBytes
             : std::min(RoomKeeper::kReadyBytes, static_cast<std::uint64_t>(settings.quota_bytes / kReadyShare));
}

}  // namespace

RoomKeeper::RoomKeeper(std::function<void(const RecordingRoom&)> changed, RoomClocks clocks)
    : changed_(std::move(changed)), times_(std::move(clocks)), thread_([this] { run(); }) {}

RoomKeeper::~RoomKeeper() {
  {
    const std::lock_guard lock(mutex_);
    ends_ = true;
  }
  wake_.notify_one();
  thread_.join();
}

void RoomKeeper::use(const DaemonSettings::Recording& settings) {
  {
    const std::lock_guard lock(mutex_);
    settings_ = settings;
    is_new_ = true;
  }
  wake_.notify_one();
}

void RoomKeeper::add(const RecordingRoom& room) {
  {
    const std::lock_guard lock(mutex_);
    account_.used_bytes = room.used_bytes;
    account_.free_bytes = room.free_bytes;
    account_.removed += room.removed.size();
    for (const RecordingRoom::Removed& one : room.removed) {
      account_.removed_bytes += one.bytes;
    }
  }
  if (!room.removed.empty() || !room.problem.empty()) {
    changed_(room);
  }
}

void RoomKeeper::finished(const std::filesystem::path& path) {
  const std::lock_guard lock(mutex_);
  times_.finished(path);
}

RoomKeeper::Account RoomKeeper::account() const {
  const std::lock_guard lock(mutex_);
  return account_;
}

void RoomKeeper::run() {
  pthread_setname_np(pthread_self(), "nf-room");
  std::unique_lock lock(mutex_);
  while (!ends_) {
    wake_.wait_for(lock, std::chrono::nanoseconds(kEveryNs), [this] { return ends_ || is_new_; });
    is_new_ = false;
    if (ends_ || !settings_ || settings_->directory.empty()) {
      continue;
    }
    const DaemonSettings::Recording settings = *settings_;
    const std::optional<RoomTime> time = times_.now(settings.max_age_s);
    lock.unlock();
    add(make_room(settings.directory, settings, ready_bytes(settings), time));
    lock.lock();
  }
}

}  // namespace nearfield
