#pragma once
#include <cstdint>

/// The colours of the pictures, made by formula in OKLab (Ottosson 2020), in which equal distances look equal.
namespace nearfield {

/// OKLCh: lightness 0 to 1, chroma, hue in radians.
struct Lch {
  double lightness = 0.0;
  double chroma = 0.0;
  double hue_rad = 0.0;
};

/// Linear-light sRGB; inside the gamut when all three lie in 0 to 1.
struct LinearRgb {
  double red = 0.0;
  double green = 0.0;
  double blue = 0.0;
};

/// sRGB, gamma-encoded.
struct Rgb8 {
  std::uint8_t red = 0;
  std::uint8_t green = 0;
  std::uint8_t blue = 0;
  friend bool operator==(const Rgb8&, const Rgb8&) = default;
};

LinearRgb to_linear_rgb(const Lch& colour);
/// Gamma-encoded and rounded; values outside the gamut are clipped.
Rgb8 to_srgb(const LinearRgb& colour);
LinearRgb to_linear_rgb(const Rgb8& colour);

/// Magnitude, 0 (dark violet) to 1 (pale yellow): lightness is linear in `value`, the hue turns once by 180 degrees.
/// Values outside 0 to 1 are clipped; NaN gives the colour of 0.
Lch magnitude_lch(double value);
Rgb8 magnitude_colour(double value);

/// Phase in radians, any number of turns: the hue is the phase, lightness and chroma are constant.
Lch phase_lch(double phase_rad);
Rgb8 phase_colour(double phase_rad);

/// Signed values, -1 (blue) over 0 (nearly white, without hue) to 1 (red): both signs have the same lightness and
/// chroma, which are linear in the magnitude. Values outside are clipped; NaN gives the colour of 0.
Lch signed_lch(double value);
Rgb8 signed_colour(double value);

}  // namespace nearfield
