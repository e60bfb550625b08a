#pragma once
#include <cstdint>
#include <vector>

/// Readers that are stopped, and killed in the middle of a read, while one process publishes.
namespace nearfield::test {

struct StressOptions {
  int readers = 16;
  int kills = 10;
  std::uint64_t kill_interval_ns = 60'000'000;  ///< one reader is killed and one stopped so often, on average
  std::uint64_t longest_stop_ns = 100'000'000;
  std::uint64_t interval_ns = 682'667;   ///< between frames: 1024 bit-times
  std::uint64_t baseline_frames = 1000;  ///< published before the first reader comes, and after the last one went
  std::uint64_t undisturbed_frames = 0;  ///< published to readers that are left alone, after the kills
  std::uint32_t slots = 16;              ///< few, so that a stopped reader is overtaken
  std::int64_t max_age_ns = 20'000'000;
  bool real_time = false;  ///< the writer under SCHED_FIFO
  std::size_t frequencies = 5, rows = 32, columns = 32;
};

/// Percentiles of one call, ns.
struct Percentiles {
  std::uint64_t count = 0;
  std::int64_t median = 0, p99 = 0, p999 = 0, most = 0;
};
Percentiles percentiles_of(std::vector<std::int64_t> durations_ns);

struct StressReport {
  std::uint64_t published = 0;
  std::uint64_t kills = 0;         ///< readers killed
  std::uint64_t kills_inside = 0;  ///< of them, killed between the call of a read and its return
  std::uint64_t stops = 0;
  std::uint64_t frames_read = 0;
  std::uint64_t torn = 0;           ///< accepted, but not of one frame
  std::uint64_t too_old = 0;        ///< delivered although older than max_age when the library looked
  std::uint64_t held_up_after = 0;  ///< older than max_age at the return alone: stopped after the library looked
  std::uint64_t out_of_order = 0;   ///< read_next went back or miscounted what it skipped
  std::uint64_t failed = 0;         ///< statuses that should not come
  std::uint64_t refused_for_age = 0, timeouts = 0, skipped = 0, overtaken = 0;
  Percentiles store_alone, store_with_readers;  ///< the frame made visible
  Percentiles wake_alone, wake_with_readers;    ///< RingWriter::wake() after it
  Percentiles read_latest;                      ///< calls that returned a frame
  Percentiles woken;  ///< from a frame's publication until one that waited for it has it, being stopped included
};

/// Forks the writer and the readers; the calling process must have no other threads.
StressReport run_stress(const StressOptions& options);

}  // namespace nearfield::test
