#pragma once
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

}  // namespace nearfield::reference
