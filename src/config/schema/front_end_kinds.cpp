#include "config/schema/front_end_kinds.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <set>
#include <utility>

#include "config/schema/section.hpp"
#include "config/words.hpp"
#include "core/error.hpp"

namespace nearfield::schema {

#define NEARFIELD_FRONT_END(kind) FrontEndKind kind##_kind();
#include "frontend/kinds.def"
#undef NEARFIELD_FRONT_END

std::span<const FrontEndKind> front_end_kinds() {
#define NEARFIELD_FRONT_END(kind) kind##_kind(),
  static const std::array kKinds = {
#include "frontend/kinds.def"
  };
#undef NEARFIELD_FRONT_END
  return kKinds;
}

const FrontEndKind& front_end_kind(std::string_view name) {
  const std::span<const FrontEndKind> kinds = front_end_kinds();
  const auto found =
      std::find_if(kinds.begin(), kinds.end(), [&](const FrontEndKind& kind) { return kind.name == name; });
  if (found == kinds.end()) {
    throw ConfigError(fmt::format("front_end.kind: there is no kind \"{}\"", name));
  }
  return *found;
}

const FrontEndKind& front_end_of_samples() {
  const std::span<const FrontEndKind> kinds = front_end_kinds();
  return *std::find_if(kinds.begin(), kinds.end(), [](const FrontEndKind& kind) { return kind.takes_samples; });
}

const FrontEndKind& front_end_of_any_frequency(const FrontEndSettings& settings) {
  const std::span<const FrontEndKind> kinds = front_end_kinds();
  return *std::find_if(kinds.begin(), kinds.end(),
                       [&](const FrontEndKind& kind) { return kind.takes_samples && !kind.is_on_bins(settings); });
}

std::vector<FrontEndKind> front_end_kinds_default_first() {
  const std::span<const FrontEndKind> kinds = front_end_kinds();
  std::vector<FrontEndKind> ordered(kinds.begin(), kinds.end());
  std::stable_partition(ordered.begin(), ordered.end(),
                        [](const FrontEndKind& kind) { return kind.name == FrontEndSettings{}.kind; });
  return ordered;
}

std::string names_of_front_ends(bool (*holds)(const FrontEndKind& kind), std::string_view joint) {
  std::vector<std::string_view> names;
  for (const FrontEndKind& kind : front_end_kinds_default_first()) {
    if (holds(kind)) {
      names.push_back(kind.name);
    }
  }
  return fmt::format("{}", fmt::join(names, joint));
}

namespace {

using std::filesystem::path;

constexpr int kMostDecimation = 2 * kBitsPerWord;
constexpr int kFewestWindowSamples = 16;
constexpr std::size_t kMostFrequencies = 1000;
constexpr std::size_t kMostBands = 100;
constexpr Range kBandLimit{.what = "a frequency", .maximum = 1e9, .unit = "Hz"};

/// Index of the first value that repeats an earlier one.
std::optional<std::size_t> first_repeated(const std::vector<double>& values) {
  std::set<double> seen;
  for (std::size_t i = 0; i < values.size(); ++i) {
    if (!seen.insert(values[i]).second) {
      return i;
    }
  }
  return std::nullopt;
}

Form<int> decimations() {
  Form<int> form = where(
      integer(1, std::numeric_limits<int>::max(), "bits"),
      [](int bits) { return bits == kBitsPerWord || bits == kMostDecimation; }, "32 or 64");
  form.facts.minimum.reset();  // not every integer in between is allowed
  form.facts.maximum.reset();
  return ranging(std::move(form), "32 or 64");
}

Form<int> window_lengths() { return fft_length(kFewestWindowSamples); }

/// Frequencies without repetition.
Form<std::vector<double>> frequencies() {
  Form<std::vector<double>> form = where(
      numbers({.what = "a frequency", .maximum = 1e9, .unit = "Hz", .open_minimum = true}),
      [](const auto& values) { return !values.empty() && values.size() <= kMostFrequencies; },
      fmt::format("1 to {} frequencies", kMostFrequencies));
  form.facts.range = fmt::format("1 to {} of them, each once", kMostFrequencies);
  form.read = [read = std::move(form.read)](YamlMap& map, const std::string& key, const path& folder) {
    std::optional<std::vector<double>> values = read(map, key, folder);
    if (const auto repeated = first_repeated(values.value_or(std::vector<double>{}))) {
      map.problem_of_element(key, *repeated,
                             fmt::format("expected each frequency once, found {} Hz again", (*values)[*repeated]));
      values.reset();
    }
    return values;
  };
  return form;
}

std::string list_of_bands(const std::vector<Band>& bands_hz) {
  std::vector<std::string> texts;
  for (const Band& band : bands_hz) {
    texts.push_back(fmt::format("[{}, {}]", band.low_hz, band.high_hz));
  }
  return list(texts);
}

Form<std::vector<Band>> bands() {
  Form<std::vector<Band>> form;
  form.facts = {.type = "list of pairs", .unit = "Hz", .range = fmt::format("at most {} of [low, high]", kMostBands)};
  form.read = [text = expected(kBandLimit)](YamlMap& map, const std::string& key,
                                            const path&) -> std::optional<std::vector<Band>> {
    const auto pairs = map.pairs(key, rule_of(kBandLimit, text));
    if (!pairs) {
      return std::nullopt;
    }
    std::vector<Band> bands;
    for (const auto& [low_hz, high_hz] : *pairs) {
      bands.push_back({.low_hz = low_hz, .high_hz = high_hz});
    }
    return bands;
  };
  form.write = list_of_bands;
  return where(
      std::move(form), [](const auto& bands) { return bands.size() <= kMostBands; },
      fmt::format("at most {} bands", kMostBands));
}

Form<WindowKind> tapers() { return choice<WindowKind>({{WindowKind::kHann, "periodic"}, {WindowKind::kNone, ""}}); }

Form<std::string> kinds() {
  std::vector<Word> words;
  for (const FrontEndKind& kind : front_end_kinds()) {
    words.push_back({std::string(kind.name), std::string(kind.meaning)});
  }
  return word(std::move(words));
}

/// Kinds and settings with which frequencies need not be bins.
std::string any_frequency() {
  std::vector<std::string_view> texts;
  for (const FrontEndKind& kind : front_end_kinds()) {
    if (!kind.any_frequency.empty()) {
      texts.push_back(kind.any_frequency);
    }
  }
  return fmt::format("{}", fmt::join(texts, " and "));
}

bool takes_bits_only(const FrontEndKind& kind) { return !kind.takes_samples; }

bool sums_hops(const FrontEndKind& kind) { return kind.sums_hops; }

}  // namespace

Form<std::vector<double>> octave_centres(OctavePart part) {
  constexpr std::size_t kMostCentres = 32;
  const std::string_view what =
      part == OctavePart::kOctave ? "octaves, such as 500, 1000 and 2000" : "third octaves, such as 500, 630 and 800";
  Form<std::vector<double>> form = where(
      numbers({.what = "a frequency", .maximum = 1e6, .unit = "Hz", .open_minimum = true}),
      [part](const auto& values) {
        constexpr double kRounded = 0.015;  // nominal frequencies are rounded to 1.3 % at most
        std::set<double> exact_hz;
        const bool are_centres = std::all_of(values.begin(), values.end(), [&](double near_hz) {
          const double centre_hz = octave_centre_hz(part, near_hz);
          return exact_hz.insert(centre_hz).second && std::abs(near_hz / centre_hz - 1.0) < kRounded;
        });
        return are_centres && values.size() <= kMostCentres;
      },
      fmt::format("at most {} centres of {}, each once", kMostCentres, what));
  form.facts.range = fmt::format("centres of {}", what);
  form.facts.minimum.reset();  // numbers near these bounds are no centres
  form.facts.maximum.reset();
  return form;
}

Form<Weighting> weightings() {
  return choice<Weighting>({{Weighting::kZ, "none"}, {Weighting::kA, "IEC 61672-1"}, {Weighting::kC, "likewise"}});
}

void describe(Section& section, FrontEndSettings& front_end) {
  section.add("kind", front_end.kind, kinds(),
              fmt::format("bits to spectra (samples go to {} where the kind is not set, as {} take bits only)",
                          front_end_of_samples().name, names_of_front_ends(takes_bits_only, " and ")));
  section.add("window", front_end.window, tapers(), "taper of a window");
  section.add("decimation", front_end.decimation, decimations(),
              "bits that become one decimated sample: array.clock_hz of 1.5 MHz become 46875 Hz by 32",
              Effect::kRestart);
  section.add("window_samples", front_end.window_samples, window_lengths(), "length of the window of a spectrum");
  section.add("hop_samples", front_end.hop_samples, integer(1, std::numeric_limits<int>::max(), "decimated samples"),
              "distance from one image to the next");
  section.add(
      "frequencies_hz", front_end.frequencies_hz, frequencies(),
      fmt::format("at most half the sample rate. {} take any; else each snaps to the nearest multiple of sample "
                  "rate / window_samples (45.78 Hz here)",
                  any_frequency()));
  section.add(
      "bands_hz", front_end.bands_hz, bands(),
      "the mean square over the bins of each is imaged as well, as bands (docs/use/quantities.md); every bin costs as "
      "much as a frequency");
  section.add("octave", front_end.octave_hz, octave_centres(OctavePart::kOctave), "more such bands: whole octaves");
  section.add("third_octave", front_end.third_octave_hz, octave_centres(OctavePart::kThird), "and third octaves");
  section.add("weighting", front_end.weighting, weightings(),
              "of bands of pressure or intensity, of images and far maps");
  section.add("remove_dc", front_end.remove_dc, boolean(),
              "fit and remove each window's constant: an offset must not leak into low frequencies");
  section.add(
      "incremental", front_end.incremental,
      choice<Incremental>(
          {{Incremental::kAuto, "where that costs less"}, {Incremental::kAlways, ""}, {Incremental::kNever, ""}}),
      fmt::format("whether {} sum each hop once and let the sums run along", names_of_front_ends(sums_hops, " and ")));
  for (const FrontEndKind& kind : front_end_kinds()) {
    kind.describe(section, front_end);
  }
}

void describe(Section& section, FrontEndOverrides& front_end) {
  section.add("kind", front_end.kind, or_none(kinds(), "as front_end.kind"), "bits to spectra");
  section.add("window", front_end.window, or_none(tapers(), "as front_end.window"), "taper of a window");
  section.add("window_samples", front_end.window_samples, or_none(window_lengths(), "as front_end.window_samples"),
              "length of the window of a spectrum, which ends where the run's window ends");
  section.add("frequencies_hz", front_end.frequencies_hz, or_none(frequencies(), "as front_end.frequencies_hz"),
              "at most half the sample rate");
  section.add("popcount_order", front_end.popcount_order, or_none(integer(0, 2), "as front_end.popcount.order"),
              "highest moment of a word's bits");
}

}  // namespace nearfield::schema
