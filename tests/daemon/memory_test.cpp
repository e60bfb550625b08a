#include <gtest/gtest.h>

#include <chrono>
#include <fstream>
#include <nlohmann/json.hpp>
#include <numeric>
#include <regex>
#include <thread>

#include "daemon/nearfieldd_process.hpp"
#include "support/sanitizers.hpp"

namespace nearfield {
namespace {

using nlohmann::json;
using test::kHasSanitizer;

/// config/nearfieldd.yaml, with sockets and ports of its own.
class MemoryOfTheDefaultTest : public test::NearfielddTest {
 protected:
  void SetUp() override {
    const std::string yaml = test::file_text(NEARFIELD_SOURCE_DIR "/config/nearfieldd.yaml");
    ASSERT_FALSE(yaml.empty());
    std::ofstream(folder_ / "nearfieldd.yaml") << yaml;
    start_default();
  }
  void start_default() {
    start("--set daemon.publish.ring.socket=" + (folder_ / "frames.sock") + " --set daemon.control.socket=" +
          (folder_ / "control.sock") + " --set daemon.recording.directory=" + folder_.path() +
          " --set daemon.source.address=127.0.0.1:0 --set daemon.metrics.address=off --set daemon.page.address=off");
    wait_until([&] { return call({{"command", "status"}}).contains("memory"); });
  }
  [[nodiscard]] json memory() const { return call({{"command", "status"}}).at("memory"); }
};

double sum_of_parts(const json& memory) {
  double sum_bytes = 0.0;
  for (const json& bytes : memory.at("parts_bytes")) {
    sum_bytes += bytes.get<double>();
  }
  return sum_bytes;
}

/// Of the process, as the kernel says it to others.
double resident_bytes(pid_t process) {
  const std::string status = test::file_text("/proc/" + std::to_string(process) + "/status");
  std::smatch found;
  return std::regex_search(status, found, std::regex(R"(VmRSS:\s+(\d+) kB)")) ? 1024.0 * std::stod(found[1]) : 0.0;
}

/// Waits until a process has given back what it needed for its start, so that two readings of its memory mean the same.
void wait_for_rest(pid_t process) {
  constexpr int kMostReadings = 100;
  double before = 0.0;
  for (int i = 0; i < kMostReadings && before != resident_bytes(process); ++i) {
    before = resident_bytes(process);
    std::this_thread::sleep_for(std::chrono::milliseconds(200));
  }
}

TEST_F(MemoryOfTheDefaultTest, IsStatedByPart) {
  // A start that compiles keeps what the compiler has allocated, partly on threads of the driver.
  ASSERT_EQ(stop(), 0);
  start_default();
  wait_for_rest(process_);
  const json at_start = memory();
  const json& parts = at_start.at("parts_bytes");
  EXPECT_EQ(sum_of_parts(at_start), at_start.at("total_bytes").get<double>());
  EXPECT_NEAR(at_start.at("total_bytes").get<double>(), resident_bytes(process_), 0.02 * resident_bytes(process_));
  // 2^20 bit-times of 1024 microphones, the default of daemon.source.ring_bit_times.
  EXPECT_EQ(parts.at("ring"), (std::uint64_t{1} << 20U) * 1024 / 8);
  EXPECT_EQ(parts.at("history"), 0);
  EXPECT_GT(parts.at("driver"), 1'000'000);
  EXPECT_GT(parts.at("device_buffers"), 1'000'000) << "the staging memory of the host, at least";
  EXPECT_GT(parts.at("program"), 1'000'000);
  EXPECT_GT(parts.at("own"), 1'000'000);
  if (!kHasSanitizer) {
    EXPECT_LT(parts.at("own"), 40'000'000) << at_start.dump(2);
  }

  const std::string yaml = call({{"command", "config"}}).at("yaml");
  std::smatch seconds;
  ASSERT_TRUE(std::regex_search(yaml, seconds, std::regex(R"(pre_trigger_s: ([0-9.]+))"))) << yaml;
  call({{"command", "record"}, {"action", "arm"}, {"bits", true}});
  const json armed = memory();
  constexpr double kBitBytesPerS = 1024.0 / 8.0 * 1.5e6;
  EXPECT_GE(armed.at("parts_bytes").at("history").get<double>(), std::stod(seconds[1]) * kBitBytesPerS);
  EXPECT_EQ(sum_of_parts(armed), armed.at("total_bytes").get<double>());
  EXPECT_NEAR(armed.at("total_bytes").get<double>() - at_start.at("total_bytes").get<double>(),
              armed.at("parts_bytes").at("history").get<double>(), 20e6)
      << "the history is resident, and nothing else of this size came";
  if (!kHasSanitizer) {
    EXPECT_LT(armed.at("parts_bytes").at("own"), 40'000'000) << armed.dump(2);
  }
  EXPECT_EQ(stop(), 0);
}

// A change allocates the new configuration's buffers and frees those of the old one.
TEST_F(MemoryOfTheDefaultTest, OfBuffersFollowsTheConfiguration) {
  const json before = memory().at("parts_bytes");
  call({{"command", "set"}, {"settings", {"front_end.window_samples=2048"}}});
  const json longer = memory().at("parts_bytes");
  EXPECT_GT(longer.at("device_buffers").get<double>(), before.at("device_buffers").get<double>() + 1e6);
  call({{"command", "set"}, {"settings", {"front_end.window_samples=1024"}}});
  EXPECT_EQ(memory().at("parts_bytes").at("device_buffers"), before.at("device_buffers"));
  EXPECT_EQ(stop(), 0);
}

}  // namespace
}  // namespace nearfield
