#include "processors/images/bands.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <numbers>

#include "core/band.hpp"

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

auto is_bin(std::size_t frequency, double share) {
  return testing::AllOf(testing::Field(&BandBin::frequency, frequency),
                        testing::Field(&BandBin::weight, testing::DoubleNear(share / 1.5, 1e-9)));
}

TEST(Bands, TakeBinsByTheirShares) {
  const BandPlan plan = plan_bands(with_bands("dot_product"), Quantity::kPressure, 46875.0);
  // The second line is bin 10, the first none.
  EXPECT_EQ(plan.lines, 2U);
  EXPECT_THAT(plan.frequencies_hz, ElementsAre(22.4 * kBin_hz, 10.0 * kBin_hz, 11.0 * kBin_hz, 12.0 * kBin_hz,
                                               21.0 * kBin_hz, 22.0 * kBin_hz, 23.0 * kBin_hz));
  EXPECT_THAT(plan.bands,
              ElementsAre(ElementsAre(is_bin(1, 1.0), is_bin(2, 1.0), is_bin(3, 0.5)), ElementsAre(is_bin(3, 0.5)),
                          ElementsAre(is_bin(4, 0.4), is_bin(5, 1.0), is_bin(6, 0.5))));
}

// White noise has its density times a band's width, whatever the window, where the shares are as many bins as the band
// is wide; bands that touch share each bin between them.
TEST(Bands, AreAsWideAsTheirShares) {
  FrontEndSettings front_end;
  for (const int window : {64, 127, 128, 171, 205, 480, 486, 512, 560, 1023, 1024, 2048, 16384}) {
    front_end.window_samples = window;
    const double bin_hz = 48000.0 / window;
    double low_hz = 1000.0 * std::pow(10.0, -0.25);
    double sum = 0.0;
    for (int n = -2; n <= 13; ++n) {
      const Band band{.low_hz = low_hz, .high_hz = 1000.0 * std::pow(10.0, 0.1 * n + 0.05)};
      low_hz = band.high_hz;
      double width = 0.0;
      for (const BinShare& one : bin_shares(band, front_end, 48000.0)) {
        EXPECT_GT(one.share, 0.0);
        EXPECT_LE(one.share, 1.0);
        width += one.share;
      }
      sum += width;
      const double below_hz = std::max(band.low_hz, bin_hz / 2);  // bin 0 is none
      EXPECT_NEAR(width * bin_hz, std::max(0.0, band.high_hz - below_hz), 1e-6) << window << " samples, band " << n;
    }
    EXPECT_NEAR(sum * bin_hz, low_hz - std::max(1000.0 * std::pow(10.0, -0.25), bin_hz / 2), 1e-5) << window;
  }
}

/// Mean square of a tone of 1 in the bins, of Hann's window, over 1/2; all in bins.
double level_of_tone(double tone, double low, double high) {
  FrontEndSettings front_end;
  front_end.window_samples = 1024;
  front_end.frequencies_hz.clear();
  front_end.bands_hz = {{.low_hz = low, .high_hz = high}};
  const BandPlan plan = plan_bands(front_end, Quantity::kPressure, 1024.0);
  const auto sinc = [](double x) { return x == 0.0 ? 1.0 : std::sin(std::numbers::pi * x) / (std::numbers::pi * x); };
  double level = 0.0;
  for (const BandBin& bin : plan.bands.front()) {
    const double x = plan.frequencies_hz[bin.frequency] - tone;
    level += bin.weight * std::pow(sinc(x) + (sinc(x - 1.0) + sinc(x + 1.0)) / 2.0, 2);
  }
  return level;
}

// Hann's main lobe reaches two bins to each side of a tone.
TEST(Bands, HoldATonesLevelInside) {
  for (int i = 0; i < 20; ++i) {
    const double place = 200.0 + 0.05 * i;
    EXPECT_NEAR(level_of_tone(place, place - 1.5, place + 1.5), 1.0, 0.021) << "in the middle of three bins";
    EXPECT_NEAR(level_of_tone(place, place - 2.5, place + 100.0), 1.0, 4e-4);
    EXPECT_NEAR(level_of_tone(place, place, place + 100.0), 0.5, 0.031) << "at the limit";
    EXPECT_LT(level_of_tone(place, place + 2.5, place + 100.0), 3e-4) << "outside";
  }
}

TEST(Bands, ShareTheBinsThatLinesSnapTo) {
  const BandPlan plan = plan_bands(with_bands("decimated_fft"), Quantity::kPressure, 46875.0);
  EXPECT_THAT(plan.frequencies_hz, ElementsAre(22.4 * kBin_hz, 10.0 * kBin_hz, 11.0 * kBin_hz, 12.0 * kBin_hz,
                                               21.0 * kBin_hz, 23.0 * kBin_hz));
  EXPECT_THAT(plan.bands.back(), ElementsAre(is_bin(4, 0.4), is_bin(0, 1.0), is_bin(5, 0.5)));
}

TEST(Bands, ALineHalfwaySnapsAsFrontEndsDo) {
  FrontEndSettings front_end = with_bands("walsh_fourier");
  front_end.frequencies_hz = {22.5 * kBin_hz};
  front_end.bands_hz = {{21.5 * kBin_hz, 23.5 * kBin_hz}};
  EXPECT_THAT(plan_bands(front_end, Quantity::kPressure, 46875.0).bands,
              ElementsAre(ElementsAre(is_bin(1, 1.0), is_bin(0, 1.0))));
}

// 1/2 for the square of a peak amplitude, over the noise bandwidth: 1.5 bins of hann, 1 of none.
TEST(Bands, SumSquaresOrPowers) {
  FrontEndSettings front_end = with_bands("dot_product");
  front_end.bands_hz = {{9.5 * kBin_hz, 11.5 * kBin_hz}};
  const std::vector<std::complex<float>> images = {{9, 9}, {7, 7}, {3, 4}, {0, -2}, {1, 0}, {0, 6},    // plane 0
                                                   {9, 9}, {7, 7}, {2, 0}, {0, 0},  {0, 1}, {-3, 0}};  // plane 1
  std::vector<float> bands(4);
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
