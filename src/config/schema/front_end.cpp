#include <fmt/format.h>

#include <set>

#include "config/schema/sections.hpp"
#include "config/yaml_text.hpp"
#include "nearfield/fft_length.hpp"

namespace nearfield::schema {
namespace {

using std::filesystem::path;

constexpr int kDecimation = 32;
constexpr int kFewestWindowSamples = 16;
constexpr int kMostWindowSamples = 65536;
constexpr std::size_t kMostFrequencies = 1000;
constexpr std::size_t kMostBands = 100;
constexpr int kHighestMoment = 2;
constexpr Range kBandLimit{.what = "a frequency", .maximum = 1e9, .unit = "Hz"};

/// Index of the first value that an earlier one equals.
std::optional<std::size_t> first_repeated(const std::vector<double>& values) {
  std::set<double> seen;
  for (std::size_t i = 0; i < values.size(); ++i) {
    if (!seen.insert(values[i]).second) {
      return i;
    }
  }
  return std::nullopt;
}

Form<int> fft_length() {
  return ranging(
      where(integer(kFewestWindowSamples, kMostWindowSamples, "decimated samples"), is_fft_length,
            [](int samples) {
              return fmt::format("a product of powers of 2, 3, 5 and 7 (the next one is {})", next_fft_length(samples));
            }),
      fmt::format("{} to {}, a product of powers of 2, 3, 5 and 7", kFewestWindowSamples, kMostWindowSamples));
}

/// Frequencies, each once.
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

Form<int> moments() { return integer(0, kHighestMoment); }

void describe(Section& section, PopcountSettings& popcount) {
  section.add("order", popcount.order, moments(), "highest moment of a word's bits; 0 is plain averaging");
  section.add(
      "transform", popcount.transform,
      choice<WordTransform>({{WordTransform::kDot, "any frequency"}, {WordTransform::kFft, "bins of the window"}}),
      "from words to spectra");
}

void describe(Section& section, WalshFourierSettings& walsh) {
  section.add("variant", walsh.variant,
              choice<WalshVariant>({{WalshVariant::kPrecomputed, "functions from a table, as the thesis has them"},
                                    {WalshVariant::kComputed, "functions computed where they are used"},
                                    {WalshVariant::kFast, "the fast Walsh transform"}}),
              "where Walsh coefficients come from");
  section.add("coefficients", walsh.coefficients, integer(0, std::numeric_limits<int>::max()),
              "largest Walsh coefficients kept for each frequency (the thesis: 40; fast takes the same time for 6 x "
              "window_samples of them); 0: all, or those above threshold");
  section.add("threshold", walsh.threshold, number({"a threshold of", 0.0, 2.0}),
              "with coefficients 0: the least |a - jb| of a coefficient that is kept");
}

Form<FrontEndKind> kinds() {
  return choice<FrontEndKind>({{FrontEndKind::kDecimatedFft, "filter and decimate, then FFT, then pick the bins"},
                               {FrontEndKind::kDotProduct, "filter and decimate, then one dot product a frequency"},
                               {FrontEndKind::kPopcount, "moments of 32-bit words"},
                               {FrontEndKind::kWalshFourier, "Walsh functions"}});
}

}  // namespace

void describe(Section& section, FrontEndSettings& front_end) {
  section.add("kind", front_end.kind, kinds(),
              "bits to spectra (samples go to decimated_fft where the kind is not set, as popcount and walsh_fourier "
              "take bits only)");
  section.add("window", front_end.window, tapers(), "taper of a window");
  section.add("decimation", front_end.decimation, integer(kDecimation, kDecimation, "bits"),
              "bits that become one decimated sample: 1.5 MHz become 46875 Hz");
  section.add("window_samples", front_end.window_samples, fft_length(), "length of the window of a spectrum");
  section.add("hop_samples", front_end.hop_samples, integer(1, std::numeric_limits<int>::max(), "decimated samples"),
              "distance from one image to the next");
  section.add("frequencies_hz", front_end.frequencies_hz, frequencies(),
              "at most half the sample rate. dot_product and popcount with transform dot take any; else each snaps to "
              "the nearest multiple of sample rate / window_samples (45.78 Hz here)");
  section.add(
      "bands_hz", front_end.bands_hz, bands(),
      "replay also images the mean square over the bins of each, /bands (docs/quantities.md); every bin costs as "
      "much as a frequency. nearfieldd passes them over");
  section.add("remove_dc", front_end.remove_dc, boolean(),
              "fit and remove each window's constant: an offset must not leak into low frequencies");
  section.add(
      "incremental", front_end.incremental,
      choice<Incremental>(
          {{Incremental::kAuto, "where that costs less"}, {Incremental::kAlways, ""}, {Incremental::kNever, ""}}),
      "whether popcount and dot_product sum each hop once and let the sums run along");
  section.add("dot_kernel", front_end.dot_kernel,
              choice<DotKernel>({{DotKernel::kAuto, "measured at start"},
                                 {DotKernel::kPlain, ""},
                                 {DotKernel::kMirrored, ""},
                                 {DotKernel::kFourOutput, ""},
                                 {DotKernel::kTiled, ""},
                                 {DotKernel::kGemm, ""}}),
              "kernel of dot_product");
  describe(section.section("popcount"), front_end.popcount);
  describe(section.section("walsh_fourier"), front_end.walsh_fourier);
}

void describe(Section& section, FrontEndOverrides& front_end) {
  section.add("kind", front_end.kind, or_none(kinds(), "as front_end.kind"), "bits to spectra");
  section.add("window", front_end.window, or_none(tapers(), "as front_end.window"), "taper of a window");
  section.add("window_samples", front_end.window_samples, or_none(fft_length(), "as front_end.window_samples"),
              "length of the window of a spectrum, which ends where the run's window ends");
  section.add("frequencies_hz", front_end.frequencies_hz, or_none(frequencies(), "as front_end.frequencies_hz"),
              "at most half the sample rate");
  section.add("popcount_order", front_end.popcount_order, or_none(moments(), "as front_end.popcount.order"),
              "highest moment of a word's bits");
}

}  // namespace nearfield::schema
