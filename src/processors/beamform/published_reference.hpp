#pragma once
#include <complex>
#include <vector>

#include "processors/beamform/array_reference.hpp"
#include "processors/beamform/plan.hpp"

namespace nearfield::reference {

/// What is published of maps: those of single frequencies, then the sums of bands; with focus the largest of their
/// planes and its distance; mean squares of sectors. Value is float, of powers, or std::complex<float>.
template <class Value>
class Published {
 public:
  explicit Published(const BeamformPlan& plan) : plan_(&plan), published_(plan) {}
  /// `array` uses this mask already.
  void use(const Array& array, const MicrophoneMask& mask);
  void clear();
  /// Of the next window, maps [frequency][pixel], worth so many independent snapshots.
  void append(const std::vector<Value>& maps, float effective);
  /// Takes the last window back.
  void drop_last();
  std::vector<std::span<const std::byte>> products(std::size_t window) const;

 private:
  void append_map(const std::vector<Value>& map, double lowest_hz);
  void append_sectors(const std::vector<Value>& maps);
  [[nodiscard]] double sector_power(const Value* plane, const SectorPixels& sector) const;
  const BeamformPlan* plan_;
  PublishedMaps published_;
  double side_m_ = 0.0;          ///< of the aperture
  std::vector<double> answers_;  ///< [frequency][plane][sector], sums over the answer to a source in the centre
  std::vector<Value> maps_;      ///< [window][published map][pixel], as the next one
  std::vector<float> focus_m_;
  std::vector<float> sectors_;    ///< [window][published map][plane][sector]
  std::vector<float> effective_;  ///< [window][published map]
};

/// h_m of the plan's formulation for a source that makes `steering` at these microphones.
std::vector<Complex> weights_of(const BeamformPlan& plan, const std::vector<std::size_t>& channels,
                                const std::vector<Complex>& steering);

/// The power that delay and sum, steered to `at`, makes of the pressures `source` at these microphones, |h^H p|^2; with
/// removal of the diagonal, where the settings ask for it, and 0 at least.
double das_power(const BeamformPlan& plan, const std::vector<std::size_t>& channels, const std::vector<Complex>& at,
                 const std::vector<Complex>& source);

}  // namespace nearfield::reference
