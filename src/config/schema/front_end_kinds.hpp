#pragma once
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "config/premises.hpp"
#include "config/schema/form.hpp"
#include "core/settings.hpp"

namespace nearfield::schema {

class Section;

/// Centres of octaves or third octaves by their nominal frequencies, each once.
Form<std::vector<double>> octave_centres(OctavePart part);
Form<Weighting> weightings();

/// Description of a kind of front end for configurations. Every kind takes bits.
struct FrontEndKind {
  std::string_view name;       ///< the word of front_end.kind
  std::string_view meaning;    ///< in a few words
  bool takes_samples = false;  ///< also takes decimated samples in place of bits
  bool sums_hops = false;      ///< can sum each hop once and slide the sums, front_end.incremental
  /// Settings with which it takes frequencies between the bins of the window, in words, such as "popcount with
  /// transform dot"; empty if it never does.
  std::string_view any_frequency = {};
  /// True if frequencies snap to the bins of the window.
  bool (*is_on_bins)(const FrontEndSettings& settings) = [](const FrontEndSettings&) { return true; };
  /// Adds its specific settings to the section `front_end`, bound to `settings`.
  void (*describe)(Section& section, FrontEndSettings& settings) = [](Section&, FrontEndSettings&) {};
  /// Adds the contradictions that arise if this kind is chosen.
  void (*check)(const FrontEndSettings& settings, const IsSettled& is_settled, std::vector<Contradiction>& found) =
      [](const FrontEndSettings&, const IsSettled&, std::vector<Contradiction>&) {};
};

/// One for each line of src/frontend/kinds.def.
std::span<const FrontEndKind> front_end_kinds();
/// Throws ConfigError if there is no kind of this name.
const FrontEndKind& front_end_kind(std::string_view name);
/// The front end for samples if the kind is not set and the default takes bits only: the first that takes samples.
const FrontEndKind& front_end_of_samples();
/// The first that takes samples and frequencies between bins.
const FrontEndKind& front_end_of_any_frequency(const FrontEndSettings& settings);
/// The default first, then the others in their order.
std::vector<FrontEndKind> front_end_kinds_default_first();
/// The names of those front_end_kinds_default_first() for which `holds` is true, separated by `joint`.
std::string names_of_front_ends(bool (*holds)(const FrontEndKind& kind), std::string_view joint);

}  // namespace nearfield::schema
