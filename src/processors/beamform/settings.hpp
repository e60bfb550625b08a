#pragma once
#include <array>
#include <cstddef>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "config/schema/form.hpp"
#include "core/settings.hpp"
#include "processors/far_field/settings.hpp"

namespace nearfield {

/// Axes along which a sector is defined: x and y, azimuth and elevation, or the angle of a line.
enum class SectorSides { kPlane, kAngles, kLine };

/// A sector: all pixels whose coordinates lie in these ranges, both ends included, on each plane.
struct SectorSettings {
  std::string name;
  SectorSides sides = SectorSides::kPlane;
  std::array<double, 2> across = {0.0, 0.0};  ///< x in m, or azimuth or the line's angle in degrees
  std::array<double, 2> down = {0.0, 0.0};    ///< y in m, or elevation in degrees; unused for a line

  friend bool operator==(const SectorSettings&, const SectorSettings&) = default;
};

inline constexpr std::size_t kMostSectors = 64;

/// Pixels from `ends[0]` to `ends[1]`, among `count` pixels of which the first is at `first`, `step` apart.
struct PixelRange {
  std::size_t first = 0;
  std::size_t count = 0;
  std::size_t centre = 0;  ///< pixel nearest to the middle of the ends
};
PixelRange pixels_between(const std::array<double, 2>& ends, double first, double step, std::size_t count);

/// Axes of sectors for this kind of grid, which must not be points.
SectorSides sides_of(far_field::GridKind kind);
/// Rows and columns of the grid inside the sector, which must have the grid's axes.
PixelRange rows_of(const SectorSettings& sector, const far_field::GridSettings& grid);
PixelRange columns_of(const SectorSettings& sector, const far_field::GridSettings& grid);
/// Reason why it is no sector of this grid: other axes, pixels that do not reach its ends, or none inside. Empty if
/// valid. The grid's kind is not points.
std::string flaw_of(const SectorSettings& sector, const far_field::GridSettings& grid);

/// A list of mappings, {name, x_m, y_m}, {name, azimuth_deg, elevation_deg} or {name, angle_deg}.
schema::Form<std::vector<SectorSettings>> sector_list();

enum class AverageKind { kNone, kLinear, kExponential };
std::string_view name_of(AverageKind kind);

struct AverageSettings {
  AverageKind kind = AverageKind::kNone;
  double seconds = 0.5;
  int snapshots = 64;  ///< only for methods that combine several
};

/// Method of making maps. All but the first use the last snapshots together (kernels/processors/beamform/history.cl).
enum class Method { kDas, kFunctional, kCapon, kMusic, kOrthogonal, kCleanSc };
std::string_view name_of(Method method);

/// Settings of clean_sc.
struct CleanSettings {
  double loop_gain = 0.6;
  int iterations = 40;
  double stop_db = 40.0;
};

/// Algorithm for a map's sums (processors/beamform/das_path.hpp).
enum class PathChoice { kAuto, kDirect, kConvolve, kSeparable };
std::string_view name_of(PathChoice path);

/// Reduction of the planes of a map.
enum class Focus { kNone, kMax };
std::string_view name_of(Focus focus);

class BeamformSettings : public KindSettings {
 public:
  [[nodiscard]] std::unique_ptr<KindSettings> copy() const override {
    return std::make_unique<BeamformSettings>(*this);
  }
  void describe(schema::Section& section) override;
  void check(const Settings& settings, const std::string& path, const IsSettled& is_settled,
             std::vector<Contradiction>& found) const override;
  [[nodiscard]] double frame_bytes(const Settings& settings) const override;
  /// Size of a map's value: complex pressure, or power.
  [[nodiscard]] double value_bytes() const;
  /// Approximate number of pixels in a map; for templates of `channels` microphones it is estimated from their file's
  /// size, assuming one frequency.
  [[nodiscard]] double estimated_pixels(std::size_t channels) const;

  /// Octaves, then third octaves.
  [[nodiscard]] std::vector<Band> bands_hz() const;

  /// Adds contradictions with a method that combines several snapshots.
  void check_method(const std::string& path, const IsSettled& is_settled, std::vector<Contradiction>& found) const;
  /// Adds faults of `path` that do not depend on the array and the device.
  void check_path(const std::string& path, const IsSettled& is_settled, std::vector<Contradiction>& found) const;
  /// Adds reasons why no maximum over planes can be made.
  void check_focus(const std::string& path, const IsSettled& is_settled, std::vector<Contradiction>& found) const;
  /// Adds reasons why sectors cannot be summed, and sectors outside the pixels.
  void check_sectors(const std::string& path, const IsSettled& is_settled, std::vector<Contradiction>& found) const;

  far_field::GridSettings grid;
  far_field::SteeringSettings steering;
  Method method = Method::kDas;
  bool diagonal_removal = false;
  /// Delay and sum removes the diagonal; clean_sc the estimate of microphones' own noise.
  [[nodiscard]] bool removes_diagonal() const { return diagonal_removal && method == Method::kDas; }
  [[nodiscard]] bool removes_own_noise() const { return diagonal_removal && method != Method::kDas; }
  PathChoice path_choice = PathChoice::kAuto;
  AverageSettings average;
  std::vector<double> octave_hz = {};        ///< centres of bands that are mapped in place of single frequencies
  std::vector<double> third_octave_hz = {};  ///< likewise
  double functional_exponent = 8.0;
  double loading = 0.01;
  int sources = 3;
  CleanSettings clean;
  Focus focus = Focus::kNone;
  std::vector<SectorSettings> sectors = {};
  double map_rate_hz = 30.0;
};

}  // namespace nearfield
