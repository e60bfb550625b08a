#pragma once
#include <complex>
#include <span>
#include <vector>

#include "core/frame.hpp"
#include "core/settings.hpp"

namespace nearfield {

/// Pixels of one axis from which a position is interpolated, and their weights.
struct AxisWeights {
  std::size_t first = 0;
  std::vector<double> weights;
};

/// Weights for a position in pixels, 0 to `pixels` - 1: those with the least mean square error over all waves up to
/// `band` of the pixels' Nyquist wavenumber, from the nearest 16 pixels. A position on a pixel gives that pixel alone.
AxisWeights band_limited_weights(double position, std::size_t pixels, double band);

/// Samples images at the points that the settings name.
class PointSampler {
 public:
  /// The header must be for images with these settings.
  PointSampler(const ImagesHeader& header, const HolographySettings& holography);
  /// Interpolates images [plane][frequency][row][column] to values [plane][frequency][point].
  void sample(std::span<const std::complex<float>> images, std::vector<std::complex<float>>& values) const;

 private:
  struct Place {
    AxisWeights rows;
    AxisWeights columns;
  };
  std::size_t columns_;
  std::size_t pixels_;
  std::vector<Place> places_;
};

}  // namespace nearfield
