#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "config/schema/section.hpp"
#include "config/words.hpp"

namespace nearfield::schema {
namespace {

using std::filesystem::path;

constexpr std::size_t kMostCutoffs = 1000;
constexpr std::size_t kMostPlanes = 64;
constexpr std::size_t kMostPoints = 1024;
constexpr int kMostUpsample = 8;
constexpr int kHighestOrder = kMaxSide - 2;
constexpr Range kPosition{.what = "a position from", .minimum = -100.0, .maximum = 100.0, .unit = "m"};

Form<std::vector<double>> planes() {
  return ranging(
      where(
          numbers(kPosition), [](const auto& values) { return !values.empty() && values.size() <= kMostPlanes; },
          fmt::format("1 to {} planes", kMostPlanes)),
      fmt::format("1 to {} of them, {} each", kMostPlanes, in_words(kPosition)));
}

std::vector<PlanePoint> read_points(YamlMap& map, const std::string& key) {
  const std::string expectation = expected(kPosition);
  std::vector<PlanePoint> points;
  for (YamlMap& element : map.maps(key)) {
    PlanePoint point;
    for (const auto& [coordinate, target] : {std::pair{"x_m", &point.x_m}, {"y_m", &point.y_m}}) {
      if (!element.has(coordinate)) {
        element.problem(coordinate, expectation);
      }
      *target = element.number(coordinate, rule_of(kPosition, expectation)).value_or(0.0);
    }
    element.finish();
    points.push_back(point);
  }
  return points;
}

std::string list_of_points(const std::vector<PlanePoint>& points) {
  std::vector<std::string> texts;
  for (const PlanePoint& point : points) {
    texts.push_back(fmt::format("{{x_m: {}, y_m: {}}}", point.x_m, point.y_m));
  }
  return list(texts);
}

Form<std::vector<PlanePoint>> points() {
  Form<std::vector<PlanePoint>> form;
  form.facts = {.type = "list of points",
                .unit = "m",
                .range = fmt::format("at most {} of {{x_m: 0.1, y_m: -0.05}}", kMostPoints)};
  form.read = [](YamlMap& map, const std::string& key, const path&) { return std::optional(read_points(map, key)); };
  form.write = list_of_points;
  return where(
      std::move(form), [](const auto& points) { return points.size() <= kMostPoints; },
      fmt::format("at most {} points", kMostPoints));
}

/// A rule for the cut-off, or the cut-offs themselves.
struct Cutoff {
  CutoffRule rule = CutoffRule::kGiven;
  std::vector<double> rad_per_m;
};

/// Words in place of a cut-off.
constexpr std::array<std::pair<std::string_view, CutoffRule>, 3> kCutoffWords{
    {{"auto", CutoffRule::kAuto}, {"search", CutoffRule::kSearch}, {"dynamic_range", CutoffRule::kDynamicRange}}};

std::optional<Cutoff> read_cutoff(YamlMap& map, const std::string& key) {
  for (const auto& [word, rule] : kCutoffWords) {
    if (map.is_word(key, word)) {
      return Cutoff{.rule = rule, .rad_per_m = {}};
    }
  }
  const NumberRule wavenumber{.minimum = 0.0,
                              .maximum = 1e6,
                              .open_minimum = true,
                              .expected = "a wavenumber > 0 rad/m (or auto, search or dynamic_range)"};
  const std::optional<std::vector<double>> cutoffs = map.numbers(key, wavenumber);
  if (!cutoffs) {
    return std::nullopt;
  }
  if (cutoffs->empty() || cutoffs->size() > kMostCutoffs) {
    map.problem(key, "a wavenumber > 0 rad/m, a list with one per frequency, or one of auto, search, dynamic_range");
    return std::nullopt;
  }
  return Cutoff{.rule = CutoffRule::kGiven, .rad_per_m = *cutoffs};
}

std::string write_cutoff(const Cutoff& cutoff) {
  const auto* const word = std::find_if(kCutoffWords.begin(), kCutoffWords.end(),
                                        [&](const auto& one) { return one.second == cutoff.rule; });
  if (word != kCutoffWords.end()) {
    return std::string(word->first);
  }
  return cutoff.rad_per_m.size() == 1 ? fmt::format("{}", cutoff.rad_per_m[0]) : list(cutoff.rad_per_m);
}

Form<Cutoff> cutoff() {
  Form<Cutoff> form;
  form.facts = {
      .type = "number or list of numbers",
      .unit = "rad/m",
      .range = "> 0, one for all frequencies or a list with one per frequency",
      .minimum = 0.0,
      .open_minimum = true,
      .words = {{"auto",
                 "where the measured spectrum sinks into the measured noise, for every frame; dynamic_range's "
                 "at most"},
                {"search",
                 "the best one by what the measurement says of the field, slope too, every "
                 "search_every_frames"},
                {"dynamic_range", "where waves fade by dynamic_range_db from surface to microphones"}}};
  form.read = [](YamlMap& map, const std::string& key, const path&) { return read_cutoff(map, key); };
  form.write = write_cutoff;
  return form;
}

void describe(Section& section, ExtrapolationSettings& extrapolation) {
  section.add("method", extrapolation.method,
              choice<Extrapolation>({{Extrapolation::kPlpbp, "one linear predictor an axis"},
                                     {Extrapolation::kLpbp, "one a line"},
                                     {Extrapolation::kEdge, "repeat"},
                                     {Extrapolation::kZero, ""}}),
              "what stands beyond the edges (the two that predict want at least 4 rows and 4 columns)");
  section.add("order", extrapolation.order, integer(1, kHighestOrder),
              "order of the predictors; at most a line's microphones - 2 are used");
  section.add("factor", extrapolation.factor, number({"a factor from", 1.0, 8.0}),
              "padded side over measured side; rounded up to a size the FFT likes");
}

void describe(Section& section, FilterSettings& filter) {
  section.add(
      "kind", filter.kind,
      choice<FilterKind>(
          {{FilterKind::kCos, "low-pass with a smooth edge"}, {FilterKind::kTikhonov, ""}, {FilterKind::kNone, ""}}),
      "shape of the filter");
  const auto get = [&filter] { return Cutoff{.rule = filter.cutoff_rule, .rad_per_m = filter.cutoff_rad_per_m}; };
  const auto set = [&filter](Cutoff next) {
    filter.cutoff_rule = next.rule;
    filter.cutoff_rad_per_m = std::move(next.rad_per_m);
  };
  section.add("cutoff_rad_per_m", {get, set}, cutoff(), "cut-off of the cos filter");
  section.add("dynamic_range_db", filter.dynamic_range_db,
              number({.what = "a range", .maximum = 300.0, .unit = "dB", .open_minimum = true}),
              "signals over noise at the microphones");
  section.add("slope", filter.slope, number({.what = "a slope", .maximum = 2.0, .open_minimum = true}),
              "slope of the cos filter's edge: small is steep");
  section.add("tikhonov_lambda", filter.tikhonov_lambda, number({"a number of", 1e-30, 1e6}),
              "lambda of H = |A|^2 / (|A|^2 + lambda), A the loss from surface to microphones");
}

void describe(Section& section, OperatorSettings& operators) {
  section.add("source_depth_m", operators.source_depth_m,
              or_auto(length_m(), "0.9 of standoff_m, 0.65 below a curved surface"),
              "how far the sheet of sources lies below the lowest place that is imaged");
  section.add("sources", operators.sources_path, path_or_null("a flat sheet"),
              "places of sources in place of the sheet, inside a body: CSV of x_m,y_m,z_m, or HDF5 with /points");
  section.add("templates", operators.templates_path, path_or_null("monopoles in the open"),
              "transfer functions from sources in place of the sheet, measured: a file of nearfield templates");
  section.add("behind", operators.behind,
              choice<Behind>(
                  {{Behind::kAuto,
                    "separate where microphones stand in two or three planes, without a wall, templates or a surface"},
                   {Behind::kSeparate, "images show what comes from the surface alone, behind the rest"},
                   {Behind::kIgnore, "all of it is imaged as if the surface had made it"}}),
              "what is done with waves from behind the array");
  Section& wall = section.section("wall", "A wall or floor beside the array, in which each source has an image.");
  wall.add("y_m", operators.wall.y_m, or_none(number(kPosition), "there is none"), "where it is, the plane y = y_m");
  wall.add("reflection", operators.wall.reflection, number({"a factor from", -1.0, 1.0}),
           "of the pressure of waves that it returns: 1 is rigid");
}

}  // namespace

void describe(Section& section, HolographySettings& holography) {
  section.add(
      "imager", holography.imager,
      choice<ImagerKind>({{ImagerKind::kAuto,
                           "sonah where no pitch is above three times standoff_m, a surface or a prior is set, else "
                           "pnah, as for active_intensity, for more "
                           "than 200 frequencies times planes, and where extrapolation, filter or device.fft are set; "
                           "operators of microphones on no regular grid"},
                          {ImagerKind::kPnah, "planar NAH: extrapolation, K-space filter, back-propagation"},
                          {ImagerKind::kSonah,
                           "statistically optimised NAH: no padding, no cut-off, the noise measured in every frame; "
                           "it leaves extrapolation, filter and device.fft unread"},
                          {ImagerKind::kOperators,
                           "the same by a dense matrix a frequency: for microphones at any places, holes, walls and "
                           "measured transfer functions"},
                          {ImagerKind::kNone, "no images: the section processors has the run's first processor"}}),
      "how images are made of spectra");
  section.add("standoff_m", holography.standoff_m, length_m(), "from the surface (z = 0) to the microphones");
  describe_images(section, holography, {});
}

void describe_images(Section& section, HolographySettings& holography, const ImagerParts& parts) {
  section.add("planes_m", holography.planes_m, planes(), "z of the images, from -standoff_m to below standoff_m");
  if (parts.surfaces) {
    section.add(
        "surface", holography.surface_path, path_or_null("planes_m"),
        "a curved surface in place of planes_m, of sonah and operators (docs/how/sonah.md): HDF5 with z_m "
        "[row][column] "
        "in m over the pixels of the images, NaN where there is none, or CSV of x_m,y_m,z_m[,nx,ny,nz], a line a "
        "point; velocities are along its normals; a relative path counts from the folder of the configuration file");
  }
  section.add("quantity", holography.quantity,
              choice<Quantity>({{Quantity::kPressure, "Pa"},
                                {Quantity::kNormalVelocity, "m/s, positive towards the array"},
                                {Quantity::kDisplacement, "m, the same way"},
                                {Quantity::kActiveIntensity, "W/m2, towards the array"}}),
              "what an image shows (docs/use/quantities.md)");
  section.add(
      "upsample", holography.upsample, integer(1, kMostUpsample),
      "pixels a pitch along each axis, from the first microphone to the last, or over the grid on which microphones at "
      "any places are imaged (docs/how/operators.md)");
  if (parts.searches) {
    section.add("search_every_frames", holography.search_every_frames,
                integer(0, std::numeric_limits<int>::max(), "frames"),
                "how often what takes too long for every frame is searched for: sonah's plane waves and point sources "
                "beside its prior (docs/how/sonah.md), the point sources of operators (docs/how/operators.md), pnah's "
                "cut-off and "
                "slope where the filter says search; 0: never");
    section.add("prior", holography.prior,
                choice<FieldPrior>(
                    {{FieldPrior::kAuto,
                      "what the spectra say, chosen for each frequency at every fourth search; without searches, or "
                      "with more than 255 MB of models, layer"},
                     {FieldPrior::kLayer, "sources as far behind the surface as the microphones are before it"},
                     {FieldPrior::kDeepLayer, "sources twice as far behind it"},
                     {FieldPrior::kPatches, "small sources near the surface"},
                     {FieldPrior::kBendingWaves, "waves along it, three to five standoffs long"},
                     {FieldPrior::kShortBendingWaves, "the same, two and a half to four standoffs long"}}),
                "what sonah expects of a field before it is measured (docs/how/sonah.md)");
  }
  section.add("points", holography.points, points(),
              "points inside the aperture: what the images have there, beside them: /points of a replay, "
              "nf_ring_points() of a live ring (docs/use/quantities.md)");
  if (parts.operators) {
    describe(section.section("operators", "What the imager operators takes for the sources of a field."),
             holography.operators);
  }
  if (!parts.filters) {
    return;
  }
  describe(
      section.section("extrapolation",
                      "Continues the measured pressures beyond the array's edges, so that the edges do not ring in "
                      "the image."),
      holography.extrapolation);
  describe(section.section("filter",
                           "Keeps the noise of evanescent waves from growing without bound on the way back to the "
                           "surface."),
           holography.filter);
}

}  // namespace nearfield::schema
