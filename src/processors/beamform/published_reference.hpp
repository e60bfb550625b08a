#pragma once
#include <complex>
#include <vector>

#include "processors/beamform/array_reference.hpp"
#include "processors/beamform/plan.hpp"

namespace nearfield::reference {

/// Published results of maps: those of single frequencies, then the sums of bands; with focus the maximum over planes
/// and its distance; mean squares of sectors. Value is float for powers, or std::complex<float>.
template <class Value>
class Published {
 public:
  explicit Published(const BeamformPlan& plan) : plan_(&plan), published_(plan) {}
  /// Call it after `array` uses this mask.
  void use(const Array& array, const MicrophoneMask& mask);
  void clear();
  /// Adds the next window, maps [frequency][pixel], with its effective number of independent snapshots.
  void append(const std::vector<Value>& maps, float effective);
  /// Removes the last window.
  void drop_last();
  std::vector<std::span<const std::byte>> products(std::size_t window) const;

 private:
  void append_map(const std::vector<Value>& map, double lowest_hz);
  void append_sectors(const std::vector<Value>& maps);
  [[nodiscard]] double sector_power(const Value* plane, const SectorPixels& sector) const;
  const BeamformPlan* plan_;
  PublishedMaps published_;
  double side_m_ = 0.0;          ///< longer side of the aperture
  std::vector<double> answers_;  ///< [frequency][plane][sector], sum of the response to a source in the centre
  std::vector<Value> maps_;      ///< [window][published map][pixel]; same axes for the next one
  std::vector<float> focus_m_;
  std::vector<float> sectors_;    ///< [window][published map][plane][sector]
  std::vector<float> effective_;  ///< [window][published map]
};

/// h_m of the plan's formulation for a source with the field `steering` at these microphones.
std::vector<Complex> weights_of(const BeamformPlan& plan, const std::vector<std::size_t>& channels,
                                const std::vector<Complex>& steering);

/// Power of delay and sum steered to `at` for the pressures `source` at these microphones, |h^H p|^2; with removal of
/// the diagonal if set, and at least 0.
double das_power(const BeamformPlan& plan, const std::vector<std::size_t>& channels, const std::vector<Complex>& at,
                 const std::vector<Complex>& source);

}  // namespace nearfield::reference
