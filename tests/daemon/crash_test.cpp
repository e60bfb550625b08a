#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <array>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <filesystem>
#include <fstream>
#include <memory>
#include <sstream>
#include <string>
#include <vector>

#include "control/crash/crash_report.hpp"
#include "daemon/nearfieldd_process.hpp"

namespace nearfield {
namespace {

using test::NearfielddTest;
using testing::AllOf;
using testing::ContainsRegex;
using testing::HasSubstr;
using testing::Not;

// GCC has macros for its sanitizers, clang has features.
#if defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define NEARFIELD_TEST_HAS_SANITIZER
#endif
#endif
#if defined(NEARFIELD_TEST_HAS_SANITIZER) || defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
constexpr bool kHasSanitizer = true;  // whose handlers of SIGSEGV stay
#else
constexpr bool kHasSanitizer = false;
#endif

class CrashTest : public NearfielddTest {
 protected:
  [[nodiscard]] std::string state() const { return "XDG_STATE_HOME=" + (folder_ / "state"); }
  [[nodiscard]] std::filesystem::path crashes() const { return folder_ / "state/nearfield/crashes"; }
  /// All reports there.
  [[nodiscard]] std::vector<std::filesystem::path> reports() const {
    std::vector<std::filesystem::path> found;
    if (std::filesystem::exists(crashes())) {
      for (const auto& entry : std::filesystem::directory_iterator(crashes())) {
        found.push_back(entry.path());
      }
    }
    return found;
  }
};

/// What addr2line makes of a report's line "MODULE(FUNCTION+0xOFFSET) [0xADDRESS]", in which the function, and before
/// glibc 2.41 the blank, are missing.
std::string function_of(const std::string& line) {
  const std::size_t open = line.rfind('(');
  const std::size_t begin = line.find_first_not_of("(+", open);
  const std::string place = line.substr(begin, line.rfind(')') - begin);
  const std::string command = "addr2line -Cfie " + line.substr(0, open) + " " + place + " 2>&1";
  const std::unique_ptr<FILE, int (*)(FILE*)> pipe(popen(command.c_str(), "r"), pclose);
  std::string output;
  std::array<char, 1024> chunk{};
  while (const std::size_t count = std::fread(chunk.data(), 1, chunk.size(), pipe.get())) {
    output.append(chunk.data(), count);
  }
  return output;
}

TEST_F(CrashTest, ACrashLeavesABacktrace) {
  const int code = run("", "NEARFIELDD_FAULT=crash:5 " + state());
  if (kHasSanitizer) {
    EXPECT_NE(code, 0);
    EXPECT_THAT(log(), HasSubstr("Sanitizer"));
    EXPECT_TRUE(reports().empty());
    return;
  }
  EXPECT_EQ(code, 128 + SIGSEGV);
  ASSERT_EQ(reports().size(), 1U);
  EXPECT_EQ(control::newest_crash({crashes()}), reports().front());
  const std::string report = test::file_text(reports().front());
  EXPECT_THAT(report,
              AllOf(HasSubstr("nearfieldd "), HasSubstr(" crashed: SIGSEGV (Segmentation fault) at address 0x10\n"),
                    HasSubstr(", thread nf-engine (")));
  EXPECT_THAT(report, ContainsRegex("\\(_ZN9nearfield6daemon6Daemon10run_engineE[^ ]*\\+0x[0-9a-f]+\\) ?\\["))
      << "the name of an exported function, without addr2line";
  std::string functions;
  std::istringstream lines(report);
  for (std::string line; std::getline(lines, line);) {
    EXPECT_THAT(log(), HasSubstr(line)) << "the same on stderr";
    functions += line.ends_with(']') ? function_of(line) : "";
  }
  EXPECT_THAT(functions, AllOf(HasSubstr("write_to_nowhere"), HasSubstr("Daemon::run_engine"))) << report;
  EXPECT_EQ(std::filesystem::status(reports().front()).permissions(),
            std::filesystem::perms::owner_read | std::filesystem::perms::owner_write);
}

// The handler cannot run on the stack that is full.
TEST_F(CrashTest, AnOverflowOfTheEnginesStackLeavesAReport) {
  if (kHasSanitizer) {
    return;  // sanitizers have reports of their own
  }
  EXPECT_EQ(run("", "NEARFIELDD_FAULT=overflow:5 " + state()), 128 + SIGSEGV);
  ASSERT_EQ(reports().size(), 1U) << log();
  EXPECT_THAT(test::file_text(reports().front()),
              AllOf(HasSubstr(" crashed: SIGSEGV "), HasSubstr(", thread nf-engine ("), HasSubstr("names: c++filt")));
}

// PoCL's compiler has put a handler of its own there while the daemon started.
TEST_F(CrashTest, ASignalOfAnotherProcessIsNamed) {
  start_live("", state());
  kill(process_, SIGABRT);  // sanitizers leave it
  EXPECT_EQ(wait(), 128 + SIGABRT);
  ASSERT_EQ(reports().size(), 1U);
  EXPECT_THAT(test::file_text(reports().front()),
              HasSubstr("crashed: SIGABRT (Aborted) sent by process " + std::to_string(getpid()) + "\n"));
}

// The report's file is a pipe that nobody reads: the report never ends. The frame that crashed never ends either, and
// the frame watch, which ends the process with 75 after 3 s, leaves it to the report's own limit of 10 s.
TEST_F(CrashTest, AHungFrameDoesNotCutTheReport) {
  if (kHasSanitizer) {
    return;  // sanitizers have reports of their own
  }
  constexpr int kSeconds = 9;  // as many reports are kept
  const std::string go = folder_ / "go";
  start("--set daemon.deadlines.frame_ms=3000", "NEARFIELDD_FAULT=crash:5 " + state() + " sh -c 'until [ -e " + go +
                                                    " ]; do sleep 0.01; done; exec \"$0\" \"$@\"'");
  std::filesystem::create_directories(crashes());
  for (int second = 0; second < kSeconds; ++second) {
    const std::time_t time = std::time(nullptr) + second;
    std::tm fields{};
    gmtime_r(&time, &fields);
    std::array<char, 32> text{};
    std::strftime(text.data(), text.size(), "%Y%m%dT%H%M%SZ", &fields);
    const std::string name = std::string("crash_") + text.data() + "_" + std::to_string(process_) + ".txt";
    ASSERT_EQ(mkfifo((crashes() / name).c_str(), S_IRUSR | S_IWUSR), 0);
  }
  std::ofstream(go) << "go";
  EXPECT_EQ(wait(), 128 + SIGALRM) << log();
  EXPECT_THAT(log(), Not(HasSubstr("a frame has not ended")));
}

TEST_F(CrashTest, OnlyTheNewestReportsAreKept) {
  std::filesystem::create_directories(crashes());
  const auto now = std::filesystem::file_time_type::clock::now();
  for (int i = 0; i < 15; ++i) {
    const std::filesystem::path report = crashes() / ("crash_20200101T000000Z_" + std::to_string(i) + ".txt");
    std::ofstream(report) << "x";
    std::filesystem::last_write_time(report, now - std::chrono::hours(1 + i));
  }
  std::ofstream(crashes() / "notes.txt") << "mine";
  EXPECT_EQ(run("--frames 1", state()), 0) << log();
  EXPECT_EQ(reports().size(), 9U + 1U);
  EXPECT_TRUE(std::filesystem::exists(crashes() / "notes.txt"));
  EXPECT_TRUE(std::filesystem::exists(crashes() / "crash_20200101T000000Z_8.txt"));
  EXPECT_FALSE(std::filesystem::exists(crashes() / "crash_20200101T000000Z_9.txt"));
}

TEST_F(CrashTest, NothingIsWrittenWithoutACrash) {
  EXPECT_EQ(run("--frames 1", state()), 0) << log();
  EXPECT_FALSE(std::filesystem::exists(folder_ / "state"));
}

TEST_F(CrashTest, TheNewestOfAllServicesIsFound) {
  const std::filesystem::path state = folder_ / "lib";
  const auto plant = [&](const std::string& service, const std::string& name, std::chrono::hours age) {
    std::filesystem::path file = state / service / "crashes" / name;
    std::filesystem::create_directories(file.parent_path());
    std::ofstream(file) << service;
    std::filesystem::last_write_time(file, std::filesystem::file_time_type::clock::now() - age);
    return file;
  };
  plant("nearfield", "crash_20260103T000000Z_1.txt", std::chrono::hours(3));
  const std::filesystem::path newest = plant("nearfield-left", "crash_20260101T000000Z_2.txt", std::chrono::hours(2));
  plant("nearfield-right", "notes.txt", std::chrono::hours(1));
  plant("nearfielder", "crash_20260104T000000Z_4.txt", std::chrono::hours(1));
  std::vector<std::filesystem::path> folders = control::crash_folders_of_services(state);
  EXPECT_EQ(folders, (std::vector<std::filesystem::path>{state / "nearfield/crashes", state / "nearfield-left/crashes",
                                                         state / "nearfield-right/crashes"}));
  EXPECT_EQ(control::newest_crash(folders), newest);
  folders.emplace_back();  // where no variable names a folder
  folders.push_back(state / "none");
  EXPECT_EQ(control::newest_crash(folders), newest);
  EXPECT_TRUE(control::newest_crash({state / "none"}).empty());
  EXPECT_TRUE(control::crash_folders_of_services(state / "none").empty());
}

TEST(CrashFolder, IsTheServicesOrTheUsers) {
  const auto folder_with = [](const char* state, const char* xdg, const char* home) {
    setenv("STATE_DIRECTORY", state, 1);
    setenv("XDG_STATE_HOME", xdg, 1);
    setenv("HOME", home, 1);
    return control::crash_folder().string();
  };
  const char* const before = std::getenv("HOME");
  const std::string home = before == nullptr ? "" : before;
  EXPECT_EQ(folder_with("/var/lib/nearfield:/var/lib/more", "/x", "/h"), "/var/lib/nearfield/crashes");
  EXPECT_EQ(folder_with("", "/x", "/h"), "/x/nearfield/crashes");
  EXPECT_EQ(folder_with("", "relative", "/h"), "/h/.local/state/nearfield/crashes");
  EXPECT_EQ(folder_with("", "", ""), "");
  unsetenv("STATE_DIRECTORY");
  unsetenv("XDG_STATE_HOME");
  setenv("HOME", home.c_str(), 1);
}

}  // namespace
}  // namespace nearfield
