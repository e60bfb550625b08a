#include "config/spectra_of_processors.hpp"

#include <set>

#include "config/config.hpp"

namespace nearfield {

BandsOfProcessor bands_of(const ProcessorSettings& processor) {
  const schema::ProcessorKind* const kind = schema::processor_kind(processor.kind);
  if (kind == nullptr || kind->bands == nullptr || !processor.own || processor.front_end.frequencies_hz) {
    return {};
  }
  return kind->bands(*processor.own);
}

Settings settings_of(const Settings& settings, const ProcessorSettings& processor, double sample_rate_hz) {
  Settings own = settings_of(settings, processor);
  if (sample_rate_hz <= 0.0) {
    return own;
  }
  std::set<std::size_t> bins;
  for (const Band& band : bands_of(processor).bands_hz) {
    const BinRange of_band = bins_of(band, own.front_end, sample_rate_hz);
    for (std::size_t bin = of_band.first; bin < of_band.end; ++bin) {
      bins.insert(bin);
    }
  }
  if (!bins.empty()) {
    own.front_end.bands_hz.clear();
    own.front_end.frequencies_hz.clear();
  }
  for (const std::size_t bin : bins) {
    own.front_end.frequencies_hz.push_back(static_cast<double>(bin) * sample_rate_hz / own.front_end.window_samples);
  }
  return own;
}

}  // namespace nearfield
