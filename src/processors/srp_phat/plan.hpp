#pragma once
#include <array>
#include <string>
#include <vector>

#include "processors/far_field/array.hpp"
#include "processors/far_field/grid.hpp"
#include "processors/processor.hpp"
#include "processors/srp_phat/settings.hpp"

namespace nearfield {

/// What the device and the reference are both made from: places, bins and sizes, and no table of theirs.
struct SrpPlan {
  explicit SrpPlan(const ProcessorPlan& plan);

  [[nodiscard]] std::size_t channels() const { return microphones.size(); }
  [[nodiscard]] std::size_t pixels() const { return grid.pixels.size(); }
  [[nodiscard]] std::size_t sources() const { return static_cast<std::size_t>(settings.sources); }
  /// Whether a source is taken out of the spectra before the next one is looked for.
  [[nodiscard]] bool peels() const { return settings.peel && settings.sources > 1; }
  /// Waves to a metre.
  [[nodiscard]] double waves_per_m(std::size_t bin) const { return frequencies_hz[bin] / array.medium.sound_speed_m_s; }

  std::string name;
  SrpPhatSettings settings;
  ArrayPlan array;
  std::vector<std::size_t> bins;                 ///< of the spectra, those in the band
  std::vector<double> frequencies_hz;            ///< [bin]
  std::vector<far_field::Position> microphones;  ///< [channel]
  std::vector<int> channels_of_array;            ///< [channel], of a subset of an array; empty: the same
  far_field::Grid grid;
  std::size_t columns = 0;  ///< of the grid's planes; 0: pixels have no neighbours
  std::size_t rows = 1;     ///< likewise
  int dimensions = 0;       ///< in which a maximum is refined, 0 to 3
  bool is_round = false;    ///< refinement keeps the distance from the array's centre
  double step = 0.0;        ///< of the grid, m; rad where `is_round`
  WindowKind window = WindowKind::kHann;
  double noise_bandwidth = 1.0;         ///< of the window, bins
  double bin_hz = 0.0;                  ///< of the window; 0: not known
  double hop_s = 0.0;                   ///< of the run; 0: not known
  double window_s = 0.0;                ///< likewise
  int every_hops = 1;                   ///< of this processor
  std::shared_ptr<TrackIds> track_ids;  ///< never null
  /// Of a bin's floor from one window to the next.
  [[nodiscard]] double floor_rise() const;
  int batch = 1;
  // Of the time domain:
  bool is_time = false;
  std::vector<std::array<std::size_t, 2>> pairs;  ///< of channels, the lower one first; sorted
  double lag_rate_hz = 0.0;
  std::size_t farthest_lag = 0;  ///< of any pair, whatever the pixel
};

/// 5 along each dimension of refinement.
std::size_t refinement_points(const SrpPlan& plan);

/// Halvings of the grid's step: that of the last round is step / 16.
inline constexpr int kRefinementRounds = 4;
/// Of the grid's step, apart, from which a maximum's curvature is taken.
inline constexpr double kCurvatureFraction = 0.5;
/// Of a peeled source's field, squared: less than this beside those of the sources before it is none of its own.
inline constexpr double kLeastOwnField = 1e-4;
/// Of a bin's power: less than this that remains is what refinement leaves of the peeled sources, which is no sound.
inline constexpr double kLeastRemainder = 1e-5;
/// A value smaller than the bin's largest by this has no phase.
inline constexpr double kTinyPressure = 1e-12;
/// Pa; beyond it sums of squares overflow in float32, so a value counts as not finite.
inline constexpr double kLargestSrpPressure_pa = 1e12;

/// The directions of refinement at a place, each as long as the grid's step there; those beyond `dimensions` are 0.
std::array<far_field::Position, 3> steps_at(const SrpPlan& plan, const far_field::Position& place);
/// A place moved by fractions of its steps, and back to its distance where the plan is round.
far_field::Position moved(const SrpPlan& plan, const far_field::Position& place,
                          const std::array<double, 3>& fractions);
/// Of a point of refinement, -2 to 2 times `fraction` along each dimension.
std::array<double, 3> fractions_of(const SrpPlan& plan, std::size_t point, double fraction);

ResultHeader header_of(const SrpPlan& plan);

std::unique_ptr<reference::Processor> make_srp_phat_reference(const ProcessorPlan& plan);

}  // namespace nearfield
