#pragma once
#include <vector>

/// How many Walsh coefficients a Fourier bin needs (thesis, section 5.3.2 and fig. 5.4).
namespace nearfield::bench {

/// In place, natural (Hadamard) order, unscaled; the size must be a power of two.
void walsh_hadamard(std::vector<double>& values);

/// The thesis's arbitrary limit.
inline constexpr double kWalshThreshold = 0.1;

/// For bins 1 to `last_bin` of `length` bits: how many coefficients of a_k and b_k together exceed `threshold`, where
/// a_k = 2/N sum x cos and b_k = 2/N sum x sin are sums over the Walsh coefficients of x. The order of the functions
/// does not matter for a count.
std::vector<int> walsh_counts(int length, int last_bin, double threshold);

/// What the thesis says of fig. 5.4: these bins need 10 coefficients (its text, below eq. 5.14).
inline constexpr int kThesisTenCoefficientBins[] = {2, 4, 8, 16, 32, 64};
inline constexpr int kThesisFewestCoefficients = 10;

}  // namespace nearfield::bench
