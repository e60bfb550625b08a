#include "core/metrics.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <random>
#include <vector>

#include "core/error.hpp"

namespace nearfield {
namespace {

using Image = std::vector<std::complex<float>>;
constexpr float kNanF = std::numeric_limits<float>::quiet_NaN();
constexpr float kInfinityF = std::numeric_limits<float>::infinity();
/// Sums of a few values in double: anything above rounding is a fault.
constexpr double kRounding = 1e-12;

Image random_image(std::size_t pixels, unsigned seed) {
  std::mt19937 generator(seed);
  std::normal_distribution<float> normal;
  Image image(pixels);
  for (auto& value : image) {
    value = {normal(generator), normal(generator)};
  }
  return image;
}

Image times(const Image& image, std::complex<float> factor) {
  Image result = image;
  for (auto& value : result) {
    value *= factor;
  }
  return result;
}

// Worked by hand. Normalised magnitudes: a = 1, 0.5, 0.001 and b = 0.5, 1, 0.002; the third is below 1 %.
TEST(Metrics, WorkedExample) {
  const Image a = {{2.0F, 0.0F}, {0.0F, 1.0F}, {0.002F, 0.0F}};
  const Image b = {{4.0F, 0.0F}, {0.0F, 8.0F}, {-0.016F, 0.0F}};
  const ImageMetrics metrics = compare_images(a, b);
  constexpr double kFloatInput = 1e-6;  // 0.002 and 0.016 are not exact in float
  EXPECT_EQ(metrics.pixels, 3U);
  EXPECT_EQ(metrics.rmsre_excluded, 1U);
  EXPECT_NEAR(metrics.rmsre_all, std::sqrt((0.25 + 1.0 + 1.0) / 3.0), kFloatInput);
  EXPECT_NEAR(metrics.rmsre, std::sqrt((0.25 + 1.0) / 2.0), kFloatInput);
  EXPECT_NEAR(metrics.nsad_signed, (0.5 - 0.5 - 0.001) / 3.0, kFloatInput);
  EXPECT_NEAR(metrics.nsad, (0.5 + 0.5 + 0.001) / 3.0, kFloatInput);
  EXPECT_NEAR(metrics.nmse_db, 10.0 * std::log10((0.25 + 0.25 + 9e-6) / (1.0 + 0.25 + 1e-6)), kFloatInput);
  EXPECT_NEAR(metrics.ncc, (8.0 + 8.0 - 0.002 * 0.016) / std::sqrt((5.0 + 4e-6) * (80.0 + 2.56e-4)), kFloatInput);
  EXPECT_NEAR(metrics.relative_l2, std::sqrt((4.0 + 49.0 + 3.24e-4) / (5.0 + 4e-6)), kFloatInput);
}

TEST(Metrics, IdenticalImagesAgreeExactly) {
  const Image a = random_image(77, 1);
  const ImageMetrics metrics = compare_images(a, a);
  EXPECT_EQ(metrics.rmsre_all, 0.0);
  EXPECT_EQ(metrics.rmsre, 0.0);
  EXPECT_EQ(metrics.nsad, 0.0);
  EXPECT_EQ(metrics.nsad_signed, 0.0);
  EXPECT_EQ(metrics.relative_l2, 0.0);
  EXPECT_EQ(metrics.nmse_db, -std::numeric_limits<double>::infinity());
  EXPECT_NEAR(metrics.ncc, 1.0, kRounding);
}

// A power of two and a quarter turn change no rounding: only the unnormalised and the phase-true figures may see them.
TEST(Metrics, ScaleAndPhase) {
  const Image a = random_image(64, 2);
  const ImageMetrics scaled = compare_images(a, times(a, {4.0F, 0.0F}));
  EXPECT_NEAR(scaled.relative_l2, 3.0, kRounding);
  EXPECT_EQ(scaled.nmse_db, -std::numeric_limits<double>::infinity());
  EXPECT_EQ(scaled.nsad, 0.0);
  const ImageMetrics turned = compare_images(a, times(a, {0.0F, 1.0F}));
  EXPECT_NEAR(turned.ncc, 1.0, kRounding);
  EXPECT_NEAR(turned.relative_l2, std::sqrt(2.0), kRounding);
  EXPECT_NEAR(turned.nmse_db, 10.0 * std::log10(2.0), kRounding);
  EXPECT_EQ(turned.nsad, 0.0);
}

TEST(Metrics, TheFirstArgumentIsTheReference) {
  const Image a = random_image(40, 3);
  const Image b = random_image(40, 4);
  const ImageMetrics forward = compare_images(a, b);
  const ImageMetrics backward = compare_images(b, a);
  EXPECT_NEAR(forward.nsad_signed, -backward.nsad_signed, kRounding);
  EXPECT_NEAR(forward.ncc, backward.ncc, kRounding);
  EXPECT_GT(std::abs(forward.rmsre - backward.rmsre), 1e-3);
  EXPECT_LT(forward.ncc, 0.6);
}

TEST(Metrics, ZeroImages) {
  const Image zero(9);
  const Image a = random_image(9, 5);
  const ImageMetrics both = compare_images(zero, zero);
  EXPECT_EQ(both.rmsre_all, 0.0);
  EXPECT_TRUE(std::isnan(both.rmsre));
  EXPECT_EQ(both.rmsre_excluded, 9U);
  EXPECT_EQ(both.relative_l2, 0.0);
  EXPECT_TRUE(std::isnan(both.ncc));
  const ImageMetrics lost = compare_images(a, zero);
  EXPECT_NEAR(lost.rmsre_all, 1.0, kRounding);
  EXPECT_NEAR(lost.relative_l2, 1.0, kRounding);
  EXPECT_NEAR(lost.nmse_db, 0.0, kRounding);
  EXPECT_TRUE(std::isnan(lost.ncc));
  const ImageMetrics invented = compare_images(zero, a);
  EXPECT_TRUE(std::isinf(invented.rmsre_all));
  EXPECT_EQ(invented.zero_reference, 9U);
  EXPECT_TRUE(std::isnan(invented.rmsre));
  EXPECT_TRUE(std::isinf(invented.relative_l2));
  EXPECT_TRUE(std::isinf(invented.nmse_db));
}

TEST(Metrics, AZeroReferencePixelMakesRmsreInfiniteUnlessBothAreZero) {
  const Image a = {{1.0F, 0.0F}, {0.0F, 0.0F}};
  EXPECT_EQ(compare_images(a, a).rmsre_all, 0.0);
  const Image b = {{1.0F, 0.0F}, {0.1F, 0.0F}};
  const ImageMetrics metrics = compare_images(a, b);
  EXPECT_TRUE(std::isinf(metrics.rmsre_all));
  EXPECT_EQ(metrics.zero_reference, 1U);
  EXPECT_EQ(metrics.rmsre, 0.0);
  EXPECT_EQ(metrics.rmsre_excluded, 1U);
}

// A pixel lost in either image is left out of both, maxima included, and counted.
TEST(Metrics, NonFinitePixelsAreCountedAndLeftOut) {
  Image a = random_image(30, 6);
  Image b = random_image(30, 7);
  const ImageMetrics clean =
      compare_images(std::span(a).subspan(3), std::span<const std::complex<float>>(b).subspan(3));
  a[0] = {kNanF, 0.0F};
  b[1] = {0.0F, kInfinityF};
  a[2] = {kInfinityF, kNanF};
  b[0] = {1e6F, 0.0F};
  const ImageMetrics metrics = compare_images(a, b);
  EXPECT_EQ(metrics.pixels, 30U);
  EXPECT_EQ(metrics.non_finite, 3U);
  EXPECT_EQ(metrics.rmsre, clean.rmsre);
  EXPECT_EQ(metrics.nsad, clean.nsad);
  EXPECT_EQ(metrics.ncc, clean.ncc);
  EXPECT_EQ(metrics.relative_l2, clean.relative_l2);
}

TEST(Metrics, NothingLeftIsNotANumber) {
  const Image nan(4, {kNanF, kNanF});
  const ImageMetrics metrics = compare_images(nan, nan);
  EXPECT_EQ(metrics.non_finite, 4U);
  EXPECT_TRUE(std::isnan(metrics.rmsre_all));
  EXPECT_TRUE(std::isnan(metrics.ncc));
  EXPECT_TRUE(std::isnan(metrics.relative_l2));
  EXPECT_TRUE(std::isnan(compare_images({}, {}).nsad));
}

TEST(Metrics, RefusesDifferentSizes) {
  const Image a(4);
  const Image b(5);
  EXPECT_THROW((void)compare_images(a, b), DataError);
}

// Pressures of 1e-5 Pa and finite-element units alike: squares must not vanish in single precision.
TEST(Metrics, TinyAndHugeLevels) {
  const Image a = random_image(16, 8);
  const Image b = random_image(16, 9);
  const double expected = compare_images(a, b).ncc;
  EXPECT_NEAR(compare_images(times(a, {0x1p-100F, 0.0F}), times(b, {0x1p+100F, 0.0F})).ncc, expected, kRounding);
}

}  // namespace
}  // namespace nearfield
