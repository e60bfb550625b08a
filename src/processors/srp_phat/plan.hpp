#pragma once
#include <array>
#include <string>
#include <vector>

#include "processors/far_field/array.hpp"
#include "processors/far_field/grid.hpp"
#include "processors/processor.hpp"
#include "processors/srp_phat/settings.hpp"

namespace nearfield {

/// Common input of device and reference: positions, bins and sizes, but none of their tables.
struct SrpPlan {
  explicit SrpPlan(const ProcessorPlan& plan);

  [[nodiscard]] std::size_t channels() const { return microphones.size(); }
  [[nodiscard]] std::size_t pixels() const { return grid.pixels.size(); }
  [[nodiscard]] std::size_t sources() const { return static_cast<std::size_t>(settings.sources); }
  /// True if a source is removed from the spectra before the next one is searched.
  [[nodiscard]] bool peels() const { return settings.peel && settings.sources > 1; }
  /// Spatial frequency in waves per metre.
  [[nodiscard]] double waves_per_m(std::size_t bin) const { return frequencies_hz[bin] / array.medium.sound_speed_m_s; }

  std::string name;
  SrpPhatSettings settings;
  ArrayPlan array;
  std::vector<std::size_t> bins;                 ///< indices into the spectra, for bins in the band
  std::vector<double> frequencies_hz;            ///< [bin]
  std::vector<far_field::Position> microphones;  ///< [channel]
  std::vector<int> channels_of_array;            ///< [channel] in the array, for a subset; empty: same
  far_field::Grid grid;
  std::size_t columns = 0;  ///< size of the grid's planes; 0: pixels have no neighbours
  std::size_t rows = 1;     ///< likewise
  int dimensions = 0;       ///< number along which a maximum is refined, 0 to 3
  bool is_round = false;    ///< refinement keeps the distance from the array's centre
  double step = 0.0;        ///< step of the grid, m; rad if `is_round`
  WindowKind window = WindowKind::kHann;
  double noise_bandwidth = 1.0;         ///< noise bandwidth of the window, bins
  double bin_hz = 0.0;                  ///< bin spacing of the window; 0: unknown
  double hop_s = 0.0;                   ///< hop of the run; 0: unknown
  double window_s = 0.0;                ///< likewise
  int every_hops = 1;                   ///< cadence of this processor
  std::shared_ptr<TrackIds> track_ids;  ///< never null
  /// Factor by which a bin's floor rises from one window to the next.
  [[nodiscard]] double floor_rise() const;
  int batch = 1;
  // Only in the time domain:
  bool is_time = false;
  std::vector<std::array<std::size_t, 2>> pairs;  ///< sorted pairs of channels, the lower one first
  double lag_rate_hz = 0.0;
  std::size_t farthest_lag = 0;  ///< largest lag of any pair, over all pixels
};

/// Number of points: 5 along each dimension of refinement.
std::size_t refinement_points(const SrpPlan& plan);

/// Halvings of the grid's step: the last round has step / 16.
inline constexpr int kRefinementRounds = 4;
/// Spacing, as a fraction of the grid's step, for a maximum's curvature.
inline constexpr double kCurvatureFraction = 0.5;
/// Least part of a peeled source's squared field that is orthogonal to earlier sources: below it the source has no
/// field of its own.
inline constexpr double kLeastOwnField = 1e-4;
/// Least remaining fraction of a bin's power: below it only refinement errors of the peeled sources are left, not
/// sound.
inline constexpr double kLeastRemainder = 1e-5;
/// Values smaller than this fraction of the bin's largest have no phase.
inline constexpr double kTinyPressure = 1e-12;
/// Pa; larger values count as not finite, because sums of squares overflow in float32.
inline constexpr double kLargestSrpPressure_pa = 1e12;

/// Directions of refinement at a position, each as long as the grid's step there; those beyond `dimensions` are 0.
std::array<far_field::Position, 3> steps_at(const SrpPlan& plan, const far_field::Position& place);
/// A position moved by fractions of its steps, and back to its distance if the plan is round.
far_field::Position moved(const SrpPlan& plan, const far_field::Position& place,
                          const std::array<double, 3>& fractions);
/// Offsets of a point of refinement, -2 to 2 times `fraction` along each dimension.
std::array<double, 3> fractions_of(const SrpPlan& plan, std::size_t point, double fraction);

ResultHeader header_of(const SrpPlan& plan);

std::unique_ptr<reference::Processor> make_srp_phat_reference(const ProcessorPlan& plan);

}  // namespace nearfield
