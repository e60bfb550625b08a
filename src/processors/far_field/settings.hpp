#pragma once
#include <cstddef>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "nearfield/settings.hpp"

/// What processors of the far field have in common: where they look, and how they are steered there.
namespace nearfield::far_field {

/// What the pixels of a map are.
enum class GridKind { kPlane, kAngles, kLine, kSphere, kVolume, kPoints };
enum class LineAxis { kX, kY };
/// The field that a source at a pixel makes.
enum class Model { kMonopole, kPlaneWave, kMeasured };
/// Sarradj's four formulations of the steering vector, I to IV.
enum class Formulation { kClassic, kInverse, kTrueLevel, kTrueLocation };
enum class Shading { kUniform, kHann, kHamming, kDolphChebyshev, kTaylor };

std::string_view name_of(GridKind kind);
std::string_view name_of(LineAxis axis);
std::string_view name_of(Model model);
std::string_view name_of(Formulation formulation);
std::string_view name_of(Shading shading);

/// Pixels of all planes together, at most.
inline constexpr std::size_t kMostPixels = 4'194'304;
inline constexpr std::size_t kMostDistances = 64;
/// A distance that stands for plane waves.
inline constexpr double kInfinitelyFar = std::numeric_limits<double>::infinity();

/// Distances count from the array's plane into the field. Pairs are the first and the last pixel's centre.
struct GridSettings {
  GridKind kind = GridKind::kPlane;
  std::vector<double> distance_m = {1.0};
  std::vector<double> x_m = {-0.5, 0.5};
  std::vector<double> y_m = {-0.5, 0.5};
  double step_m = 0.02;
  std::vector<double> azimuth_deg = {-60.0, 60.0};
  std::vector<double> elevation_deg = {-60.0, 60.0};
  double step_deg = 1.0;
  std::vector<double> angles_deg = {0.0, 180.0};
  int count = 512;
  LineAxis axis = LineAxis::kX;
  std::vector<double> radius_m = {1.0, 2.0, 3.0};
  std::string points_path = {};  ///< empty: none

  friend bool operator==(const GridSettings&, const GridSettings&) = default;
  /// Plane waves, of whatever direction the pixels say.
  [[nodiscard]] bool is_infinitely_far() const;
};

struct SteeringSettings {
  Model model = Model::kMonopole;
  Formulation formulation = Formulation::kTrueLevel;
  double reference_m = 0.0;  ///< from the source, where its pressure is given; 0: at the array's centre
  Shading shading = Shading::kUniform;
  double shading_db = 30.0;
  std::optional<SubsetSettings> subset = {};  ///< none: ArraySettings::subset
  std::string templates_path = {};            ///< of measured; empty: none
};

/// A frame of maps is smaller than this.
inline constexpr double kMostFrameBytes = 2147483648.0;

/// Pixels along each axis of a grid, slowest first: planes, rows, columns. Finite, but as large as the settings say;
/// of points, which a file counts, 0.
struct GridCounts {
  double planes = 1.0;
  double rows = 1.0;
  double columns = 1.0;
  [[nodiscard]] double pixels() const { return planes * rows * columns; }
};
GridCounts counts_of(const GridSettings& grid);
/// Entries from `ends[0]` to `ends[1]`, `step` apart.
double count_between(const std::vector<double>& ends, double step);
/// A circle whose last direction would be its first one again.
bool is_full_circle(const GridSettings& grid);
/// Roughly the pixels, those of a file judged by its size.
double estimated_pixels(const GridSettings& grid);

/// What a pair is expected to be, which names the reversal where that is all that is wrong.
std::string expected_pair(const std::string& text, const std::vector<double>& found);

/// The cadence of the processor whose section is at `path`, such as "processors.far.".
int every_hops_of(const Settings& settings, const std::string& path);

void describe(schema::Section& section, GridSettings& grid);
void describe(schema::Section& section, SteeringSettings& steering);
/// The part of it that says where the level is given, and how microphones weigh.
void describe_weights(schema::Section& section, SteeringSettings& steering);
/// Of a processor that has no other settings of steering.
void describe_subset(schema::Section& section, std::optional<SubsetSettings>& subset);
/// Adds what cannot hold; `path` is the dotted name of the processor's section, with the final point. A frame has
/// `value_bytes` a pixel and frequency.
void check(const Settings& settings, const GridSettings& grid, const SteeringSettings& steering, double value_bytes,
           const std::string& path, const IsSettled& is_settled, std::vector<Contradiction>& found);

}  // namespace nearfield::far_field
