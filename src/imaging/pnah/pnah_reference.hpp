#pragma once
#include <array>
#include <complex>
#include <cstdint>
#include <span>
#include <vector>

#include "imaging/shared/imager_reference.hpp"

/// Planar near-field acoustic holography in plain double precision, written from the formulas of docs/how/pnah.md
/// alone: it shares sizes and settings with the device's plan, but no window, predictor, filter or transform.
namespace nearfield::reference {

/// Burg's predictor a[0..order], a[0] = 1, pooled over lines; empty for silence.
std::vector<Complex> burg(const std::vector<std::vector<Complex>>& lines, int order);

/// The padded aperture, without window. Sets `fell_back` when a predictor could not be used.
Field extrapolate(const Field& aperture, const ImagePlan& plan, bool& fell_back);

/// The separable Tukey window applied to a padded aperture.
Field taper(const Field& padded, const ImagePlan& plan);

/// sum_{y,x} field e^{sign 2 pi j (y r / rows + x c / columns)}, unscaled.
Field transform(const Field& field, double sign);

/// H(kr) e^{j kz d} (times kz / (rho c k) for velocity, over j w too for displacement) at (kx, ky), rad/m, for a plane
/// at distance d from the array; of the pressure where the plan's quantity is intensity.
Complex transfer(double kx, double ky, double distance_m, std::size_t frequency, const ImagePlan& plan);

/// Converts the unscaled forward transform to the image on one plane, [row][column] of ImageGrid. Active intensity is
/// Re(p v*)/2 of pressure and velocity, with an imaginary part of 0.
Field back_propagate(const Field& spectrum, double plane_m, std::size_t frequency, const ImagePlan& plan);

/// One of the two memories of a measured cut-off at one frequency.
struct CutoffMemory {
  std::int64_t begun_half = 0;  ///< number of the half of a memory in which it began
  int frames = 0;               ///< number of frames in the mean; 0: nothing is remembered
  double cutoff_rad_per_m = 0.0;
  double noise_pa2 = 0.0;
  double level_pa2 = 0.0;
  int side = 0;  ///< sign of the last frame's deviation by more than the band: 1 above, -1 below, 0 within
};

/// Cut-off measured for a frame at one frequency, and the memories of the frames so far.
struct CutoffState {
  double cutoff_rad_per_m = 0.0;  ///< 0: no frame so far
  double slope = 0.0;
  double noise_pa2 = 0.0;
  double level_pa2 = 0.0;
  std::array<CutoffMemory, 2> memories = {};  ///< the first begins in even halves, the second in odd ones
};

/// The whole imager on one frame of spectra [frequency][row][column], Pa. If the cut-off is measured, `states`
/// [frequency] is the state after the frame before; empty: there was none.
Images pnah(std::span<const Complex> spectra, const ImagePlan& plan, std::vector<CutoffState>& states,
            const FrameHop& hop);
/// Images a frame without any before it.
Images pnah(std::span<const Complex> spectra, const ImagePlan& plan);

std::unique_ptr<Imager> make_pnah(const ImagePlan& plan);

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
