#include <algorithm>

#include "core/system/clocks.hpp"
#include "daemon/live/live_engine.hpp"

/// Data that the engine's thread passes to recordings: each bit-time of the stream once, as words or as a gap with its
/// cause.
namespace nearfield::daemon {
namespace {

/// Length of the pieces in which bits between windows are taken.
constexpr std::uint64_t kPieceSamples = 64;

}  // namespace

void LiveEngine::record(const Chunk& chunk, const Pauses& pauses) {
  if (!publisher_->records_bits()) {
    lost_recorded_ = ring_->lost();
    return;
  }
  const std::uint64_t begin = clock_.element_of(chunk.first / clock_.elements_per_sample());
  if (chunk.overwritten > 0) {
    record_overwritten(begin, chunk.overwritten);
  }
  if (chunk.overwritten == chunk.elements) {
    return;
  }
  const std::uint64_t first = begin + chunk.overwritten;
  std::vector<MissingRun>& runs = recorded_runs_;
  runs.clear();
  for (const MissingRun& run : chunk.missing) {
    const std::uint64_t from = std::max(run.first_bit_time, chunk.overwritten);
    const std::uint64_t to = run.first_bit_time + run.bit_times;
    if (from < to) {
      runs.push_back({.first_bit_time = begin + from, .bit_times = to - from});
    }
  }
  publisher_->record({.first_bit_time = first,
                      .bit_times = chunk.elements - chunk.overwritten,
                      .words = chunk.words.subspan(chunk.overwritten * input_.words_per_element),
                      .missing = runs,
                      .stream_id = stream_.stream_id,
                      .mono_ns = chunk.capture_mono_ns,
                      .tai_ns = chunk.capture_mono_ns + tai_offset_ns_},
                     pauses);
}

/// Records elements without words.
void LiveEngine::record_gap(std::uint64_t first, std::uint64_t elements, GapCause cause, std::int64_t mono_ns) {
  publisher_->record({.first_bit_time = first,
                      .bit_times = elements,
                      .words = {},
                      .missing = {},
                      .stream_id = stream_.stream_id,
                      .mono_ns = mono_ns,
                      .tai_ns = mono_ns + tai_offset_ns_,
                      .cause = cause},
                     Pauses());
}

/// Splits elements that the ring overwrote: those that it had received are overrun, recorded first, even if a gap took
/// their place; the others were never received.
void LiveEngine::record_overwritten(std::uint64_t first, std::uint64_t elements) {
  const std::uint64_t received = std::min(elements, ring_->lost() - lost_recorded_);
  lost_recorded_ += received;
  const std::int64_t now_ns = monotonic_ns();
  if (received > 0) {
    record_gap(first, received, GapCause::kOverrun, now_ns);
  }
  if (received < elements) {
    record_gap(first + received, elements - received, GapCause::kNotSent, now_ns);
  }
}

/// Records a gap for elements that the ring overwrote before they were taken, or that the source did not send and that
/// are longer than a piece; false if neither begins here.
bool LiveEngine::record_absent(std::uint64_t end_sample) {
  const std::uint64_t first = clock_.element_of(taken_);
  const std::uint64_t lost = (ring_->overwritten_end(first) - first) / clock_.elements_per_sample();
  if (const std::uint64_t samples = std::min(lost, end_sample - taken_); samples > 0) {
    record_overwritten(first, clock_.elements(samples));
    taken_ += samples;
    return true;
  }
  const std::uint64_t gap = (ring_->missing_end(first) - first) / clock_.elements_per_sample();
  const std::uint64_t samples = std::min(gap, end_sample - taken_);
  if (samples <= kPieceSamples) {
    return false;
  }
  record_gap(first, clock_.elements(samples), GapCause::kNotSent, monotonic_ns());
  taken_ += samples;
  return true;
}

/// Takes the bits between the last window and the next one's first word, such as shed hops, which matter only to
/// recordings.
void LiveEngine::take_between(std::uint64_t end_sample, const Pauses& pauses) {
  if (!publisher_->records_bits() || taken_ >= end_sample) {
    return;
  }
  if (pauses.recordings) {
    record_gap(clock_.element_of(taken_), clock_.element_of(end_sample) - clock_.element_of(taken_), GapCause::kPaused,
               monotonic_ns());
    lost_recorded_ = ring_->lost();  // losses so far are part of the pause
    return;
  }
  const std::uint64_t words = input_.words_per_sample();
  while (taken_ < end_sample) {
    if (record_absent(end_sample)) {
      continue;
    }
    words_.resize(std::min(kPieceSamples, end_sample - taken_) * words);
    take(taken_, words_, between_);
    record(between_, pauses);
  }
}

}  // namespace nearfield::daemon
