#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <random>
#include <string>

#include "core/system/clocks.hpp"
#include "stream/sending/packet_sender.hpp"
#include "stream/source.hpp"
#include "stream/stream_support.hpp"
#include "support/command.hpp"

namespace nearfield {
namespace {

/// CPU time of the process, or of this thread.
double cpu_s(int whose) {
  rusage usage{};
  getrusage(whose, &usage);
  const auto seconds = [](const timeval& time) {
    return static_cast<double>(time.tv_sec) + 1e-6 * static_cast<double>(time.tv_usec);
  };
  return seconds(usage.ru_utime) + seconds(usage.ru_stime);
}

constexpr std::size_t kWords = 32;
constexpr std::uint64_t kLoop = 4096;

/// Random bits of 32 x 32 microphones.
std::vector<std::uint32_t> write_capture(const std::string& path) {
  std::mt19937 generator(2);
  std::vector<std::uint32_t> words(kLoop * kWords);
  std::generate(words.begin(), words.end(), [&] { return static_cast<std::uint32_t>(generator()); });
  CaptureInfo info;
  info.measurement.standoff_m = 0.03;
  info.words_per_bit_time = kWords;
  CaptureWriter writer(path, info);
  writer.append(words);
  writer.finish();
  return words;
}

/// What `nearfield send CAPTURE --loop` does, in a process of its own. Before this one has threads.
pid_t start_sender(const std::string& capture, const std::string& to, double duration_s) {
  const pid_t child = fork();
  if (child == 0) {
    try {
      const Playback playback = Playback::of(capture);
      send_packets(playback, {.to = to, .loop = true, .duration_s = duration_s}, [] { return false; });
    } catch (const std::exception& error) {
      std::fprintf(stderr, "sender: %s\n", error.what());
      _exit(1);
    }
    _exit(0);
  }
  return child;
}

/// A live array's UDP stream from another process, a capture of 32 x 32 microphones at 1.5 MHz: every
/// bit-time is accounted for. NEARFIELD_SOAK_S says for how long, 0.3 s by itself; then the figures are worth looking
/// at. A bit-time may be missing, if the machine is busy, but none without being counted.
TEST(LoopbackRate, EveryBitTimeIsAccountedFor) {
  const char* soak = std::getenv("NEARFIELD_SOAK_S");
  const double duration_s = soak != nullptr ? std::stod(soak) : 0.3;
  constexpr std::uint64_t kHop = 1024;
  const test::TemporaryFolder folder;
  const std::vector<std::uint32_t> sent = write_capture(folder / "capture.h5");
  const auto source =
      make_source({.source = {.address = "127.0.0.1:0", .require_crc = true}, .words_per_element = kWords});
  const pid_t sender = start_sender(folder / "capture.h5", "127.0.0.1:" + std::to_string(source->port()), duration_s);
  source->start();
  IngestRing& ring = source->ring();
  constexpr std::int64_t kLongestNs = 60'000'000'000;
  ASSERT_TRUE(ring.wait_for_stream(monotonic_ns() + kLongestNs)) << "the sender does not send";
  const std::int64_t start_ns = monotonic_ns();
  const double start_cpu_s = cpu_s(RUSAGE_SELF);
  const double start_reader_s = cpu_s(RUSAGE_THREAD);
  const StreamStart start = ring.accept_stream();
  const auto all = static_cast<std::uint64_t>(duration_s * kBitRateHz);
  std::vector<std::uint32_t> words(kHop * kWords);
  std::uint64_t next = start.first_element;
  constexpr std::int64_t kSilenceNs = 2'000'000'000;  // the sender has ended, or its last packets were lost
  std::int64_t oldest_ns = 0;
  while (next + kHop <= all && ring.wait_for(next + kHop, monotonic_ns() + kSilenceNs) == WaitResult::kReady) {
    const TakeResult taken = ring.take(next, words);
    oldest_ns = std::max(oldest_ns, monotonic_ns() - taken.capture_mono_ns);
    if (taken.missing == 0) {
      const auto there = std::span(sent).subspan(next % kLoop * kWords);
      const std::size_t part = std::min(there.size(), words.size());
      ASSERT_TRUE(std::equal(words.begin(), words.begin() + static_cast<std::ptrdiff_t>(part), there.begin())) << next;
    }
    next += kHop;
  }
  const double elapsed_s = static_cast<double>(monotonic_ns() - start_ns) * 1e-9;
  const double reader_s = cpu_s(RUSAGE_THREAD) - start_reader_s;
  const double source_s = cpu_s(RUSAGE_SELF) - start_cpu_s - reader_s;
  int status = 0;
  waitpid(sender, &status, 0);
  EXPECT_EQ(status, 0);
  source->stop();
  const SourceCounters counters = source->counters();
  test::expect_conserved(counters.ring);
  EXPECT_EQ(counters.ring.taken, next - start.first_element);
  EXPECT_EQ(counters.packets.datagrams, counters.packets.accepted) << "the network is this host's own";
  EXPECT_GT(counters.ring.delivered, 0U);
  std::printf(
      "%.2f s, %.1f MB/s, missing %llu of %llu bit-times, kernel drops %llu, overrun %llu, CPU of a core: source %.1f "
      "%%, reader %.1f %%; oldest hop taken %.2f ms after it came\n",
      elapsed_s, static_cast<double>(counters.ring.received * kWords * 4) / elapsed_s * 1e-6,
      static_cast<unsigned long long>(counters.ring.missing), static_cast<unsigned long long>(counters.ring.taken),
      static_cast<unsigned long long>(counters.kernel_drops), static_cast<unsigned long long>(counters.ring.overrun),
      source_s / elapsed_s * 100.0, reader_s / elapsed_s * 100.0, static_cast<double>(oldest_ns) * 1e-6);
}

}  // namespace
}  // namespace nearfield
