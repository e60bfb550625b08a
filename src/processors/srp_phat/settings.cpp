#include "processors/srp_phat/settings.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <optional>

#include "config/live_samples.hpp"
#include "config/premises.hpp"
#include "config/schema/processor_kinds.hpp"
#include "config/schema/section.hpp"
#include "core/geometry.hpp"

namespace nearfield {
namespace {

constexpr int kMostSources = 8;
constexpr int kMostFrames = 1000;
constexpr int kMostUpsampling = 16;

schema::Form<std::vector<double>> band() {
  constexpr double kHighest_hz = 1e6;
  auto form = schema::where(
      schema::numbers({"a frequency", 0.0, kHighest_hz, "Hz", true}),
      [](const std::vector<double>& values) { return values.size() == 2 && values[0] <= values[1]; },
      [](const std::vector<double>& values) {
        return far_field::expected_pair("[low, high], two frequencies > 0 Hz, the first not above the second", values);
      });
  form.facts.type = "pair of numbers";
  return form;
}

schema::Form<std::vector<int>> frames() {
  auto form = schema::where(
      schema::integers(1, kMostFrames),
      [](const std::vector<int>& values) { return values.size() == 2 && values[0] <= values[1]; },
      [](const std::vector<int>& values) {
        return far_field::expected_pair("[n, m]: n of m frames, the first not above the second",
                                        {values.begin(), values.end()});
      });
  form.facts.type = "pair of integers";
  return form;
}

/// Parses "longest N".
std::optional<PairChoice> longest_of(std::string_view text) {
  constexpr std::string_view kLongest = "longest ";
  PairChoice choice;
  if (!text.starts_with(kLongest)) {
    return std::nullopt;
  }
  text.remove_prefix(kLongest.size());
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), choice.longest);
  const bool is_number = error == std::errc() && end == text.data() + text.size();
  return is_number && choice.longest > 0 && choice.longest <= static_cast<int>(kMostPairs) ? std::optional(choice)
                                                                                           : std::nullopt;
}

schema::Form<PairChoice> pairs_of_microphones() {
  constexpr double kMostChannels = 65535.0;
  schema::Form<PairChoice> form;
  form.facts = {.type = "list of pairs of channels",
                .range = fmt::format("at most {} pairs", kMostPairs),
                .words = {{"all", "of all microphones"}, {"longest N", "the N pairs farthest apart"}}};
  form.read = [](YamlMap& map, const std::string& key, const std::filesystem::path&) -> std::optional<PairChoice> {
    const std::string expected =
        fmt::format("all, longest N (1 to {0}), or a list of 1 to {0} pairs of channels", kMostPairs);
    if (map.is_word(key, "all")) {
      return PairChoice();
    }
    if (!map.is_list(key)) {
      const std::optional<std::string> text = map.text(key);
      std::optional<PairChoice> longest = text ? longest_of(*text) : std::nullopt;
      if (text && !longest) {
        map.problem(key, expected);
      }
      return longest;
    }
    const schema::Range range = {.what = "a channel from", .minimum = 0.0, .maximum = kMostChannels};
    const std::string text = schema::expected(range);
    const auto pairs = map.pairs(key, schema::rule_of(range, text));
    if (!pairs) {
      return std::nullopt;
    }
    PairChoice choice;
    for (const auto& [one, other] : *pairs) {
      choice.list.push_back({static_cast<int>(one), static_cast<int>(other)});
    }
    const bool is_whole = std::all_of(pairs->begin(), pairs->end(), [](const std::array<double, 2>& pair) {
      return pair[0] == std::floor(pair[0]) && pair[1] == std::floor(pair[1]) && pair[0] != pair[1];
    });
    if (choice.list.empty() || choice.list.size() > kMostPairs || !is_whole) {
      map.problem(key, expected + ", each of two different ones");
      return std::nullopt;
    }
    return choice;
  };
  form.write = [](const PairChoice& choice) {
    return !choice.list.empty() ? fmt::format("{}", choice.list)
           : choice.longest > 0 ? fmt::format("longest {}", choice.longest)
                                : "all";
  };
  return form;
}

}  // namespace

std::string_view name_of(SrpDomain domain) {
  return domain == SrpDomain::kAuto ? "auto" : domain == SrpDomain::kTime ? "time" : "frequency";
}

std::string_view name_of(LagInterpolation interpolation) {
  return interpolation == LagInterpolation::kLinear ? "linear" : "nearest";
}

std::string_view name_of(SrpWeights weights) {
  return weights == SrpWeights::kPhat ? "phat" : weights == SrpWeights::kSnr ? "snr" : "none";
}

void SrpPhatSettings::describe(schema::Section& section) {
  section.add("domain", domain,
              schema::choice<SrpDomain>({{SrpDomain::kAuto, "time where at most 64 microphones take less there"},
                                         {SrpDomain::kFrequency, "bin by bin, all pairs of microphones at once"},
                                         {SrpDomain::kTime, "pair by pair, at whole lags; not of spectra as input"}}),
              "where it sums");
  section.add("band_hz", band_hz, band(),
              "all bins of the window from the first to below the second frequency; where front_end.frequencies_hz of "
              "this processor is given, those of them in this band");
  section.add("weights", weights,
              schema::choice<SrpWeights>({{SrpWeights::kPhat, "each microphone and bin by its phase alone"},
                                          {SrpWeights::kNone, "loud bins and microphones weigh more"},
                                          {SrpWeights::kSnr, "as phat, of those bins that exceed their floor"}}),
              "of spectra");
  section.add("snr_db", snr_db, schema::number({"a ratio from", 0.0, 60.0, "dB"}),
              "of a bin's power, the mean of all microphones, over its floor: the least one of the windows before");
  section.add("floor_rise_db_s", floor_rise_db_s, schema::number({"a rate from", 0.0, 1000.0, "dB/s"}),
              "how fast floors rise again");
  section.add("upsample", upsample, schema::integer(1, kMostUpsampling),
              "lags of the time domain to a decimated sample");
  section.add("interpolation", interpolation,
              schema::choice<LagInterpolation>({{LagInterpolation::kNearest, "the nearest lag"},
                                                {LagInterpolation::kLinear, "the line between two lags"}}),
              "of lags");
  section.add("pairs", pairs, pairs_of_microphones(), "of microphones that the time domain sums");
  section.add("sources", sources, schema::integer(1, kMostSources), "maxima that are looked for in each frame");
  section.add("peel", peel, schema::boolean(),
              "take each source that was found out of the spectra before the next one is looked for, so that its side "
              "lobes hide no weaker one and are no sources themselves");
  section.add("separation_deg", separation_deg, schema::number({"an angle from", 0.0, 180.0, "deg"}),
              "least angle between two of them, seen from the array's centre");
  section.add("significance", significance, schema::number({"a number from", 0.0, 300.0}),
              "of a maximum that counts as a source: -lg of the probability that noise alone has it in a frame");
  section.add(
      "reject_common", reject_common, schema::boolean(),
      "take the mean of all microphones off each of them first: noise that all channels share is left out, and so "
      "is what comes from straight ahead");
  section.add("keep_map", keep_map, schema::boolean(), "frames hold the map too; false: sources alone");
  far_field::describe(section.section("grid", "Where it looks, at most 4194304 pixels in all planes together."), grid);
  far_field::describe_subset(section.section("steering", "Which microphones it uses."), subset);
  schema::Section& of_tracks = section.section("tracks", "Sources over time.");
  of_tracks.add("enabled", tracks.enabled, schema::boolean(), "false: maxima alone, without ids");
  of_tracks.add("confirm", tracks.confirm, frames(), "frames with a source, of the last ones, that make a track");
  of_tracks.add("forget_s", tracks.forget_s, schema::number({"a time", 0.0, 3600.0, "s", true}),
                "how long a track goes on without its source");
  of_tracks.add("manoeuvre_m_s2", tracks.manoeuvre_m_s2, schema::number({"an acceleration", 0.0, 1e6, "m/s^2", true}),
                "of sources, rms; with distance_m: inf of the unit vector, 1/s^2");
}

void SrpPhatSettings::check(const Settings& settings, const std::string& path, const IsSettled& is_settled,
                            std::vector<Contradiction>& found) const {
  Settings one_value = settings;  // one value per pixel, whatever the number of frequencies
  one_value.front_end.frequencies_hz.resize(1);
  if (weights == SrpWeights::kSnr && settings.device.batch > 1 && far_field::every_hops_of(settings, path) > 1 &&
      is_settled(path + "weights") && is_settled(path + "every_hops")) {
    found.push_back({path + "weights", "",
                     fmt::format("expected phat or none, or every_hops: 1, with device.batch {}, as all windows of a "
                                 "batch count for the floors, found snr",
                                 settings.device.batch)});
  }
  far_field::check(one_value, grid, far_field::SteeringSettings(), sizeof(float), path, is_settled, found);
}

/// Size of the map and, on the device, of its inputs: pressures and phases of each bin, powers in some parts, the lags
/// of pairs, and the fields of the peeled sources, with the map of the remainder.
double SrpPhatSettings::frame_bytes(const Settings& settings) const {
  constexpr double kMostBins = 1000.0;
  constexpr double kParts = 4.0;
  constexpr double kOfBin = 4.0 * sizeof(float);  // two complex numbers per bin
  const double rate_hz = sample_rate_of(settings);
  const double bins =
      std::clamp((band_hz[1] - band_hz[0]) / rate_hz * settings.front_end.window_samples, 1.0, kMostBins);
  const ArrayGeometry& geometry = settings.array.geometry;
  const double channels = geometry.channels();
  double bytes = bins * channels * kOfBin;
  if (domain != SrpDomain::kFrequency) {
    const double all = channels * (channels - 1.0) / 2.0;
    const double chosen =
        pairs.list.empty() ? (pairs.longest > 0 ? pairs.longest : all) : static_cast<double>(pairs.list.size());
    const double aperture_m = std::hypot(geometry.columns * geometry.pitch_x_m, geometry.rows * geometry.pitch_y_m);
    const double lags = 2.0 * aperture_m / settings.medium.sound_speed_m_s * rate_hz * upsample;
    const double used = std::min({all, chosen, static_cast<double>(kMostPairs)});
    bytes += used * (lags + 2.0 * bins) * sizeof(float) + 2.0 * bins * lags * sizeof(float);
  }
  const double peeled = peel ? sources - 1.0 : 0.0;
  bytes += peeled * bins * channels * 2.0 * sizeof(float);
  const double maps = peeled > 0.0 ? 2.0 : 1.0;
  return bytes + far_field::estimated_pixels(grid) * (maps + kParts) * sizeof(float);
}

namespace schema {

ProcessorKind srp_phat_kind() {
  return {.name = "srp_phat",
          .meaning = "where sources are, by their steered response power: SRP-PHAT, with tracks",
          .make = []() -> std::unique_ptr<KindSettings> { return std::make_unique<SrpPhatSettings>(); },
          .bands = [](const KindSettings& own) -> BandsOfProcessor {
            const std::vector<double>& band_hz = dynamic_cast<const SrpPhatSettings&>(own).band_hz;
            return {.key = "band_hz", .bands_hz = {{.low_hz = band_hz[0], .high_hz = band_hz[1]}}};
          }};
}

}  // namespace schema
}  // namespace nearfield
