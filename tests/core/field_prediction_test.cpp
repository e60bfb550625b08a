#include "core/field_prediction.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <complex>
#include <numbers>
#include <set>
#include <vector>

namespace nearfield {
namespace {

using Complex = std::complex<double>;

// Without propagating waves the integral has a closed form: 2 z / ((2 z)^2 + r^2)^(3/2), over its value at r = 0.
TEST(FieldCovariance, HasTheClosedFormOfEvanescentWaves) {
  const ArrayGeometry geometry{.rows = 12, .columns = 9, .pitch_x_m = 0.02, .pitch_y_m = 0.015};
  FieldCovariance covariance(geometry, 1e-6, 0.03);
  for (const auto& [rows, columns] : {std::pair{0, 0}, {1, 0}, {0, -1}, {-3, 2}, {11, 8}}) {
    const double r2 = std::pow(rows * 0.015, 2) + std::pow(columns * 0.02, 2);
    // The integral ends at e^-14, 15 e^-14 of the whole.
    EXPECT_NEAR(covariance.between(rows, columns), std::pow(0.06, 3) / std::pow(0.06 * 0.06 + r2, 1.5), 2e-5);
  }
}

// Far from sources propagating waves remain, of one power from all directions in the plane of wavenumbers.
TEST(FieldCovariance, TendsToPropagatingWavesFarAway) {
  const ArrayGeometry geometry;
  const double k = 40.0;
  FieldCovariance covariance(geometry, k, 1000.0);
  const double kr = k * 0.06;
  EXPECT_NEAR(covariance.between(0, 3), 2.0 * ::j1(kr) / kr, 1e-4);
}

TEST(Prediction, OfAFieldFromTheSurfaceIsGoodToItsNoise) {
  const ArrayGeometry geometry;
  const double k = 2.0 * std::numbers::pi * 2000.0 / 343.0;
  FieldCovariance covariance(geometry, k, 0.03);
  std::vector<Complex> field;
  for (int channel = 0; channel < geometry.channels(); ++channel) {
    const int row = channel / 32;
    const double r = std::hypot(geometry.x_m(channel % 32) - 0.013, geometry.y_m(row) + 0.021, 0.06);
    field.push_back(std::polar(0.06 / r, -k * r));
  }
  std::vector<std::uint8_t> usable(1024, 1);
  usable[500] = 0;
  for (const auto& [channel, most] : {std::pair{528, 0.01}, {499, 0.01}, {0, 0.05}, {15, 0.02}}) {
    const std::vector<int> from = nearest_usable(geometry, usable, channel, 16);
    ASSERT_EQ(from.size(), 16U);
    EXPECT_EQ(std::count(from.begin(), from.end(), 500) + std::count(from.begin(), from.end(), channel), 0);
    const MicrophonePrediction prediction = predict_microphone(covariance, channel, from);
    Complex sum = 0.0;
    for (std::size_t i = 0; i < from.size(); ++i) {
      sum += prediction.weights[i] * field[static_cast<std::size_t>(from[i])];
    }
    EXPECT_LE(std::abs(sum - field[static_cast<std::size_t>(channel)]), most) << channel;
    EXPECT_GT(prediction.variance, kPredictionNoise);
    EXPECT_LT(prediction.variance, 0.2);
  }
}

// The same microphones without rows and columns: the same neighbours, but for the order of those equally near, and the
// same weights.
TEST(Prediction, OfTheSameMicrophonesOnNoGridIsTheSame) {
  const ArrayGeometry grid{.rows = 6, .columns = 7, .pitch_x_m = 0.02, .pitch_y_m = 0.023};
  std::vector<MicrophonePosition> positions_m;
  for (int channel = 0; channel < grid.channels(); ++channel) {
    const MicrophonePosition at = grid.position_m(channel);
    positions_m.push_back({at.x_m + 0.4, at.y_m - 0.1, 0.002});
  }
  const ArrayGeometry irregular = irregular_geometry_of(positions_m);
  std::vector<std::uint8_t> usable(42, 1);
  usable[8] = 0;
  FieldCovariance of_grid(grid, 25.0, 0.03);
  FieldCovariance of_irregular(irregular, 25.0, 0.03);
  const std::vector<int> from = nearest_usable(irregular, usable, 16, 11);
  const std::vector<int> expected = nearest_usable(grid, usable, 16, 11);
  ASSERT_EQ(std::set<int>(from.begin(), from.end()), std::set<int>(expected.begin(), expected.end()));
  const MicrophonePrediction found = predict_microphone(of_irregular, 16, from);
  const MicrophonePrediction known = predict_microphone(of_grid, 16, from);
  for (std::size_t i = 0; i < from.size(); ++i) {
    EXPECT_NEAR(found.weights[i], known.weights[i], 1e-9);
  }
  EXPECT_NEAR(found.variance, known.variance, 1e-9);
}

TEST(NearestUsable, GivesWhatThereIsNearestFirst) {
  const ArrayGeometry geometry{.rows = 3, .columns = 40, .pitch_x_m = 0.01, .pitch_y_m = 0.05};
  std::vector<std::uint8_t> usable(120, 0);
  for (const int channel : {0, 39, 41, 45, 119}) {
    usable[static_cast<std::size_t>(channel)] = 1;
  }
  EXPECT_EQ(nearest_usable(geometry, usable, 40, 3), (std::vector<int>{41, 0, 45}));
  EXPECT_EQ(nearest_usable(geometry, usable, 40, 16).size(), 5U);
  const ArrayGeometry stretched{.rows = 8, .columns = 8, .pitch_x_m = 1e-6, .pitch_y_m = 100.0};
  EXPECT_EQ(nearest_usable(stretched, std::vector<std::uint8_t>(64, 1), 0, 9),
            (std::vector<int>{1, 2, 3, 4, 5, 6, 7, 8, 9}));
  EXPECT_TRUE(nearest_usable(geometry, std::vector<std::uint8_t>(120, 0), 40, 16).empty());
}

}  // namespace
}  // namespace nearfield
