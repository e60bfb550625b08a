#include "config/spectra_of_processors.hpp"

#include <set>

#include "config/config.hpp"
#include "core/bin_shares.hpp"

namespace nearfield {

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
    own.front_end.bands_hz.clear();
    own.front_end.frequencies_hz.clear();
  }
  for (const std::size_t bin : bins) {
    own.front_end.frequencies_hz.push_back(static_cast<double>(bin) * sample_rate_hz / own.front_end.window_samples);
  }
  return own;
}

}  // namespace nearfield
