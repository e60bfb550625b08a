#include "processors/far_field/settings.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <filesystem>
#include <initializer_list>

#include "config/premises.hpp"
#include "config/schema/form.hpp"
#include "config/schema/section.hpp"

namespace nearfield::far_field {

std::string expected_pair(const std::string& text, const std::vector<double>& found) {
  return found.size() == 2 && found[0] > found[1]
             ? fmt::format("{}: [{}, {}], the same two the other way round", text, found[1], found[0])
             : text;
}

namespace {

using schema::choice;
using schema::Form;
using schema::Range;

constexpr double kFarthest_m = 1000.0;
constexpr double kNearest_m = 0.01;
constexpr double kRightAngleDeg = 90.0;
constexpr double kCircleDeg = 360.0;
constexpr double kRounding = 1e-6;  ///< fraction of a step
constexpr int kMostCount = static_cast<int>(kMostPixels);

/// Two numbers, the first not above the second.
Form<std::vector<double>> ends(const Range& range) {
  const std::string text =
      fmt::format("[first, last], {} {}, the first not above the last", schema::in_words(range), range.unit);
  auto form = schema::where(
      schema::numbers(range),
      [](const std::vector<double>& values) { return values.size() == 2 && values[0] <= values[1]; },
      [text](const std::vector<double>& values) { return expected_pair(text, values); });
  form.facts.type = "pair of numbers";
  return form;
}

Form<std::vector<double>> distances(const Range& range) {
  return schema::where(
      schema::numbers(range),
      [](const std::vector<double>& values) { return !values.empty() && values.size() <= kMostDistances; },
      fmt::format("1 to {} distances", kMostDistances));
}

constexpr Range kDistance{.what = "a distance from", .minimum = kNearest_m, .maximum = kFarthest_m, .unit = "m"};
constexpr Range kPlace{.what = "a place from", .minimum = -kFarthest_m, .maximum = kFarthest_m, .unit = "m"};
constexpr Range kAzimuth{.what = "an angle from", .minimum = -kCircleDeg, .maximum = kCircleDeg, .unit = "deg"};
constexpr Range kElevation{
    .what = "an angle from", .minimum = -kRightAngleDeg, .maximum = kRightAngleDeg, .unit = "deg"};
constexpr Range kLineAngle{.what = "an angle from", .minimum = 0.0, .maximum = 180.0, .unit = "deg"};

bool has_planes(GridKind kind) {
  return kind == GridKind::kPlane || kind == GridKind::kAngles || kind == GridKind::kLine || kind == GridKind::kVolume;
}

/// Checks the settings of one grid.
class Checker {
 public:
  Checker(const GridSettings& grid, const SteeringSettings& steering, const std::string& path,
          const IsSettled& is_settled, std::vector<Contradiction>& found)
      : grid_(grid), steering_(steering), path_(path), is_settled_(is_settled), found_(found) {}

  void check_distances() {
    if (!settled({"grid.kind", "grid.distance_m"}) || !has_planes(grid_.kind)) {
      return;
    }
    const bool may_be_infinite = grid_.kind == GridKind::kAngles || grid_.kind == GridKind::kLine;
    if (!may_be_infinite && grid_.distance_m == std::vector<double>{kInfinitelyFar}) {
      add("grid.distance_m",
          fmt::format("expected distances in m with kind: {}, found inf, which angles and line alone can have",
                      name_of(grid_.kind)));
    } else if (grid_.kind == GridKind::kVolume &&
               (grid_.distance_m.size() > 2 || grid_.distance_m.front() > grid_.distance_m.back())) {
      add("grid.distance_m",
          fmt::format("expected [nearest, farthest] with kind: volume, found {} distances from {} to {}",
                      grid_.distance_m.size(), grid_.distance_m.front(), grid_.distance_m.back()));
    }
  }
  void check_angles() {
    if (settled({"grid.kind", "grid.azimuth_deg"}) && grid_.kind == GridKind::kAngles &&
        (grid_.azimuth_deg[0] < -kRightAngleDeg || grid_.azimuth_deg[1] > kRightAngleDeg)) {
      add("grid.azimuth_deg", fmt::format("expected angles from -90 to 90 deg with kind: angles, found [{}, {}]",
                                          grid_.azimuth_deg[0], grid_.azimuth_deg[1]));
    }
    if (settled({"grid.kind", "grid.azimuth_deg"}) && grid_.kind == GridKind::kSphere &&
        grid_.azimuth_deg[1] - grid_.azimuth_deg[0] > kCircleDeg) {
      add("grid.azimuth_deg",
          fmt::format("expected at most a full circle, found [{}, {}]", grid_.azimuth_deg[0], grid_.azimuth_deg[1]));
    }
  }
  void check_points() {
    if (settled({"grid.kind", "grid.points"}) && grid_.kind == GridKind::kPoints && grid_.points_path.empty()) {
      add("grid.points", "expected a CSV or HDF5 file with kind: points, found null");
    }
  }
  void check_size(double frequencies, double value_bytes) {
    constexpr std::array kKeys = {"grid.kind",        "grid.x_m",      "grid.y_m",          "grid.step_m",
                                  "grid.azimuth_deg", "grid.step_deg", "grid.elevation_deg"};
    if (!std::all_of(kKeys.begin(), kKeys.end(), [&](const char* key) { return settled({key}); })) {
      return;
    }
    const GridCounts counts = counts_of(grid_);
    const std::string size = fmt::format("{:.0f} planes of {:.0f} x {:.0f} = {:.0f} pixels", counts.planes, counts.rows,
                                         counts.columns, counts.pixels());
    if (counts.pixels() > static_cast<double>(kMostPixels)) {
      add("grid", fmt::format("expected at most {} pixels in all planes together, found {}", kMostPixels, size));
    } else if (counts.pixels() * frequencies * value_bytes >= kMostFrameBytes) {
      add("grid", fmt::format("expected maps of less than 2 GiB a frame, found {} at {} frequencies of {} bytes each",
                              size, frequencies, value_bytes));
    }
  }
  void check_templates() {
    if (!settled({"steering.model", "steering.file"})) {
      return;
    }
    const bool is_measured = steering_.model == Model::kMeasured;
    if (is_measured && steering_.templates_path.empty()) {
      add("steering.file", "expected a file of templates with model: measured, found null");
    } else if (!is_measured && !steering_.templates_path.empty()) {
      add("steering.file",
          fmt::format("expected null with model: {}, found {}", name_of(steering_.model), steering_.templates_path));
    }
  }
  void check_reference() {
    if (!settled({"grid.kind", "grid.distance_m", "steering.model", "steering.reference"}) ||
        steering_.reference_m == 0.0) {
      return;
    }
    const bool is_measured = steering_.model == Model::kMeasured;
    if (steering_.model == Model::kPlaneWave || (grid_.is_infinitely_far() && !is_measured)) {
      add("steering.reference",
          fmt::format("expected array_centre with plane waves, which have no distance from their source, found {} m",
                      steering_.reference_m));
    }
  }

 private:
  [[nodiscard]] bool settled(std::initializer_list<const char*> keys) const {
    return std::all_of(keys.begin(), keys.end(), [&](const char* key) { return is_settled_(path_ + key); });
  }
  void add(const std::string& key, std::string message) { found_.push_back({path_ + key, "", std::move(message)}); }

  const GridSettings& grid_;
  const SteeringSettings& steering_;
  const std::string& path_;
  const IsSettled& is_settled_;
  std::vector<Contradiction>& found_;
};

}  // namespace

std::string_view name_of(GridKind kind) {
  constexpr std::array<std::string_view, 6> kNames = {"plane", "angles", "line", "sphere", "volume", "points"};
  return kNames.at(static_cast<std::size_t>(kind));
}

std::string_view name_of(LineAxis axis) { return axis == LineAxis::kX ? "x" : "y"; }

std::string_view name_of(Model model) {
  constexpr std::array<std::string_view, 3> kNames = {"monopole", "plane_wave", "measured"};
  return kNames.at(static_cast<std::size_t>(model));
}

std::string_view name_of(Formulation formulation) {
  constexpr std::array<std::string_view, 4> kNames = {"classic", "inverse", "true_level", "true_location"};
  return kNames.at(static_cast<std::size_t>(formulation));
}

std::string_view name_of(Shading shading) {
  constexpr std::array<std::string_view, 5> kNames = {"uniform", "hann", "hamming", "dolph_chebyshev", "taylor"};
  return kNames.at(static_cast<std::size_t>(shading));
}

bool GridSettings::is_infinitely_far() const {
  return (kind == GridKind::kAngles || kind == GridKind::kLine) && distance_m == std::vector<double>{kInfinitelyFar};
}

double count_between(const std::vector<double>& ends, double step) {
  return std::floor((ends.back() - ends.front()) / step + kRounding) + 1.0;
}

bool is_full_circle(const GridSettings& grid) {
  return grid.kind == GridKind::kSphere && grid.azimuth_deg[1] - grid.azimuth_deg[0] == kCircleDeg;
}

GridCounts counts_of(const GridSettings& grid) {
  const auto distances = static_cast<double>(grid.distance_m.size());
  switch (grid.kind) {
    case GridKind::kPlane:
    case GridKind::kVolume:
      return {.planes = grid.kind == GridKind::kPlane ? distances : count_between(grid.distance_m, grid.step_m),
              .rows = count_between(grid.y_m, grid.step_m),
              .columns = count_between(grid.x_m, grid.step_m)};
    case GridKind::kLine:
      return {.planes = distances, .columns = static_cast<double>(grid.count)};
    case GridKind::kAngles:
    case GridKind::kSphere:
      return {.planes = grid.kind == GridKind::kAngles ? distances : static_cast<double>(grid.radius_m.size()),
              .rows = count_between(grid.elevation_deg, grid.step_deg),
              .columns = is_full_circle(grid) ? std::ceil(kCircleDeg / grid.step_deg - kRounding)
                                              : count_between(grid.azimuth_deg, grid.step_deg)};
    case GridKind::kPoints:
      break;
  }
  return {.columns = 0.0};
}

double estimated_pixels(const GridSettings& grid) {
  if (grid.kind != GridKind::kPoints) {
    return counts_of(grid).pixels();
  }
  constexpr double kShortestLine = 6.0;  // "0,0,0" with its line end
  std::error_code error;
  const std::uintmax_t bytes = std::filesystem::file_size(grid.points_path, error);
  return error ? 0.0 : std::min(static_cast<double>(kMostPixels), static_cast<double>(bytes) / kShortestLine);
}

void describe(schema::Section& section, GridSettings& grid) {
  section.add("kind", grid.kind,
              choice<GridKind>({{GridKind::kPlane, "x and y, parallel to the array"},
                                {GridKind::kAngles, "azimuth and elevation"},
                                {GridKind::kLine, "angles against an axis of the array"},
                                {GridKind::kSphere, "round the array's centre"},
                                {GridKind::kVolume, "planes step_m apart"},
                                {GridKind::kPoints, "those of a file"}}),
              "where it looks");
  section.add("distance_m", grid.distance_m,
              schema::or_word({"inf", "plane waves, of kinds angles and line"}, std::vector<double>{kInfinitelyFar},
                              distances(kDistance)),
              "of plane, angles and line, from the array's plane, or its centre, into the field; of volume the nearest "
              "and the farthest plane");
  section.add("x_m", grid.x_m, ends(kPlace), "of plane and volume: the first and the last pixel's centre");
  section.add("y_m", grid.y_m, ends(kPlace), "likewise, downwards");
  section.add("step_m", grid.step_m, schema::number({"a step", 0.0, kFarthest_m, "m", true}),
              "of plane and volume, between pixels");
  section.add("azimuth_deg", grid.azimuth_deg, ends(kAzimuth),
              "of angles, towards +x, at most 90 either way; of sphere, round the array's axis, 0 at +x");
  section.add("elevation_deg", grid.elevation_deg, ends(kElevation),
              "of angles, towards +y; of sphere, from the array's plane into the field");
  section.add("step_deg", grid.step_deg, schema::number({"a step", 0.0, kCircleDeg, "deg", true}),
              "of angles and sphere, between pixels");
  section.add("angles_deg", grid.angles_deg, ends(kLineAngle), "of line, against the axis");
  section.add("count", grid.count, schema::integer(2, kMostCount), "pixels of line");
  section.add("axis", grid.axis, choice<LineAxis>({{LineAxis::kX, ""}, {LineAxis::kY, ""}}), "of line");
  section.add("radius_m", grid.radius_m, distances(kDistance), "of sphere, from the array's centre");
  section.add("points", grid.points_path, schema::path_or_null("none"),
              "of points: CSV of x_m,y_m,z_m, or HDF5 with /points [point][3], on the axes of images; a relative path "
              "counts from the configuration's folder");
}

void describe_weights(schema::Section& section, SteeringSettings& steering) {
  section.add("reference", steering.reference_m,
              schema::or_word({"array_centre", "there"}, 0.0, schema::number(kDistance)),
              "where the pressure of a source is given: its distance from the source");
  section.add("shading", steering.shading,
              choice<Shading>({{Shading::kUniform, ""},
                               {Shading::kHann, ""},
                               {Shading::kHamming, ""},
                               {Shading::kDolphChebyshev, "equal side lobes"},
                               {Shading::kTaylor, "nearly equal side lobes near the main lobe"}}),
              "weights along rows and columns");
  section.add("shading_db", steering.shading_db, schema::number({"a level from", 20.0, 80.0, "dB"}),
              "of dolph_chebyshev and taylor: how far side lobes lie below the main lobe");
}

void describe(schema::Section& section, SteeringSettings& steering) {
  section.add(
      "model", steering.model,
      choice<Model>({{Model::kMonopole, "spherical waves from each pixel"},
                     {Model::kPlaneWave, "plane waves from each pixel's direction"},
                     {Model::kMeasured, "templates of a file, whose places are the pixels instead of the grid's"}}),
      "the field of a source");
  section.add("formulation", steering.formulation,
              choice<Formulation>({{Formulation::kClassic, "I, exact location"},
                                   {Formulation::kInverse, "II, exact level"},
                                   {Formulation::kTrueLevel, "III, exact level"},
                                   {Formulation::kTrueLocation, "IV, exact location"}}),
              "of the steering vector");
  describe_weights(section, steering);
  section.add("file", steering.templates_path, schema::path_or_null("none"),
              "of measured: templates that `nearfield templates` made; a relative path counts from the configuration's "
              "folder");
  describe_subset(section, steering.subset);
}

void describe_subset(schema::Section& section, std::optional<SubsetSettings>& subset) {
  section.add("subset", subset, schema::or_none(schema::subset(), "as array.subset"),
              "the microphones that this processor uses");
}

int every_hops_of(const Settings& settings, const std::string& path) {
  const auto own = std::find_if(
      settings.processors.begin(), settings.processors.end(),
      [&](const ProcessorSettings& processor) { return fmt::format("processors.{}.", processor.name) == path; });
  return own == settings.processors.end() ? 1 : own->every_hops;
}

void check(const Settings& settings, const GridSettings& grid, const SteeringSettings& steering, double value_bytes,
           const std::string& path, const IsSettled& is_settled, std::vector<Contradiction>& found) {
  Checker checker(grid, steering, path, is_settled, found);
  checker.check_distances();
  checker.check_angles();
  checker.check_points();
  checker.check_size(static_cast<double>(settings.front_end.frequencies_hz.size()), value_bytes);
  checker.check_templates();
  checker.check_reference();
}

}  // namespace nearfield::far_field
