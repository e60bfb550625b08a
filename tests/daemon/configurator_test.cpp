#include "daemon/configurator.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <filesystem>
#include <fstream>
#include <future>
#include <nlohmann/json.hpp>
#include <set>

#include "daemon/nearfieldd_process.hpp"
#include "daemon/warm_up/warm_child.hpp"

// A running nearfieldd makes a new configuration in a child process first.
namespace nearfield::daemon {
namespace {

using nlohmann::json;
using testing::HasSubstr;

class ConfiguratorTest : public test::NearfielddTest {
 protected:
  /// Every cache of compiled kernels in a folder of its own, with nothing in it.
  [[nodiscard]] std::string cold_caches() const {
    return "POCL_CACHE_DIR=" + (folder_ / "pocl") + " XDG_CACHE_HOME=" + (folder_ / "programs") +
           " CUDA_CACHE_PATH=" + (folder_ / "cuda");
  }
  /// What was compiled until now.
  [[nodiscard]] std::set<std::string> compiled() const {
    std::set<std::string> files;
    for (const char* cache : {"pocl", "programs"}) {
      if (!std::filesystem::exists(folder_ / cache)) {
        continue;
      }
      for (const auto& entry : std::filesystem::recursive_directory_iterator(folder_ / cache)) {
        if (entry.is_regular_file() && (entry.path().extension() == ".so" || std::string(cache) == "programs")) {
          files.insert(entry.path());
        }
      }
    }
    return files;
  }
  /// Runs `nearfieldd --warm` as the daemon does, with further variables of the environment. Its last message.
  [[nodiscard]] json warm(const std::vector<std::string>& overrides, const std::string& environment) const {
    std::ofstream(folder_ / "request") << to_json(WarmRequest{folder_ / "nearfieldd.yaml", overrides, input()});
    std::ofstream(folder_ / "go_on") << "1";
    const std::string line = "env " + environment + " " + NEARFIELDD_BINARY + " --warm <" + (folder_ / "request") +
                             " 3<" + (folder_ / "go_on") + " >" + (folder_ / "messages") + " 2>>" + (folder_ / "log");
    EXPECT_EQ(std::system(line.c_str()), 0);
    std::ifstream messages(folder_ / "messages");
    std::string message;
    for (std::string next; std::getline(messages, next);) {
      message = next;
    }
    return json::parse(message);
  }
  /// What the fixture's capture delivers.
  [[nodiscard]] LiveInput input() const {
    LiveInput input;
    input.capture = CaptureReader(folder_ / "capture.h5").info();
    input.words_per_element = static_cast<std::size_t>(input.capture->words_per_bit_time);
    input.name = folder_ / "capture.h5";
    return input;
  }
  [[nodiscard]] bool has_child() const {
    for (const auto& entry : std::filesystem::directory_iterator("/proc")) {
      const std::string stat = test::file_text(entry.path() / "stat");
      const std::size_t name_end = stat.rfind(") ");
      int parent = 0;
      char state = 0;
      if (name_end != std::string::npos && (std::istringstream(stat.substr(name_end + 2)) >> state >> parent) &&
          parent == process_) {
        return true;
      }
    }
    return false;
  }
  /// The refusal of `ctl set`, its code and its words.
  [[nodiscard]] std::pair<ExitCode, std::string> refusal(const json& request) const {
    try {
      call(request);
    } catch (const Error& error) {
      return {error.exit_code(), error.what()};
    }
    return {ExitCode::kOk, "taken"};
  }
  [[nodiscard]] json status() const { return call({{"command", "status"}}); }
  void expect_frames_go_on() const {
    const json frames = status().at("frames");
    wait_until([&] { return status().at("frames") > frames; });
    EXPECT_EQ(status().at("epoch"), 1);
  }
};

json set_of(const std::string& setting) { return {{"command", "set"}, {"settings", {setting}}}; }

// PoCL compiles inside its workers, under one lock: what the daemon itself had to compile would stop its stream.
TEST_F(ConfiguratorTest, TheDaemonCompilesNothingThatItsChildDid) {
  start_live("", cold_caches());
  const std::string setting = "holography.upsample=2";
  const std::set<std::string> before = compiled();
  EXPECT_EQ(warm({"daemon.source.loop=true", setting}, cold_caches()), json({{"warmed", true}}));
  const std::set<std::string> by_child = compiled();
  EXPECT_GT(by_child.size(), before.size());
  EXPECT_GT(call(set_of(setting)).at("epoch"), 1);
  EXPECT_NO_THROW(call({{"command", "reload"}}));
  EXPECT_EQ(compiled(), by_child);
  EXPECT_EQ(stop(), 0);
}

TEST_F(ConfiguratorTest, AChildThatCrashesIsARefusal) {
  start_live("", "NEARFIELDD_FAULT=warm-crash");
  const auto [code, message] = refusal(set_of("medium.sound_speed_m_s=341"));
  EXPECT_EQ(code, ExitCode::kBadConfig);
  EXPECT_THAT(message, HasSubstr("signal 11"));
  expect_frames_go_on();
  EXPECT_EQ(stop(), 0);
}

TEST_F(ConfiguratorTest, AChildThatHangsIsARefusal) {
  start_live("", "NEARFIELDD_FAULT=warm-hang:1");
  const auto [code, message] = refusal(set_of("medium.sound_speed_m_s=341"));
  EXPECT_EQ(code, ExitCode::kBadConfig);
  EXPECT_THAT(message, HasSubstr("expected a configuration that is read and compiled within 1 s"));
  expect_frames_go_on();
  EXPECT_EQ(stop(), 0);
}

// Without it the test waits for the limit, ten minutes, and is ended by its own limit.
TEST_F(ConfiguratorTest, SigtermDoesNotWaitForTheChild) {
  start_live("", "NEARFIELDD_FAULT=warm-hang:600");
  auto set = std::async(std::launch::async, [this] { return refusal(set_of("medium.sound_speed_m_s=341")); });
  wait_until([this] { return has_child(); });
  kill(process_, SIGTERM);
  EXPECT_EQ(wait(), 0) << log();
  EXPECT_NE(set.get().first, ExitCode::kOk);
}

// So that the daemon refuses a configuration whose files have changed since the child tried them.
TEST_F(ConfiguratorTest, TheChildReportsTheFilesOfProcessorsToo) {
  start_live();
  const std::string points = folder_ / "points.csv";
  std::ofstream(points) << "0,0,0\n";
  EXPECT_EQ(warm({"daemon.source.loop=true", "processors.bent.kind=sonah", "processors.bent.surface=" + points}, ""),
            json({{"warmed", true}}));
  std::ifstream messages(folder_ / "messages");
  std::string first;
  std::getline(messages, first);
  std::set<std::string> files;
  const json message = json::parse(first);
  for (const json& stamp : message.at("loaded")) {
    files.insert(file_stamp_of(stamp).path);
  }
  EXPECT_EQ(files, (std::set<std::string>{folder_ / "nearfieldd.yaml", points}));
  EXPECT_EQ(stop(), 0);
}

// A float type of 0 bytes ended the daemon by a division by 0, whatever its child had found; a damaged exponent made
// images of 1e21 Pa.
TEST_F(ConfiguratorTest, DamagedCalibrationsAreRefused) {
  start_live();
  const std::string path = folder_ / "gains.h5";
  const ArrayGeometry array = CaptureReader(folder_ / "capture.h5").info().measurement.geometry;
  Calibration calibration{.geometry = array, .frequencies_hz = {1.0, 20000.0}, .gains = {}};
  calibration.gains.assign(2 * static_cast<std::size_t>(array.channels()), {1.0F, 0.0F});
  write_calibration(path, calibration);
  const std::string good = test::file_text(path);
  const std::string float64("\x11\x20\x3f\x00\x08\x00\x00\x00", 8);  // class, its bits, and the size of a type
  const std::size_t place = good.find(float64);
  ASSERT_NE(place, std::string::npos);
  int refused = 0;
  for (std::size_t at = place; at != std::string::npos; at = good.find(float64, at + 1)) {
    std::string bytes = good;
    bytes[at + 4] = 0;
    std::ofstream(path, std::ios::binary) << bytes;
    const ExitCode code = refusal(set_of("array.calibration=" + path)).first;
    EXPECT_TRUE(code == ExitCode::kBadData || code == ExitCode::kOk) << at << ": " << static_cast<int>(code);
    refused += code == ExitCode::kBadData ? 1 : 0;  // attributes that no daemon reads may be damaged
  }
  EXPECT_GE(refused, 1);
  calibration.gains[3] = {2e22F, 0.0F};
  write_calibration(path, calibration);
  const auto [code, words] = refusal(set_of("array.calibration=" + path));
  EXPECT_EQ(code, ExitCode::kBadData);
  EXPECT_THAT(words, HasSubstr("gain of microphone 3 at 1 Hz"));
  const json frames = status().at("frames");
  wait_until([&] { return status().at("frames") > frames; });
  EXPECT_EQ(stop(), 0);
}

TEST_F(ConfiguratorTest, FilesThatWouldBlockAreRefused) {
  start_live();
  ASSERT_EQ(mkfifo((folder_ / "fifo").c_str(), 0600), 0);
  const auto [of_set, calibration] = refusal(set_of("array.calibration=" + (folder_ / "fifo")));
  EXPECT_EQ(of_set, ExitCode::kNoInput);
  EXPECT_THAT(calibration, HasSubstr("expected a regular file"));
  std::filesystem::remove(folder_ / "nearfieldd.yaml");
  std::filesystem::rename(folder_ / "fifo", folder_ / "nearfieldd.yaml");
  const auto [of_reload, configuration] = refusal({{"command", "reload"}});
  EXPECT_EQ(of_reload, ExitCode::kNoInput);
  EXPECT_THAT(configuration, HasSubstr("expected a regular file"));
  expect_frames_go_on();
  EXPECT_EQ(stop(), 0);
}

}  // namespace
}  // namespace nearfield::daemon
