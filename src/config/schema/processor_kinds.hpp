#pragma once
#include <memory>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "nearfield/band.hpp"
#include "nearfield/processor_settings.hpp"

namespace nearfield {

struct ProcessorSettings;
struct Settings;

/// Bands of which a processor works on all bins.
struct BandsOfProcessor {
  std::string_view key;  ///< of its settings, which messages name
  std::vector<Band> bands_hz;
  double fewest_bins = 0.0;  ///< that each band is wide, at least
  bool has_shares = false;   ///< of bins at its edges; else whole bins, in the middle of which a band is
};

/// What a processor works on.
struct ProcessorNeeds {
  bool spectra = true;    ///< of a front end
  int sample_window = 0;  ///< windows of so many decimated samples, which end where the run's windows do; 0: none
};

/// The run that a processor is a part of, for the needs that depend on it.
struct RunOfProcessor {
  const Settings& settings;
  int every_hops = 1;           ///< the processor's cadence
  double sample_rate_hz = 0.0;  ///< of decimated samples
};

/// By its kind, its own settings and the run's; the decimated rate is that of the settings' clock.
ProcessorNeeds needs_of(const Settings& settings, const ProcessorSettings& processor);
/// The same at the rate that an input has.
ProcessorNeeds needs_of(const Settings& settings, const ProcessorSettings& processor, double sample_rate_hz);

namespace schema {

/// What a configuration has to know of a kind of processor.
struct ProcessorKind {
  std::string_view name;     ///< the word of the setting `kind`
  std::string_view meaning;  ///< in a few words
  std::unique_ptr<KindSettings> (*make)();
  /// Of its settings. A sample window beside spectra is at most as long as theirs.
  ProcessorNeeds (*needs)(const KindSettings& own, const RunOfProcessor& run) =
      [](const KindSettings&, const RunOfProcessor&) { return ProcessorNeeds(); };
  /// Of a kind that may work on all bins of bands; see settings_of() in config/spectra_of_processors.hpp.
  BandsOfProcessor (*bands)(const KindSettings& own) = nullptr;
};

/// One a line of src/processors/kinds.def.
std::span<const ProcessorKind> processor_kinds();
/// Null where there is none of this name.
const ProcessorKind* processor_kind(std::string_view name);

}  // namespace schema
}  // namespace nearfield
