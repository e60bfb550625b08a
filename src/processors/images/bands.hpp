#pragma once
#include <complex>
#include <span>
#include <vector>

#include "core/settings.hpp"

namespace nearfield {

/// A spectrum that contributes to a band's mean square.
struct BandBin {
  std::size_t frequency = 0;  ///< index of the plan's frequencies
  double weight =
      1.0;  ///< factor of its mean square: the weighting times the bin's share over the noise bandwidth in bins
};

/// Spectra that an engine computes, and their combination to images of bands (docs/use/quantities.md).
struct BandPlan {
  std::vector<double> frequencies_hz;       ///< the requested lines, then bins of bands that are not lines
  std::size_t lines = 0;                    ///< number of lines, which come first
  std::vector<std::vector<BandBin>> bands;  ///< [band]
  bool sums_squares = true;                 ///< false: the images are powers already
};

BandPlan plan_bands(const FrontEndSettings& front_end, Quantity quantity, double sample_rate_hz);

/// Sums one frame's images [plane][frequency][pixel] to mean squares [plane][band][pixel].
void sum_bands(const BandPlan& plan, std::span<const std::complex<float>> images, std::size_t pixels,
               std::span<float> bands);

}  // namespace nearfield
