#include "pipeline/replay_part.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <exception>

#include "core/error.hpp"
#include "imaging/priors/make_mask.hpp"

namespace nearfield {
namespace {

void require_finite(int non_finite, int channels, std::uint64_t index, const InputInfo& input) {
  if (too_many_are_not_finite(non_finite, channels)) {
    throw DataError(fmt::format("{}: frame {}: {} of {} microphones are not finite; expected at most a tenth",
                                input.name, index, non_finite, channels));
  }
}

/// Sets the frame's place in the recording.
void place(Frame& frame, std::uint64_t first_sample, const InputInfo& input) {
  frame.first_bit_time = bit_time_of(input, first_sample);
  const auto elapsed_bit_times = static_cast<double>(frame.first_bit_time - input.first_bit_time);
  const double elapsed_ns = input.start_rate_hz > 0.0 ? elapsed_bit_times / input.start_rate_hz * 1e9 : 0.0;
  frame.timestamp_ns = input.start_time_ns + std::llround(elapsed_ns);
}

bool is_raised(const std::function<bool()>& stop) { return stop && stop(); }

}  // namespace

std::uint64_t hop_samples_of(const Recording& recording) {
  return recording.info().kind == FileKind::kSpectra
             ? 1
             : static_cast<std::uint64_t>(recording.plan().settings.front_end.hop_samples);
}

std::uint64_t bit_time_of(const InputInfo& input, std::uint64_t first_sample) {
  return input.first_bit_time + first_sample * static_cast<std::uint64_t>(input.bits_per_sample);
}

std::uint64_t sample_of(const InputInfo& input, std::uint64_t first_bit_time) {
  const auto bits = static_cast<std::uint64_t>(input.bits_per_sample);
  return first_bit_time <= input.first_bit_time ? 0 : (first_bit_time - input.first_bit_time - 1) / bits + 1;
}

std::uint64_t bounded_memory_hops(const Engine& engine) {
  std::int64_t most = 0;
  for (std::size_t p = 0; p < engine.processors(); ++p) {
    most = std::max(most, engine.computed_memory_hops(p));
  }
  return static_cast<std::uint64_t>(most);
}

PartReplay::PartReplay(ReplayPart& part, const MaskSchedule& masks, std::size_t most_windows)
    : recording_(*part.recording),
      reopen_(part.reopen),
      engine_(*part.engine),
      search_(engine_),
      masks_(&masks),
      mask_(engine_),
      hop_(hop_samples_of(recording_)),
      batch_(std::min(static_cast<std::size_t>(recording_.plan().settings.device.batch), most_windows)),
      spectra_(engine_.spectra_values()) {}

/// Number of windows from a frame on, up to `end`, that may be computed together.
std::size_t PartReplay::windows_to(std::uint64_t first, std::uint64_t end) const {
  const std::size_t windows = masks_->together(first * hop_, std::min<std::uint64_t>(batch_, end - first), hop_);
  return search_.together(recording_.info().first_hop + first, windows);
}

/// Puts the findings for a frame into effect in a recording of which nothing was computed yet.
void PartReplay::search_before(std::uint64_t first) {
  search_.restart();
  if (first == 0 || !engine_.search_schedule().is_on()) {
    return;
  }
  const std::uint64_t first_hop = recording_.info().first_hop;
  std::unique_ptr<Recording> before;  // reads forward only
  std::uint64_t next = 0;
  search_.prepare(first_hop, first_hop + first, [&](std::uint64_t hop) {
    if (!before || hop < next) {
      before = reopen_();
    }
    next = hop + 1;
    const std::uint64_t first_sample = (hop - first_hop) * hop_;
    mask_.use(*masks_, first_sample);
    return before->compute(first_sample, 1, engine_);
  });
}

/// False behind a batch whose spectra are examined, and where masks or findings change: the engine cannot change them
/// for batches in flight.
bool PartReplay::may_begin(std::uint64_t first) const {
  if (begun_.empty()) {
    return true;
  }
  return begun_.size() < engine_.batches_in_flight() && !begun_.back().is_looked_at &&
         mask_.is_in_effect(*masks_, first * hop_) && !search_.changes_at(recording_.info().first_hop + first);
}

/// `sink` is null where nothing is written.
void PartReplay::begin_batch(std::uint64_t first, std::size_t windows, const FrameSink* sink) {
  next_.reset();  // state unknown if the next lines throw
  const std::uint64_t hop = recording_.info().first_hop + first;
  mask_.use(*masks_, first * hop_);
  search_.begin(hop);
  bool is_looked_at = search_.looks_at(hop);
  for (std::size_t i = 0; i < windows && sink != nullptr; ++i) {
    is_looked_at |= sink->is_due((first + i) * hop_);
  }
  begun_.push_back(
      {.batch = recording_.begin(first * hop_, windows, engine_), .first = first, .is_looked_at = is_looked_at});
}

/// Finishes the oldest batch, then computes the late processors that are due on it.
FinishedBatch PartReplay::finish_batch() {
  const Begun oldest = begun_.front();
  begun_.pop_front();
  FinishedBatch batch = engine_.finish(oldest.batch);
  search_.look(batch);
  engine_.compute_late(batch);
  if (begun_.empty()) {
    next_ = oldest.first + batch.windows();
  }
  return batch;
}

/// Waits for the batches in flight and discards them.
void PartReplay::drop_begun() {
  for (; !begun_.empty(); begun_.pop_front()) {
    try {
      (void)engine_.finish(begun_.front().batch);
    } catch (const Error&) {  // the caller's own error is reported instead
    }
  }
}

void PartReplay::warm_up(std::uint64_t first, const std::function<bool()>& stop) {
  std::uint64_t index = first - std::min(first, bounded_memory_hops(engine_));
  bool has_any = index < first;
  if (next_ && *next_ >= index && *next_ <= first) {
    index = *next_;  // all hops from here follow the last ones
    has_any = true;
  } else {
    if (next_) {
      engine_.forget();
    }
    search_before(index);
  }
  while (index < first && !is_raised(stop)) {
    const std::size_t windows = windows_to(index, first);
    begin_batch(index, windows, nullptr);
    finish_batch();
    index += windows;
  }
  if (has_any) {
    engine_.forget_unbounded();
  }
}

void PartReplay::compute(std::uint64_t first, std::uint64_t end, FrameSink& sink, const std::function<bool()>& stop,
                         bool are_last) {
  end_ = are_last ? std::optional(end) : std::nullopt;
  warm_up(first, stop);
  try {
    run(first, end, sink, stop);
  } catch (...) {
    drop_begun();
    throw;
  }
}

void PartReplay::run(std::uint64_t first, std::uint64_t end, FrameSink& sink, const std::function<bool()>& stop) {
  std::exception_ptr error;  // set if a batch could not begin; write earlier frames first
  for (std::uint64_t index = first; index < end || !begun_.empty();) {
    if (is_raised(stop)) {
      drop_begun();
      return;
    }
    while (index < end && !error && may_begin(index)) {
      try {
        const std::size_t windows = windows_to(index, end);
        begin_batch(index, windows, &sink);
        index += windows;
      } catch (...) {
        error = std::current_exception();
      }
    }
    if (begun_.empty()) {
      break;
    }
    write_batch(sink);
  }
  if (error) {
    next_.reset();  // the engine may have some bits of the failed batch
    std::rethrow_exception(error);
  }
}

/// Writes the oldest batch.
void PartReplay::write_batch(FrameSink& sink) {
  const InputInfo& input = recording_.info();
  const int channels = recording_.plan().settings.array.geometry.channels();
  const std::uint64_t first = begun_.front().first;
  const FinishedBatch batch = finish_batch();
  const std::span<const WindowStatus> statuses = batch.statuses();
  for (std::size_t i = 0; i < statuses.size(); ++i) {
    const std::uint64_t index = first + i;
    require_finite(statuses[i].non_finite_microphones, channels, index, input);
    require_valid(statuses[i].non_finite_microphones, index);
    Frame frame;
    frame.sequence = index;
    frame.epoch = 1;
    frame.missing_bit_times = statuses[i].missing_bits;
    sink.end_window((statuses[i].flags & ~std::uint32_t{kFlagMemoryNotFull | kFlagSearchPending | kFlagEitherSide}) |
                    write(batch, i, frame, sink));
  }
  look(first, batch, sink);
}

/// Throws DataError where more microphones are masked or not finite than the settings accept.
void PartReplay::require_valid(int non_finite, std::uint64_t index) const {
  const int used = static_cast<int>(microphone_use(engine_).most_used) - non_finite;
  if (const std::string flaw = flaw_of_valid(recording_.plan().settings.array, used); !flaw.empty()) {
    throw DataError(fmt::format("{}: frame {}: {}", recording_.info().name, index, flaw));
  }
}

bool PartReplay::is_last(std::size_t processor, std::uint64_t frame) const {
  const std::uint64_t first_hop = recording_.info().first_hop;
  std::uint64_t next = frame + 1;
  while (end_ && next < *end_ && !engine_.is_due(processor, first_hop + next)) {
    ++next;
  }
  return end_ && next >= *end_;
}

/// Writes a window's due products, one frame per processor. `frame` is stamped except for its place. Returns the flags
/// of all of them.
std::uint32_t PartReplay::write(const FinishedBatch& batch, std::size_t window, Frame& frame, FrameSink& sink) {
  const InputInfo& input = recording_.info();
  const std::uint64_t missing = frame.missing_bit_times;
  std::uint32_t flags = 0;
  for (std::size_t p = 0; p < engine_.processors(); ++p) {
    if (!engine_.is_due(p, input.first_hop + frame.sequence) || !engine_.has_products(batch, p, window)) {
      continue;
    }
    frame.processor = p;
    const SampleSpan span = engine_.window_of(p, frame.sequence * hop_);
    frame.missing_bit_times = engine_.has_own_window(p) ? recording_.missing_bits(span) : missing;
    place(frame, span.first, input);
    const FrameStamp stamp{.sequence = frame.sequence,
                           .first_bit_time = frame.first_bit_time,
                           .missing_bit_times = frame.missing_bit_times};
    const FrameProducts read = engine_.read(batch, p, window, stamp, is_last(p, frame.sequence));
    frame.products = read.products;
    frame.missing_bit_times = std::max(frame.missing_bit_times, read.missing_bit_times);
    frame.valid_microphones = read.valid_microphones;
    frame.microphones = engine_.microphones(p);
    frame.missing_information = read.missing_information;
    frame.flags = read.flags | (frame.missing_bit_times > 0 ? kFlagMissingBits : 0U);
    flags |= frame.flags;
    sink.write(frame);
  }
  return flags;
}

/// Passes on spectra of whole windows of a batch that the sink needs.
void PartReplay::look(std::uint64_t first, const FinishedBatch& batch, FrameSink& sink) {
  for (std::size_t i = 0; i < batch.windows(); ++i) {
    const std::uint64_t first_sample = (first + i) * hop_;
    if (batch.statuses()[i].missing_bits > 0 || !sink.is_due(first_sample)) {
      continue;
    }
    engine_.read_spectra(batch, i, spectra_);
    sink.look(first_sample, spectra_);
  }
}

}  // namespace nearfield
