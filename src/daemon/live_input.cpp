#include "daemon/live_input.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "config/config.hpp"
#include "nearfield/error.hpp"
#include "nearfield/layout.hpp"
#include "pipeline/input.hpp"

namespace nearfield::daemon {
namespace {

/// A ring that holds less than this many windows of reordering makes no sense.
constexpr std::uint64_t kRingOverReorder = 4;

SourceKind kind_of(DaemonSettings::SourceKind kind) {
  switch (kind) {
    case DaemonSettings::SourceKind::kUdp:
      return SourceKind::kUdp;
    case DaemonSettings::SourceKind::kPipe:
      return SourceKind::kPipe;
    case DaemonSettings::SourceKind::kFile:
      return SourceKind::kFile;
    case DaemonSettings::SourceKind::kSimulate:
      break;
  }
  return SourceKind::kScene;
}

std::string name_of_input(const DaemonSettings::Source& source) {
  switch (source.kind) {
    case DaemonSettings::SourceKind::kUdp:
      return fmt::format("udp {}", source.address);
    case DaemonSettings::SourceKind::kPipe:
      return fmt::format("pipe {}", source.path);
    case DaemonSettings::SourceKind::kFile:
      return source.path;
    case DaemonSettings::SourceKind::kSimulate:
      break;
  }
  return source.scene;
}

double sample_rate_hz(const Settings& settings) {
  if (settings.daemon.source.kind == DaemonSettings::SourceKind::kFile) {
    return TimeDataReader(settings.daemon.source.path).sample_rate_hz();
  }
  return kBitRateHz / settings.front_end.decimation;
}

}  // namespace

SourceSettings source_settings(const Settings& settings) {
  const DaemonSettings::Source& wanted = settings.daemon.source;
  SourceSettings out;
  out.kind = kind_of(wanted.kind);
  out.address = wanted.address;
  out.interface = wanted.interface;
  out.path = wanted.kind == DaemonSettings::SourceKind::kSimulate ? wanted.scene : wanted.path;
  out.pace = wanted.pace == DaemonSettings::Pace::kFast ? Pace::kFast : Pace::kRealTime;
  out.loop = wanted.loop;
  out.receive_buffer_bytes = static_cast<std::uint64_t>(wanted.receive_buffer_bytes);
  const bool is_bare =
      wanted.kind == DaemonSettings::SourceKind::kUdp || wanted.kind == DaemonSettings::SourceKind::kPipe;
  const bool is_samples = is_bare && wanted.payload == DaemonSettings::Payload::kSamples;
  const auto bit_times_per_element = static_cast<std::uint64_t>(is_samples ? settings.front_end.decimation : 1);
  const auto elements = [&](std::int64_t bit_times) {
    return (static_cast<std::uint64_t>(bit_times) + bit_times_per_element - 1) / bit_times_per_element;
  };
  out.reorder_elements = elements(wanted.reorder_bit_times);
  // A window must fit beside what may still come late.
  const std::uint64_t least =
      kRingOverReorder *
      (out.reorder_elements +
       elements(std::int64_t{settings.front_end.window_samples + settings.front_end.hop_samples} * kBitsPerWord));
  out.ring_elements = std::max(elements(wanted.ring_bit_times), least);
  out.max_jump_elements = elements(static_cast<std::int64_t>(out.max_jump_elements));
  if (is_bare) {
    out.payload = is_samples ? PayloadKind::kSamples : PayloadKind::kBits;
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
  input.name = name_of_input(settings.daemon.source);
  const bool plays = settings.daemon.source.kind == DaemonSettings::SourceKind::kFile ||
                     settings.daemon.source.kind == DaemonSettings::SourceKind::kSimulate;
  input.waits = plays && settings.daemon.source.pace == DaemonSettings::Pace::kFast;
  if (ring.kind == PayloadKind::kSamples) {
    input.form = InputForm::kSamples;
    input.elements_per_sample = 1;
    input.element_rate_hz = sample_rate_hz(settings);
  }
  return input;
}

EnginePlan live_plan(const Settings& settings, const LiveInput& input) {
  EnginePlan plan;
  plan.input = input.form;
  plan.sample_rate_hz = input.element_rate_hz / static_cast<double>(input.elements_per_sample);
  plan.settings = settings;
  if (input.capture) {
    plan.settings = reconcile(settings, input.capture->measurement, &input.capture->layout, input.name);
  }
  if (input.form == InputForm::kSamples) {
    require_channels(settings, static_cast<int>(input.words_per_element), input.name);
    if (!settings.explicit_keys.contains("array.layout")) {
      plan.settings.array.layout = WireLayout::kRowMajor;
    }
    if (!takes_samples(plan.settings.front_end.kind) && !settings.explicit_keys.contains("front_end.kind")) {
      plan.settings.front_end.kind = FrontEndKind::kDecimatedFft;
    }
  } else {
    const int words = words_per_bit_time(plan.settings.array.layout, plan.settings.array.geometry);
    if (static_cast<std::size_t>(words) != input.words_per_element) {
      throw ConfigError(fmt::format("array: expected {} words a bit-time, as {} delivers them, found {}",
                                    input.words_per_element, input.name, words));
    }
  }
  validate(plan.settings, plan.sample_rate_hz);
  plan.settings.front_end.bands_hz.clear();  // replay's alone
  return plan;
}

}  // namespace nearfield::daemon
