#include "processors/spectrum/settings.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <array>

#include "config/schema/processor_kinds.hpp"
#include "config/schema/section.hpp"

namespace nearfield {
namespace {

constexpr std::size_t kMostSpectrumPoints = 64;
constexpr int kFewestSpectrumSamples = 64;
constexpr schema::Range kPlace{.what = "a place from", .minimum = -1e3, .maximum = 1e3, .unit = "m"};

/// Pairs [x, y].
schema::Form<std::vector<PlanePoint>> places_form() {
  schema::Form<std::vector<PlanePoint>> form;
  form.facts = {
      .type = "list of pairs", .unit = "m", .range = fmt::format("at most {} of [x, y]", kMostSpectrumPoints)};
  form.read = [text = schema::expected(kPlace)](
                  YamlMap& map, const std::string& key,
                  const std::filesystem::path&) -> std::optional<std::vector<PlanePoint>> {
    const auto pairs = map.pairs(key, schema::rule_of(kPlace, text));
    if (!pairs) {
      return std::nullopt;
    }
    std::vector<PlanePoint> places;
    for (const auto& [x_m, y_m] : *pairs) {
      places.push_back({.x_m = x_m, .y_m = y_m});
    }
    return places;
  };
  form.write = [](const std::vector<PlanePoint>& places) {
    std::vector<std::string> texts;
    for (const PlanePoint& place : places) {
      texts.push_back(fmt::format("[{}, {}]", place.x_m, place.y_m));
    }
    return fmt::format("[{}]", fmt::join(texts, ", "));
  };
  return schema::where(
      std::move(form), [](const auto& places) { return places.size() <= kMostSpectrumPoints; },
      fmt::format("at most {} points", kMostSpectrumPoints));
}

}  // namespace

std::string_view name_of(SpectrumTaper taper) { return taper == SpectrumTaper::kHann ? "hann" : "flat_top"; }

std::span<const double> cosine_terms(SpectrumTaper taper) {
  // HFT95 of Heinzel, Ruediger, Schilling, "Spectrum and spectral density
  // estimation by the DFT" (2002), appendix D.
  static constexpr std::array kFlatTop = {1.0, -1.9383379, 1.3045202, -0.4028270, 0.0350665};
  static constexpr std::array kHann = {0.5, -0.5};
  return taper == SpectrumTaper::kHann ? std::span<const double>(kHann) : std::span<const double>(kFlatTop);
}

std::vector<PlanePoint> SpectrumSettings::places() const {
  return points.empty() ? std::vector<PlanePoint>{PlanePoint{}} : points;
}

void SpectrumSettings::describe(schema::Section& section) {
  section.add("points", points, places_form(),
              "where: the microphone nearest to each is heard; empty: the one "
              "nearest to the array's centre");
  section.add("window_samples", window_samples, schema::fft_length(kFewestSpectrumSamples),
              "length of the window, which ends where the run's window ends");
  section.add("taper", taper,
              schema::choice<SpectrumTaper>({{SpectrumTaper::kFlatTop, "a tone has its level in the nearest bin"},
                                             {SpectrumTaper::kHann, "narrower lines, up to 1.42 dB too low"}}),
              "of the window");
}

double SpectrumSettings::frame_bytes(const Settings& /*settings*/) const {
  return static_cast<double>(places().size()) * (window_samples / 2.0 + 1.0) * sizeof(float);
}

namespace schema {

ProcessorKind spectrum_kind() {
  return {.name = "spectrum",
          .meaning = "spectra of single microphones, over all frequencies",
          .make = []() -> std::unique_ptr<KindSettings> { return std::make_unique<SpectrumSettings>(); },
          .needs = [](const KindSettings& own, const RunOfProcessor&) -> ProcessorNeeds {
            return {.spectra = false, .sample_window = dynamic_cast<const SpectrumSettings&>(own).window_samples};
          }};
}

}  // namespace schema
}  // namespace nearfield
