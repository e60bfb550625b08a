#include <algorithm>
#include <set>

#include "config/config.hpp"
#include "config/live_samples.hpp"
#include "config/schema/processor_kinds.hpp"
#include "core/band.hpp"
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
    clear_bands(front_end);
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

BandsOfProcessor bands_of(const ProcessorSettings& processor) {
  const schema::ProcessorKind* const kind = schema::processor_kind(processor.kind);
  if (kind == nullptr || kind->bands == nullptr || !processor.own || processor.front_end.frequencies_hz) {
    return {};
  }
  return kind->bands(*processor.own);
}

std::vector<std::size_t> bins_of(const BandsOfProcessor& bands, const Band& band, const FrontEndSettings& front_end,
                                 double sample_rate_hz) {
  std::vector<std::size_t> bins;
  if (bands.has_shares) {
    for (const BinShare& one : bin_shares(band, front_end, sample_rate_hz)) {
      bins.push_back(one.bin);
    }
    return bins;
  }
  const BinRange whole = bins_of(band, front_end, sample_rate_hz);
  for (std::size_t bin = whole.first; bin < whole.end; ++bin) {
    bins.push_back(bin);
  }
  return bins;
}

Settings settings_of(const Settings& settings, const ProcessorSettings& processor, double sample_rate_hz) {
  Settings own = settings_of(settings, processor);
  if (sample_rate_hz <= 0.0) {
    return own;
  }
  std::set<std::size_t> bins;
  const BandsOfProcessor bands = bands_of(processor);
  for (const Band& band : bands.bands_hz) {
    const std::vector<std::size_t> of_band = bins_of(bands, band, own.front_end, sample_rate_hz);
    bins.insert(of_band.begin(), of_band.end());
  }
  if (!bins.empty()) {
    clear_bands(own.front_end);
    own.front_end.frequencies_hz.clear();
  }
  for (const std::size_t bin : bins) {
    own.front_end.frequencies_hz.push_back(static_cast<double>(bin) * sample_rate_hz / own.front_end.window_samples);
  }
  return own;
}

}  // namespace nearfield
