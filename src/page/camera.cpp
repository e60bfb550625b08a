#include "page/camera.hpp"

#include <pthread.h>
#include <spdlog/spdlog.h>

#include <chrono>
#include <exception>
#include <utility>

#include "control/service/worker.hpp"
#include "core/system/clocks.hpp"

namespace nearfield::page {
namespace {

constexpr std::chrono::seconds kOpenAgain{1};
constexpr int kFrameTimeoutMs = 200;
constexpr std::int64_t kSilentNs = 2 * kNsPerSecond;

}  // namespace

Camera::Camera(OpenCamera open, std::function<void()> changed)
    : open_(std::move(open)),
      changed_(std::move(changed)),
      thread_([this](const std::stop_token& stop) { run(stop); }) {}

Camera::~Camera() {
  thread_.request_stop();
  thread_.join();
}

void Camera::watch() {
  const std::lock_guard lock(mutex_);
  watched_until_ns_ = monotonic_ns() + kWatchNs;
  watched_.notify_all();
}

CameraFrame Camera::newest() const {
  const std::lock_guard lock(mutex_);
  return newest_;
}

std::string Camera::trouble() const {
  const std::lock_guard lock(mutex_);
  return trouble_;
}

bool Camera::is_watched() const {
  const std::lock_guard lock(mutex_);
  return monotonic_ns() < watched_until_ns_;
}

void Camera::set_trouble(const std::string& trouble) {
  {
    const std::lock_guard lock(mutex_);
    if (trouble_ == trouble) {
      return;
    }
    trouble_ = trouble;
  }
  if (!trouble.empty()) {
    spdlog::warn("{}", trouble);
  }
  changed_();
}

void Camera::run(const std::stop_token& stop) {
  pthread_setname_np(pthread_self(), "nf-page-camera");
  control::leave_realtime();
  while (!stop.stop_requested()) {
    {
      std::unique_lock lock(mutex_);
      watched_.wait(lock, stop, [&] { return monotonic_ns() < watched_until_ns_; });
    }
    if (stop.stop_requested()) {
      return;
    }
    try {
      const std::unique_ptr<FrameSource> source = open_();
      play(*source, stop);
      continue;
    } catch (const std::exception& error) {
      set_trouble(error.what());
    }
    std::unique_lock lock(mutex_);
    newest_ = {};
    watched_.wait_for(lock, stop, kOpenAgain, [] { return false; });
  }
}

void Camera::play(FrameSource& source, const std::stop_token& stop) {
  std::int64_t last_ns = monotonic_ns();
  while (!stop.stop_requested() && is_watched()) {
    std::optional<CameraFrame> frame = source.next(kFrameTimeoutMs);
    const std::int64_t now_ns = monotonic_ns();
    if (frame) {
      last_ns = now_ns;
      {
        const std::lock_guard lock(mutex_);
        newest_ = std::move(*frame);
      }
      set_trouble("");
      changed_();
    } else if (now_ns - last_ns > kSilentNs) {
      set_trouble("daemon.page.camera: the camera gives no frames");
    }
  }
  const std::lock_guard lock(mutex_);
  newest_ = {};
}

}  // namespace nearfield::page
