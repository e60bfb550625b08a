#pragma once
#include <complex>
#include <vector>

#include "processors/beamform/plan.hpp"

namespace nearfield::reference {

/// The microphones of a plan: selection of usable ones, their pressures, and the field of a source at a pixel.
class Array {
 public:
  /// `plan` must outlive it.
  explicit Array(const BeamformPlan& plan) : plan_(&plan), masked_(plan.channels()) {}
  void use(const MicrophoneMask& mask);
  /// Selects the usable microphones of a window, spectra [frequency][channel].
  Outcome choose(std::span<const Complex> spectra);
  /// Channels of the last chosen window; empty if too few.
  [[nodiscard]] const std::vector<std::size_t>& used() const { return used_; }
  /// Channels that are not masked; empty if too few.
  [[nodiscard]] std::vector<std::size_t> unmasked() const;
  /// Calibrated pressure, Pa.
  [[nodiscard]] Complex pressure(std::span<const Complex> spectra, std::size_t frequency, std::size_t channel) const;
  /// a_m at these microphones for a source at a pixel that has pressure 1 at the reference; NaN within kNearest_m of a
  /// microphone.
  [[nodiscard]] std::vector<Complex> steer(const std::vector<std::size_t>& channels, std::size_t pixel,
                                           std::size_t frequency) const;

 private:
  const BeamformPlan* plan_;
  std::vector<bool> masked_;  ///< [channel]
  std::vector<std::size_t> used_;
};

/// Published results of maps: those of single frequencies, then the sums of bands; with focus the maximum over planes
/// and its distance; mean squares of sectors. Value is float for powers, or std::complex<float>.
template <class Value>
class Published {
 public:
  explicit Published(const BeamformPlan& plan) : plan_(&plan), published_(plan) {}
  /// Call it after `array` uses this mask.
  void use(const Array& array, const MicrophoneMask& mask);
  /// Products of a window with maps [frequency][pixel] and this effective number of independent snapshots.
  OwnedProducts products(const std::vector<Value>& maps, float effective);

 private:
  void append_map(const std::vector<Value>& map, double lowest_hz);
  void append_sectors(const std::vector<Value>& maps);
  [[nodiscard]] double sector_power(const Value* plane, const SectorPixels& sector) const;
  const BeamformPlan* plan_;
  PublishedMaps published_;
  double side_m_ = 0.0;          ///< longer side of the aperture
  std::vector<double> answers_;  ///< [frequency][plane][sector], sum of the response to a source in the centre
  // Maps and sums of the present window:
  std::vector<Value> maps_;  ///< [published map][pixel]; same axes for the next one
  std::vector<float> focus_m_;
  std::vector<float> sectors_;  ///< [published map][plane][sector]
};

/// h_m of the plan's formulation for a source with the field `steering` at these microphones.
std::vector<Complex> weights_of(const BeamformPlan& plan, const std::vector<std::size_t>& channels,
                                const std::vector<Complex>& steering);

/// Power of delay and sum steered to `at` for the pressures `source` at these microphones, |h^H p|^2; with removal of
/// the diagonal if set, and at least 0.
double das_power(const BeamformPlan& plan, const std::vector<std::size_t>& channels, const std::vector<Complex>& at,
                 const std::vector<Complex>& source);

}  // namespace nearfield::reference
