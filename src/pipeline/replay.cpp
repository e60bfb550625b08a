#include "pipeline/replay.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>

#include "engine/microphone_watch.hpp"
#include "engine/recording_search.hpp"
#include "nearfield/error.hpp"
#include "pipeline/recording.hpp"

namespace nearfield {
namespace {

std::uint64_t parse_count(std::string_view text, const std::string& whole) {
  std::uint64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size() || text.empty()) {
    throw UsageError(fmt::format("--frames: expected A:B or N, found \"{}\"", whole));
  }
  return value;
}

/// The frames of the range that the recording has.
FrameRange clip(const FrameRange& asked, std::uint64_t available, const ReplayOptions& options) {
  if (asked.first >= available) {
    throw DataError(fmt::format("{}: no frame to image: it has frames 0 to {}, --frames starts at {}",
                                options.input.string(), available - 1, asked.first));
  }
  if (asked.end.value_or(0) > available && options.warn) {
    options.warn(fmt::format("--frames ends at {}, the recording at {}", *asked.end, available));
  }
  return {.first = asked.first, .end = std::min(asked.end.value_or(available), available)};
}

void require_finite(int non_finite, int channels, std::uint64_t index, const InputInfo& input) {
  if (too_many_are_not_finite(non_finite, channels)) {
    throw DataError(fmt::format("{}: frame {}: {} of {} microphones are not finite; expected at most a tenth",
                                input.name, index, non_finite, channels));
  }
}

/// Where a frame lies in the recording.
void place(Frame& frame, std::uint64_t first_sample, const InputInfo& input) {
  frame.first_bit_time = first_sample * static_cast<std::uint64_t>(input.bits_per_sample);
  const double elapsed_ns =
      input.start_rate_hz > 0.0 ? static_cast<double>(frame.first_bit_time) / input.start_rate_hz * 1e9 : 0.0;
  frame.timestamp_ns = input.start_time_ns + std::llround(elapsed_ns);
  frame.first_bit_time += input.first_bit_time;
}

/// Frames of the range for which a processor is due, and which have all its window.
FramesOfProcessor frames_of(const Engine& engine, std::size_t processor, const FrameRange& range, std::uint64_t hop) {
  FramesOfProcessor frames{.every = static_cast<std::uint64_t>(engine.every_hops(processor))};
  for (std::uint64_t index = range.first; index < *range.end; ++index) {
    if (engine.is_due(processor, index) && engine.reaches(processor, index * hop)) {
      frames.first = frames.count == 0 ? index : frames.first;
      ++frames.count;
    }
  }
  return frames;
}

using Outputs = std::vector<std::unique_ptr<Output>>;

/// A processor without a frame in the range has no place in the outputs.
std::vector<FramesOfProcessor> begin(const Outputs& outputs, const Engine& engine, const FrameRange& range,
                                     std::uint64_t hop, const ReplayOptions& options, std::int64_t start_time_ns) {
  std::vector<FramesOfProcessor> places;
  for (std::size_t p = 0; p < engine.processors(); ++p) {
    const std::uint64_t frames = places.emplace_back(frames_of(engine, p, range, hop)).count;
    if (frames == 0 && options.warn) {
      options.warn(
          fmt::format("processors.{}: no frame among frames {} to {} of {}: it has one every {} hops, once {} "
                      "samples have come",
                      engine.header(p).processor, range.first, *range.end - 1, options.input.string(),
                      engine.every_hops(p), engine.window_samples(p)));
    }
    for (const auto& output : outputs) {
      if (frames > 0) {
        output->begin(engine.header(p), {.processor = p, .frames = frames, .time_zero_ns = start_time_ns});
      }
    }
  }
  return places;
}

std::uint32_t late_and_due(const Engine& engine, std::uint64_t first, std::size_t windows) {
  std::uint32_t due = 0;
  for (std::size_t p = 0; p < engine.processors(); ++p) {
    for (std::uint64_t index = first; index < first + windows; ++index) {
      due |= engine.is_due(p, index) ? 1U << p : 0U;
    }
  }
  return due & engine.late();
}

/// The products that are due of a window, one frame a processor. `frame` is stamped but for its place. Returns the
/// flags of all of them.
std::uint32_t write(const Outputs& outputs, Engine& engine, std::size_t window, std::uint64_t first_sample,
                    const Recording& recording, Frame& frame) {
  const std::uint64_t missing = frame.missing_bit_times;
  std::uint32_t flags = 0;
  for (std::size_t p = 0; p < engine.processors(); ++p) {
    if (!engine.is_due(p, frame.sequence) || !engine.has_products(p, window)) {
      continue;
    }
    frame.processor = p;
    const SampleSpan span = engine.window_of(p, first_sample);
    frame.missing_bit_times = engine.has_own_window(p) ? recording.missing_bits(span) : missing;
    place(frame, span.first, recording.info());
    engine.stamp(p, window,
                 {.sequence = frame.sequence,
                  .first_bit_time = frame.first_bit_time,
                  .missing_bit_times = frame.missing_bit_times});
    frame.products = engine.products(p, window);
    frame.missing_bit_times = std::max(frame.missing_bit_times, engine.missing_bit_times(p, window));
    frame.valid_microphones = engine.valid_microphones(p, window);
    frame.flags = engine.flags(p, window) | (frame.missing_bit_times > 0 ? kFlagMissingBits : 0U);
    flags |= frame.flags;
    for (const auto& output : outputs) {
      output->write(frame);
    }
  }
  return flags;
}

/// How many hops before a frame its processors may depend on, of those where this is bounded.
std::uint64_t bounded_memory(const Engine& engine) {
  std::int64_t most = 0;
  for (std::size_t p = 0; p < engine.processors(); ++p) {
    most = std::max(most, engine.memory_hops(p).value_or(0));
  }
  return static_cast<std::uint64_t>(most);
}

/// Computes the hops that the first frame of a range may depend on, and drops them.
void warm_up(Recording& recording, Engine& engine, std::uint64_t first, std::uint64_t hop) {
  const auto batch = static_cast<std::uint64_t>(recording.plan().settings.device.batch);
  std::uint64_t index = first - std::min(first, bounded_memory(engine));
  const bool has_any = index < first;
  while (index < first) {
    const std::uint64_t windows = std::min(batch, first - index);
    recording.compute(index * hop, windows, engine);
    index += windows;
  }
  if (has_any) {
    engine.forget_unbounded();
  }
}

}  // namespace

FrameRange parse_frame_range(const std::string& text) {
  const std::size_t colon = text.find(':');
  if (colon == std::string::npos) {
    const std::uint64_t count = parse_count(text, text);
    if (count == 0) {
      throw UsageError("--frames: expected at least one frame, found 0");
    }
    return {.first = 0, .end = count};
  }
  const std::string_view view = text;
  FrameRange range;
  range.first = colon > 0 ? parse_count(view.substr(0, colon), text) : 0;
  if (colon + 1 < text.size()) {
    range.end = parse_count(view.substr(colon + 1), text);
  }
  if (range.end && *range.end <= range.first) {
    throw UsageError(fmt::format("--frames: expected A < B in A:B, found \"{}\"", text));
  }
  return range;
}

ReplayResult replay(const ReplayOptions& options, const std::vector<std::unique_ptr<Output>>& outputs) {
  const std::unique_ptr<Recording> recording = open_recording(options.input, options.settings);
  const InputInfo& input = recording->info();
  const EnginePlan& plan = recording->plan();
  const FrameRange range = clip(options.frames, count_frames(input, plan.settings.front_end), options);
  const std::unique_ptr<Engine> engine = make_engine(options.engine, plan);
  if (options.inform) {
    for (const std::string& note : recording->notes()) {
      options.inform(note);
    }
    options.inform(fmt::format("front end: {}", engine->front_end_name()));
    options.inform(fmt::format("imager: {}", engine->imager_name()));
    for (const std::string& note : plan_notes(*engine)) {
      options.inform(note);
    }
  }
  if (options.warn) {
    for (const std::string& warning : plan_warnings(*engine)) {
      options.warn(warning);
    }
  }
  ReplayResult result;
  result.header = engine->header(0);
  result.frames_asked = *range.end - range.first;
  const std::uint64_t hop =
      input.kind == FileKind::kSpectra ? 1 : static_cast<std::uint64_t>(plan.settings.front_end.hop_samples);
  result.places = begin(outputs, *engine, range, hop, options, recording->info().start_time_ns);
  for (std::size_t p = 0; p < engine->processors(); ++p) {
    result.headers.push_back(engine->header(p));
  }
  if (options.is_plan) {
    return result;
  }
  warm_up(*recording, *engine, range.first, hop);
  MicrophoneWatch watch(*engine, plan);
  RecordingSearch search(*engine, plan.settings);
  const auto batch = static_cast<std::uint64_t>(plan.settings.device.batch);
  for (std::uint64_t index = range.first; index < *range.end;) {
    if (options.stop && options.stop()) {
      return result;
    }
    const std::size_t windows = std::min(batch, *range.end - index);
    const std::span<const WindowStatus> statuses = recording->compute(index * hop, windows, *engine);
    search.look(index, statuses);
    const std::uint64_t first = index;
    engine->begin_late(late_and_due(*engine, index, windows));
    engine->finish_late();
    for (std::size_t i = 0; i < windows; ++i, ++index) {
      require_finite(statuses[i].non_finite_microphones, plan.settings.array.geometry.channels(), index, input);
      Frame frame;
      frame.sequence = index;
      frame.epoch = 1;
      frame.missing_bit_times = statuses[i].missing_bits;
      result.flags |= statuses[i].flags | write(outputs, *engine, i, index * hop, *recording, frame);
      ++result.frames;
      if (options.progress) {
        options.progress(result.frames, result.frames_asked);
      }
    }
    // A mask that changes holds from the next batch on.
    for (std::size_t i = 0; i < windows && (statuses[i].missing_bits > 0 || !watch.look((first + i) * hop, i)); ++i) {
    }
  }
  result.bad_microphones = watch.findings();
  for (const auto& output : outputs) {
    output->finish();
  }
  return result;
}

}  // namespace nearfield
