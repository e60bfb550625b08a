#pragma once
#include <memory>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "core/band.hpp"
#include "core/settings.hpp"

namespace nearfield {

struct ProcessorSettings;
struct Settings;

/// Bands that a processor computes with all bins.
struct BandsOfProcessor {
  std::string_view key;  ///< key of its settings, for messages
  std::vector<Band> bands_hz;
  double fewest_bins = 0.0;  ///< minimum width of each band in bins
  bool has_shares = false;   ///< bins count by their share; else whole, if their centre is in the band
};

/// Inputs of a processor.
struct ProcessorNeeds {
  bool spectra = true;    ///< from a front end
  int sample_window = 0;  ///< length of windows of decimated samples, which end with the run's windows; 0: none
};

/// The run of a processor, for needs that depend on it.
struct RunOfProcessor {
  const Settings& settings;
  int every_hops = 1;           ///< the processor's cadence
  double sample_rate_hz = 0.0;  ///< rate of decimated samples
};

/// Depends on the kind, its own settings and the run's; the decimated rate is that of the settings' clock.
ProcessorNeeds needs_of(const Settings& settings, const ProcessorSettings& processor);
/// Like the overload above, at the rate of an input.
ProcessorNeeds needs_of(const Settings& settings, const ProcessorSettings& processor, double sample_rate_hz);

namespace schema {

/// Description of a kind of processor for configurations.
struct ProcessorKind {
  std::string_view name;     ///< the word of the setting `kind`
  std::string_view meaning;  ///< in a few words
  std::unique_ptr<KindSettings> (*make)();
  /// Needs for its settings. A sample window beside spectra is at most as long as theirs.
  ProcessorNeeds (*needs)(const KindSettings& own, const RunOfProcessor& run) =
      [](const KindSettings&, const RunOfProcessor&) { return ProcessorNeeds(); };
  /// Set if the kind may work on all bins of bands; see settings_of() below.
  BandsOfProcessor (*bands)(const KindSettings& own) = nullptr;
};

/// One for each line of src/processors/kinds.def, then those that were added.
std::span<const ProcessorKind> processor_kinds();
/// Adds a kind beside those of kinds.def; its other half is added by nearfield::add_processor(). Call it before other
/// threads begin.
void add_processor_kind(const ProcessorKind& kind);
/// Null if there is no kind of this name.
const ProcessorKind* processor_kind(std::string_view name);

}  // namespace schema

/// The bands that a processor computes with all bins, because its front_end gives no frequencies; none if it gives
/// some, or if its kind or its settings have no bands.
BandsOfProcessor bands_of(const ProcessorSettings& processor);

/// The bins of one of these bands, ascending.
std::vector<std::size_t> bins_of(const BandsOfProcessor& bands, const Band& band, const FrontEndSettings& front_end,
                                 double sample_rate_hz);

/// settings_of(settings, processor), with a front end that computes the bins of bands_of(processor), each once and
/// ascending, if there are any at this sample rate.
Settings settings_of(const Settings& settings, const ProcessorSettings& processor, double sample_rate_hz);

}  // namespace nearfield
