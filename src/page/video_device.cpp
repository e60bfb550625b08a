#include "page/video_device.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <linux/videodev2.h>
#include <poll.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include <cerrno>
#include <cstddef>
#include <cstring>
#include <string_view>
#include <utility>
#include <vector>

#include "core/error.hpp"
#include "core/system/clocks.hpp"
#include "core/system/files.hpp"

namespace nearfield::page {
namespace {

constexpr std::uint32_t kWidth = 1280;
constexpr std::uint32_t kHeight = 720;
constexpr std::uint32_t kBuffers = 4;
constexpr std::string_view kJpegStart = "\xff\xd8";

/// ioctl(2), again where a signal interrupts it.
template <typename Argument>
int video_control(int device, unsigned long request, Argument* argument) {
  int result = 0;
  do {
    result = ioctl(device, request, argument);
  } while (result < 0 && errno == EINTR);
  return result;
}

/// Memory of a buffer that the driver fills.
class Mapping {
 public:
  Mapping(int device, std::size_t bytes, off_t offset)
      : bytes_(bytes), start_(mmap(nullptr, bytes, PROT_READ, MAP_SHARED, device, offset)) {}
  Mapping(Mapping&& other) noexcept : bytes_(other.bytes_), start_(std::exchange(other.start_, MAP_FAILED)) {}
  Mapping& operator=(Mapping&&) = delete;
  ~Mapping() {
    if (is_valid()) {
      munmap(start_, bytes_);
    }
  }
  [[nodiscard]] bool is_valid() const { return start_ != MAP_FAILED; }
  [[nodiscard]] std::size_t bytes() const { return bytes_; }
  [[nodiscard]] const char* data() const { return static_cast<const char*>(start_); }

 private:
  std::size_t bytes_;
  void* start_;
};

/// A V4L2 device that streams JPEG into mapped buffers.
class VideoDevice : public FrameSource {
 public:
  explicit VideoDevice(const std::string& path) : path_(path) {
    open_device();
    expect_capture();
    set_format();
    map_buffers();
    start();
  }

  std::optional<CameraFrame> next(int timeout_ms) override;

 private:
  [[noreturn]] void fail(const std::string& reason) const {
    throw IoError(fmt::format("daemon.page.camera: {} {}", path_, reason));
  }
  /// Fails with errno in words.
  [[noreturn]] void fail_by_errno(const char* what) const;

  void open_device();
  void expect_capture() const;
  /// The format of JPEG that the device has.
  [[nodiscard]] std::uint32_t jpeg_format() const;
  void set_format() const;
  void map_buffers();
  void start() const;

  std::string path_;
  FileDescriptor device_;
  std::vector<Mapping> buffers_;
};

void VideoDevice::fail_by_errno(const char* what) const {
  switch (errno) {
    case EBUSY:
      fail("is in use by another program");
    case ENODEV:
    case ENXIO:
    case EIO:
      fail("was unplugged, or has failed; it is opened again when it comes back");
    default:
      fail(fmt::format("cannot {}: {}", what, std::strerror(errno)));
  }
}

void VideoDevice::open_device() {
  device_ = FileDescriptor(open(path_.c_str(), O_RDWR | O_NONBLOCK | O_CLOEXEC));
  if (!device_.valid() && (errno == ENOENT || errno == ENOTDIR || errno == ENXIO || errno == ENODEV)) {
    fail("is not there: expected a camera such as /dev/video0, which is plugged in");
  }
  if (!device_.valid() && (errno == EACCES || errno == EPERM)) {
    fail("may not be opened: expected a user of the device's group, video");
  }
  if (!device_.valid() && errno == EISDIR) {
    fail("is no camera, but a folder");
  }
  if (!device_.valid()) {
    fail_by_errno("be opened");
  }
}

void VideoDevice::expect_capture() const {
  v4l2_capability found{};
  if (video_control(device_.get(), VIDIOC_QUERYCAP, &found) < 0) {
    if (errno == ENODEV) {
      fail_by_errno("be asked what it is");
    }
    fail("is no camera of Video4Linux");
  }
  const std::uint32_t has = (found.capabilities & V4L2_CAP_DEVICE_CAPS) != 0 ? found.device_caps : found.capabilities;
  if ((has & V4L2_CAP_VIDEO_CAPTURE) == 0 || (has & V4L2_CAP_STREAMING) == 0) {
    fail("streams no video; another number of the same camera may: see v4l2-ctl --list-devices");
  }
}

std::uint32_t VideoDevice::jpeg_format() const {
  std::vector<std::string> others;
  v4l2_fmtdesc format{};
  format.type = V4L2_BUF_TYPE_VIDEO_CAPTURE;
  for (; video_control(device_.get(), VIDIOC_ENUM_FMT, &format) == 0; ++format.index) {
    if (format.pixelformat == V4L2_PIX_FMT_MJPEG || format.pixelformat == V4L2_PIX_FMT_JPEG) {
      return format.pixelformat;
    }
    const auto* const name = reinterpret_cast<const char*>(format.description);
    others.emplace_back(name, strnlen(name, sizeof format.description));
  }
  fail(fmt::format("has no JPEG: expected a camera that compresses its frames, found {}",
                   others.empty() ? "no format" : fmt::format("{}", fmt::join(others, ", "))));
}

void VideoDevice::set_format() const {
  const std::uint32_t wanted = jpeg_format();
  v4l2_format format{};
  format.type = V4L2_BUF_TYPE_VIDEO_CAPTURE;
  format.fmt.pix.width = kWidth;
  format.fmt.pix.height = kHeight;
  format.fmt.pix.pixelformat = wanted;
  format.fmt.pix.field = V4L2_FIELD_ANY;
  if (video_control(device_.get(), VIDIOC_S_FMT, &format) < 0) {
    fail_by_errno("be set to JPEG");
  }
  if (format.fmt.pix.pixelformat != wanted) {
    fail("has no JPEG: it was asked for it and gives another format");
  }
}

void VideoDevice::map_buffers() {
  v4l2_requestbuffers request{};
  request.count = kBuffers;
  request.type = V4L2_BUF_TYPE_VIDEO_CAPTURE;
  request.memory = V4L2_MEMORY_MMAP;
  if (video_control(device_.get(), VIDIOC_REQBUFS, &request) < 0) {
    fail_by_errno("give buffers");
  }
  if (request.count == 0) {
    fail("gives no buffers");
  }
  for (std::uint32_t index = 0; index < request.count; ++index) {
    v4l2_buffer buffer{};
    buffer.index = index;
    buffer.type = V4L2_BUF_TYPE_VIDEO_CAPTURE;
    buffer.memory = V4L2_MEMORY_MMAP;
    if (video_control(device_.get(), VIDIOC_QUERYBUF, &buffer) < 0) {
      fail_by_errno("give a buffer");
    }
    buffers_.emplace_back(device_.get(), buffer.length, static_cast<off_t>(buffer.m.offset));
    if (!buffers_.back().is_valid()) {
      fail_by_errno("map a buffer");
    }
    if (video_control(device_.get(), VIDIOC_QBUF, &buffer) < 0) {
      fail_by_errno("take a buffer");
    }
  }
}

void VideoDevice::start() const {
  int type = V4L2_BUF_TYPE_VIDEO_CAPTURE;
  if (video_control(device_.get(), VIDIOC_STREAMON, &type) < 0) {
    fail_by_errno("start");
  }
}

std::optional<CameraFrame> VideoDevice::next(int timeout_ms) {
  pollfd waited{.fd = device_.get(), .events = POLLIN, .revents = 0};
  const int ready = poll(&waited, 1, timeout_ms);
  if (ready <= 0) {
    return std::nullopt;
  }
  v4l2_buffer buffer{};
  buffer.type = V4L2_BUF_TYPE_VIDEO_CAPTURE;
  buffer.memory = V4L2_MEMORY_MMAP;
  if (video_control(device_.get(), VIDIOC_DQBUF, &buffer) < 0) {
    if (errno == EAGAIN && (waited.revents & (POLLERR | POLLHUP)) == 0) {
      return std::nullopt;
    }
    errno = errno == EAGAIN || errno == EINVAL ? ENODEV : errno;
    fail_by_errno("give a frame");
  }
  std::optional<CameraFrame> frame;
  const bool is_whole = (buffer.flags & V4L2_BUF_FLAG_ERROR) == 0 && buffer.index < buffers_.size() &&
                        buffer.bytesused <= buffers_[buffer.index].bytes();
  if (is_whole) {
    const std::string_view bytes(buffers_[buffer.index].data(), buffer.bytesused);
    const bool has_time = (buffer.flags & V4L2_BUF_FLAG_TIMESTAMP_MASK) == V4L2_BUF_FLAG_TIMESTAMP_MONOTONIC;
    const std::int64_t captured_ns = static_cast<std::int64_t>(buffer.timestamp.tv_sec) * kNsPerSecond +
                                     static_cast<std::int64_t>(buffer.timestamp.tv_usec) * kNsPerMicrosecond;
    if (bytes.starts_with(kJpegStart)) {
      frame = {.jpeg = std::make_shared<const std::string>(bytes),
               .captured_ns = has_time ? captured_ns : monotonic_ns()};
    }
  }
  if (video_control(device_.get(), VIDIOC_QBUF, &buffer) < 0) {
    fail_by_errno("take a buffer back");
  }
  return frame;
}

}  // namespace

std::unique_ptr<FrameSource> open_video_device(const std::string& path) { return std::make_unique<VideoDevice>(path); }

}  // namespace nearfield::page
