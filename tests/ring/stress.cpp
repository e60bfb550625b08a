#include "ring/stress.hpp"

#include <nearfield_ring.h>
#include <sched.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cmath>
#include <csignal>
#include <ctime>
#include <memory>
#include <new>
#include <random>
#include <stdexcept>

#include "ring/ring_output.hpp"
#include "ring/ring_support.hpp"
#include "ring/ring_writer.hpp"
#include "support/images.hpp"

namespace nearfield::test {
namespace {

constexpr int kMostReaders = 64;
constexpr std::size_t kKeptCalls = 4096;
constexpr std::size_t kKeptFrames = std::size_t{1} << 20U;

enum Phase : int { kAlone, kWithReaders, kAloneAgain, kDone };

struct Durations {
  std::atomic<std::uint64_t> count;
  std::array<std::int64_t, kKeptFrames> ns;
  void add(std::int64_t value_ns) {
    const std::uint64_t i = count;
    if (i < ns.size()) {
      ns[i] = value_ns;
      count = i + 1;
    }
  }
  [[nodiscard]] Percentiles percentiles() const {
    return percentiles_of({ns.begin(), ns.begin() + static_cast<std::ptrdiff_t>(count)});
  }
};

/// The newest ones, of a process that may be killed at any moment.
struct NewestDurations {
  std::atomic<std::uint64_t> count;
  std::array<std::atomic<std::int64_t>, kKeptCalls> ns;
  void add(std::int64_t value_ns) { ns[count++ % kKeptCalls] = value_ns; }
  void append_to(std::vector<std::int64_t>& all_ns) const {
    const std::size_t kept = std::min<std::size_t>(count, kKeptCalls);
    all_ns.insert(all_ns.end(), ns.begin(), ns.begin() + static_cast<std::ptrdiff_t>(kept));
  }
};

struct ReaderBoard {
  std::atomic<int> inside;
  std::atomic<std::uint64_t> frames_read, torn, too_old, held_up_after, out_of_order, failed, refused_for_age, timeouts,
      skipped, overtaken;
  NewestDurations latest, woken;
};

/// What the processes share: zero at first.
struct Board {
  std::atomic<int> phase;
  std::atomic<int> stop_readers;
  std::atomic<std::uint64_t> published, published_in_phase;
  Durations store_alone, store_with_readers, wake_alone, wake_with_readers;
  std::array<ReaderBoard, kMostReaders> readers;
};
static_assert(std::atomic<std::uint64_t>::is_always_lock_free);

struct Unmap {
  void operator()(Board* board) const { munmap(board, sizeof *board); }
};

std::unique_ptr<Board, Unmap> make_board() {
  void* memory = mmap(nullptr, sizeof(Board), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) {
    throw std::runtime_error("stress: no shared memory");
  }
  return std::unique_ptr<Board, Unmap>(static_cast<Board*>(memory));
}

void sleep_until(std::int64_t mono_ns) {
  const timespec time{mono_ns / 1'000'000'000, mono_ns % 1'000'000'000};
  while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &time, nullptr) == EINTR) {
  }
}

void pause_ns(std::int64_t ns) { sleep_until(nf_ring_now_ns() + ns); }

// ---- the writer -----------------------------------------------------------------------------------------------------

void publish_until_done(Board& board, const StressOptions& options, ring::RingWriter& writer, TestFrame& frame) {
  std::int64_t due_ns = nf_ring_now_ns();
  int phase = kAlone;
  for (std::uint64_t sequence = 1; board.phase != kDone; ++sequence) {
    if (phase != board.phase) {
      phase = board.phase;
      board.published_in_phase = 0;
    }
    const Frame& made = frame.make(sequence);
    const std::int64_t start_ns = nf_ring_now_ns();
    writer.store(made);
    const std::int64_t stored_ns = nf_ring_now_ns();
    writer.wake();
    const std::int64_t end_ns = nf_ring_now_ns();
    (phase == kWithReaders ? board.store_with_readers : board.store_alone).add(stored_ns - start_ns);
    (phase == kWithReaders ? board.wake_with_readers : board.wake_alone).add(end_ns - stored_ns);
    board.published = sequence;
    ++board.published_in_phase;
    due_ns = std::max(due_ns + static_cast<std::int64_t>(options.interval_ns), end_ns);
    sleep_until(due_ns);
  }
}

void run_writer(Board& board, const StressOptions& options, const std::string& socket) {
  if (options.real_time) {
    const sched_param priority{.sched_priority = 50};
    if (sched_setscheduler(0, SCHED_FIFO, &priority) != 0 || mlockall(MCL_CURRENT | MCL_FUTURE) != 0) {
      throw std::runtime_error("stress: real time is not permitted here");
    }
  }
  const ImagesHeader header = ring_header(options.frequencies, options.rows, options.columns);
  ring::RingWriter writer(result_header(header), 3, {.slots = options.slots});
  ring::RingServer server({.socket = socket, .most_clients = 2 * kMostReaders});
  server.offer(writer.memory());
  TestFrame frame(header);
  publish_until_done(board, options, writer, frame);
}

// ---- a reader -------------------------------------------------------------------------------------------------------

void note_latest(ReaderBoard& my, const nf_frame& frame, std::int64_t start_ns, std::int64_t end_ns,
                 std::int64_t max_age_ns) {
  const bool looked_in_between = frame.read_mono_ns >= start_ns && frame.read_mono_ns <= end_ns;
  if (!looked_in_between || frame.read_mono_ns - frame.capture_mono_ns > max_age_ns) {
    ++my.too_old;
  } else if (end_ns - frame.capture_mono_ns > max_age_ns) {
    ++my.held_up_after;
  }
  my.latest.add(end_ns - start_ns);
}

void note_failure(ReaderBoard& my, nf_ring_status status) {
  switch (status) {
    case NF_RING_TOO_OLD:
    case NF_RING_NONE:
      ++my.refused_for_age;
      break;
    case NF_RING_TIMEOUT:
      ++my.timeouts;
      break;
    case NF_RING_TORN:
      ++my.overtaken;
      break;
    default:
      ++my.failed;
  }
}

/// Even readers take every frame as it comes, odd ones the newest every so often.
void run_reader(Board& board, const StressOptions& options, const std::string& socket, int index) {
  ReaderBoard& my = board.readers[static_cast<std::size_t>(index)];
  const RingHandle handle = open_ring(socket);
  nf_ring* ring = handle.get();
  nf_ring_check_crc(ring, index % 4 < 2 ? 1 : 0);
  const nf_ring_layout& layout = *nf_ring_get_layout(ring);
  std::uint64_t last = 0;
  nf_frame frame;
  while (board.stop_readers == 0) {
    std::uint64_t skipped = 0;
    const std::int64_t start_ns = nf_ring_now_ns();
    my.inside = 1;
    const nf_ring_status status = index % 2 == 0 ? nf_ring_read_next(ring, 50'000'000, &frame, &skipped)
                                                 : nf_ring_read_latest(ring, options.max_age_ns, &frame);
    my.inside = 0;
    const std::int64_t end_ns = nf_ring_now_ns();
    if (status != NF_RING_OK) {
      note_failure(my, status);
    } else {
      ++my.frames_read;
      my.torn += is_whole(layout, frame) ? 0U : 1U;
    }
    if (index % 2 == 1) {
      if (status == NF_RING_OK) {
        note_latest(my, frame, start_ns, end_ns, options.max_age_ns);
      }
      pause_ns(300'000);
    } else if (status == NF_RING_OK) {
      my.out_of_order += last != 0 && frame.number != last + 1 + skipped ? 1U : 0U;
      my.skipped += skipped;
      if (frame.publish_mono_ns > start_ns) {  // it waited
        my.woken.add(end_ns - frame.publish_mono_ns);
      }
      last = frame.number;
    }
  }
}

// ---- the one who stops and kills ------------------------------------------------------------------------------------

template <typename F>
pid_t start(F work) {
  const pid_t child = fork();
  if (child == 0) {
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    int code = 0;
    try {
      work();
    } catch (const std::exception& error) {
      std::fprintf(stderr, "stress: %s\n", error.what());
      code = 1;
    }
    _exit(code);
  }
  if (child < 0) {
    throw std::runtime_error("stress: can't fork");
  }
  return child;
}

class Tormentor {
 public:
  Tormentor(Board& board, const StressOptions& options, std::string socket)
      : board_(board),
        options_(options),
        socket_(std::move(socket)),
        readers_(static_cast<std::size_t>(options.readers)) {}
  ~Tormentor() {
    for (const Reader& reader : readers_) {
      if (reader.process > 0) {
        kill(reader.process, SIGKILL);
        waitpid(reader.process, nullptr, 0);
      }
    }
  }
  Tormentor(const Tormentor&) = delete;
  Tormentor& operator=(const Tormentor&) = delete;

  void start_readers() {
    for (std::size_t i = 0; i < readers_.size(); ++i) {
      start_reader(i);
    }
  }

  void torment(StressReport& report) {
    std::int64_t next_ns = nf_ring_now_ns();
    for (int done = 0; done < options_.kills; ++done) {
      next_ns += static_cast<std::int64_t>(random() % (2 * options_.kill_interval_ns));
      while (nf_ring_now_ns() < next_ns) {
        pause_ns(1'000'000);
        continue_some(nf_ring_now_ns());
      }
      stop_one(report);
      kill_one(report);
    }
  }

  /// Lets all go on and end by themselves; what they did is on the board.
  void dismiss(StressReport& report) {
    continue_some(INT64_MAX);
    board_.stop_readers = 1;
    for (Reader& reader : readers_) {
      int status = 0;
      waitpid(std::exchange(reader.process, 0), &status, 0);
      report.failed += WIFEXITED(status) && WEXITSTATUS(status) == 0 ? 0U : 1U;
    }
  }

 private:
  struct Reader {
    pid_t process = 0;
    std::int64_t stopped_until_ns = 0;  ///< 0: it runs
  };

  void start_reader(std::size_t i) {
    board_.readers[i].inside = 0;
    readers_[i].process = start([&] { run_reader(board_, options_, socket_, static_cast<int>(i)); });
    readers_[i].stopped_until_ns = 0;
  }

  void continue_some(std::int64_t now_ns) {
    for (Reader& reader : readers_) {
      if (reader.stopped_until_ns != 0 && reader.stopped_until_ns <= now_ns) {
        kill(reader.process, SIGCONT);
        reader.stopped_until_ns = 0;
      }
    }
  }

  /// A running reader, met in the middle of a read where one comes by soon.
  std::size_t catch_reader() {
    std::size_t i = random() % readers_.size();
    while (readers_[i].stopped_until_ns != 0) {
      i = random() % readers_.size();
    }
    const std::int64_t give_up_ns = nf_ring_now_ns() + 20'000'000;
    while (board_.readers[i].inside == 0 && nf_ring_now_ns() < give_up_ns) {
    }
    return i;
  }

  void stop_one(StressReport& report) {
    const auto stopped = static_cast<std::size_t>(
        std::count_if(readers_.begin(), readers_.end(), [](const Reader& r) { return r.stopped_until_ns != 0; }));
    if (stopped + 2 > readers_.size()) {
      return;
    }
    const std::size_t i = catch_reader();
    kill(readers_[i].process, SIGSTOP);
    readers_[i].stopped_until_ns =
        nf_ring_now_ns() + static_cast<std::int64_t>(random() % options_.longest_stop_ns) + 1;
    ++report.stops;
  }

  void kill_one(StressReport& report) {
    const std::size_t i = catch_reader();
    kill(readers_[i].process, SIGKILL);
    waitpid(readers_[i].process, nullptr, 0);
    ++report.kills;
    report.kills_inside += board_.readers[i].inside == 1 ? 1U : 0U;
    start_reader(i);
  }

  std::uint64_t random() { return random_(); }

  Board& board_;
  const StressOptions& options_;
  std::string socket_;
  std::vector<Reader> readers_;
  std::mt19937_64 random_{20260801};
};

void sum_up(const Board& board, StressReport& report) {
  std::vector<std::int64_t> latest_ns;
  std::vector<std::int64_t> woken_ns;
  for (const ReaderBoard& reader : board.readers) {
    report.frames_read += reader.frames_read;
    report.torn += reader.torn;
    report.too_old += reader.too_old;
    report.held_up_after += reader.held_up_after;
    report.out_of_order += reader.out_of_order;
    report.failed += reader.failed;
    report.refused_for_age += reader.refused_for_age;
    report.timeouts += reader.timeouts;
    report.skipped += reader.skipped;
    report.overtaken += reader.overtaken;
    reader.latest.append_to(latest_ns);
    reader.woken.append_to(woken_ns);
  }
  report.published = board.published;
  report.read_latest = percentiles_of(std::move(latest_ns));
  report.woken = percentiles_of(std::move(woken_ns));
  report.store_alone = board.store_alone.percentiles();
  report.store_with_readers = board.store_with_readers.percentiles();
  report.wake_alone = board.wake_alone.percentiles();
  report.wake_with_readers = board.wake_with_readers.percentiles();
}

/// Waits until the writer has published so many frames in a phase; throws when it died.
void await_frames(const Board& board, pid_t writer, std::uint64_t frames) {
  while (board.published_in_phase < frames) {
    if (waitpid(writer, nullptr, WNOHANG) != 0) {
      throw std::runtime_error("stress: the writer ended too soon");
    }
    pause_ns(1'000'000);
  }
}

void enter(Board& board, pid_t writer, Phase phase) {
  board.published_in_phase = UINT64_MAX;
  board.phase = phase;
  while (board.published_in_phase > kKeptFrames) {
    if (waitpid(writer, nullptr, WNOHANG) != 0) {
      throw std::runtime_error("stress: the writer ended too soon");
    }
    pause_ns(1'000'000);
  }
}

}  // namespace

Percentiles percentiles_of(std::vector<std::int64_t> durations_ns) {
  if (durations_ns.empty()) {
    return {};
  }
  std::sort(durations_ns.begin(), durations_ns.end());
  const auto at = [&](double share) {
    const long place = std::lround(share * static_cast<double>(durations_ns.size() - 1));
    return durations_ns[static_cast<std::size_t>(place)];
  };
  return {durations_ns.size(), at(0.5), at(0.99), at(0.999), durations_ns.back()};
}

StressReport run_stress(const StressOptions& options) {
  const int fewest = options.kills > 0 ? 3 : 1;  // one runs while others are stopped or killed
  if (options.readers < fewest || options.readers > kMostReaders) {
    throw std::invalid_argument("stress: expected 3 to 64 readers, or one that is not killed");
  }
  const auto board = make_board();
  const SocketFolder folder;
  const std::string socket = folder / "ring.sock";
  StressReport report;
  const pid_t writer = start([&] { run_writer(*board, options, socket); });
  await_frames(*board, writer, options.baseline_frames);
  enter(*board, writer, kWithReaders);
  {
    Tormentor tormentor(*board, options, socket);
    tormentor.start_readers();
    tormentor.torment(report);
    await_frames(*board, writer, options.undisturbed_frames);
    tormentor.dismiss(report);
  }
  enter(*board, writer, kAloneAgain);
  await_frames(*board, writer, options.baseline_frames);
  board->phase = kDone;
  waitpid(writer, nullptr, 0);
  sum_up(*board, report);
  return report;
}

}  // namespace nearfield::test
