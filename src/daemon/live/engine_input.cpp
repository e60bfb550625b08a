#include "daemon/live/engine_input.hpp"

#include <algorithm>
#include <optional>

#include "core/system/clocks.hpp"

namespace nearfield::daemon {
namespace {

/// Most elements of a record of words. Where all of so many are missing, a gap is recorded.
constexpr std::uint64_t kRecordElements = 2048;

}  // namespace

void BitsOutput::begin(const StreamStart& stream, std::uint64_t first_element) {
  stream_id_ = stream.stream_id;
  next_ = first_element;
  lost_ = ring_->lost();
  ring_->keep_from(next_);
}

void BitsOutput::write(BitsTap* recorder, std::uint64_t end_element, bool is_paused) {
  if (static_cast<std::int64_t>(end_element - next_) <= 0) {
    return;  // passed on already, before a swap
  }
  const bool is_idle = recorder == nullptr || !recorder->takes_words();
  if (recorder != nullptr && is_idle) {
    recorder->skip({.first_bit_time = next_,
                    .bit_times = end_element - next_,
                    .words = {},
                    .missing = {},
                    .stream_id = stream_id_});
  } else if (recorder != nullptr && is_paused) {
    write_gap(*recorder, end_element - next_, GapCause::kPaused);
  }
  if (is_idle || is_paused) {
    next_ = end_element;
    lost_ = ring_->lost();  // losses so far are part of the pause
  }
  while (next_ != end_element) {
    write_piece(*recorder, end_element - next_);
  }
  ring_->keep_from(next_);
}

void BitsOutput::write_piece(BitsTap& recorder, std::uint64_t most) {
  if (const IngestRing::Span lost = ring_->overwritten(next_); lost.begin != lost.end) {
    if (lost.begin == next_) {
      write_lost(recorder, std::min(lost.end - next_, most));
      return;
    }
    most = std::min(most, lost.begin - next_);  // the engine took what is before
  }
  const std::uint64_t gap = std::min(ring_->missing_end(next_) - next_, most);
  const std::uint64_t elements = std::min(kRecordElements, most);
  words_.resize(elements * ring_->settings().words_per_element);
  runs_.clear();
  const std::optional<TakeResult> taken = ring_->take_again(next_, words_, &runs_);
  if (!taken) {  // overwritten since the engine took it
    write_gap(recorder, std::clamp(ring_->again_from(next_) - next_, std::uint64_t{1}, most), GapCause::kOverrun);
    return;
  }
  if (taken->missing == kRecordElements) {
    write_gap(recorder, std::max(gap, kRecordElements), GapCause::kNotSent);
    return;
  }
  for (MissingRun& run : runs_) {
    run.first_bit_time += next_;
  }
  recorder.push({.first_bit_time = next_,
                 .bit_times = elements,
                 .words = words_,
                 .missing = runs_,
                 .stream_id = stream_id_,
                 .mono_ns = taken->capture_mono_ns,
                 .tai_ns = taken->capture_mono_ns + tai_offset_ns()});
  next_ += elements;
}

/// Splits elements that the ring overwrote before the engine took them: those that it had received are overrun,
/// recorded first, even if a gap took their place; the others were never received.
void BitsOutput::write_lost(BitsTap& recorder, std::uint64_t elements) {
  const std::uint64_t received = std::min(elements, ring_->lost() - lost_);
  lost_ += received;
  write_gap(recorder, received, GapCause::kOverrun);
  write_gap(recorder, elements - received, GapCause::kNotSent);
}

void BitsOutput::write_gap(BitsTap& recorder, std::uint64_t elements, GapCause cause) {
  if (elements == 0) {
    return;
  }
  const std::int64_t now_ns = monotonic_ns();
  recorder.push({.first_bit_time = next_,
                 .bit_times = elements,
                 .words = {},
                 .missing = {},
                 .stream_id = stream_id_,
                 .mono_ns = now_ns,
                 .tai_ns = now_ns + tai_offset_ns(),
                 .cause = cause});
  next_ += elements;
}

}  // namespace nearfield::daemon
