#include "stream/sources/pipe_source.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <thread>

#include "core/error.hpp"
#include "core/system/clocks.hpp"
#include "stream/packets/socket.hpp"

namespace nearfield {
namespace {

constexpr std::size_t kChunkBytes = std::size_t{1} << 20U;
constexpr int kStopCheckMs = 20;

bool is_standard_input(const SourceSettings& settings) { return settings.source.path == "-"; }

FileDescriptor open_input(const SourceSettings& settings) {
  const int number = is_standard_input(settings)
                         ? fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, 0)
                         : open(settings.source.path.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC);
  if (number < 0) {
    throw NoInputError(system_error(fmt::format("pipe: {}", settings.source.path)));
  }
  return FileDescriptor(number);
}

bool is_named_pipe(const FileDescriptor& input, const SourceSettings& settings) {
  struct stat status {};
  return !is_standard_input(settings) && fstat(input.get(), &status) == 0 && S_ISFIFO(status.st_mode);
}

class PipeWorker : public SourceWorker {
 public:
  PipeWorker(FileDescriptor input, IngestRing& ring, const SourceSettings& settings)
      : settings_(settings),
        ring_(&ring),
        input_(std::move(input)),
        reopens_(is_named_pipe(input_, settings)),
        element_bytes_(settings.words_per_element * sizeof(std::uint32_t)),
        bytes_(std::max(element_bytes_, kChunkBytes / element_bytes_ * element_bytes_)) {
    fcntl(input_.get(), F_SETPIPE_SZ, static_cast<int>(kChunkBytes));  // fails where it is no pipe or not permitted
  }

  void run(const std::stop_token& stop) override {
    bool may_have_ended = false;
    while (goes_on(stop)) {
      if (!may_have_ended && !wait_for_input()) {
        continue;
      }
      const ssize_t count = read(input_.get(), bytes_.data() + held_, bytes_.size() - held_);
      // read() reports the end of a writer that closed before this end of a named pipe was opened; poll() does not.
      may_have_ended = count > 0 && reopens_;
      if (count > 0) {
        take(static_cast<std::size_t>(count), stop);
      } else if (count == 0) {
        if (!end_of_input()) {
          return;
        }
      } else if (errno != EAGAIN && errno != EINTR) {
        throw IoError(system_error(fmt::format("pipe: reading {}", settings_.source.path)));
      }
    }
  }

  void count(SourceCounters& counters) const override {
    counters.cut_bytes = cut_bytes_.load(std::memory_order_relaxed);
  }

 private:
  bool wait_for_input() {
    pollfd poll_for{input_.get(), POLLIN, 0};
    return poll(&poll_for, 1, kStopCheckMs) > 0;
  }

  void take(std::size_t count, const std::stop_token& stop) {
    const std::int64_t now_ns = monotonic_ns();
    held_ += count;
    const std::size_t whole = held_ / element_bytes_ * element_bytes_;
    if (whole == 0) {
      return;
    }
    if (!streaming_) {
      begin(stop);
    }
    ring_->store(next_element_, std::span(bytes_).first(whole), now_ns);
    next_element_ += whole / element_bytes_;
    std::copy(bytes_.begin() + static_cast<std::ptrdiff_t>(whole), bytes_.begin() + static_cast<std::ptrdiff_t>(held_),
              bytes_.begin());
    held_ -= whole;
  }

  /// Begins a stream. The reader may be copying what its start would overwrite, which takes a moment.
  void begin(const std::stop_token& stop) {
    while (!ring_->begin_stream(stream_id_, 0) && goes_on(stop)) {
      std::this_thread::yield();
    }
    streaming_ = true;
    next_element_ = 0;
    ++stream_id_;
  }

  /// True if another writer may come.
  bool end_of_input() {
    cut_bytes_.fetch_add(held_, std::memory_order_relaxed);
    held_ = 0;
    if (!reopens_) {
      return false;
    }
    if (streaming_) {
      ring_->end_stream();
      streaming_ = false;
    }
    // Opens the pipe again: one that had writers reports its end from then on, while a newly opened one waits for the
    // next writer. The old one stays open until then, so that nothing a quick writer has sent is lost.
    input_ = open_input(settings_);
    return true;
  }

  SourceSettings settings_;
  IngestRing* ring_;
  FileDescriptor input_;
  bool reopens_;
  std::size_t element_bytes_;
  std::vector<std::byte> bytes_;
  std::size_t held_ = 0;  ///< bytes of an incomplete element
  bool streaming_ = false;
  std::uint32_t stream_id_ = 1;
  std::uint64_t next_element_ = 0;
  std::atomic<std::uint64_t> cut_bytes_{0};
};

}  // namespace

std::unique_ptr<Source> make_pipe_source(const SourceSettings& settings) {
  if (settings.source.path.empty()) {
    throw ConfigError("source.path: expected a named pipe, or - for standard input, found nothing");
  }
  auto ring = std::make_unique<IngestRing>(ring_settings(settings));
  auto worker = std::make_unique<PipeWorker>(open_input(settings), *ring, settings);
  return std::make_unique<Source>(std::move(ring), std::move(worker), std::nullopt, std::vector<std::string>{});
}

}  // namespace nearfield
