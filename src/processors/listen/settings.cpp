#include "processors/listen/settings.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <numbers>
#include <optional>
#include <string>
#include <utility>

#include "config/live_samples.hpp"
#include "config/premises.hpp"
#include "config/schema/processor_kinds.hpp"
#include "config/schema/section.hpp"

namespace nearfield {
namespace {

constexpr std::size_t kMostBeams = 8;
constexpr int kLongestListenWindow = 65536;
constexpr double kNearestFocus_m = 0.01;
constexpr double kFarthestFocus_m = 1000.0;
constexpr schema::Range kFocusPlace{
    .what = "a place from", .minimum = -kFarthestFocus_m, .maximum = kFarthestFocus_m, .unit = "m"};
constexpr schema::Range kFocusAngle{.what = "an angle from", .minimum = -90.0, .maximum = 90.0, .unit = "deg"};
constexpr schema::Range kFocusDistance{
    .what = "a distance from", .minimum = kNearestFocus_m, .maximum = kFarthestFocus_m, .unit = "m"};

double sine_of_degrees(double degrees) { return std::sin(degrees * std::numbers::pi / 180.0); }

/// Reads the number of a required key.
double coordinate(YamlMap& map, const std::string& key, const schema::Range& range) {
  const std::string text = schema::expected(range);
  if (!map.has(key)) {
    map.problem(key, text);
  }
  return map.number(key, schema::rule_of(range, text)).value_or(0.0);
}

ListenBeam read_beam(YamlMap& map) {
  ListenBeam beam;
  beam.is_direction = map.has("azimuth_deg") || map.has("elevation_deg");
  if (beam.is_direction) {
    beam.azimuth_deg = coordinate(map, "azimuth_deg", kFocusAngle);
    beam.elevation_deg = coordinate(map, "elevation_deg", kFocusAngle);
    if (std::hypot(sine_of_degrees(beam.azimuth_deg), sine_of_degrees(beam.elevation_deg)) > 1.0) {
      map.problem("elevation_deg",
                  "a direction before the array, the sines of whose angles have squares of sum 1 at most");
    }
  } else {
    beam.x_m = coordinate(map, "x_m", kFocusPlace);
    beam.y_m = coordinate(map, "y_m", kFocusPlace);
  }
  if (!map.is_word("distance_m", "inf")) {
    beam.distance_m = coordinate(map, "distance_m", kFocusDistance);
  } else if (!beam.is_direction) {
    map.problem("distance_m",
                schema::expected(kFocusDistance) + " of a place; inf is for azimuth_deg and elevation_deg");
  }
  map.finish();
  return beam;
}

std::string text_of(const ListenBeam& beam) {
  const std::string distance = beam.is_infinitely_far() ? "inf" : fmt::format("{}", beam.distance_m);
  return beam.is_direction ? fmt::format("{{azimuth_deg: {}, elevation_deg: {}, distance_m: {}}}", beam.azimuth_deg,
                                         beam.elevation_deg, distance)
                           : fmt::format("{{x_m: {}, y_m: {}, distance_m: {}}}", beam.x_m, beam.y_m, distance);
}

schema::Form<std::vector<ListenBeam>> beams_form() {
  schema::Form<std::vector<ListenBeam>> form;
  form.facts = {.type = "list of beams",
                .unit = "m, deg",
                .range = fmt::format("1 to {} of {{x_m: 0.1, y_m: -0.05, distance_m: 1.0}} or {{azimuth_deg: 20, "
                                     "elevation_deg: 0, distance_m: inf}}",
                                     kMostBeams)};
  form.read = [](YamlMap& map, const std::string& key,
                 const std::filesystem::path&) -> std::optional<std::vector<ListenBeam>> {
    if (!map.is_list(key)) {
      if (map.has(key)) {
        map.problem(key, fmt::format("a list of 1 to {} beams", kMostBeams));
      }
      return std::nullopt;
    }
    std::vector<ListenBeam> beams;
    for (YamlMap& element : map.maps(key)) {
      beams.push_back(read_beam(element));
    }
    return beams;
  };
  form.write = [](const std::vector<ListenBeam>& beams) {
    std::vector<std::string> texts;
    std::transform(beams.begin(), beams.end(), std::back_inserter(texts), text_of);
    return fmt::format("[{}]", fmt::join(texts, ", "));
  };
  return schema::where(
      std::move(form), [](const auto& beams) { return !beams.empty() && beams.size() <= kMostBeams; },
      fmt::format("1 to {} beams", kMostBeams));
}

/// [channel]
std::vector<far_field::Position> places_of(const ArrayGeometry& geometry) {
  std::vector<far_field::Position> places;
  for (int channel = 0; channel < geometry.channels(); ++channel) {
    const MicrophonePosition at = geometry.position_m(channel);
    places.push_back({at.x_m, at.y_m, at.z_m});
  }
  return places;
}

}  // namespace

far_field::Position ListenBeam::focus() const {
  if (!is_direction) {
    return {x_m, y_m, -distance_m};
  }
  const double x = sine_of_degrees(azimuth_deg);
  const double y = sine_of_degrees(elevation_deg);
  const double z = -std::sqrt(std::max(0.0, 1.0 - x * x - y * y));
  const double scale = is_infinitely_far() ? 1.0 : distance_m;
  return {scale * x, scale * y, scale * z};
}

double listen_path_m(const ListenBeam& beam, const far_field::Position& microphone) {
  return beam.is_infinitely_far() ? -dot(beam.focus(), microphone) : distance(beam.focus(), microphone);
}

void ListenSettings::describe(schema::Section& section) {
  section.add("beams", beams, beams_form(),
              "where it listens: places before the array, or directions, of plane waves with distance_m: inf");
  schema::Section& of_steering =
      section.section("steering", "Which microphones beams are made of, how they weigh, and where the level is given.");
  far_field::describe_weights(of_steering, steering);
  far_field::describe_subset(of_steering, steering.subset);
}

ListenSizes ListenSettings::sizes(const Settings& settings, int every_hops, double sample_rate_hz) const {
  constexpr double kMost = 1 << 28;
  const std::vector<far_field::Position> microphones = places_of(settings.array.geometry);
  double longest_m = 0.0;
  for (const ListenBeam& beam : beams) {
    double nearest_m = std::numeric_limits<double>::infinity();
    double farthest_m = -nearest_m;
    for (const far_field::Position& one : microphones) {
      const double path_m = listen_path_m(beam, one);
      nearest_m = std::min(nearest_m, path_m);
      farthest_m = std::max(farthest_m, path_m);
    }
    longest_m = std::max(longest_m, farthest_m - nearest_m);
  }
  const double delay = longest_m / settings.medium.sound_speed_m_s * sample_rate_hz;
  ListenSizes sizes;
  sizes.new_samples =
      static_cast<int>(std::min(kMost, static_cast<double>(settings.front_end.hop_samples) * every_hops));
  sizes.delay_samples = static_cast<int>(std::min(kMost, std::floor(delay)));
  sizes.window_samples = sizes.new_samples + sizes.delay_samples + kListenTaps - 1;
  return sizes;
}

void ListenSettings::check(const Settings& settings, const std::string& path, const IsSettled& is_settled,
                           std::vector<Contradiction>& found) const {
  constexpr std::array kOfArray = {"array.rows", "array.columns", "array.pitch_x_m", "array.pitch_y_m",
                                   "array.positions"};
  const bool is_placed = std::all_of(kOfArray.begin(), kOfArray.end(), is_settled) && is_settled(path + "beams");
  if (is_placed) {
    const std::vector<far_field::Position> microphones = places_of(settings.array.geometry);
    for (std::size_t i = 0; i < beams.size(); ++i) {
      const auto at = std::find_if(microphones.begin(), microphones.end(), [&](const far_field::Position& one) {
        constexpr double kRounding = 1e-9;
        return !beams[i].is_infinitely_far() && listen_path_m(beams[i], one) < kNearestFocus_m * (1.0 - kRounding);
      });
      if (at != microphones.end()) {
        found.push_back(
            {path + "beams", fmt::format("[{}]", i),
             fmt::format("expected a place before the array, at least {} m from each microphone, found {:.3g} "
                         "m to {}",
                         kNearestFocus_m, listen_path_m(beams[i], *at),
                         text_of_microphone(settings.array.geometry, static_cast<int>(at - microphones.begin())))});
      }
      if (steering.reference_m != 0.0 && beams[i].is_infinitely_far() && is_settled(path + "steering.reference")) {
        found.push_back({path + "steering.reference", "",
                         fmt::format("expected array_centre with plane waves, which have no distance from their source "
                                     "(beam {}), found {} m",
                                     i, steering.reference_m)});
      }
    }
  }
  if (is_placed && is_settled(path + "every_hops") && is_settled("front_end.hop_samples")) {
    const int every_hops = far_field::every_hops_of(settings, path);
    const double rate_hz = sample_rate_of(settings);
    const ListenSizes sizes_of_frame = sizes(settings, every_hops, rate_hz);
    if (sizes_of_frame.new_samples < 2 || sizes_of_frame.window_samples > kLongestListenWindow) {
      found.push_back(
          {path + "every_hops", "",
           fmt::format(
               "expected frames of 2 samples and more whose window has at most {} samples, found {}: {} new ones, "
               "every_hops {} times front_end.hop_samples {}, and {} for the delays between microphones",
               kLongestListenWindow, sizes_of_frame.window_samples, sizes_of_frame.new_samples, every_hops,
               settings.front_end.hop_samples, sizes_of_frame.window_samples - sizes_of_frame.new_samples)});
    }
  }
}

/// Size of the beams' samples, and a batch's share of their input ring.
double ListenSettings::frame_bytes(const Settings& settings) const {
  int every_hops = 1;  // the slowest of this kind, because this one's cadence is unknown here
  for (const ProcessorSettings& processor : settings.processors) {
    every_hops = processor.kind == "listen" ? std::max(every_hops, processor.every_hops) : every_hops;
  }
  const double rate_hz = sample_rate_of(settings);
  const double samples = sizes(settings, every_hops, rate_hz).window_samples;
  const double ring = 2.0 * samples * settings.array.geometry.channels() / settings.device.batch;
  return (static_cast<double>(beams.size()) * samples + ring) * sizeof(float);
}

namespace schema {

ProcessorKind listen_kind() {
  return {.name = "listen",
          .meaning = "beams to listen to: the sound from places or directions, sample by sample",
          .make = []() -> std::unique_ptr<KindSettings> { return std::make_unique<ListenSettings>(); },
          .needs = [](const KindSettings& own, const RunOfProcessor& run) -> ProcessorNeeds {
            const ListenSizes sizes =
                dynamic_cast<const ListenSettings&>(own).sizes(run.settings, run.every_hops, run.sample_rate_hz);
            return {.spectra = false, .sample_window = sizes.window_samples};
          }};
}

}  // namespace schema
}  // namespace nearfield
