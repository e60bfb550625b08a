#pragma once
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <stop_token>
#include <string>
#include <thread>

namespace nearfield::page {

/// A frame of a camera, as the camera has compressed it.
struct CameraFrame {
  std::shared_ptr<const std::string> jpeg;
  std::int64_t captured_ns = 0;  ///< CLOCK_MONOTONIC when the driver took it
};

/// An open camera.
class FrameSource {
 public:
  virtual ~FrameSource() = default;
  /// Waits for the next frame for `timeout_ms` at most; nullopt: none came. Throws IoError if the camera was unplugged
  /// or failed.
  virtual std::optional<CameraFrame> next(int timeout_ms) = 0;
};

/// Opens the camera of a setting. Throws IoError with the reason why it cannot be opened.
using OpenCamera = std::function<std::unique_ptr<FrameSource>()>;

/// The camera at the array's computer: a thread that opens it while somebody watches, keeps the newest frame, and opens
/// it again after a failure.
class Camera {
 public:
  static constexpr std::int64_t kWatchNs = 3'000'000'000;  ///< the camera stays open for so long after watch()

  /// `changed` is called on the camera's thread after each frame and after each change of the trouble.
  Camera(OpenCamera open, std::function<void()> changed);
  /// Waits until the thread has closed the camera.
  ~Camera();
  Camera(const Camera&) = delete;
  Camera& operator=(const Camera&) = delete;

  /// Opens the camera, or keeps it open. Any thread.
  void watch();
  /// The newest frame; without a JPEG if none came since the camera was opened. Any thread.
  [[nodiscard]] CameraFrame newest() const;
  /// Why there are no frames; empty if none is known. Any thread.
  [[nodiscard]] std::string trouble() const;

 private:
  void run(const std::stop_token& stop);
  /// Passes frames on until nobody watches. Throws IoError.
  void play(FrameSource& source, const std::stop_token& stop);
  [[nodiscard]] bool is_watched() const;
  void set_trouble(const std::string& trouble);

  const OpenCamera open_;
  const std::function<void()> changed_;
  mutable std::mutex mutex_;  ///< guards the members up to the thread
  std::condition_variable_any watched_;
  std::int64_t watched_until_ns_ = 0;
  CameraFrame newest_;
  std::string trouble_;
  std::jthread thread_;
};

}  // namespace nearfield::page
