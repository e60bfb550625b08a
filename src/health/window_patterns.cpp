#include "health/window_patterns.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

namespace nearfield::health {
namespace {

using Complex = std::complex<double>;

/// Times the median channel's power: the most with which a channel counts.
constexpr double kMostShare = 10.0;
/// Steps of the iteration; patterns that are not apart by then are alike in strength, and any mixture of them serves.
constexpr int kSteps = 24;

/// conj(a) b, without the checks of the standard's product for infinities.
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

/// [window][window], sums over channels of conj(y) y with their weights.
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

/// Takes from `vector` its part along the others and gives it length 1; all 0 where nothing is left.
void make_orthonormal(std::vector<Complex>& vector, std::span<const std::vector<Complex>> others) {
  for (const std::vector<Complex>& other : others) {
    Complex part = 0.0;
    for (std::size_t t = 0; t < vector.size(); ++t) {
      part += times(other[t], vector[t]);
    }
    for (std::size_t t = 0; t < vector.size(); ++t) {
      vector[t] -= part * other[t];
    }
  }
  double power = 0.0;
  for (const Complex& value : vector) {
    power += std::norm(value);
  }
  for (Complex& value : vector) {
    value = power > std::numeric_limits<double>::min() ? value / std::sqrt(power) : 0.0;
  }
}

/// Orthonormal vectors over windows, by orthogonal iteration (Golub and Van Loan 2013, section 8.2.4).
std::vector<std::vector<Complex>> strongest(const std::vector<Complex>& gram, std::size_t windows, std::size_t count) {
  std::vector<std::vector<Complex>> vectors(count, std::vector<Complex>(windows));
  for (std::size_t k = 0; k < count; ++k) {
    for (std::size_t t = 0; t < windows; ++t) {
      vectors[k][t] = std::polar(1.0, 2.4 * static_cast<double>((k + 1) * (t + 1) * (t + k + 1)));
    }
    make_orthonormal(vectors[k], std::span(vectors).first(k));
  }
  for (int step = 0; step < kSteps; ++step) {
    for (std::size_t k = 0; k < count; ++k) {
      std::vector<Complex> next(windows);
      for (std::size_t a = 0; a < windows; ++a) {
        for (std::size_t b = 0; b < windows; ++b) {
          next[a] += times(gram[b * windows + a], vectors[k][b]);
        }
      }
      vectors[k] = std::move(next);
      make_orthonormal(vectors[k], std::span(vectors).first(k));
      make_orthonormal(vectors[k], std::span(vectors).first(k));  // once more, for what rounding left
    }
  }
  return vectors;
}

}  // namespace

std::vector<std::vector<Complex>> window_patterns(std::span<const std::complex<float>> spectra, std::size_t windows,
                                                  std::size_t stride, std::span<const std::uint8_t> usable,
                                                  std::size_t most) {
  const std::vector<double> weights = channel_weights(spectra, windows, stride, usable);
  const auto vectors = strongest(gram(spectra, windows, stride, weights), windows, std::min(most, windows));
  std::vector<std::vector<Complex>> patterns;
  for (const std::vector<Complex>& vector : vectors) {
    std::vector<Complex>& pattern = patterns.emplace_back(usable.size());
    for (std::size_t t = 0; t < windows; ++t) {
      for (std::size_t i = 0; i < usable.size(); ++i) {
        pattern[i] += times(std::conj(vector[t]), Complex(spectra[t * stride + i]));
      }
    }
  }
  return patterns;
}

}  // namespace nearfield::health
