#include "config/live_samples.hpp"

#include <fmt/format.h>

#include <complex>
#include <cstdint>

#include "config/config.hpp"
#include "core/daemon_settings.hpp"
#include "core/images.hpp"
#include "core/microphones.hpp"

namespace nearfield {
namespace {

constexpr const char* kSampleRateKey = "daemon.source.sample_rate_hz";
constexpr const char* kRateOfBits = "array.clock_hz / front_end.decimation";

}  // namespace

bool is_bare(const DaemonSettings::Source& source) {
  return source.kind == DaemonSettings::SourceKind::kUdp || source.kind == DaemonSettings::SourceKind::kPipe ||
         source.kind == DaemonSettings::SourceKind::kAudio;
}

bool takes_live_samples(const DaemonSettings::Source& source) {
  return source.kind == DaemonSettings::SourceKind::kAudio ||
         (is_bare(source) && source.payload == DaemonSettings::Payload::kSamples);
}

double sample_rate_of(const Settings& settings) {
  const DaemonSettings::Source& source = settings.daemon->source;
  return takes_live_samples(source) && source.sample_rate_hz ? *source.sample_rate_hz
                                                             : settings.array.clock_hz / settings.front_end.decimation;
}

LiveInputFacts live_input_facts(const Settings& settings) {
  const DaemonSettings::Source& source = settings.daemon->source;
  LiveInputFacts facts;
  facts.is_samples = takes_live_samples(source);
  facts.of = source.kind == DaemonSettings::SourceKind::kAudio ? source.device : name_of(source.format);
  facts.channels = settings.array.geometry.channels();
  facts.sample_rate_hz = sample_rate_of(settings);
  facts.element_rate_hz = facts.is_samples ? facts.sample_rate_hz : settings.array.clock_hz;
  facts.rate_from = facts.is_samples && source.sample_rate_hz ? kSampleRateKey : kRateOfBits;
  if (facts.is_samples && settings.array.pascal_per_unit) {
    facts.pascal_per_unit = *settings.array.pascal_per_unit;
    facts.is_unit_given = true;
  }
  return facts;
}

std::string text_of(const LiveInputFacts& facts) {
  if (!facts.is_samples) {
    return fmt::format(
        "bits of {} microphones, {:.10g} bit-times a second (array.clock_hz), {:.10g} samples a second ({})",
        facts.channels, facts.element_rate_hz, facts.sample_rate_hz, facts.rate_from);
  }
  const std::string unit = facts.is_unit_given
                               ? fmt::format("1 is {:.10g} Pa (array.pascal_per_unit)", facts.pascal_per_unit)
                               : "taken as pascal, as array.pascal_per_unit is not given";
  return fmt::format("{} channels of {}, {:.10g} samples a second ({}), {}", facts.channels, facts.of,
                     facts.sample_rate_hz, facts.rate_from, unit);
}

double wire_bytes_per_s(const Settings& settings) {
  const ArraySettings& array = settings.array;
  return takes_live_samples(settings.daemon->source)
             ? sample_rate_of(settings) * array.geometry.channels() * sizeof(float)
             : array.clock_hz * words_per_bit_time(array.layout, array.geometry) * sizeof(std::uint32_t);
}

double image_bytes_per_frame(const Settings& settings) {
  const HolographySettings& holography = settings.holography;
  if (holography.imager == ImagerKind::kNone) {
    return 0.0;
  }
  return static_cast<double>(holography.planes_m.size() * image_sides(holography, settings.array.geometry)) *
         static_cast<double>(settings.front_end.frequencies_hz.size()) *
         static_cast<double>(image_grid(settings.array.geometry, holography.upsample).pixels()) *
         sizeof(std::complex<float>);
}

double product_bytes_per_frame(const Settings& settings, const ProcessorSettings& processor) {
  return processor.own ? processor.own->frame_bytes(settings_of(settings, processor)) : 0.0;
}

double frames_bytes_per_s(const Settings& settings) {
  const double hops_hz = sample_rate_of(settings) / settings.front_end.hop_samples;
  double bytes_per_hop = image_bytes_per_frame(settings);
  for (const ProcessorSettings& processor : settings.processors) {
    bytes_per_hop += product_bytes_per_frame(settings, processor) / processor.every_hops;
  }
  return hops_hz * bytes_per_hop;
}

}  // namespace nearfield
