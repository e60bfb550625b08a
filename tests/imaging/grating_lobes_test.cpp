#include <gtest/gtest.h>

#include <cmath>
#include <numbers>

#include "core/frame.hpp"
#include "imaging/shared/array_plan.hpp"
#include "support/positions.hpp"

// From which wavenumber on an array takes one direction for another.
namespace nearfield {
namespace {

constexpr double kMost_rad_per_m = 300.0;  // 16.4 kHz in air

TEST(GratingLobes, OfAGridBeginAtPiOverThePitch) {
  EXPECT_DOUBLE_EQ(alias_wavenumber({.rows = 8, .columns = 8, .pitch_x_m = 0.02, .pitch_y_m = 0.05}, 1.0),
                   std::numbers::pi / 0.05);
}

// Microphones that lack, or a rotation, make a grid irregular and leave its lobes where they are: to 1 %, as the
// maximum of the pattern of a few microphones less moves.
TEST(GratingLobes, OfAGridThatIsNoneByItsPositionsAreThoseOfTheGrid) {
  const ArrayGeometry grid{.rows = 8, .columns = 8, .pitch_x_m = 0.04, .pitch_y_m = 0.04};
  std::vector<MicrophonePosition> positions_m = test::positions_in_order(grid, test::shuffled(64, 4));
  positions_m.resize(58);
  for (MicrophonePosition& one : positions_m) {
    one = {0.8 * one.x_m - 0.6 * one.y_m, 0.6 * one.x_m + 0.8 * one.y_m, 0.0};
  }
  const ArrayGeometry irregular = geometry_of(positions_m);
  ASSERT_FALSE(irregular.is_grid());
  const double expected = std::numbers::pi / 0.04;
  EXPECT_NEAR(alias_wavenumber(irregular, kMost_rad_per_m), expected, 0.01 * expected);
  EXPECT_EQ(alias_wavenumber(irregular, 0.9 * expected), std::numeric_limits<double>::infinity());
}

// A line of uneven places has no direction across it, and no lobe there. Pairs of near microphones far from each other
// have lobes by the distance of the pairs, whatever the nearest neighbour says.
TEST(GratingLobes, OfLinesAndPairsAreByTheirPattern) {
  EXPECT_EQ(alias_wavenumber(geometry_of({{0, 0, 0},
                                          {0.05, 0, 0},
                                          {0.12, 0, 0},
                                          {0.23, 0, 0},
                                          {0.27, 0, 0},
                                          {0.4, 0, 0},
                                          {0.43, 0, 0},
                                          {0.51, 0, 0}}),
                             40.0),
            std::numeric_limits<double>::infinity());
  const ArrayGeometry pairs =
      geometry_of({{0, 0, 0}, {0.005, 0, 0}, {0.3, 0, 0}, {0.305, 0, 0}, {0.6, 0, 0}, {0.605, 0, 0}});
  ASSERT_FALSE(pairs.is_grid());
  EXPECT_NEAR(alias_wavenumber(pairs, kMost_rad_per_m), std::numbers::pi / 0.3, 0.02 * std::numbers::pi / 0.3);
}

// A sunflower has side lobes alone: at 16 kHz its microphones are 2.6 wavelengths apart.
TEST(GratingLobes, OfASunflowerThereAreNone) {
  const ArrayGeometry sunflower = geometry_of(test::sunflower(64, 0.3));
  EXPECT_GT(sunflower.pitch_x_m, 0.05);
  EXPECT_EQ(alias_wavenumber(sunflower, kMost_rad_per_m), std::numeric_limits<double>::infinity());
  ArrayPlan plan{.geometry = sunflower, .medium = {}, .frequencies_hz = {8000.0}, .dead_channels = {}, .gains = {}};
  EXPECT_EQ(plan.constant_flags(), 0U);
  plan.geometry = {.rows = 8, .columns = 8, .pitch_x_m = 0.05, .pitch_y_m = 0.05};
  EXPECT_EQ(plan.constant_flags(), std::uint32_t{kFlagWavenumberAboveNyquist});
}

// More microphones than the pattern is made of.
TEST(GratingLobes, OfAThousandMicrophonesAreFoundByAFewOfThem) {
  const ArrayGeometry grid{.rows = 32, .columns = 32, .pitch_x_m = 0.02, .pitch_y_m = 0.02};
  std::vector<MicrophonePosition> positions_m = test::positions_in_order(grid, test::shuffled(1024, 4));
  positions_m.pop_back();
  const double expected = std::numbers::pi / 0.02;
  EXPECT_NEAR(alias_wavenumber(geometry_of(positions_m), kMost_rad_per_m), expected, 0.01 * expected);
  EXPECT_EQ(alias_wavenumber(geometry_of(test::sunflower(1024, 0.5)), kMost_rad_per_m),
            std::numeric_limits<double>::infinity());
}

// Of an array of 50 m at 10 kHz, the pattern up to 2 k would have 10^8 samples, each of all microphones.
TEST(GratingLobes, OfLargeArraysAreLookedForWithinABound) {
  constexpr double kOf10kHz_rad_per_m = 183.0;
  EXPECT_EQ(alias_wavenumber(geometry_of(test::sunflower(256, 50.0)), kOf10kHz_rad_per_m),
            std::numeric_limits<double>::infinity());
  const ArrayGeometry grid{.rows = 32, .columns = 32, .pitch_x_m = 1.5, .pitch_y_m = 1.5};
  std::vector<MicrophonePosition> positions_m = test::positions_in_order(grid, test::shuffled(1024, 4));
  positions_m.pop_back();
  const double expected = std::numbers::pi / 1.5;
  EXPECT_NEAR(alias_wavenumber(geometry_of(positions_m), kOf10kHz_rad_per_m), expected, 0.01 * expected);
}

}  // namespace
}  // namespace nearfield
