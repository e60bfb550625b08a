#include "daemon/background/ring_freezer.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <system_error>
#include <thread>
#include <vector>

#include "core/daemon_settings.hpp"
#include "core/error.hpp"
#include "core/system/clocks.hpp"

namespace nearfield::daemon {
namespace {

constexpr std::uint64_t kMostPieceElements = 4096;

/// Queue bytes for a piece with its record's header and its runs of missing bits, each at least a bit-time long.
std::uint64_t room_for(std::uint64_t piece_bytes) { return 2 * piece_bytes + 65536; }

/// False if the recording has ended.
bool wait_for_room(const Recorder& recorder, std::uint64_t capacity_bytes, std::uint64_t needed_bytes) {
  constexpr std::chrono::milliseconds kLook{1};
  for (;;) {
    const RecorderStatus status = recorder.status();
    if (status.state != RecordingState::kRecording) {
      return false;
    }
    if (status.queued_bytes + needed_bytes <= capacity_bytes) {
      return true;
    }
    std::this_thread::sleep_for(kLook);
  }
}

/// The ring's elements as pieces of a recording.
class HeldBits {
 public:
  HeldBits(IngestRing& ring, const HeldElements& held, std::uint64_t piece_elements)
      : ring_(ring), held_(held), words_(piece_elements * ring.settings().words_per_element) {
    // Takes all of a ring that is not full yet, which overwrites nothing for a while.
    const std::uint64_t most = ring.settings().elements - ring.settings().elements / kSpareFraction;
    const std::uint64_t count = held.end_element - held.first_element;
    next_ = held.first_element + (count > most ? count - most : 0);
    tai_offset_ns_ = clock_ns(CLOCK_TAI) - monotonic_ns();
  }

  [[nodiscard]] bool is_done() const { return next_ >= held_.end_element; }

  void push_next(Recorder& recorder) {
    const std::uint64_t words_per_element = ring_.settings().words_per_element;
    const std::uint64_t count = std::min(words_.size() / words_per_element, held_.end_element - next_);
    runs_.clear();
    const std::span<std::uint32_t> words = std::span(words_).first(count * words_per_element);
    if (const std::optional<TakeResult> result = ring_.copy_held(held_, next_, words, &runs_)) {
      for (MissingRun& run : runs_) {
        run.first_bit_time += next_;
      }
      recorder.push(piece(count, words, result->capture_mono_ns));
      next_ += count;
      return;
    }
    // Skips some way ahead of the writer, so that the next pieces are not overwritten too.
    const std::uint64_t ahead = ring_.settings().elements / kSpareFraction;
    const std::uint64_t end = std::min(ring_.held_begin(held_, next_) + ahead, held_.end_element);
    BitsPiece gap = piece(end - next_, {}, monotonic_ns());
    gap.missing = {};
    gap.cause = GapCause::kOverrun;
    recorder.push(gap);
    next_ = end;
  }

 private:
  [[nodiscard]] BitsPiece piece(std::uint64_t count, std::span<const std::uint32_t> words, std::int64_t mono_ns) const {
    return {.first_bit_time = next_,
            .bit_times = count,
            .words = words,
            .missing = runs_,
            .stream_id = held_.stream.stream_id,
            .mono_ns = mono_ns,
            .tai_ns = mono_ns + tai_offset_ns_};
  }

  IngestRing& ring_;
  const HeldElements held_;
  std::vector<std::uint32_t> words_;
  std::vector<MissingRun> runs_;
  std::uint64_t next_ = 0;
  std::int64_t tai_offset_ns_ = 0;
};

}  // namespace

RecorderStatus freeze_ring(IngestRing& ring, RecorderOptions options, const std::function<void(Recorder&)>& begin) {
  if (!ring.held()) {
    throw NoInputError("freeze: expected bits in the ingest ring, found none of the present stream yet");
  }
  options.bits = true;
  options.images = false;
  options.settings.trigger = DaemonSettings::Trigger::kNone;
  options.settings.pre_trigger_s = 0.0;
  options.settings.max_s = 0.0;
  options.settings.max_bytes = 0;
  const std::uint64_t element_bytes = ring.settings().words_per_element * sizeof(std::uint32_t);
  const std::uint64_t least = 2 * room_for(64 * element_bytes);
  const std::uint64_t most = std::max(2 * ring.settings().elements * element_bytes, least);
  const std::uint64_t capacity =
      std::clamp(static_cast<std::uint64_t>(std::max<std::int64_t>(options.settings.bits_queue_bytes, 0)), least, most);
  options.settings.bits_queue_bytes = static_cast<std::int64_t>(capacity);
  std::uint64_t piece_elements = kMostPieceElements;
  while (2 * room_for(piece_elements * element_bytes) > capacity) {
    piece_elements /= 2;
  }
  Recorder recorder(std::move(options));
  begin(recorder);
  recorder.start();
  recorder.wait_for_requests();
  if (recorder.status().state == RecordingState::kRecording) {
    const std::optional<HeldElements> held = ring.held();  // read late, and again, since a new stream may begin
    if (held) {
      HeldBits bits(ring, *held, piece_elements);
      while (!bits.is_done() && wait_for_room(recorder, capacity, room_for(piece_elements * element_bytes))) {
        bits.push_next(recorder);
      }
    }
    recorder.stop();
    recorder.wait_for_requests();
    if (!held) {
      std::error_code ignored;
      std::filesystem::remove(recorder.status().path, ignored);
      throw NoInputError("freeze: expected one stream in the ingest ring, found that a new one has just begun");
    }
  }
  RecorderStatus status = recorder.status();
  if (status.end_cause == EndCause::kNotOpened || status.end_cause == EndCause::kDirectoryFull) {
    throw IoError(fmt::format("freeze: {}", status.end_reason));
  }
  return status;
}

}  // namespace nearfield::daemon
