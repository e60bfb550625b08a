#include "processors/beamform/settings.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <complex>
#include <cstdint>
#include <filesystem>
#include <system_error>

#include "config/premises.hpp"
#include "config/schema/form.hpp"
#include "config/schema/front_end_kinds.hpp"
#include "config/schema/processor_kinds.hpp"
#include "config/schema/section.hpp"

namespace nearfield {

std::string_view name_of(AverageKind kind) {
  constexpr std::array<std::string_view, 3> kNames = {"none", "linear", "exponential"};
  return kNames.at(static_cast<std::size_t>(kind));
}

std::string_view name_of(Method method) {
  constexpr std::array<std::string_view, 6> kNames = {"das", "functional", "capon", "music", "orthogonal", "clean_sc"};
  return kNames.at(static_cast<std::size_t>(method));
}

std::string_view name_of(PathChoice path) {
  constexpr std::array<std::string_view, 4> kNames = {"auto", "direct", "convolve", "separable"};
  return kNames.at(static_cast<std::size_t>(path));
}

std::string_view name_of(Focus focus) { return focus == Focus::kNone ? "none" : "max"; }

void BeamformSettings::describe(schema::Section& section) {
  section.add("method", method,
              schema::choice<Method>({{Method::kDas, "delay and sum"},
                                      {Method::kFunctional, "functional beamforming"},
                                      {Method::kCapon, "least power with the level of the pixel kept"},
                                      {Method::kMusic, "how near a pixel's field is to the sources', without a level"},
                                      {Method::kOrthogonal, "the strongest sources, each at its pixel"},
                                      {Method::kCleanSc, "sources one by one, with what is coherent with each"}}),
              "how it maps; all but das map the last snapshots together");
  section.add(
      "diagonal_removal", diagonal_removal, schema::boolean(),
      "leave out each microphone's own power, with its noise (das, with an average), or its noise, which is found "
      "(clean_sc)");
  section.add(
      "path", path_choice,
      schema::choice<PathChoice>(
          {{PathChoice::kAuto, "the one of those possible that needs the fewest operations"},
           {PathChoice::kDirect, "pixel by pixel, any map"},
           {PathChoice::kConvolve, "planes of monopoles, step_m a pitch divided or multiplied by a whole number"},
           {PathChoice::kSeparable, "angles of plane waves"}}),
      "how sums over microphones are computed");
  section.add(
      "focus", focus,
      schema::choice<Focus>({{Focus::kNone, "maps of all planes"},
                             {Focus::kMax, "the largest value over the planes, and the distance where it lies"}}),
      "which of the planes of grid (distance_m, radius_m) maps show");
  section.add("sectors", sectors, sector_list(), "parts of the grid whose sources' mean squares are summed");
  section.add(
      "functional_exponent", functional_exponent, schema::number({"a number", 1.0, 100.0}),
      "of functional: the larger, the narrower sources are, and the lower where gains, phases or places are wrong");
  section.add("loading", loading, schema::number({"a number", 0.0, 100.0, "", true}),
              "of capon: noise that is added to each microphone, over their mean power");
  section.add("sources", sources, schema::integer(1, 32, "sources"),
              "of music and orthogonal: how many are sought; of these and functional: beyond them is noise");
  section.add("map_rate_hz", map_rate_hz, schema::number({"a frequency", 0.0, 1000.0, "Hz", true}),
              "of methods other than das: maps a second, at most one a snapshot");
  schema::Section& bands = section.section("bands", "Mean squares of bands in place of single frequencies; of powers.");
  bands.add("octave", octave_hz, schema::octave_centres(OctavePart::kOctave),
            "all bins of each are computed, by a front end of its own, and summed");
  bands.add("third_octave", third_octave_hz, schema::octave_centres(OctavePart::kThird), "likewise");
  far_field::describe(section.section("grid", "The pixels of its maps, at most 4194304 in all planes together."), grid);
  far_field::describe(section.section("steering", "What it expects of a source at a pixel."), steering);
  schema::Section& of_average = section.section("average", "Of powers; its snapshots are half a window apart or more.");
  of_average.add("kind", average.kind,
                 schema::choice<AverageKind>({{AverageKind::kNone, "complex pressures of each window"},
                                              {AverageKind::kLinear, "the mean of each block"},
                                              {AverageKind::kExponential, "a mean that forgets"}}),
                 "what maps are");
  of_average.add("seconds", average.seconds, schema::number({"a time", 0.0, 3600.0, "s", true}),
                 "length of a block, or the time constant");
  of_average.add("snapshots", average.snapshots, schema::integer(8, 256, "snapshots"),
                 "the last ones that methods other than das map together");
  schema::Section& of_clean = section.section("clean", "Of clean_sc.");
  of_clean.add("loop_gain", clean.loop_gain, schema::number({"a fraction", 0.0, 1.0, "", true}),
               "of a source that each iteration takes away");
  of_clean.add("iterations", clean.iterations, schema::integer(1, 1000, "iterations"), "at most");
  of_clean.add("stop_db", clean.stop_db, schema::number({"a level", 0.0, 60.0, "dB", true}),
               "it ends at a source so far below the first");
}

void BeamformSettings::check_method(const std::string& path, const IsSettled& is_settled,
                                    std::vector<Contradiction>& found) const {
  if (method == Method::kDas || !is_settled(path + "method")) {
    return;
  }
  const std::string of_method = fmt::format("with method: {}", name_of(method));
  if (average.kind != AverageKind::kNone && is_settled(path + "average.kind")) {
    found.push_back({path + "average.kind", "",
                     fmt::format("expected none {}, whose maps are of the last average.snapshots, found {}", of_method,
                                 name_of(average.kind))});
  }
  if (steering.model == far_field::Model::kMeasured && is_settled(path + "steering.model")) {
    found.push_back(
        {path + "steering.model", "",
         fmt::format("expected monopole or plane_wave {}, found measured, which das alone has", of_method)});
  }
  const bool may_remove = method == Method::kCleanSc;
  if (diagonal_removal && !may_remove && is_settled(path + "diagonal_removal")) {
    found.push_back({path + "diagonal_removal", "",
                     fmt::format("expected false {}, as das and clean_sc alone can leave out the "
                                 "microphones' own noise, found true",
                                 of_method)});
  }
  if (average.snapshots < sources + 2 && is_settled(path + "average.snapshots") && is_settled(path + "sources")) {
    found.push_back({path + "average.snapshots", "",
                     fmt::format("expected at least {}, two more than sources, {}, found {}", sources + 2, of_method,
                                 average.snapshots)});
  }
  const bool has_own_level = steering.formulation == far_field::Formulation::kTrueLevel ||
                             steering.formulation == far_field::Formulation::kTrueLocation;
  if (!has_own_level && is_settled(path + "steering.formulation")) {
    found.push_back({path + "steering.formulation", "",
                     fmt::format("expected true_level or true_location {}, found {}", of_method,
                                 far_field::name_of(steering.formulation))});
  }
}

std::vector<Band> BeamformSettings::bands_hz() const {
  std::vector<Band> bands = octave_bands(OctavePart::kOctave, octave_hz);
  const std::vector<Band> thirds = octave_bands(OctavePart::kThird, third_octave_hz);
  bands.insert(bands.end(), thirds.begin(), thirds.end());
  return bands;
}

void BeamformSettings::check_path(const std::string& path, const IsSettled& is_settled,
                                  std::vector<Contradiction>& found) const {
  const bool is_settled_here = is_settled(path + "path") && is_settled(path + "grid.kind") &&
                               is_settled(path + "grid.distance_m") && is_settled(path + "steering.model");
  if (!is_settled_here) {
    return;
  }
  const bool has_planes = grid.kind == far_field::GridKind::kPlane || grid.kind == far_field::GridKind::kVolume;
  if (steering.model == far_field::Model::kMeasured && path_choice != PathChoice::kAuto) {
    found.push_back(
        {path + "path", "",
         fmt::format("expected auto with model: measured, whose sums have one way, found {}", name_of(path_choice))});
    return;
  }
  if (path_choice == PathChoice::kSeparable &&
      !(grid.kind == far_field::GridKind::kAngles && grid.is_infinitely_far())) {
    found.push_back(
        {path + "path", "", "expected auto or direct, as pixels are not angles at distance_m: inf, found separable"});
  }
  if (path_choice == PathChoice::kConvolve && (!has_planes || steering.model == far_field::Model::kPlaneWave)) {
    found.push_back({path + "path", "",
                     "expected auto or direct, as pixels are not planes of monopoles parallel to the array, found "
                     "convolve"});
  }
}

void BeamformSettings::check_focus(const std::string& path, const IsSettled& is_settled,
                                   std::vector<Contradiction>& found) const {
  if (focus == Focus::kNone || !is_settled(path + "focus")) {
    return;
  }
  const bool is_grid_settled = is_settled(path + "grid.kind") && is_settled(path + "grid.distance_m") &&
                               is_settled(path + "grid.radius_m") && is_settled(path + "grid.step_m");
  const bool is_model_settled = is_settled(path + "steering.model");
  const auto add = [&](const std::string& found_instead) {
    found.push_back({path + "focus", "",
                     "expected none, or at least two planes to look for the largest in, found max " + found_instead});
  };
  if (is_model_settled && steering.model == far_field::Model::kMeasured) {
    add("with model: measured, whose templates have no planes");
  } else if (is_model_settled && steering.model == far_field::Model::kPlaneWave) {
    add("with model: plane_wave, which is the same at all distances");
  } else if (is_grid_settled && grid.kind == far_field::GridKind::kPoints) {
    add("with grid.kind: points, which has none");
  } else if (is_grid_settled && grid.is_infinitely_far()) {
    add("with grid.distance_m: inf");
  } else if (is_grid_settled && far_field::counts_of(grid).planes < 2.0) {
    add(fmt::format("with one plane of grid.kind: {}", far_field::name_of(grid.kind)));
  }
  const bool grows = steering.formulation == far_field::Formulation::kInverse ||
                     steering.formulation == far_field::Formulation::kTrueLevel;
  if (method != Method::kMusic && grows && steering.reference_m > 0.0 && is_settled(path + "method") &&
      is_settled(path + "steering.formulation") && is_settled(path + "steering.reference")) {
    found.push_back({path + "steering.reference", "",
                     fmt::format("expected array_centre, or formulation: classic or true_location, with focus: max, as "
                                 "levels of {} grow with a plane's distance otherwise, found {} m",
                                 far_field::name_of(steering.formulation), steering.reference_m)});
  }
}

void BeamformSettings::check_sectors(const std::string& path, const IsSettled& is_settled,
                                     std::vector<Contradiction>& found) const {
  if (sectors.empty() || !is_settled(path + "sectors")) {
    return;
  }
  const auto add = [&](const std::string& reason) {
    found.push_back(
        {path + "sectors", "", fmt::format("expected none with {}, found {} sectors", reason, sectors.size())});
  };
  if (is_settled(path + "method") && (method == Method::kMusic || method == Method::kCapon)) {
    add(method == Method::kMusic ? "method: music, whose maps have no level"
                                 : "method: capon, whose answer to a source depends on the noise");
  }
  if (is_settled(path + "steering.model") && steering.model == far_field::Model::kMeasured) {
    add("model: measured, whose pixels are places of templates");
    return;
  }
  constexpr std::array kKeys = {"grid.kind",          "grid.x_m",         "grid.y_m",
                                "grid.step_m",        "grid.azimuth_deg", "grid.step_deg",
                                "grid.elevation_deg", "grid.angles_deg",  "grid.count"};
  if (!std::all_of(kKeys.begin(), kKeys.end(), [&](const char* key) { return is_settled(path + key); })) {
    return;
  }
  if (grid.kind == far_field::GridKind::kPoints) {
    add("grid.kind: points, whose pixels have no order");
    return;
  }
  if (!(grid.step_m > 0.0 && grid.step_deg > 0.0 && counts_of(grid).pixels() <= far_field::kMostPixels)) {
    return;  // reported for the grid already
  }
  for (std::size_t i = 0; i < sectors.size(); ++i) {
    const std::string flaw = flaw_of(sectors[i], grid);
    if (!flaw.empty()) {
      found.push_back({path + "sectors", fmt::format("[{}]", i), flaw});
    }
  }
}

void BeamformSettings::check(const Settings& settings, const std::string& path, const IsSettled& is_settled,
                             std::vector<Contradiction>& found) const {
  far_field::check(settings, grid, steering, value_bytes(), path, is_settled, found);
  check_path(path, is_settled, found);
  check_method(path, is_settled, found);
  check_focus(path, is_settled, found);
  check_sectors(path, is_settled, found);
  const bool has_powers = method == Method::kDas ? average.kind != AverageKind::kNone : method != Method::kMusic;
  const std::size_t bands = octave_hz.size() + third_octave_hz.size();
  if (bands > 0 && !has_powers && is_settled(path + "bands.third_octave") && is_settled(path + "method") &&
      is_settled(path + "average.kind")) {
    found.push_back({path + (octave_hz.empty() ? "bands.third_octave" : "bands.octave"), "",
                     fmt::format("expected none with {}, whose maps are no powers, found {} bands",
                                 method == Method::kMusic ? "method: music" : "average.kind: none", bands)});
  }
  if (method == Method::kDas && diagonal_removal && average.kind == AverageKind::kNone &&
      is_settled(path + "diagonal_removal") && is_settled(path + "average.kind")) {
    found.push_back({path + "diagonal_removal", "",
                     "expected false with average.kind: none, as a complex map has no diagonal to remove, found true"});
  }
  if (settings.device.batch > 1 && far_field::every_hops_of(settings, path) > 1 && is_settled(path + "every_hops")) {
    const std::string reason = fmt::format(
        "or every_hops: 1, with device.batch {}, as all windows of a batch are computed for a processor that is due in "
        "one of them",
        settings.device.batch);
    if (method != Method::kDas && is_settled(path + "method")) {
      found.push_back({path + "method", "", fmt::format("expected das, {}, found {}", reason, name_of(method))});
    } else if (average.kind != AverageKind::kNone && is_settled(path + "average.kind")) {
      found.push_back(
          {path + "average.kind", "", fmt::format("expected none, {}, found {}", reason, name_of(average.kind))});
    }
  }
}

double BeamformSettings::frame_bytes(const Settings& settings) const {
  return estimated_pixels(static_cast<std::size_t>(settings.array.geometry.channels())) *
         static_cast<double>(settings.front_end.frequencies_hz.size()) * value_bytes();
}

double BeamformSettings::estimated_pixels(std::size_t channels) const {
  if (steering.model != far_field::Model::kMeasured) {
    return far_field::estimated_pixels(grid);
  }
  std::error_code error;
  const std::uintmax_t bytes = std::filesystem::file_size(steering.templates_path, error);
  const double of_template = static_cast<double>(channels) * sizeof(std::complex<float>);
  return error ? 0.0 : std::min(static_cast<double>(far_field::kMostPixels), static_cast<double>(bytes) / of_template);
}

double BeamformSettings::value_bytes() const {
  return average.kind == AverageKind::kNone && method == Method::kDas ? sizeof(std::complex<float>) : sizeof(float);
}

namespace schema {

ProcessorKind beamform_kind() {
  return {.name = "beamform",
          .meaning = "maps of sources by beamforming, near and far",
          .make = []() -> std::unique_ptr<KindSettings> { return std::make_unique<BeamformSettings>(); },
          .bands = [](const KindSettings& own) -> BandsOfProcessor {
            return {.key = dynamic_cast<const BeamformSettings&>(own).octave_hz.empty() ? "bands.third_octave"
                                                                                        : "bands.octave",
                    .bands_hz = dynamic_cast<const BeamformSettings&>(own).bands_hz(),
                    .fewest_bins = 3.0,
                    .has_shares = true};
          }};
}

}  // namespace schema
}  // namespace nearfield
