#include "cl/measured_choice.hpp"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <spawn.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <csignal>
#include <fstream>
#include <optional>
#include <set>
#include <sstream>
#include <thread>

#include "cl/cache_files.hpp"
#include "support/command.hpp"
#include "support/environment.hpp"

extern char** environ;

namespace nearfield::ocl {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kKernels[] = {"frontend/common/corner_turn.cl"};
constexpr std::string_view kOtherKernels[] = {"frontend/window_samples.cl"};

ChoiceQuestion question() {
  return {.stage = "test",
          .kernels = kKernels,
          .sizes = {{"CHANNELS", "32"}},
          .ways = {"one", "two", "three"},
          .by_rule = 1};
}

std::string text_of(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  std::stringstream text;
  text << file.rdbuf();
  return text.str();
}

/// A limit on the size of files stands for the full disk: writing fails in the same way.
class FullDisk {
 public:
  FullDisk() : handler_(std::signal(SIGXFSZ, SIG_IGN)) {
    getrlimit(RLIMIT_FSIZE, &before_);
    rlimit small = before_;
    small.rlim_cur = 16;
    setrlimit(RLIMIT_FSIZE, &small);
  }
  FullDisk(const FullDisk&) = delete;
  FullDisk& operator=(const FullDisk&) = delete;
  ~FullDisk() {
    setrlimit(RLIMIT_FSIZE, &before_);
    std::signal(SIGXFSZ, handler_);
  }

 private:
  void (*handler_)(int);
  rlimit before_{};
};

/// A folder of the test's own for choices, named by the environment: what this process has chosen with another folder
/// does not count.
class MeasuredChoice : public testing::Test {
 protected:
  /// Chooses, where a measurement would find this way, and counts the measurements.
  Choice choose(std::size_t fastest, const ChoiceQuestion& asked = question()) {
    return choose_once(device_, asked, [&] {
      ++measurements_;
      return fastest;
    });
  }
  [[nodiscard]] fs::path file(const ChoiceQuestion& asked = question()) const { return choice_file(device_, asked); }
  /// Puts a valid file under the key of the question's file.
  void plant(const std::string& way) const {
    const std::string name = file().stem();
    CacheKey key;
    for (std::size_t i = 0; i < key.bytes.size(); ++i) {
      key.bytes[i] = static_cast<std::uint8_t>(std::stoi(name.substr(2 * i, 2), nullptr, 16));
    }
    const CacheFiles files(choices_folder());
    ASSERT_EQ(files.path_of(key), file());
    files.store(key, std::vector<unsigned char>(way.begin(), way.end()));
  }
  const test::TemporaryFolder folder_;
  const test::Variable variable_{"NEARFIELD_CACHE_DIR", folder_ / "cache"};
  const Device device_ = Device::open({});
  int measurements_ = 0;
};

TEST_F(MeasuredChoice, IsMeasuredOnceAndKept) {
  const Choice first = choose(2);
  EXPECT_EQ(first.way, 2U);
  EXPECT_EQ(first.origin, ChoiceOrigin::kMeasured);
  EXPECT_TRUE(fs::is_regular_file(file()));
  EXPECT_EQ(fs::status(file()).permissions() & (fs::perms::group_all | fs::perms::others_all), fs::perms::none);
  const Choice second = choose(0);
  EXPECT_EQ(second.way, 2U);
  EXPECT_EQ(second.origin, ChoiceOrigin::kRemembered);
  fs::remove_all(choices_folder());
  EXPECT_EQ(choose(0).way, 2U) << "this process has chosen, whatever is on disk";
  EXPECT_EQ(measurements_, 1);
}

TEST_F(MeasuredChoice, IsWhatTheFileSays) {
  plant("three");
  const Choice planted = choose(0);
  EXPECT_EQ(planted.way, 2U);
  EXPECT_EQ(planted.origin, ChoiceOrigin::kRemembered);
  EXPECT_EQ(measurements_, 0);
}

TEST_F(MeasuredChoice, AFileThatNamesNoWayIsReportedAndReplaced) {
  plant("four");
  testing::internal::CaptureStdout();
  const Choice found = choose(0);
  const std::string said = testing::internal::GetCapturedStdout();
  EXPECT_THAT(said, testing::HasSubstr("holds no choice"));
  EXPECT_THAT(said, testing::HasSubstr(file().string()));
  EXPECT_EQ(found.way, 0U);
  EXPECT_EQ(found.origin, ChoiceOrigin::kMeasured);
  EXPECT_THAT(text_of(file()), testing::EndsWith("one"));
}

TEST_F(MeasuredChoice, ADamagedFileIsReportedAndReplaced) {
  plant("three");
  std::string damaged = text_of(file());
  damaged.back() ^= 1;
  std::ofstream(file(), std::ios::binary) << damaged;
  testing::internal::CaptureStdout();
  EXPECT_EQ(choose(0).origin, ChoiceOrigin::kMeasured);
  EXPECT_THAT(testing::internal::GetCapturedStdout(), testing::HasSubstr(file().string()));
  EXPECT_THAT(text_of(file()), testing::EndsWith("one"));
}

TEST_F(MeasuredChoice, IsAnotherForOtherSizesWaysKernelsAndStages) {
  std::set<fs::path> files = {file()};
  ChoiceQuestion asked = question();
  asked.sizes["CHANNELS"] = "64";
  files.insert(file(asked));
  asked = question();
  asked.ways.pop_back();
  files.insert(file(asked));
  asked = question();
  asked.kernels = kOtherKernels;
  files.insert(file(asked));
  asked = question();
  asked.stage = "another";
  files.insert(file(asked));
  EXPECT_EQ(files.size(), 5U);
  asked = question();
  asked.by_rule = 0;
  EXPECT_TRUE(files.contains(file(asked))) << "the rule has no part in what is measured";
}

TEST_F(MeasuredChoice, IsTheRulesWhereNothingCanBeKept) {
  const std::string in_the_way = folder_ / "file";
  std::ofstream(in_the_way) << "x";
  for (const std::string& place : {std::string(), in_the_way + "/cache", std::string("/proc/self")}) {
    const test::Variable there("NEARFIELD_CACHE_DIR", place);
    for (int i = 0; i < 2; ++i) {
      const Choice found = choose(2);
      EXPECT_EQ(found.way, 1U) << place;
      EXPECT_EQ(found.origin, i == 0 ? ChoiceOrigin::kRule : ChoiceOrigin::kRemembered) << place;
    }
  }
  EXPECT_EQ(measurements_, 0) << "in vain";
}

TEST_F(MeasuredChoice, IsTheRulesWhereAFileOfNoUseCannotBeReplaced) {
  plant("four");
  std::optional<FullDisk> full;
  const Choice found = choose_once(device_, question(), [&] {
    full.emplace();
    return std::size_t{2};
  });
  full.reset();
  EXPECT_EQ(found.way, 1U);
  EXPECT_EQ(found.origin, ChoiceOrigin::kRule);
  EXPECT_THAT(text_of(file()), testing::EndsWith("four"));
  EXPECT_EQ(choose(2).way, 1U) << "engines of one process agree";
  EXPECT_EQ(measurements_, 0);
}

TEST_F(MeasuredChoice, IsTheRulesAndNotStoredWhereEveryWayFails) {
  const Choice found = choose_once(device_, question(), [] { return std::nullopt; });
  EXPECT_EQ(found.way, 1U);
  EXPECT_EQ(found.origin, ChoiceOrigin::kRule);
  EXPECT_FALSE(fs::exists(file()));
  EXPECT_EQ(choose(2).way, 1U) << "engines of one process agree";
  EXPECT_EQ(measurements_, 0);
}

TEST_F(MeasuredChoice, ThreadsMeasureOnce) {
  std::atomic<int> measurements = 0;
  std::array<std::size_t, 8> ways{};
  std::vector<std::thread> threads;
  for (std::size_t i = 0; i < ways.size(); ++i) {
    threads.emplace_back([&, i] {
      ways[i] = choose_once(device_, question(), [&] {
                  ++measurements;
                  return i % 3;
                }).way;
    });
  }
  for (std::thread& thread : threads) {
    thread.join();
  }
  EXPECT_EQ(measurements, 1);
  EXPECT_EQ(std::set<std::size_t>(ways.begin(), ways.end()).size(), 1U);
}

// While this process measures, another one stores its own choice: that one holds.
TEST_F(MeasuredChoice, TheFirstToBeStoredHolds) {
  const Choice found = choose_once(device_, question(), [&] {
    plant("three");
    return 0;
  });
  EXPECT_EQ(found.way, 2U);
  EXPECT_EQ(found.origin, ChoiceOrigin::kRemembered);
  EXPECT_THAT(text_of(file()), testing::EndsWith("three"));
}

// Also what the processes of the next test run: each would choose by its own number.
TEST(MeasuredChoiceProcess, WritesWhatItChose) {
  const test::TemporaryFolder folder;
  const char* given = std::getenv("NEARFIELD_TEST_CHOICES");
  const fs::path root = given == nullptr ? fs::path(folder.path()) : fs::path(given);
  const test::Variable variable("NEARFIELD_CACHE_DIR", (root / "cache").string());
  const Device device = Device::open({});
  const Choice found = choose_once(device, question(), [] { return static_cast<std::size_t>(getpid()) % 3; });
  std::ofstream(root / fmt::format("chosen.{}", getpid())) << found.way;
  EXPECT_LT(found.way, 3U);
}

TEST_F(MeasuredChoice, IsTheSameInProcessesThatStartTogether) {
  const test::Variable shards("GTEST_TOTAL_SHARDS", std::nullopt);  // they run their test whichever shard this is
  const test::Variable shard("GTEST_SHARD_INDEX", std::nullopt);
  const test::Variable root("NEARFIELD_TEST_CHOICES", folder_.path());
  std::array<pid_t, 6> processes{};
  std::string program = fs::read_symlink("/proc/self/exe");
  std::string filter = "--gtest_filter=MeasuredChoiceProcess.*";
  std::array<char*, 3> arguments = {program.data(), filter.data(), nullptr};
  for (pid_t& process : processes) {
    ASSERT_EQ(posix_spawn(&process, program.c_str(), nullptr, nullptr, arguments.data(), environ), 0);
  }
  std::set<std::string> chosen;
  for (const pid_t process : processes) {
    int status = -1;
    ASSERT_EQ(waitpid(process, &status, 0), process);
    EXPECT_EQ(status, 0);
    chosen.insert(text_of(folder_ / fmt::format("chosen.{}", process)));
  }
  EXPECT_EQ(chosen.size(), 1U) << testing::PrintToString(chosen);
  EXPECT_NE(*chosen.begin(), "");
}

}  // namespace
}  // namespace nearfield::ocl
