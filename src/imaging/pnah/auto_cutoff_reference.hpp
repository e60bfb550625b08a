#pragma once
#include <vector>

#include "imaging/pnah/pnah_reference.hpp"

/// The measured cut-off in plain double precision, written from the formulas of docs/how/pnah.md (Filters).
namespace nearfield::reference {

/// Measurements of one hologram's own spectrum.
struct MeasuredSpectrum {
  double level_pa2 = 0.0;         ///< mean power of the aperture
  double noise_pa2 = 0.0;         ///< E|n|^2 of one microphone
  double ring_rad_per_m = 0.0;    ///< from one ring to the next; the first is around kr = 0
  std::vector<double> rings_pa2;  ///< mean power per bin of the windowed aperture's spectrum, [ring]
  std::vector<double> ring_bins;  ///< [ring]
  double edge_rings = 0.0;        ///< position at which they fall below the threshold, in rings; 0: nowhere above it
  double edge_pa2 = 0.0;          ///< power over the noise at that position
  double cutoff_rad_per_m = 0.0;  ///< limited to k and the plan's cut-off
  double hidden = 1.0;            ///< the aperture's mean power over the windowed one, at most 4
};

MeasuredSpectrum measure_spectrum(const Field& aperture, std::size_t frequency, const ImagePlan& plan);

/// State after a frame: the values for this frame, from the memory which began in the previous half, and both memories
/// including this frame. A remembered cut-off moves halfway to the measured one when they differ by more than a band
/// for the second frame in a row; a jump of the level resets it.
CutoffState settle(const CutoffState& before, const MeasuredSpectrum& measured, const ImagePlan& plan,
                   const FrameHop& hop);

/// Expected relative L2 error of the image of the plan's quantity on the lowest plane: noise, parts removed by the
/// filter and parts cut off by the aperture's edges; 1 if nothing was found above the noise.
double estimate_error(const MeasuredSpectrum& measured, const CutoffState& state, std::size_t frequency,
                      const ImagePlan& plan);

}  // namespace nearfield::reference
