#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <csignal>
#include <cstdlib>
#include <random>
#include <thread>

#include "recording/recorder.hpp"
#include "recording/recording_support.hpp"

namespace nearfield::test {
namespace {

/// What write() has taken, as the recording process last saw it, in memory that outlives it.
struct Shared {
  std::atomic<std::uint64_t> records{0};
};

/// Records until it's killed.
[[noreturn]] void record_for_ever(const std::string& path, Shared& shared) {
  prctl(PR_SET_PDEATHSIG, SIGKILL);  // it doesn't outlive a test that is stopped
  RecorderOptions options;
  options.settings.pre_trigger_s = 0.0;
  options.info = small_info();
  options.path = path;
  options.settings.bits_queue_bytes = 1 << 20;
  options.settings.images_queue_bytes = 1 << 20;
  Recorder recorder(options);
  recorder.begin(result_header(small_header()), {.epoch = 1});
  recorder.start();
  recorder.wait_for_requests();
  for (std::uint64_t piece = 0;; ++piece) {
    push_bits(recorder, piece * 100, 100);
    recorder.write(TestFrame(piece).frame);
    const RecorderStatus status = recorder.status();
    shared.records = status.records;
  }
}

TEST(Kill, NoRecordThatWasWrittenIsLost) {
  const char* asked = std::getenv("NEARFIELD_KILLS");
  const int kills = asked == nullptr ? 3 : std::atoi(asked);
  std::mt19937 random(2026);
  for (int i = 0; i < kills; ++i) {
    const TemporaryFolder folder;
    void* memory = mmap(nullptr, sizeof(Shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    ASSERT_NE(memory, MAP_FAILED);
    auto* shared = new (memory) Shared;
    const pid_t process = fork();
    ASSERT_GE(process, 0);
    if (process == 0) {
      record_for_ever(folder / "a.nfr", *shared);
    }
    const std::uint64_t wanted = random() % 3000 + 1;
    while (shared->records < wanted && waitpid(process, nullptr, WNOHANG) == 0) {
      std::this_thread::yield();
    }
    const std::uint64_t acknowledged = shared->records;
    ASSERT_EQ(kill(process, SIGKILL), 0);
    int status = 0;
    ASSERT_EQ(waitpid(process, &status, 0), process);
    ASSERT_TRUE(WIFSIGNALED(status));
    nfr::Reader reader{std::filesystem::path(folder / "a.nfr")};
    const nfr::Summary& summary = reader.summary();
    EXPECT_GE(summary.bits.records + summary.frames, acknowledged);
    EXPECT_EQ(summary.damaged_places, 0U);
    EXPECT_EQ(summary.lost_records, 0U);
    EXPECT_EQ(nfr::verify(reader).damaged_payloads, 0U);
    EXPECT_FALSE(summary.end.has_value());
    const BitsCheck check = check_bits(reader);
    EXPECT_EQ(check.wrong_words, 0U);
    EXPECT_EQ(check.received + check.missing, summary.bits.expected());
    munmap(memory, sizeof(Shared));
  }
}

}  // namespace
}  // namespace nearfield::test
