#pragma once
#include <vector>

#include "imaging/pnah/pnah_reference.hpp"

/// The measured cut-off in plain double precision, written from the formulas of docs/pnah.md (Filters).
namespace nearfield::reference {

/// What is measured from one hologram's own spectrum.
struct MeasuredSpectrum {
  double level_pa2 = 0.0;         ///< mean power of the aperture
  double noise_pa2 = 0.0;         ///< E|n|^2 of one microphone
  double ring_rad_per_m = 0.0;    ///< from one ring to the next; the first is round kr = 0
  std::vector<double> rings_pa2;  ///< mean power a bin of the windowed aperture's spectrum, [ring]
  std::vector<double> ring_bins;  ///< [ring]
  double edge_rings = 0.0;        ///< where they sink below the threshold, in rings; 0: nowhere above it
  double edge_pa2 = 0.0;          ///< power over the noise there
  double cutoff_rad_per_m = 0.0;  ///< from k to the plan's cut-off
  double hidden = 1.0;            ///< the aperture's mean power over the windowed one, at most 4
};

MeasuredSpectrum measure_spectrum(const Field& aperture, std::size_t frequency, const PnahPlan& plan);

/// The state after a frame: that of the memory which began in the half before, for this frame, and both memories with
/// it. A remembered cut-off moves halfway to the measured one when they differ by more than a band for the second frame
/// in a row; a jump of the level resets it.
CutoffState settle(const CutoffState& before, const MeasuredSpectrum& measured, const PnahPlan& plan,
                   const FrameHop& hop);

/// Expected relative L2 error of the image of the plan's quantity on the lowest plane: noise, what the filter removes
/// and what the aperture's edges cut off; 1 where nothing was found above the noise.
double estimate_error(const MeasuredSpectrum& measured, const CutoffState& state, std::size_t frequency,
                      const PnahPlan& plan);

}  // namespace nearfield::reference
