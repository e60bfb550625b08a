#include <gtest/gtest.h>

#include <cmath>
#include <numbers>

#include "processors/images/image_processor.hpp"
#include "support/images.hpp"

namespace nearfield {
namespace {

using Complex = std::complex<double>;

/// The largest error over places from `first` to `last` of a wave of `share` of the pixels' Nyquist wavenumber and
/// amplitude 1, of any phase.
double worst_error(double first, double last, double share, double band) {
  double worst = 0.0;
  for (double position = first; position <= last; position += 0.0625) {
    const AxisWeights axis = band_limited_weights(position, 32, band);
    Complex sum = 0.0;
    for (std::size_t i = 0; i < axis.weights.size(); ++i) {
      const double away = static_cast<double>(axis.first + i) - position;
      sum += axis.weights[i] * std::polar(1.0, std::numbers::pi * share * away);
    }
    worst = std::max(worst, std::abs(sum - 1.0));
  }
  return worst;
}

// Errors of interpolation, relative to the wave.
TEST(Points, WavesBelowTheCutOffAreInterpolated) {
  for (const double share : {0.0, 0.3, 0.5, 0.7}) {
    const double inside = worst_error(8.0, 23.0, share, 0.8);
    const double at_the_edge = worst_error(0.0, 1.0, share, 0.8);
    std::printf("%.1f of Nyquist: error %.2g inside, %.2g in the outermost pixel\n", share, inside, at_the_edge);
    EXPECT_LE(inside, 2e-3) << share;
    EXPECT_LE(at_the_edge, 4e-2) << share;
  }
  // At half the pitch the same wave is half as far up, and the same 16 pixels reach half as far.
  EXPECT_LE(worst_error(8.0, 23.0, 0.35, 0.4), 3e-3);
  // The nearest pixel would be off by half a pixel's phase.
  EXPECT_GT(std::abs(std::polar(1.0, std::numbers::pi * 0.5 * 0.5) - 1.0), 0.7);
}

TEST(Points, APixelIsItself) {
  const AxisWeights axis = band_limited_weights(7.0, 32, 0.8);
  EXPECT_EQ(axis.first, 7U);
  EXPECT_EQ(axis.weights, std::vector<double>{1.0});
  EXPECT_EQ(band_limited_weights(31.0, 32, 0.8).first, 31U);
  EXPECT_EQ(band_limited_weights(0.4, 1, 0.8).weights.size(), 1U);
  const AxisWeights last = band_limited_weights(30.9, 32, 0.8);
  EXPECT_EQ(last.first + last.weights.size(), 32U);
  EXPECT_EQ(band_limited_weights(0.1, 5, 0.8).weights.size(), 5U);
}

// Indices of a stack: rows are y, columns x, and pixels away from the edge come out as they are.
TEST(Points, ArePlacedByTheirCoordinates) {
  const ArrayGeometry geometry{.rows = 4, .columns = 6, .pitch_x_m = 0.02, .pitch_y_m = 0.03};
  HolographySettings holography;
  holography.points = {{geometry.x_m(5), geometry.y_m(0)}, {geometry.x_m(1), geometry.y_m(3)}};
  ImagesHeader header;
  header.planes_m = {0.0, 0.01};
  header.frequencies_hz = {500.0, 700.0, 900.0};
  for (int column = 0; column < geometry.columns; ++column) {
    header.x_m.push_back(geometry.x_m(column));
  }
  for (int row = 0; row < geometry.rows; ++row) {
    header.y_m.push_back(geometry.y_m(row));
  }
  std::vector<std::complex<float>> images;
  for (std::size_t i = 0; i < header.values_per_frame(); ++i) {
    images.emplace_back(static_cast<float>(i), -1.0F);
  }
  std::vector<std::complex<float>> values(12);
  PointSampler(header, holography).sample(images, values);
  for (std::size_t image = 0; image < 6; ++image) {
    EXPECT_EQ(values[2 * image], images[24 * image + 5]);
    EXPECT_EQ(values[2 * image + 1], images[24 * image + 3 * 6 + 1]);
  }
}

}  // namespace
}  // namespace nearfield
