#pragma once
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "config/contradictions.hpp"
#include "nearfield/settings.hpp"

namespace nearfield::schema {

class Section;

/// What a configuration has to know of a kind of front end. Every kind takes bits.
struct FrontEndKind {
  std::string_view name;       ///< the word of front_end.kind
  std::string_view meaning;    ///< in a few words
  bool takes_samples = false;  ///< decimated samples too, in the place of bits
  bool sums_hops = false;      ///< can sum each hop once and slide the sums, front_end.incremental
  /// With which settings it takes frequencies between the bins of the window, in words, such as "popcount with
  /// transform dot"; empty where it never does.
  std::string_view any_frequency = {};
  /// True where frequencies snap to the bins of the window.
  bool (*is_on_bins)(const FrontEndSettings& settings) = [](const FrontEndSettings&) { return true; };
  /// Adds the settings that it alone has to the section `front_end`, bound to `settings`.
  void (*describe)(Section& section, FrontEndSettings& settings) = [](Section&, FrontEndSettings&) {};
  /// Adds what cannot hold together where this kind is chosen.
  void (*check)(const FrontEndSettings& settings, const IsSettled& is_settled, std::vector<Contradiction>& found) =
      [](const FrontEndSettings&, const IsSettled&, std::vector<Contradiction>&) {};
};

/// One a line of src/frontend/kinds.def.
std::span<const FrontEndKind> front_end_kinds();
/// Throws ConfigError where there is none of this name.
const FrontEndKind& front_end_kind(std::string_view name);
/// What samples go to where the kind is not set and the default takes bits only: the first that takes samples.
const FrontEndKind& front_end_of_samples();
/// The default first, then the others in their order.
std::vector<FrontEndKind> front_end_kinds_default_first();
/// The names of those kinds of front_end_kinds_default_first() for which `holds`, with `joint` between them.
std::string names_of_front_ends(bool (*holds)(const FrontEndKind& kind), std::string_view joint);

}  // namespace nearfield::schema
