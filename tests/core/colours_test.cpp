#include "core/colours.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <numbers>

namespace nearfield {
namespace {

constexpr int kSteps = 256;

bool in_gamut(const LinearRgb& colour) {
  const auto inside = [](double channel) { return channel >= 0.0 && channel <= 1.0; };
  return inside(colour.red) && inside(colour.green) && inside(colour.blue);
}

/// Inverse of to_linear_rgb(); the hue lies in -pi to pi.
Lch to_lch(const LinearRgb& colour) {
  const double l = std::cbrt(0.4122214708 * colour.red + 0.5363325363 * colour.green + 0.0514459929 * colour.blue);
  const double m = std::cbrt(0.2119034982 * colour.red + 0.6806995451 * colour.green + 0.1073969566 * colour.blue);
  const double s = std::cbrt(0.0883024619 * colour.red + 0.2817188376 * colour.green + 0.6299787005 * colour.blue);
  const double a = 1.9779984951 * l - 2.4285922050 * m + 0.4505937099 * s;
  const double b = 0.0259040371 * l + 0.7827717662 * m - 0.8086757660 * s;
  return {0.2104542553 * l + 0.7936177850 * m - 0.0040720468 * s, std::hypot(a, b), std::atan2(b, a)};
}

double lightness(const Rgb8& colour) { return to_lch(to_linear_rgb(colour)).lightness; }

// White, and sRGB red as tabulated by OKLab's author: L 0.628, a 0.225, b 0.126.
TEST(Oklab, KnownColours) {
  EXPECT_EQ(to_srgb(to_linear_rgb(Lch{1.0, 0.0, 0.0})), (Rgb8{255, 255, 255}));
  const Lch red = to_lch({1.0, 0.0, 0.0});
  EXPECT_NEAR(red.lightness, 0.628, 1e-3);
  EXPECT_NEAR(red.chroma * std::cos(red.hue_rad), 0.225, 1e-3);
  EXPECT_NEAR(red.chroma * std::sin(red.hue_rad), 0.126, 1e-3);
}

TEST(Oklab, InverseOfEachOther) {
  const Lch colour{0.6, 0.1, 1.3};
  const Lch back = to_lch(to_linear_rgb(colour));
  // The published matrices have ten digits.
  EXPECT_NEAR(back.lightness, colour.lightness, 1e-6);
  EXPECT_NEAR(back.chroma, colour.chroma, 1e-6);
  EXPECT_NEAR(back.hue_rad, colour.hue_rad, 1e-5);
}

TEST(MagnitudeColours, EqualStepsOfLightnessInsideTheGamut) {
  const double first = magnitude_lch(0.0).lightness;
  const double last = magnitude_lch(1.0).lightness;
  EXPECT_GT(last - first, 0.75);
  for (int i = 0; i <= 1024; ++i) {
    const double value = i / 1024.0;
    EXPECT_TRUE(in_gamut(to_linear_rgb(magnitude_lch(value)))) << value;
    EXPECT_NEAR(magnitude_lch(value).lightness, first + (last - first) * value, 1e-12);
  }
}

// Read back from the eight-bit colours: rounding a channel by half a step moves the lightness by less than 0.003 even
// in the dark end, where a step of the encoded value is largest.
TEST(MagnitudeColours, LinearAndRisingAfterRounding) {
  const double first = magnitude_lch(0.0).lightness;
  const double last = magnitude_lch(1.0).lightness;
  double previous = 0.0;
  for (int i = 0; i <= kSteps; i += 2) {
    const double value = static_cast<double>(i) / kSteps;
    const double now = lightness(magnitude_colour(value));
    EXPECT_GT(now, previous) << value;
    EXPECT_NEAR(now, first + (last - first) * value, 3e-3) << value;
    previous = now;
  }
}

// Neighbouring colours are about equally far apart: no band stands out where nothing is.
TEST(MagnitudeColours, DistancesBetweenNeighboursAreAlike) {
  double smallest = 1.0;
  double largest = 0.0;
  const auto lab = [](double value) {
    const Lch colour = magnitude_lch(value);
    return std::array{colour.lightness, colour.chroma * std::cos(colour.hue_rad),
                      colour.chroma * std::sin(colour.hue_rad)};
  };
  for (int i = 0; i < kSteps; ++i) {
    const auto a = lab(static_cast<double>(i) / kSteps);
    const auto b = lab(static_cast<double>(i + 1) / kSteps);
    const double distance = std::hypot(b[0] - a[0], b[1] - a[1], b[2] - a[2]);
    smallest = std::min(smallest, distance);
    largest = std::max(largest, distance);
  }
  EXPECT_LT(largest / smallest, 1.6);
}

TEST(MagnitudeColours, ValuesOutsideAreClipped) {
  EXPECT_EQ(magnitude_colour(-1.0), magnitude_colour(0.0));
  EXPECT_EQ(magnitude_colour(7.0), magnitude_colour(1.0));
  EXPECT_EQ(magnitude_colour(std::numeric_limits<double>::quiet_NaN()), magnitude_colour(0.0));
}

TEST(PhaseColours, CyclicWithConstantLightnessInsideTheGamut) {
  constexpr double kTurn = 2.0 * std::numbers::pi;
  for (int i = 0; i < 720; ++i) {
    const double phase_rad = kTurn * i / 720.0;
    EXPECT_TRUE(in_gamut(to_linear_rgb(phase_lch(phase_rad)))) << phase_rad;
    EXPECT_NEAR(lightness(phase_colour(phase_rad)), phase_lch(0.0).lightness, 3e-3) << phase_rad;
    EXPECT_EQ(phase_colour(phase_rad), phase_colour(phase_rad - kTurn));
  }
}

TEST(PhaseColours, OppositePhasesHaveOppositeHues) {
  const auto a = phase_colour(0.0);
  const auto b = phase_colour(std::numbers::pi);
  EXPECT_GT(std::abs(a.red - b.red), 60);
  EXPECT_GT(std::abs(a.blue - b.blue), 60);
}

TEST(SignedColours, AreStraightFromANeutralMiddleInsideTheGamut) {
  EXPECT_EQ(signed_lch(0.0).chroma, 0.0);
  for (int i = 0; i <= 1024; ++i) {
    const double value = i / 1024.0;
    const Lch positive = signed_lch(value);
    const Lch negative = signed_lch(-value);
    EXPECT_TRUE(in_gamut(to_linear_rgb(positive))) << value;
    EXPECT_TRUE(in_gamut(to_linear_rgb(negative))) << value;
    EXPECT_EQ(positive.lightness, negative.lightness) << value;
    EXPECT_EQ(positive.chroma, negative.chroma) << value;
    EXPECT_NEAR(positive.lightness, std::lerp(signed_lch(0.0).lightness, signed_lch(1.0).lightness, value), 1e-12);
    EXPECT_NEAR(positive.chroma, value * signed_lch(1.0).chroma, 1e-12);
  }
}

TEST(SignedColours, TellTheSignsApartAndClip) {
  EXPECT_GT(signed_colour(1.0).red, signed_colour(1.0).blue + 60);
  EXPECT_GT(signed_colour(-1.0).blue, signed_colour(-1.0).red + 60);
  EXPECT_EQ(signed_colour(9.0), signed_colour(1.0));
  EXPECT_EQ(signed_colour(std::numeric_limits<double>::quiet_NaN()), signed_colour(0.0));
}

}  // namespace
}  // namespace nearfield
