#include <gmock/gmock.h>
#include <grp.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <sys/time.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <stdexcept>
#include <thread>

#include "control/doctor/diagnosis.hpp"
#include "core/daemon_settings.hpp"
#include "core/system/limited_run.hpp"
#include "support/command.hpp"

/// The parts of `nearfield doctor`; the command itself is tested by tests/cli/doctor_test.py.
namespace nearfield::control {
namespace {

using State = Diagnosis::State;
using testing::EndsWith;
using testing::HasSubstr;

TEST(LimitedRunOfADoctor, GivesTheOutputOfWorkAndPrograms) {
  LimitedRun work([] { return std::string(100'000, 'x'); }, 10.0);
  LimitedRun program({"sh", "-c", "echo found; exit 3"}, 10.0);
  LimitedRun none({"no-such-program-of-nearfield"}, 10.0);
  const LimitedRun::Outcome of_work = work.wait();
  EXPECT_EQ(of_work.end, LimitedRun::End::kDone);
  EXPECT_EQ(of_work.output.size(), 100'000U);
  const LimitedRun::Outcome of_program = program.wait();
  EXPECT_EQ(of_program.output, "found\n");
  EXPECT_EQ(of_program.exit_code, 3);
  EXPECT_EQ(none.wait().exit_code, LimitedRun::kNotFound);
}

TEST(LimitedRunOfADoctor, EndsWorkThatHangsAndSeesWorkThatDies) {
  const auto start = std::chrono::steady_clock::now();
  LimitedRun late(
      [] {
        std::this_thread::sleep_for(std::chrono::hours(1));
        return std::string();
      },
      0.2);
  EXPECT_EQ(late.wait().end, LimitedRun::End::kLate);
  EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::seconds(60));
  LimitedRun dying(
      []() -> std::string {
        std::raise(SIGKILL);
        return "";
      },
      10.0);
  const LimitedRun::Outcome death = dying.wait();
  EXPECT_EQ(death.end, LimitedRun::End::kDied);
  EXPECT_EQ(death.ending(), "was ended by signal 9 (Killed)");
  LimitedRun throwing([]() -> std::string { throw std::runtime_error("no"); }, 10.0);
  EXPECT_EQ(throwing.wait().ending(), "ended with exit code 1");
}

TEST(LimitedRunOfADoctor, EndsWhatItsProgramHasStarted) {
  std::array<int, 2> ends{};
  ASSERT_EQ(pipe(ends.data()), 0);  // both processes hold its other end
  LimitedRun late({"sh", "-c", "sleep 3600 & sleep 3600"}, 0.5);
  close(ends[1]);
  EXPECT_EQ(late.wait().end, LimitedRun::End::kLate);
  pollfd held{.fd = ends[0], .events = POLLIN, .revents = 0};
  constexpr int kTimeoutMs = 60'000;
  EXPECT_EQ(poll(&held, 1, kTimeoutMs), 1) << "a process that holds the pipe is left";
  EXPECT_TRUE(held.revents & POLLHUP);
  close(ends[0]);
}

TEST(LimitedRunOfADoctor, EndsAtARequestAndOutlivesSignals) {
  LimitedRun stopped({"sleep", "3600"}, 3600.0);
  EXPECT_EQ(stopped.wait([] { return true; }).end, LimitedRun::End::kLate);
  const auto before = std::signal(SIGALRM, [](int) {});
  const itimerval often{.it_interval = {.tv_sec = 0, .tv_usec = 20'000}, .it_value = {.tv_sec = 0, .tv_usec = 20'000}};
  ASSERT_EQ(setitimer(ITIMER_REAL, &often, nullptr), 0);
  LimitedRun interrupted({"sh", "-c", "sleep 0.3; echo done"}, 60.0);
  EXPECT_EQ(interrupted.wait().output, "done\n");
  const itimerval never{};
  setitimer(ITIMER_REAL, &never, nullptr);
  std::signal(SIGALRM, before);
}

TEST(DriversOfADoctor, AreNotBlamedForEveryEnd) {
  const auto diagnosis = [](const LimitedRun::Outcome& outcome) {
    return drivers_diagnosis(nlohmann::json(), outcome);
  };
  EXPECT_THAT(diagnosis({.end = LimitedRun::End::kLate, .output = ""}).found, HasSubstr("time limit"));
  EXPECT_THAT(diagnosis({.end = LimitedRun::End::kDied, .signal = SIGSEGV, .output = ""}).found,
              HasSubstr("signal 11"));
  const Diagnosis ours = diagnosis({.end = LimitedRun::End::kDone, .exit_code = 1, .output = ""});
  EXPECT_THAT(ours.found, HasSubstr("exit code 1"));
  EXPECT_THAT(ours.mend, testing::Not(HasSubstr("move")));
}

TEST(DiagnosisOfFindings, IsAsBadAsTheWorstAndHasEveryCure) {
  const Diagnosis none = diagnosis_of("ports", {}, "free", "free ports");
  EXPECT_EQ(none.state, State::kOk);
  EXPECT_EQ(none.found, "free");
  const Diagnosis both = diagnosis_of(
      "ports",
      {{Finding::Kind::kProblem, "a: expected b, found c; do this; or that"}, {Finding::Kind::kNote, "d: taken"}},
      "free", "free ports");
  EXPECT_EQ(both.state, State::kFail);
  EXPECT_EQ(both.found, "a: expected b, found c\nd: taken");
  EXPECT_EQ(both.mend, "do this; or that");
  EXPECT_EQ(diagnosis_of("ports", {{Finding::Kind::kNote, "d"}}, "free", "").state, State::kWarn);
}

class FakeMachine : public testing::Test {
 protected:
  void write(const std::string& path, const std::string& text) const {
    const std::filesystem::path file = files_.root / path;
    std::filesystem::create_directories(file.parent_path());
    std::ofstream(file) << text << "\n";
  }
  test::TemporaryFolder folder_;
  MachineFiles files_{.root = folder_.path()};
};

TEST_F(FakeMachine, GovernorsThatLowerTheClockWarn) {
  EXPECT_EQ(governor_diagnosis(files_).state, State::kOk);
  write("sys/devices/system/cpu/cpu0/cpufreq/scaling_governor", "performance");
  EXPECT_EQ(governor_diagnosis(files_).state, State::kOk);
  write("sys/devices/system/cpu/cpu1/cpufreq/scaling_governor", "powersave");
  const Diagnosis diagnosis = governor_diagnosis(files_);
  EXPECT_EQ(diagnosis.state, State::kWarn);
  EXPECT_EQ(diagnosis.found, "performance, powersave");
  EXPECT_THAT(diagnosis.mend, HasSubstr("cpupower"));
}

TEST_F(FakeMachine, HugePagesThatAreOffWarn) {
  write("sys/kernel/mm/transparent_hugepage/enabled", "always [madvise] never");
  EXPECT_EQ(huge_pages_diagnosis(files_).state, State::kOk);
  EXPECT_EQ(huge_pages_diagnosis(files_).found, "madvise");
  write("sys/kernel/mm/transparent_hugepage/enabled", "always madvise [never]");
  EXPECT_EQ(huge_pages_diagnosis(files_).state, State::kWarn);
}

TEST_F(FakeMachine, SlowSourcesAndStepsOfTheClockWarn) {
  write("sys/devices/system/clocksource/clocksource0/current_clocksource", "hpet");
  const Diagnosis diagnosis = clock_diagnosis(files_, 0.5);
  EXPECT_EQ(diagnosis.state, State::kWarn);
  EXPECT_THAT(diagnosis.found, HasSubstr("hpet"));
  EXPECT_THAT(diagnosis.found, HasSubstr("stepped by 0.500 s"));
  EXPECT_THAT(diagnosis.mend, HasSubstr("dmesg"));
}

TEST_F(FakeMachine, DeviceFilesOfGpusAreListed) {
  EXPECT_EQ(permissions_diagnosis(files_).found, "no device file of a GPU");
  write("dev/dri/renderD128", "");
  write("dev/dri/card0", "");
  write("dev/nvidia0", "");
  write("dev/nvidia-modeset", "");
  const Diagnosis diagnosis = permissions_diagnosis(files_);
  EXPECT_EQ(diagnosis.state, State::kOk);
  EXPECT_EQ(std::count(diagnosis.found.begin(), diagnosis.found.end(), '\n'), 1) << diagnosis.found;
}

/// In a process that is not root's, which every file is open to.
nlohmann::json permissions_of_a_user(const MachineFiles& files) {
  constexpr uid_t kNobody = 65534;
  LimitedRun child(
      [&files] {
        if (geteuid() == 0 && (setgroups(0, nullptr) != 0 || setgid(kNobody) != 0 || setuid(kNobody) != 0)) {
          return std::string();
        }
        return to_json(permissions_diagnosis(files)).dump();
      },
      60.0);
  return nlohmann::json::parse(child.wait().output);
}

TEST_F(FakeMachine, OnlyAGroupThatMayUseADeviceIsNamed) {
  write("dev/nvidia0", "");
  const std::filesystem::path device = files_.root / "dev" / "nvidia0";
  constexpr auto kOpen = static_cast<std::filesystem::perms>(0755);
  for (std::filesystem::path folder = device.parent_path(); folder != files_.root.parent_path();
       folder = folder.parent_path()) {
    std::filesystem::permissions(folder, kOpen);
  }
  std::filesystem::permissions(device, std::filesystem::perms::none);
  const nlohmann::json closed = permissions_of_a_user(files_);
  EXPECT_EQ(closed.at("state"), "warn");
  EXPECT_THAT(closed.at("mend").get<std::string>(), HasSubstr("udev rule give " + device.string()));
  EXPECT_THAT(closed.at("mend").get<std::string>(), testing::Not(HasSubstr("usermod")));
  if (geteuid() == 0) {  // who can give a file away
    std::filesystem::permissions(device, static_cast<std::filesystem::perms>(0660));
    EXPECT_THAT(permissions_of_a_user(files_).at("mend").get<std::string>(), testing::Not(HasSubstr("root")));
    ASSERT_EQ(chown(device.c_str(), 0, 44), 0);  // video in Debian
    EXPECT_THAT(permissions_of_a_user(files_).at("mend").get<std::string>(), testing::StartsWith("usermod -aG "));
  }
}

TEST_F(FakeMachine, ACacheNeedsAFolderThatCanBeMade) {
  EXPECT_EQ(cache_diagnosis({.folder = files_.root / "not" / "yet", .variable = "NEARFIELD_CACHE_DIR"}).state,
            State::kOk);
  const Diagnosis missing = cache_diagnosis({.folder = "/proc/version/cache", .variable = "POCL_CACHE_DIR"});
  EXPECT_EQ(missing.state, State::kWarn);
  EXPECT_EQ(missing.mend, "install -d -o USER /proc/version/cache, or set POCL_CACHE_DIR to a folder of this user");
  EXPECT_EQ(cache_diagnosis({.folder = "/proc/version", .variable = "NEARFIELD_CACHE_DIR"}).mend,
            "chown USER /proc/version, or set NEARFIELD_CACHE_DIR to a folder of this user");
  EXPECT_EQ(cache_diagnosis({.folder = "", .variable = "NEARFIELD_CACHE_DIR"}).state, State::kWarn);
  const Diagnosis full =
      cache_diagnosis({.folder = files_.root / "not", .variable = "POCL_CACHE_DIR", .free_bytes = 1'500'000});
  EXPECT_EQ(full.state, State::kWarn);
  EXPECT_THAT(full.found, EndsWith("not: 1.5 MB free"));
  EXPECT_EQ(full.mend,
            "df -h " + files_.root.string() + "; make room there, or set POCL_CACHE_DIR to a folder on another disk");
  const Diagnosis off = cache_diagnosis({.folder = "", .variable = "NEARFIELD_CACHE_DIR", .is_switched_off = true});
  EXPECT_EQ(off.state, State::kWarn);
  EXPECT_THAT(off.found, HasSubstr("switched off"));
}

TEST(DiskOfADoctor, MustTakeTheRateOfWhatIsRecorded) {
  Settings settings;
  settings.daemon->recording.directory = "/somewhere";
  settings.daemon->recording.what = DaemonSettings::RecordWhat::kBits;
  EXPECT_DOUBLE_EQ(recorded_bytes_per_s(settings), 1.5e6 * 32 * 4);  // 1,024 bits are 32 words
  settings.daemon->recording.what = DaemonSettings::RecordWhat::kBoth;
  settings.front_end.frequencies_hz = {1000.0, 2000.0};
  settings.front_end.hop_samples = 512;
  const double frames_hz = settings.array.clock_hz / settings.front_end.decimation / 512;
  const double of_a_frame = 2.0 * static_cast<double>(settings.holography.planes_m.size()) * 1024 * 8;
  EXPECT_DOUBLE_EQ(recorded_bytes_per_s(settings), 1.5e6 * 32 * 4 + frames_hz * of_a_frame);
  /// A further processor whose frames, of every fifth hop, are ten megabytes.
  struct Large : KindSettings {
    [[nodiscard]] std::unique_ptr<KindSettings> copy() const override { return std::make_unique<Large>(*this); }
    [[nodiscard]] double frame_bytes(const Settings& /*settings*/) const override { return 1e7; }
  };
  ProcessorSettings& large = settings.processors.emplace_back();
  large.name = "large";
  large.every_hops = 5;
  large.own = std::make_unique<Large>();
  EXPECT_DOUBLE_EQ(recorded_bytes_per_s(settings), 1.5e6 * 32 * 4 + frames_hz * (of_a_frame + 1e7 / 5));
  settings.holography.imager = ImagerKind::kNone;
  EXPECT_DOUBLE_EQ(recorded_bytes_per_s(settings), 1.5e6 * 32 * 4 + frames_hz * 1e7 / 5);
  settings.processors.clear();
  settings.daemon->recording.what = DaemonSettings::RecordWhat::kBits;
  const nlohmann::json fast = {{"free_bytes", 1e12}, {"problem", ""}, {"written_bytes", 64e6}, {"seconds", 0.1}};
  EXPECT_EQ(disk_diagnosis(settings, fast, {}).state, State::kOk);
  const nlohmann::json slow = {{"free_bytes", 1e12}, {"problem", ""}, {"written_bytes", 64e6}, {"seconds", 1.0}};
  EXPECT_EQ(disk_diagnosis(settings, slow, {}).state, State::kWarn);
  settings.daemon->recording.trigger = DaemonSettings::Trigger::kLevel;
  EXPECT_EQ(disk_diagnosis(settings, slow, {}).state, State::kFail);
  EXPECT_EQ(disk_diagnosis(settings, nlohmann::json(), {}).state, State::kFail);
  settings.daemon->recording.directory.clear();
  EXPECT_EQ(disk_diagnosis(settings, nlohmann::json(), {}).state, State::kOk);
}

}  // namespace
}  // namespace nearfield::control
