#pragma once
#include <cmath>
#include <cstddef>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/settings.hpp"

/// Settings common to far-field processors: pixels and steering.
namespace nearfield::far_field {

/// A position or direction on the axes of images with the origin at the array's centre: x to the right, y down, z from
/// the field to the array.
struct Position {
  double x = 0.0;
  double y = 0.0;
  double z = 0.0;
};

inline double dot(const Position& a, const Position& b) { return a.x * b.x + a.y * b.y + a.z * b.z; }
inline double norm(const Position& a) { return std::hypot(a.x, a.y, a.z); }
inline double distance(const Position& a, const Position& b) { return std::hypot(a.x - b.x, a.y - b.y, a.z - b.z); }

/// Meaning of a map's pixels.
enum class GridKind { kPlane, kAngles, kLine, kSphere, kVolume, kPoints };
enum class LineAxis { kX, kY };
/// Field of a source at a pixel.
enum class Model { kMonopole, kPlaneWave, kMeasured };
/// Sarradj's four formulations of the steering vector, I to IV.
enum class Formulation { kClassic, kInverse, kTrueLevel, kTrueLocation };
enum class Shading { kUniform, kHann, kHamming, kDolphChebyshev, kTaylor };

std::string_view name_of(GridKind kind);
std::string_view name_of(LineAxis axis);
std::string_view name_of(Model model);
std::string_view name_of(Formulation formulation);
std::string_view name_of(Shading shading);

/// Limit of pixels over all planes.
inline constexpr std::size_t kMostPixels = 4'194'304;
inline constexpr std::size_t kMostDistances = 64;
/// Distance that denotes plane waves.
inline constexpr double kInfinitelyFar = std::numeric_limits<double>::infinity();

/// Distances are from the array's plane into the field. Pairs are the first and the last pixel's centre.
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
  /// True for plane waves, from the pixels' directions.
  [[nodiscard]] bool is_infinitely_far() const;
};

struct SteeringSettings {
  Model model = Model::kMonopole;
  Formulation formulation = Formulation::kTrueLevel;
  double reference_m = 0.0;  ///< distance from the source at which its pressure is given; 0: at the array's centre
  Shading shading = Shading::kUniform;
  double shading_db = 30.0;
  std::optional<SubsetSettings> subset = {};  ///< default: ArraySettings::subset
  std::string templates_path = {};            ///< for measured; empty: none
};

/// A frame of maps must be smaller than this.
inline constexpr double kMostFrameBytes = 2147483648.0;

/// Pixels along each axis of a grid, slowest first: planes, rows, columns. Finite, but as large as the settings say; 0
/// for points, which a file counts.
struct GridCounts {
  double planes = 1.0;
  double rows = 1.0;
  double columns = 1.0;
  [[nodiscard]] double pixels() const { return planes * rows * columns; }
};
GridCounts counts_of(const GridSettings& grid);
/// Number of entries from `ends[0]` to `ends[1]`, `step` apart.
double count_between(const std::vector<double>& ends, double step);
/// True for a circle whose last direction equals its first one.
bool is_full_circle(const GridSettings& grid);
/// Approximate number of pixels; for points it is estimated from the file's size.
double estimated_pixels(const GridSettings& grid);

/// Text on the expected pair; it mentions the reversal if that is the only fault.
std::string expected_pair(const std::string& text, const std::vector<double>& found);

/// Cadence of the processor whose section is at `path`, such as "processors.far.".
int every_hops_of(const Settings& settings, const std::string& path);

void describe(schema::Section& section, GridSettings& grid);
void describe(schema::Section& section, SteeringSettings& steering);
/// Describes the settings of level reference and microphone weights.
void describe_weights(schema::Section& section, SteeringSettings& steering);
/// For a processor that has no other settings of steering.
void describe_subset(schema::Section& section, std::optional<SubsetSettings>& subset);
/// Adds contradictions; `path` is the dotted name of the processor's section, with the final point. A frame has
/// `value_bytes` per pixel and frequency.
void check(const Settings& settings, const GridSettings& grid, const SteeringSettings& steering, double value_bytes,
           const std::string& path, const IsSettled& is_settled, std::vector<Contradiction>& found);

}  // namespace nearfield::far_field
