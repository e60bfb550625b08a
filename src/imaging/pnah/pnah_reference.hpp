#pragma once
#include <array>
#include <complex>
#include <cstdint>
#include <span>
#include <vector>

#include "imaging/shared/imager_reference.hpp"
#include "imaging/shared/reference_images.hpp"

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

}  // namespace nearfield::reference
