#include "pipeline/replay_part.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "nearfield/error.hpp"

namespace nearfield {
namespace {

void require_finite(int non_finite, int channels, std::uint64_t index, const InputInfo& input) {
  if (too_many_are_not_finite(non_finite, channels)) {
    throw DataError(fmt::format("{}: frame {}: {} of {} microphones are not finite; expected at most a tenth",
                                input.name, index, non_finite, channels));
  }
}

/// Where a frame lies in the recording.
void place(Frame& frame, std::uint64_t first_sample, const InputInfo& input) {
  frame.first_bit_time = bit_time_of(input, first_sample);
  const auto elapsed_bit_times = static_cast<double>(frame.first_bit_time - input.first_bit_time);
  const double elapsed_ns = input.start_rate_hz > 0.0 ? elapsed_bit_times / input.start_rate_hz * 1e9 : 0.0;
  frame.timestamp_ns = input.start_time_ns + std::llround(elapsed_ns);
}

std::uint32_t late_and_due(const Engine& engine, std::uint64_t first_hop, std::size_t windows) {
  std::uint32_t due = 0;
  for (std::size_t p = 0; p < engine.processors(); ++p) {
    for (std::uint64_t hop = first_hop; hop < first_hop + windows; ++hop) {
      due |= engine.is_due(p, hop) ? 1U << p : 0U;
    }
  }
  return due & engine.late();
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

/// How many windows from a frame on are computed together, of those up to `end`.
std::size_t PartReplay::windows_to(std::uint64_t first, std::uint64_t end) const {
  const std::size_t windows = masks_->together(first * hop_, std::min<std::uint64_t>(batch_, end - first), hop_);
  return search_.together(recording_.info().first_hop + first, windows);
}

/// What holds at a frame of a recording, of which nothing was computed yet.
void PartReplay::search_before(std::uint64_t first) {
  search_.restart();
  if (first == 0 || !engine_.search_schedule().is_on()) {
    return;
  }
  const std::uint64_t first_hop = recording_.info().first_hop;
  std::unique_ptr<Recording> before;  // a recording is read forward
  std::uint64_t next = 0;
  search_.prepare(first_hop, first_hop + first, [&](std::uint64_t hop) {
    if (!before || hop < next) {
      before = reopen_();
    }
    next = hop + 1;
    const std::uint64_t first_sample = (hop - first_hop) * hop_;
    mask_.use(*masks_, first_sample);
    return before->compute(first_sample, 1, engine_).front();
  });
}

/// The windows, and the late processors that are due on them.
std::span<const WindowStatus> PartReplay::compute_batch(std::uint64_t first, std::size_t windows) {
  next_.reset();  // what the engine remembers is not known where the next lines throw
  const std::uint64_t hop = recording_.info().first_hop + first;
  mask_.use(*masks_, first * hop_);
  search_.begin(hop);
  const std::span<const WindowStatus> statuses = recording_.compute(first * hop_, windows, engine_);
  search_.look(hop, statuses);
  engine_.begin_late(late_and_due(engine_, hop, windows));
  engine_.finish_late();
  next_ = first + windows;
  return statuses;
}

void PartReplay::warm_up(std::uint64_t first, const std::function<bool()>& stop) {
  std::uint64_t index = first - std::min(first, bounded_memory_hops(engine_));
  bool has_any = index < first;
  if (next_ && *next_ >= index && *next_ <= first) {
    index = *next_;  // all of these hops follow on those computed last
    has_any = true;
  } else {
    if (next_) {
      engine_.forget();
    }
    search_before(index);
  }
  while (index < first && !is_raised(stop)) {
    const std::size_t windows = windows_to(index, first);
    compute_batch(index, windows);
    index += windows;
  }
  if (has_any) {
    engine_.forget_unbounded();
  }
}

void PartReplay::compute(std::uint64_t first, std::uint64_t end, FrameSink& sink, const std::function<bool()>& stop) {
  const InputInfo& input = recording_.info();
  const Settings& settings = recording_.plan().settings;
  warm_up(first, stop);
  for (std::uint64_t index = first; index < end && !is_raised(stop);) {
    const std::uint64_t batch_first = index;
    const std::size_t windows = windows_to(index, end);
    const std::span<const WindowStatus> statuses = compute_batch(index, windows);
    for (std::size_t i = 0; i < windows; ++i, ++index) {
      require_finite(statuses[i].non_finite_microphones, settings.array.geometry.channels(), index, input);
      Frame frame;
      frame.sequence = index;
      frame.epoch = 1;
      frame.missing_bit_times = statuses[i].missing_bits;
      sink.end_window((statuses[i].flags & ~std::uint32_t{kFlagMemoryNotFull}) | write(i, frame, sink));
    }
    look(batch_first, statuses, sink);
  }
}

/// The products that are due of a window, one frame a processor. `frame` is stamped but for its place. Returns the
/// flags of all of them.
std::uint32_t PartReplay::write(std::size_t window, Frame& frame, FrameSink& sink) {
  const InputInfo& input = recording_.info();
  const std::uint64_t missing = frame.missing_bit_times;
  std::uint32_t flags = 0;
  for (std::size_t p = 0; p < engine_.processors(); ++p) {
    if (!engine_.is_due(p, input.first_hop + frame.sequence) || !engine_.has_products(p, window)) {
      continue;
    }
    frame.processor = p;
    const SampleSpan span = engine_.window_of(p, frame.sequence * hop_);
    frame.missing_bit_times = engine_.has_own_window(p) ? recording_.missing_bits(span) : missing;
    place(frame, span.first, input);
    engine_.stamp(p, window,
                  {.sequence = frame.sequence,
                   .first_bit_time = frame.first_bit_time,
                   .missing_bit_times = frame.missing_bit_times});
    frame.products = engine_.products(p, window);
    frame.missing_bit_times = std::max(frame.missing_bit_times, engine_.missing_bit_times(p, window));
    frame.valid_microphones = engine_.valid_microphones(p, window);
    frame.flags = engine_.flags(p, window) | (frame.missing_bit_times > 0 ? kFlagMissingBits : 0U);
    flags |= frame.flags;
    sink.write(frame);
  }
  return flags;
}

/// Whole windows of a batch whose spectra the sink wants.
void PartReplay::look(std::uint64_t first, std::span<const WindowStatus> statuses, FrameSink& sink) {
  for (std::size_t i = 0; i < statuses.size(); ++i) {
    const std::uint64_t first_sample = (first + i) * hop_;
    if (statuses[i].missing_bits > 0 || !sink.is_due(first_sample)) {
      continue;
    }
    engine_.read_spectra(i, spectra_);
    sink.look(first_sample, spectra_);
  }
}

}  // namespace nearfield
