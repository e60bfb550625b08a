#include "page/camera.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstring>
#include <deque>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <memory>
#include <mutex>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "core/error.hpp"
#include "core/system/clocks.hpp"
#include "page/session.hpp"
#include "page/video_device.hpp"
#include "support/command.hpp"

namespace nearfield::page {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::StartsWith;

constexpr std::int64_t kTimeoutNs = 20 * kNsPerSecond;

template <typename Condition>
bool wait_until(const Condition& condition) {
  const std::int64_t end_ns = monotonic_ns() + kTimeoutNs;
  while (monotonic_ns() < end_ns) {
    if (condition()) {
      return true;
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(2));
  }
  return condition();
}

/// The frames of a file of JPEG frames, one behind the other: each begins with FF D8 FF.
std::vector<std::string> frames_of(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  const std::string bytes((std::istreambuf_iterator<char>(file)), std::istreambuf_iterator<char>());
  std::vector<std::string> frames;
  for (std::size_t at = 0; at < bytes.size();) {
    const std::size_t end = std::min(bytes.find("\xff\xd8\xff", at + 1), bytes.size());
    frames.push_back(bytes.substr(at, end - at));
    at = end;
  }
  return frames;
}

/// A camera that plays a file of JPEG frames, one each 5 ms, and is unplugged at the file's end.
class FileCamera : public FrameSource {
 public:
  explicit FileCamera(const std::filesystem::path& path) : frames_(frames_of(path)) {}

  std::optional<CameraFrame> next(int /*timeout_ms*/) override {
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
    if (played_ == frames_.size()) {
      throw IoError("daemon.page.camera: /dev/video7 was unplugged");
    }
    return CameraFrame{.jpeg = std::make_shared<const std::string>(frames_[played_++]), .captured_ns = monotonic_ns()};
  }

 private:
  std::vector<std::string> frames_;
  std::size_t played_ = 0;
};

std::string jpeg(int number) { return "\xff\xd8\xff\xe0 frame " + std::to_string(number) + " \xff\xd9"; }

class CameraTest : public testing::Test {
 protected:
  void SetUp() override {
    std::ofstream file(path_, std::ios::binary);
    for (int i = 0; i < 20; ++i) {
      file << jpeg(i);
    }
  }

  test::TemporaryFolder folder_;
  std::filesystem::path path_ = std::filesystem::path(folder_ / "frames.mjpeg");
};

TEST_F(CameraTest, FramesArePassedOnUnchangedWhileSomebodyWatchesAndTheCameraIsOpenedAgain) {
  std::atomic<int> opened = 0;
  std::mutex mutex;
  std::vector<std::string> seen;
  std::vector<std::string> troubles;
  Camera* of = nullptr;
  Camera camera(
      [&] {
        ++opened;
        return std::make_unique<FileCamera>(path_);
      },
      [&] {
        const std::lock_guard lock(mutex);
        if (const CameraFrame frame = of->newest(); frame.jpeg) {
          seen.push_back(*frame.jpeg);
        }
        troubles.push_back(of->trouble());
      });
  of = &camera;
  std::this_thread::sleep_for(std::chrono::milliseconds(50));
  EXPECT_EQ(opened, 0) << "nobody watches";
  EXPECT_EQ(camera.newest().jpeg, nullptr);
  camera.watch();
  ASSERT_TRUE(wait_until([&] { return camera.trouble() == "daemon.page.camera: /dev/video7 was unplugged"; }));
  camera.watch();
  ASSERT_TRUE(wait_until([&] { return opened == 2 && camera.newest().jpeg != nullptr; })) << "it came back";
  EXPECT_EQ(camera.trouble(), "");
  const std::lock_guard lock(mutex);
  ASSERT_GE(seen.size(), 20U);
  for (int i = 0; i < 20; ++i) {
    EXPECT_EQ(seen[static_cast<std::size_t>(i)], jpeg(i));
  }
}

TEST_F(CameraTest, ACameraThatNobodyWatchesIsClosed) {
  std::atomic<int> is_open = 0;
  class Endless : public FrameSource {
   public:
    explicit Endless(std::atomic<int>& is_open) : is_open_(&is_open) { ++*is_open_; }
    ~Endless() override { --*is_open_; }
    std::optional<CameraFrame> next(int timeout_ms) override {
      std::this_thread::sleep_for(std::chrono::milliseconds(timeout_ms));
      return std::nullopt;
    }

   private:
    std::atomic<int>* is_open_;
  };
  Camera camera([&] { return std::make_unique<Endless>(is_open); }, [] {});
  camera.watch();
  ASSERT_TRUE(wait_until([&] { return is_open == 1; }));
  ASSERT_TRUE(wait_until([&] { return camera.trouble() == "daemon.page.camera: the camera gives no frames"; }));
  EXPECT_TRUE(wait_until([&] { return is_open == 0; }));
}

std::string refusal_of(const std::string& path) {
  try {
    open_video_device(path);
  } catch (const IoError& error) {
    return error.what();
  }
  return "";
}

TEST_F(CameraTest, APathThatIsNoCameraIsRefusedInWords) {
  EXPECT_THAT(
      refusal_of("/dev/video_that_is_not_there"),
      AllOf(StartsWith("daemon.page.camera: /dev/video_that_is_not_there is not there"), HasSubstr("/dev/video0")));
  EXPECT_EQ(refusal_of("/dev/null"), "daemon.page.camera: /dev/null is no camera of Video4Linux");
  EXPECT_EQ(refusal_of(path_.string()), "daemon.page.camera: " + path_.string() + " is no camera of Video4Linux");
  EXPECT_EQ(refusal_of(folder_.path()), "daemon.page.camera: " + folder_.path() + " is no camera, but a folder");
}

/// A page with a camera, or without one, and without processors.
class CameraHost : public SessionHost {
 public:
  void opened(Session& /*session*/) override {}
  void closed(Session& /*session*/) override {}
  PictureFeed& feed() override { return feed_; }
  const std::string& state() const override { return state_; }
  std::string hello(bool /*is_writable*/) const override { return "hello"; }
  void wants_changed() override {}
  void credit_given() override {}
  bool control(Session& /*session*/, nlohmann::json /*id*/, nlohmann::json /*request*/) override { return false; }
  Camera* camera() override { return held.get(); }

  std::unique_ptr<Camera> held;

 private:
  PictureFeed feed_;
  std::string state_;
};

TEST_F(CameraTest, AClientGetsOneFrameForEachRequestAndTheTroubleOnce) {
  CameraHost host;
  Session session(
      host, [] {}, false);
  EXPECT_EQ(session.next()->bytes, "hello");
  session.receive(R"({"op": "camera"})");
  EXPECT_THAT(session.next()->bytes, HasSubstr("daemon.page.camera"));
  EXPECT_EQ(session.next(), std::nullopt);

  std::atomic<bool> is_there = false;
  host.held = std::make_unique<Camera>(
      [&]() -> std::unique_ptr<FrameSource> {
        if (!is_there) {
          throw IoError("daemon.page.camera: /dev/video7 is not there");
        }
        return std::make_unique<FileCamera>(path_);
      },
      [] {});
  session.receive(R"({"op": "camera"})");
  std::optional<StreamMessage> message;
  ASSERT_TRUE(wait_until([&] { return (message = session.next()).has_value(); }));
  EXPECT_FALSE(message->is_binary);
  EXPECT_EQ(nlohmann::json::parse(message->bytes),
            nlohmann::json({{"kind", "camera"}, {"message", "daemon.page.camera: /dev/video7 is not there"}}));
  EXPECT_EQ(session.next(), std::nullopt);
  is_there = true;
  host.held->watch();
  ASSERT_TRUE(wait_until([&] { return (message = session.next()).has_value() && message->is_binary; }));
  EXPECT_EQ(message->bytes.substr(0, 4), "NFCA");
  std::int64_t captured_ns = 0;
  std::memcpy(&captured_ns, message->bytes.data() + 8, sizeof captured_ns);
  EXPECT_LT(monotonic_ns() - captured_ns, kTimeoutNs);
  EXPECT_THAT(message->bytes.substr(16), StartsWith("\xff\xd8\xff\xe0 frame "));
  std::this_thread::sleep_for(std::chrono::milliseconds(50));
  EXPECT_EQ(session.next(), std::nullopt) << "it has not asked for another one";
}

}  // namespace
}  // namespace nearfield::page
