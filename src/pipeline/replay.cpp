#include "pipeline/replay.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <charconv>
#include <complex>
#include <set>
#include <span>

#include "config/premises.hpp"
#include "core/error.hpp"
#include "core/images.hpp"
#include "engine/microphone_watch.hpp"
#include "pipeline/dealing.hpp"
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

/// Limits the range to the frames of the recording.
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

/// Frames of the range at which a processor is due and that contain its whole window.
FramesOfProcessor frames_of(const Engine& engine, std::size_t processor, const FrameRange& range, std::uint64_t hop,
                            std::uint64_t first_hop) {
  FramesOfProcessor frames{.every = static_cast<std::uint64_t>(engine.every_hops(processor))};
  for (std::uint64_t index = range.first; index < *range.end; ++index) {
    if (engine.is_due(processor, first_hop + index) && engine.reaches(processor, index * hop)) {
      frames.first = frames.count == 0 ? index : frames.first;
      ++frames.count;
    }
  }
  return frames;
}

using Outputs = std::vector<std::unique_ptr<Output>>;

/// Begins the outputs; a processor without a frame in the range is omitted. Throws DataError where that is the first.
std::vector<FramesOfProcessor> begin(const Outputs& outputs, const Engine& engine,
                                     const std::vector<ResultHeader>& headers, const FrameRange& range,
                                     std::uint64_t hop, const ReplayOptions& options, const InputInfo& input) {
  std::vector<FramesOfProcessor> places;
  for (std::size_t p = 0; p < engine.processors(); ++p) {
    const std::uint64_t frames = places.emplace_back(frames_of(engine, p, range, hop, input.first_hop)).count;
    if (frames == 0) {
      const std::string none = fmt::format(
          "processors.{}: no frame among frames {} to {} of {}: it has one every {} hops, once {} samples have come",
          engine.header(p).processor, range.first, *range.end - 1, options.input.string(), engine.every_hops(p),
          engine.window_samples(p));
      if (p == 0) {
        throw DataError(none);
      }
      if (options.warn) {
        options.warn(none);
      }
    }
    for (const auto& output : outputs) {
      if (frames > 0) {
        output->begin(headers[p], {.processor = p,
                                   .frames = frames,
                                   .time_zero_ns = input.start_time_ns,
                                   .microphones = engine.microphones(p),
                                   .masked = engine.of_processor(p, microphone_use(engine).masked)});
      }
    }
  }
  return places;
}

void pass_on(const Outputs& outputs, const MaskChange& change) {
  for (const auto& output : outputs) {
    output->mask(change);
  }
}

void add_masked(MicrophoneUse& use, const std::vector<int>& channels) {
  std::set<int> all(use.masked.begin(), use.masked.end());
  all.insert(channels.begin(), channels.end());
  use.masked.assign(all.begin(), all.end());
}

/// Passes frames to the outputs and counts them, on the thread that called replay().
class OutputSink : public FrameSink {
 public:
  OutputSink(const Outputs& outputs, MicrophoneWatch& watch, MaskSchedule& masks, const InputInfo& input,
             const ReplayOptions& options, ReplayResult& result)
      : outputs_(outputs), watch_(watch), masks_(masks), input_(input), options_(options), result_(result) {}
  void write(const Frame& frame) override {
    if (frame.processor == 0) {
      count(frame);
    }
    for (const auto& output : outputs_) {
      output->write(frame);
    }
  }
  void end_window(std::uint32_t flags) override {
    result_.flags |= flags;
    ++result_.frames;
    if (options_.progress) {
      options_.progress(result_.frames, result_.frames_asked);
    }
  }
  [[nodiscard]] bool is_due(std::uint64_t first_sample) const override { return watch_.is_due(first_sample); }
  void look(std::uint64_t first_sample, std::span<const std::complex<float>> spectra) override {
    if (const std::optional<MicrophoneWatch::Found> found = watch_.add(first_sample, spectra)) {
      masks_.add(found->from_sample, found->channels);
      add_masked(result_.microphones, found->channels);
      pass_on(outputs_, {.first_bit_time = bit_time_of(input_, found->from_sample), .channels = found->channels});
    }
  }

 private:
  void count(const Frame& frame) {
    MicrophoneUse& use = result_.microphones;
    use.fewest_used =
        use.microphones == 0 ? frame.valid_microphones : std::min(use.fewest_used, frame.valid_microphones);
    use.most_used = std::max(use.most_used, frame.valid_microphones);
    use.microphones = frame.microphones;
    use.missing_information = std::max(use.missing_information, frame.missing_information);
  }
  const Outputs& outputs_;
  MicrophoneWatch& watch_;
  MaskSchedule& masks_;
  const InputInfo& input_;
  const ReplayOptions& options_;
  ReplayResult& result_;
};

/// Throws UsageError where frames of a block would depend on earlier blocks.
void require_bounded(const Engine& engine, bool is_unbounded_allowed) {
  for (std::size_t p = 0; p < engine.processors() && !is_unbounded_allowed; ++p) {
    if (engine.header(p).memory_hops.value_or(kUnboundedMemory) == kUnboundedMemory) {
      throw UsageError(fmt::format(
          "--devices: processors.{}: expected frames that depend on a bounded number of hops before, found averages or "
          "tracks without a bound; average.kind: none, or tracks.enabled: false with weights that measure no floor, "
          "bound them, and --allow-unbounded accepts that they start from nothing in each block",
          engine.header(p).processor));
    }
  }
}

/// Devices of all parts, each name once.
std::string devices_of(const std::vector<ReplayPart>& parts, std::size_t processor) {
  std::vector<std::string> names;
  for (const ReplayPart& part : parts) {
    const std::string& name = part.engine->header(processor).device;
    if (std::find(names.begin(), names.end(), name) == names.end()) {
      names.push_back(name);
    }
  }
  return fmt::format("{}", fmt::join(names, " and "));
}

/// Results of examining the samples before the first frame.
struct Heard {
  std::optional<SampleLevels> levels;
  std::vector<int> silent;  ///< silent_microphones()
};

Heard listen_to(const Recording& recording) {
  Heard heard{.levels = recording.levels(), .silent = {}};
  heard.silent = silent_microphones(recording, heard.levels);
  return heard;
}

/// Plan of an engine that masks silent microphones like array.dead_channels, where the settings mask any.
EnginePlan plan_of(const Recording& recording, const std::vector<int>& silent) {
  EnginePlan plan = recording.plan();
  ArraySettings& array = plan.settings.array;
  if (array.health.enabled && array.health.mask != HealthMask::kNone) {
    std::set<int> dead(silent.begin(), silent.end());
    for (const int trusted : array.health.trusted_channels) {
      dead.erase(trusted);
    }
    dead.insert(array.dead_channels.begin(), array.dead_channels.end());
    array.dead_channels.assign(dead.begin(), dead.end());
  }
  return plan;
}

/// Reports levels first: they reveal a wrong unit.
void tell_of_levels(const Recording& recording, const Heard& heard, const ReplayOptions& options) {
  if (options.inform && heard.levels) {
    options.inform(text_of(*heard.levels, true));
  }
  if (options.warn && heard.levels) {
    if (const std::string doubt = doubt_about(*heard.levels); !doubt.empty()) {
      options.warn(fmt::format("{}: {}", recording.info().name, doubt));
    }
  }
  if (options.warn && !heard.silent.empty()) {
    options.warn(fmt::format("{}: {} of {} microphones are silent, {}: {}", recording.info().name, heard.silent.size(),
                             heard.levels->channels.size(), text_of_silence(*heard.levels),
                             fmt::join(heard.silent, ", ")));
  }
}

void tell_of_plan(const ReplayPart& part, const Heard& heard, const ReplayOptions& options) {
  tell_of_levels(*part.recording, heard, options);
  if (options.inform) {
    for (const std::string& note : part.recording->notes()) {
      options.inform(note);
    }
    for (const std::string& line : premises(part.recording->plan().settings, part.recording->info().sample_rate_hz)) {
      options.inform(line);
    }
    options.inform("microphones: " + text_of(microphone_use(*part.engine)));
    options.inform(fmt::format("front end: {}", part.engine->front_end_name()));
    const ResultHeader& first = part.engine->header(0);
    options.inform(images_of(first) != nullptr ? fmt::format("imager: {}, {}", first.kind, part.engine->description(0))
                                               : fmt::format("{}: {}", first.processor, part.engine->description(0)));
    for (const std::string& note : plan_notes(*part.engine)) {
      options.inform(note);
    }
  }
  if (options.warn) {
    for (const std::string& warning : plan_warnings(*part.engine)) {
      options.warn(warning);
    }
  }
}

/// Throws DataError where a mask has more microphones than an engine has room for.
void require_maskable(const MaskChanges& changes, const ArrayGeometry& geometry, const std::string& name) {
  for (const MaskChange& change : changes) {
    if (change.channels.size() > most_maskable(geometry)) {
      throw DataError(fmt::format("{}: expected masks of at most {} of {} microphones, found one of {}", name,
                                  most_maskable(geometry), geometry.channels(), change.channels.size()));
    }
  }
}

struct KnownMasks {
  MaskChanges changes;
  bool has_looked = false;  ///< the watch has seen all windows that it needs
};

/// Masks known before the first frame. On a single device the watch finds the rest; otherwise it only reports.
KnownMasks masks_before(MaskSource source, ReplayPart& part, MicrophoneWatch& watch, const FrameRange& range,
                        bool is_dealt, const ReplayOptions& options) {
  KnownMasks known;
  if (source == MaskSource::kGiven) {
    known.changes = read_masks(options.masks_file, part.recording->plan().settings.array.geometry.channels());
    require_maskable(known.changes, part.recording->plan().settings.array.geometry, options.masks_file.string());
  } else if (source == MaskSource::kRecorded) {
    known.changes = *part.recording->masks();
    require_maskable(known.changes, part.recording->plan().settings.array.geometry, part.recording->info().name);
    if (options.inform) {
      options.inform(fmt::format("masks of microphones: as {} was recorded", part.recording->info().name));
    }
  } else if (source == MaskSource::kFound && is_dealt) {
    if (options.inform) {
      options.inform("microphones: all windows that are looked at come first, some 32 a second of the recording");
    }
    known = {.changes = find_masks(part, watch, range.first, *range.end, {.progress = {}, .stop = options.stop}),
             .has_looked = true};
  }
  if (source != MaskSource::kFound || is_dealt) {
    watch.report_only();
  }
  return known;
}

std::uint64_t frames_in(const Recording& recording) {
  return count_frames(recording.info(), recording.plan().settings.front_end);
}

ReplayResult replay_range(std::vector<ReplayPart>& parts, const FrameRange& range, const Heard& heard,
                          const ReplayOptions& options, const Outputs& outputs) {
  ReplayPart& first = parts.front();
  const Engine& engine = *first.engine;
  MicrophoneWatch watch(engine, first.recording->plan());
  const std::uint64_t hop = hop_samples_of(*first.recording);
  const bool is_dealt = parts.size() > 1;
  if (is_dealt) {
    require_bounded(engine, options.is_unbounded_allowed);
  }
  tell_of_plan(first, heard, options);
  const InputInfo& input = first.recording->info();
  ReplayResult result;
  result.masks = mask_source(*first.recording, !options.masks_file.empty());
  const KnownMasks known =
      options.is_plan ? KnownMasks{} : masks_before(result.masks, first, watch, range, is_dealt, options);
  result.frames_asked = *range.end - range.first;
  for (std::size_t p = 0; p < engine.processors(); ++p) {
    result.headers.push_back(engine.header(p));
    result.headers.back().device = devices_of(parts, p);
  }
  result.header = result.headers.front();
  result.places = begin(outputs, engine, result.headers, range, hop, options, input);
  if (options.is_plan) {
    return result;
  }
  add_masked(result.microphones, microphone_use(engine).masked);
  for (const MaskChange& change : known.changes) {
    add_masked(result.microphones, change.channels);
    pass_on(outputs, change);
  }
  MaskSchedule masks = schedule_of(known.changes, input);
  OutputSink sink(outputs, watch, masks, input, options, result);
  if (is_dealt) {
    DealingSizes sizes = dealing_sizes(result.frames_asked, parts);
    sizes.block_hops = options.block_hops > 0 ? options.block_hops : sizes.block_hops;
    if (options.inform) {
      options.inform(fmt::format("{} devices: blocks of {} frames, with {} computed before each", parts.size(),
                                 sizes.block_hops, bounded_memory_hops(engine)));
    }
    deal_out(parts,
             {.first = range.first,
              .end = *range.end,
              .look_every_samples = known.has_looked ? 0 : watch.interval_samples(),
              .masks = &masks},
             sizes, sink, options.stop);
  } else {
    // Findings take effect an interval after their window. Limit the batch to that; one window always fits.
    const std::uint64_t within =
        watch.masks() ? std::max<std::uint64_t>(watch.interval_samples() / hop, 1) : PartReplay::kAnyBatch;
    PartReplay(first, masks, within).compute(range.first, *range.end, sink, options.stop, true);
  }
  result.microphones.masked = engine.of_processor(0, std::move(result.microphones.masked));
  if (result.frames < result.frames_asked) {
    return result;
  }
  result.bad_microphones = watch.findings();
  for (const auto& output : outputs) {
    output->finish();
  }
  return result;
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

MasksOfReplay masks_of(const ReplayOptions& options) {
  const auto open = [&] { return open_recording(options.input, options.settings); };
  ReplayPart part{.recording = open(), .engine = nullptr, .reopen = open};
  const Recording& recording = *part.recording;
  MasksOfReplay result;
  result.microphones = recording.plan().settings.array.geometry.channels();
  const FrameRange range = clip(options.frames, frames_in(recording), options);
  const MaskSource source = mask_source(recording, false);
  if (source == MaskSource::kRecorded) {
    result.changes = *recording.masks();
  }
  if (source != MaskSource::kFound) {
    return result;
  }
  EnginePlan plan = plan_of(recording, listen_to(recording).silent);
  plan.has_processor = false;
  part.engine = make_engine(options.engine, plan);
  MicrophoneWatch watch(*part.engine, plan);
  result.changes =
      find_masks(part, watch, range.first, *range.end, {.progress = options.progress, .stop = options.stop});
  result.is_whole = !(options.stop && options.stop());
  result.bad_microphones = watch.findings();
  return result;
}

ReplayResult replay(std::vector<ReplayPart> parts, const ReplayOptions& options, const Outputs& outputs) {
  const Recording& recording = *parts.front().recording;
  const FrameRange range = clip(options.frames, frames_in(recording), options);
  return replay_range(parts, range, listen_to(recording), options, outputs);
}

ReplayResult replay(const ReplayOptions& options, const Outputs& outputs) {
  std::vector<ReplayPart> parts;
  const std::vector<DeviceSettings> one = {options.settings.device};
  for (const DeviceSettings& device : options.devices.empty() ? one : options.devices) {
    Settings settings = options.settings;
    settings.device = device;
    const auto open = [input = options.input, settings] { return open_recording(input, settings); };
    parts.push_back({.recording = open(), .engine = nullptr, .reopen = open});
  }
  const FrameRange range = clip(options.frames, frames_in(*parts.front().recording), options);
  const Heard heard = listen_to(*parts.front().recording);
  for (ReplayPart& part : parts) {
    EnginePlan plan = plan_of(*part.recording, heard.silent);
    plan.batches_in_flight = plan.settings.device.batch > 1 ? 2 : 1;
    part.engine = make_engine(options.engine, plan);
  }
  return replay_range(parts, range, heard, options, outputs);
}

}  // namespace nearfield
