#pragma once
#include <vector>

#include "processors/beamform/plan.hpp"

namespace nearfield::reference {

/// The microphones of a plan: which of them count, what they measure, and what a source at a pixel makes there.
class Array {
 public:
  /// `plan` must outlive it.
  explicit Array(const BeamformPlan& plan) : plan_(&plan), masked_(plan.channels()) {}
  void use(const MicrophoneMask& mask);
  /// Finds those that a window has, spectra [frequency][channel].
  Processor::Outcome choose(std::span<const Complex> spectra);
  /// Channels of the window that was chosen last; none where they are too few.
  [[nodiscard]] const std::vector<std::size_t>& used() const { return used_; }
  /// Channels that are not masked; none where they are too few.
  [[nodiscard]] std::vector<std::size_t> unmasked() const;
  /// Calibrated, Pa.
  [[nodiscard]] Complex pressure(std::span<const Complex> spectra, std::size_t frequency, std::size_t channel) const;
  /// a_m at these microphones, of a source at a pixel that makes the pressure 1 at the reference; NaN within
  /// kNearest_m of one.
  [[nodiscard]] std::vector<Complex> steer(const std::vector<std::size_t>& channels, std::size_t pixel,
                                           std::size_t frequency) const;

 private:
  const BeamformPlan* plan_;
  std::vector<bool> masked_;  ///< [channel]
  std::vector<std::size_t> used_;
};

}  // namespace nearfield::reference
