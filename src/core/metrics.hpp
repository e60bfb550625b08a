#pragma once
#include <complex>
#include <cstddef>
#include <span>

namespace nearfield {

/// Pixels whose reference is below this part of the reference's maximum are left out of `ImageMetrics::rmsre`.
inline constexpr double kRmsreFloor = 0.01;

/// Differences of an image from a reference, a the reference and b the other (Oznaya Angeles 2014, section 7.1.2).
///
/// Pixels that are not finite in either image are counted in `non_finite` and excluded from all sums and both maxima.
/// "Normalised" is divided by the image's own maximum magnitude (eq. 7.3); an image that is zero everywhere stays zero.
/// An undefined figure is NaN: everything when no pixel is left, `ncc` when an image is zero everywhere, `rmsre` when
/// no reference pixel exceeds zero.
struct ImageMetrics {
  std::size_t pixels = 0;      ///< per image
  std::size_t non_finite = 0;  ///< among them, left out everywhere

  /// sqrt(mean of ((|a|-|b|)/|a|)^2), both normalised (eq. 7.1), over all finite pixels. A pixel where both are zero
  /// agrees and adds 0; one where only the reference is zero makes the figure infinite (counted in `zero_reference`).
  double rmsre_all = 0.0;
  std::size_t zero_reference = 0;  ///< pixels where the reference is zero and the other image is not
  /// Like rmsre_all, over the pixels with |a| >= 1 % of its maximum.
  double rmsre = 0.0;
  std::size_t rmsre_excluded = 0;  ///< finite pixels below that 1 %

  double nsad_signed = 0.0;  ///< mean of |a|-|b|, both normalised (eq. 7.2 as printed); errors cancel
  double nsad = 0.0;         ///< mean of ||a|-|b||, both normalised
  /// 10 lg(sum |b-a|^2 / sum |a|^2) of the normalised complex images; -infinity when they agree.
  double nmse_db = 0.0;
  double ncc = 0.0;  ///< |<a,b>| / (|a| |b|), complex; 1 when they agree but for one complex factor
  /// |b-a| / |a|, complex, not normalised; 0 when both are zero, infinite when only the reference is.
  double relative_l2 = 0.0;
};

/// Compares two images of the same size, pixel by pixel, in double precision. Throws DataError when the sizes differ.
ImageMetrics compare_images(std::span<const std::complex<float>> reference, std::span<const std::complex<float>> other);

}  // namespace nearfield
