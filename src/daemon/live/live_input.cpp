#include "daemon/live/live_input.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "config/config.hpp"
#include "config/live_samples.hpp"
#include "config/words.hpp"
#include "core/daemon_settings.hpp"
#include "core/error.hpp"
#include "core/microphones.hpp"
#include "files/files.hpp"
#include "pipeline/input.hpp"

namespace nearfield::daemon {
namespace {

/// Factor from the reordering range plus one window to the least size of the ring.
constexpr std::uint64_t kRingOverReorder = 4;

std::string name_of_input(const DaemonSettings::Source& source) {
  switch (source.kind) {
    case DaemonSettings::SourceKind::kUdp:
      return fmt::format("udp {}", source.address);
    case DaemonSettings::SourceKind::kPipe:
      return fmt::format("pipe {}", source.path);
    case DaemonSettings::SourceKind::kAudio:
      return fmt::format("audio {}", source.device);
    case DaemonSettings::SourceKind::kFile:
      return source.path;
    case DaemonSettings::SourceKind::kSimulate:
      break;
  }
  return source.scene;
}

/// Sets rate and unit of samples, and the microphones if a file states them. A file's values arrive in pascal.
void describe_samples(const Settings& settings, LiveInput& input) {
  if (takes_live_samples(settings.daemon->source)) {
    const LiveInputFacts facts = live_input_facts(settings);
    input.element_rate_hz = facts.element_rate_hz;
    input.pascal_per_unit = facts.pascal_per_unit;
    return;
  }
  const TimeDataReader reader(settings.daemon->source.path, settings.array.channels);
  input.element_rate_hz = reader.sample_rate_hz();
  input.positions_m = positions_beside(settings, reader.positions(), settings.daemon->source.path);
}

}  // namespace

SourceSettings source_settings(const Settings& settings) {
  const DaemonSettings::Source& source = settings.daemon->source;
  SourceSettings out;
  out.source = source;
  out.pascal_per_unit = settings.array.pascal_per_unit;
  out.channels = settings.array.channels;
  const bool is_samples = takes_live_samples(source);
  constexpr double kShortestPeriod_s = 1e-3;  // a frame of USB
  constexpr double kLongestPeriod_s = 10e-3;
  out.period_s =
      std::clamp(settings.front_end.hop_samples / sample_rate_of(settings), kShortestPeriod_s, kLongestPeriod_s);
  out.bit_times_per_element = static_cast<std::uint64_t>(is_samples ? settings.front_end.decimation : 1);
  const auto bit_times = [&](int samples) {
    return static_cast<std::uint64_t>(samples) * static_cast<std::uint64_t>(settings.front_end.decimation);
  };
  const std::uint64_t window = bit_times(longest_window_samples(settings) + settings.front_end.hop_samples);
  // Leaves room for a window besides what may still be reordered.
  out.least_ring_elements =
      kRingOverReorder * (ring_settings(out).reorder_elements + window / out.bit_times_per_element);
  if (is_bare(source)) {
    out.words_per_element =
        static_cast<std::size_t>(is_samples ? settings.array.geometry.rows * settings.array.geometry.columns
                                            : words_per_bit_time(settings.array.layout, settings.array.geometry));
  }
  return out;
}

LiveInput live_input(const Settings& settings, const Source& source) {
  const RingSettings& ring = source.ring().settings();
  LiveInput input;
  input.words_per_element = ring.words_per_element;
  input.capture = source.capture();
  input.name = name_of_input(settings.daemon->source);
  const bool plays = settings.daemon->source.kind == DaemonSettings::SourceKind::kFile ||
                     settings.daemon->source.kind == DaemonSettings::SourceKind::kSimulate;
  input.waits = plays && settings.daemon->source.pace == DaemonSettings::Pace::kFast;
  input.element_rate_hz = input.capture ? input.capture->sample_rate_hz : settings.array.clock_hz;
  input.rate_from = is_bare(settings.daemon->source) ? live_input_facts(settings).rate_from : input.name;
  if (ring.kind == PayloadKind::kSamples) {
    input.form = InputForm::kSamples;
    input.elements_per_sample = 1;
    describe_samples(settings, input);
  }
  return input;
}

EnginePlan live_plan(const Settings& settings, const LiveInput& input) {
  EnginePlan plan;
  plan.files = array_files_on_disk();
  plan.input = input.form;
  plan.sample_rate_hz = input.element_rate_hz / static_cast<double>(input.elements_per_sample);
  plan.settings = settings;
  if (input.capture) {
    plan.settings = reconcile(settings, input.capture->measurement, &input.capture->layout, input.name);
  }
  if (input.form == InputForm::kSamples) {
    plan.settings =
        with_samples(plan.settings, input.positions_m, static_cast<int>(input.words_per_element), input.name);
  } else {
    const int words = words_per_bit_time(plan.settings.array.layout, plan.settings.array.geometry);
    if (static_cast<std::size_t>(words) != input.words_per_element) {
      throw ConfigError(fmt::format("array: expected {} words a bit-time, as {} delivers them, found {}",
                                    input.words_per_element, input.name, words));
    }
  }
  if (input.form == InputForm::kBits) {
    plan.settings = with_clock(plan.settings, input.element_rate_hz, input.name);
    validate(plan.settings, input.element_rate_hz / plan.settings.front_end.decimation);
    plan.settings = in_words(plan.settings);
  } else {
    validate(plan.settings, plan.sample_rate_hz);
  }
  return plan;
}

}  // namespace nearfield::daemon
