#include <algorithm>

#include "config/config.hpp"
#include "config/live_samples.hpp"
#include "config/schema/processor_kinds.hpp"
#include "frontend/popcount/settings.hpp"

namespace nearfield {

Settings settings_of(const Settings& settings, const ProcessorSettings& processor) {
  Settings own = settings;
  const FrontEndOverrides& other = processor.front_end;
  if (other.any()) {
    FrontEndSettings& front_end = own.front_end;
    front_end.kind = other.kind.value_or(front_end.kind);
    front_end.window = other.window.value_or(front_end.window);
    front_end.window_samples = other.window_samples.value_or(front_end.window_samples);
    front_end.frequencies_hz = other.frequencies_hz.value_or(front_end.frequencies_hz);
    if (other.popcount_order) {
      front_end.own.edit<PopcountSettings>().order = *other.popcount_order;
    }
    front_end.bands_hz.clear();
  }
  return own;
}

namespace {

/// The window length of a processor's frames, which may differ from the run's.
int window_samples_of(const Settings& settings, const ProcessorSettings& processor) {
  const ProcessorNeeds needs = needs_of(settings, processor);
  return needs.spectra ? settings_of(settings, processor).front_end.window_samples : needs.sample_window;
}

}  // namespace

ProcessorNeeds needs_of(const Settings& settings, const ProcessorSettings& processor, double sample_rate_hz) {
  const schema::ProcessorKind* const kind = schema::processor_kind(processor.kind);
  const RunOfProcessor run{.settings = settings, .every_hops = processor.every_hops, .sample_rate_hz = sample_rate_hz};
  return kind != nullptr && processor.own ? kind->needs(*processor.own, run) : ProcessorNeeds();
}

ProcessorNeeds needs_of(const Settings& settings, const ProcessorSettings& processor) {
  return needs_of(settings, processor, sample_rate_of(settings));
}

std::string section_of_longest_window(const Settings& settings) {
  const int longest = longest_window_samples(settings);
  for (const ProcessorSettings& processor : settings.processors) {
    if (longest > settings.front_end.window_samples && window_samples_of(settings, processor) == longest) {
      return "processors." + processor.name + (needs_of(settings, processor).spectra ? ".front_end" : "");
    }
  }
  return "front_end";
}

int longest_window_samples(const Settings& settings) {
  int longest = settings.front_end.window_samples;
  for (const ProcessorSettings& processor : settings.processors) {
    longest = std::max(longest, window_samples_of(settings, processor));
  }
  return longest;
}

}  // namespace nearfield
