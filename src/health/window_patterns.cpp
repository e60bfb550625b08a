#include "health/window_patterns.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

namespace nearfield::health {
namespace {

using Complex = std::complex<double>;

/// Largest weight of a channel, times the median channel's power.
constexpr double kMostShare = 10.0;
/// Number of sweeps of rotations; matrices of 16 are diagonal to the last bits after six.
constexpr int kSweeps = 8;

/// Share of a pattern in one window above which it is an event of that window.
constexpr double kEvent = 0.4;

/// conj(a) b, without the standard product's checks for infinities.
Complex times(Complex a, Complex b) {
  return {a.real() * b.real() + a.imag() * b.imag(), a.real() * b.imag() - a.imag() * b.real()};
}

std::vector<double> channel_weights(std::span<const std::complex<float>> spectra, std::size_t windows,
                                    std::size_t stride, std::span<const std::uint8_t> usable) {
  std::vector<double> powers(usable.size(), 0.0);
  std::vector<double> used;
  for (std::size_t i = 0; i < usable.size(); ++i) {
    for (std::size_t t = 0; usable[i] != 0 && t < windows; ++t) {
      powers[i] += std::norm(Complex(spectra[t * stride + i]));
    }
    if (usable[i] != 0) {
      used.push_back(powers[i]);
    }
  }
  if (used.empty()) {
    return powers;
  }
  const auto middle = used.begin() + static_cast<std::ptrdiff_t>(used.size() / 2);
  std::nth_element(used.begin(), middle, used.end());
  const double most = kMostShare * *middle;
  for (std::size_t i = 0; i < usable.size(); ++i) {
    const bool is_loud = most > 0.0 && powers[i] > most;
    powers[i] = usable[i] == 0 ? 0.0 : (is_loud ? most / powers[i] : 1.0);
  }
  return powers;
}

/// [window][window], weighted sums over channels of conj(y) y.
std::vector<Complex> gram(std::span<const std::complex<float>> spectra, std::size_t windows, std::size_t stride,
                          std::span<const double> weights) {
  std::vector<Complex> sums(windows * windows);
  for (std::size_t a = 0; a < windows; ++a) {
    for (std::size_t b = 0; b <= a; ++b) {
      Complex sum = 0.0;
      for (std::size_t i = 0; i < weights.size(); ++i) {
        if (weights[i] > 0.0) {
          sum += weights[i] * times(Complex(spectra[a * stride + i]), Complex(spectra[b * stride + i]));
        }
      }
      sums[a * windows + b] = sum;
      sums[b * windows + a] = std::conj(sum);
    }
  }
  return sums;
}

/// Eigenvalues, and the eigenvectors [window][vector], of a Hermitian matrix, by cyclic Jacobi rotations (Golub and Van
/// Loan 2013, section 8.5.2).
struct Eigen {
  std::vector<double> values;
  std::vector<Complex> vectors;
};

Eigen eigen_of(std::vector<Complex> matrix, std::size_t n) {
  Eigen eigen{.values = std::vector<double>(n), .vectors = std::vector<Complex>(n * n)};
  for (std::size_t i = 0; i < n; ++i) {
    eigen.vectors[i * n + i] = 1.0;
  }
  // Multiplies columns p and q of a matrix by (c e^{j phi}, -s) and (s e^{j phi}, c).
  const auto turn_columns = [n](std::vector<Complex>& of, std::size_t p, std::size_t q, Complex cosine, Complex sine,
                                double c, double s) {
    for (std::size_t i = 0; i < n; ++i) {
      const Complex one = of[i * n + p];
      const Complex other = of[i * n + q];
      of[i * n + p] = times(std::conj(cosine), one) - s * other;
      of[i * n + q] = times(std::conj(sine), one) + c * other;
    }
  };
  for (int sweep = 0; sweep < kSweeps; ++sweep) {
    for (std::size_t p = 0; p + 1 < n; ++p) {
      for (std::size_t q = p + 1; q < n; ++q) {
        const Complex between = matrix[p * n + q];
        const double size = std::abs(between);
        if (size <= std::numeric_limits<double>::min()) {
          continue;
        }
        const double tau = (matrix[q * n + q].real() - matrix[p * n + p].real()) / (2.0 * size);
        const double t = (tau < 0.0 ? -1.0 : 1.0) / (std::abs(tau) + std::hypot(1.0, tau));
        const double c = 1.0 / std::hypot(1.0, t);
        const double s = t * c;
        const Complex phase = between / size;
        turn_columns(matrix, p, q, c * phase, s * phase, c, s);
        for (std::size_t i = 0; i < n; ++i) {
          const Complex one = matrix[p * n + i];
          const Complex other = matrix[q * n + i];
          matrix[p * n + i] = times(c * phase, one) - s * other;
          matrix[q * n + i] = times(s * phase, one) + c * other;
        }
        turn_columns(eigen.vectors, p, q, c * phase, s * phase, c, s);
      }
    }
  }
  for (std::size_t i = 0; i < n; ++i) {
    eigen.values[i] = matrix[i * n + i].real();
  }
  return eigen;
}

/// Share of the noise in the weakest quarter of the patterns, for this number of windows and microphones: the lower
/// edge of Marchenko and Pastur's distribution, less the width of its first quarter.
double weakest_share(std::size_t windows, std::size_t channels) {
  const double root = std::sqrt(static_cast<double>(windows) / static_cast<double>(std::max<std::size_t>(channels, 1)));
  return std::pow(std::max(1.0 - 0.8 * root, 0.3), 2);
}

}  // namespace

WindowPatterns window_patterns(std::span<const std::complex<float>> spectra, std::size_t windows, std::size_t stride,
                               std::span<const std::uint8_t> usable, std::size_t most) {
  const std::vector<double> weights = channel_weights(spectra, windows, stride, usable);
  const Eigen eigen = eigen_of(gram(spectra, windows, stride, weights), windows);
  std::vector<std::size_t> order(windows);
  std::iota(order.begin(), order.end(), 0U);
  std::sort(order.begin(), order.end(),
            [&](std::size_t a, std::size_t b) { return eigen.values[a] > eigen.values[b]; });
  const auto pattern_of = [&](std::size_t vector) {
    std::vector<Complex> pattern(usable.size());
    for (std::size_t t = 0; t < windows; ++t) {
      const Complex weight = std::conj(eigen.vectors[t * windows + vector]);
      for (std::size_t i = 0; i < usable.size(); ++i) {
        pattern[i] += times(weight, Complex(spectra[t * stride + i]));
      }
    }
    return pattern;
  };
  WindowPatterns patterns;
  for (std::size_t k = 0; k < windows && patterns.strongest.size() < most; ++k) {
    double largest = 0.0;
    for (std::size_t t = 0; t < windows; ++t) {
      largest = std::max(largest, std::norm(eigen.vectors[t * windows + order[k]]));
    }
    if (k == 0 || largest < kEvent) {
      patterns.strongest.push_back(pattern_of(order[k]));
    }
  }
  const std::size_t quarter = windows / 4;
  if (quarter >= 2) {
    const auto channels = static_cast<std::size_t>(std::count(usable.begin(), usable.end(), 1));
    const double scale = 1.0 / (static_cast<double>(quarter) * weakest_share(windows, channels));
    patterns.noise_power.assign(usable.size(), 0.0);
    for (std::size_t k = windows - quarter; k < windows; ++k) {
      const std::vector<Complex> pattern = pattern_of(order[k]);
      for (std::size_t i = 0; i < usable.size(); ++i) {
        patterns.noise_power[i] += scale * std::norm(pattern[i]);
      }
    }
  }
  return patterns;
}

}  // namespace nearfield::health
