#include "processors/images/bands.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace nearfield {
namespace {

using testing::ElementsAre;

constexpr double kBin_hz = 46875.0 / 1024.0;

FrontEndSettings with_bands(std::string_view kind) {
  FrontEndSettings front_end;
  front_end.kind = kind;
  front_end.frequencies_hz = {22.4 * kBin_hz, 10.0 * kBin_hz};
  front_end.bands_hz = {
      {9.5 * kBin_hz, 12.0 * kBin_hz}, {12.0 * kBin_hz, 12.5 * kBin_hz}, {21.1 * kBin_hz, 23.0 * kBin_hz}};
  return front_end;
}

TEST(Bands, TakeBinsFromLowToBelowHigh) {
  const BandPlan plan = plan_bands(with_bands("dot_product"), Quantity::kPressure, 46875.0);
  // Bins 10, 11; 12; 22: the second line is bin 10, the first none.
  EXPECT_EQ(plan.lines, 2U);
  EXPECT_THAT(plan.frequencies_hz,
              ElementsAre(22.4 * kBin_hz, 10.0 * kBin_hz, 11.0 * kBin_hz, 12.0 * kBin_hz, 22.0 * kBin_hz));
  EXPECT_THAT(plan.bins, ElementsAre(ElementsAre(1, 2), ElementsAre(3), ElementsAre(4)));
}

TEST(Bands, ShareTheBinsThatLinesSnapTo) {
  const BandPlan plan = plan_bands(with_bands("decimated_fft"), Quantity::kPressure, 46875.0);
  EXPECT_THAT(plan.frequencies_hz, ElementsAre(22.4 * kBin_hz, 10.0 * kBin_hz, 11.0 * kBin_hz, 12.0 * kBin_hz));
  EXPECT_THAT(plan.bins, ElementsAre(ElementsAre(1, 2), ElementsAre(3), ElementsAre(0)));
}

TEST(Bands, ALineHalfwaySnapsAsFrontEndsDo) {
  FrontEndSettings front_end = with_bands("walsh_fourier");
  front_end.frequencies_hz = {22.5 * kBin_hz};
  front_end.bands_hz = {{22.0 * kBin_hz, 24.0 * kBin_hz}};
  EXPECT_THAT(plan_bands(front_end, Quantity::kPressure, 46875.0).bins, ElementsAre(ElementsAre(1, 0)));
}

// 1/2 for the square of a peak amplitude, over the noise bandwidth: 1.5 bins of hann, 1 of none.
TEST(Bands, SumSquaresOrPowers) {
  FrontEndSettings front_end = with_bands("dot_product");
  front_end.bands_hz.resize(1);
  const std::vector<std::complex<float>> images = {{9, 9}, {7, 7}, {3, 4}, {0, -2}, {1, 0}, {0, 6},    // plane 0
                                                   {9, 9}, {7, 7}, {2, 0}, {0, 0},  {0, 1}, {-3, 0}};  // plane 1
  std::vector<float> bands(5);
  sum_bands(plan_bands(front_end, Quantity::kPressure, 46875.0), images, 2, bands);
  EXPECT_THAT(bands, ElementsAre(26.0F / 3.0F, 40.0F / 3.0F, 5.0F / 3.0F, 3.0F));
  front_end.window = WindowKind::kNone;
  sum_bands(plan_bands(front_end, Quantity::kNormalVelocity, 46875.0), images, 2, bands);
  EXPECT_THAT(bands, ElementsAre(13.0F, 20.0F, 2.5F, 4.5F));
  sum_bands(plan_bands(front_end, Quantity::kActiveIntensity, 46875.0), images, 2, bands);
  EXPECT_THAT(bands, ElementsAre(4.0F, 0.0F, 2.0F, -3.0F));
}

}  // namespace
}  // namespace nearfield
