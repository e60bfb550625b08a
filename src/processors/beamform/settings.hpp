#pragma once
#include <memory>
#include <string>
#include <vector>

#include "core/settings.hpp"
#include "processors/beamform/sector_settings.hpp"
#include "processors/far_field/settings.hpp"

namespace nearfield {

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

  /// Third octaves, each from its lower to its upper edge (IEC 61260-1:2014, base 10).
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
  std::vector<double> third_octave_hz = {};  ///< centres of bands that are mapped in place of single frequencies
  double functional_exponent = 8.0;
  double loading = 0.01;
  int sources = 3;
  CleanSettings clean;
  Focus focus = Focus::kNone;
  std::vector<SectorSettings> sectors = {};
  double map_rate_hz = 30.0;
};

}  // namespace nearfield
