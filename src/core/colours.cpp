#include "core/colours.hpp"

#include <algorithm>
#include <cmath>
#include <numbers>

namespace nearfield {
namespace {

// The range of lightness leaves contrast to black lines and white paper; the chroma is a smooth arch just inside the
// sRGB gamut along this path of hues (violet, magenta, red, orange, yellow).
constexpr double kDarkest = 0.15;
constexpr double kLightest = 0.96;
constexpr double kFirstHueDeg = 285.0;
constexpr double kHueTurnDeg = 180.0;
constexpr double kChromaAtZero = 0.075;
constexpr double kChromaRise = 0.02;
constexpr double kChromaArch = 0.34;

// The largest circle of hues that fits into sRGB has a lightness of 0.74 and a chroma of 0.1258.
constexpr double kPhaseLightness = 0.74;
constexpr double kPhaseChroma = 0.12;
constexpr double kPhaseZeroHueDeg = 30.0;

// Both halves are straight lines in OKLab, so that equal steps of a value are equal distances; the ends differ in hue
// only, blue and red, which are distinguishable with colour blindness too.
constexpr double kMiddleLightness = 0.97;
constexpr double kEndLightness = 0.42;
constexpr double kEndChroma = 0.16;
constexpr double kNegativeHueDeg = 260.0;
constexpr double kPositiveHueDeg = 30.0;

constexpr double radians(double degrees) { return degrees * std::numbers::pi / 180.0; }

double cube(double value) { return value * value * value; }

std::uint8_t encode(double linear) {
  const double clipped = std::clamp(linear, 0.0, 1.0);
  const double encoded = clipped <= 0.0031308 ? 12.92 * clipped : 1.055 * std::pow(clipped, 1.0 / 2.4) - 0.055;
  return static_cast<std::uint8_t>(std::lround(255.0 * encoded));
}

double decode(std::uint8_t value) {
  const double encoded = value / 255.0;
  return encoded <= 0.04045 ? encoded / 12.92 : std::pow((encoded + 0.055) / 1.055, 2.4);
}

}  // namespace

// The matrices are those of Ottosson's definition of OKLab: Lab to cube roots of cone responses, these to linear sRGB.
LinearRgb to_linear_rgb(const Lch& colour) {
  const double a = colour.chroma * std::cos(colour.hue_rad);
  const double b = colour.chroma * std::sin(colour.hue_rad);
  const double l = cube(colour.lightness + 0.3963377774 * a + 0.2158037573 * b);
  const double m = cube(colour.lightness - 0.1055613458 * a - 0.0638541728 * b);
  const double s = cube(colour.lightness - 0.0894841775 * a - 1.2914855480 * b);
  return {4.0767416621 * l - 3.3077115913 * m + 0.2309699292 * s,
          -1.2684380046 * l + 2.6097574011 * m - 0.3413193965 * s,
          -0.0041960863 * l - 0.7034186147 * m + 1.7076147010 * s};
}

Rgb8 to_srgb(const LinearRgb& colour) { return {encode(colour.red), encode(colour.green), encode(colour.blue)}; }

LinearRgb to_linear_rgb(const Rgb8& colour) { return {decode(colour.red), decode(colour.green), decode(colour.blue)}; }

Lch magnitude_lch(double value) {
  const double t = value > 0.0 ? std::min(value, 1.0) : 0.0;
  return {kDarkest + (kLightest - kDarkest) * t, kChromaAtZero + kChromaRise * t + kChromaArch * t * (1.0 - t),
          radians(kFirstHueDeg + kHueTurnDeg * t)};
}

Rgb8 magnitude_colour(double value) { return to_srgb(to_linear_rgb(magnitude_lch(value))); }

Lch phase_lch(double phase_rad) { return {kPhaseLightness, kPhaseChroma, radians(kPhaseZeroHueDeg) + phase_rad}; }

Lch signed_lch(double value) {
  const double t = std::isnan(value) ? 0.0 : std::clamp(value, -1.0, 1.0);
  const double extent = std::abs(t);
  return {std::lerp(kMiddleLightness, kEndLightness, extent), kEndChroma * extent,
          radians(t < 0.0 ? kNegativeHueDeg : kPositiveHueDeg)};
}

Rgb8 signed_colour(double value) { return to_srgb(to_linear_rgb(signed_lch(value))); }

Rgb8 phase_colour(double phase_rad) { return to_srgb(to_linear_rgb(phase_lch(phase_rad))); }

}  // namespace nearfield
