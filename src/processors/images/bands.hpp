#pragma once
#include <complex>
#include <span>
#include <vector>

#include "nearfield/settings.hpp"

namespace nearfield {

/// A spectrum that a band's mean square has a part of.
struct BandBin {
  std::size_t frequency = 0;  ///< index of the plan's frequencies
  double weight = 1.0;        ///< of its mean square: the bin's share over the noise bandwidth in bins
};

/// Which spectra an engine computes, and what the images of bands are made of (docs/quantities.md).
struct BandPlan {
  std::vector<double> frequencies_hz;       ///< the requested lines, then bins of bands that are none
  std::size_t lines = 0;                    ///< the first of them
  std::vector<std::vector<BandBin>> bands;  ///< [band]
  bool sums_squares = true;                 ///< else the images are powers already
};

BandPlan plan_bands(const FrontEndSettings& front_end, Quantity quantity, double sample_rate_hz);

/// From one frame's images [plane][frequency][pixel] to mean squares [plane][band][pixel].
void sum_bands(const BandPlan& plan, std::span<const std::complex<float>> images, std::size_t pixels,
               std::vector<float>& bands);

}  // namespace nearfield
