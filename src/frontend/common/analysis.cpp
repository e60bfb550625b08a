#include "frontend/common/analysis.hpp"

#include <fmt/format.h>

#include <array>
#include <cmath>
#include <numbers>
#include <utility>

#include "core/error.hpp"

namespace nearfield {
namespace {

using Complex = std::complex<double>;
using Row = std::array<Complex, 4>;  ///< three coefficients and the right-hand side

/// sum_{t=0}^{length-1} e^{j radians t}.
Complex geometric(std::size_t length, double radians) {
  const double half = std::remainder(radians, 2.0 * std::numbers::pi) / 2.0;
  const auto n = static_cast<double>(length);
  if (std::abs(std::sin(half)) < 1e-12) {
    return n;
  }
  return std::polar(1.0, half * (n - 1.0)) * (std::sin(half * n) / std::sin(half));
}

/// Gaussian elimination with pivots; returns false where the matrix is singular to rounding.
bool solve(std::array<Row, 3>& rows) {
  for (std::size_t k = 0; k < 3; ++k) {
    std::size_t pivot = k;
    for (std::size_t i = k + 1; i < 3; ++i) {
      pivot = std::abs(rows[i][k]) > std::abs(rows[pivot][k]) ? i : pivot;
    }
    std::swap(rows[k], rows[pivot]);
    if (std::abs(rows[k][k]) < 1e-6) {
      return false;
    }
    for (std::size_t i = 0; i < 3; ++i) {
      const Complex factor = rows[i][k] / rows[k][k];
      for (std::size_t c = k; i != k && c < 4; ++c) {
        rows[i][c] -= factor * rows[k][c];
      }
    }
  }
  return true;
}

}  // namespace

std::complex<double> AnalysisVector::without_window(double t) const {
  const Complex turn = std::polar(1.0, radians_per_step * t);
  return forward * std::conj(turn) + image * turn + constant;
}

std::complex<double> window_transform(WindowKind window, std::size_t length, double radians) {
  if (window == WindowKind::kNone) {
    return geometric(length, radians);
  }
  const double bin = 2.0 * std::numbers::pi / static_cast<double>(length);
  return 0.5 * geometric(length, radians) -
         0.25 * (geometric(length, radians - bin) + geometric(length, radians + bin));
}

AnalysisVector analysis_vector(WindowKind window, std::size_t length, double radians_per_step, bool remove_dc) {
  const double sum = window_transform(window, length, 0.0).real();
  if (!remove_dc) {
    return {.forward = 2.0 / sum, .image = 0.0, .constant = 0.0, .radians_per_step = radians_per_step};
  }
  // Inner products of e^{-jwt}, e^{jwt} and 1 with the fields e^{jwt}, e^{-jwt} and 1, over the sum of the window.
  const Complex one = window_transform(window, length, radians_per_step) / sum;
  const Complex two = window_transform(window, length, 2.0 * radians_per_step) / sum;
  std::array<Row, 3> rows = {
      {{1.0, two, one, 2.0 / sum}, {std::conj(two), 1.0, std::conj(one), 0.0}, {std::conj(one), one, 1.0, 0.0}}};
  if (!solve(rows)) {
    throw ConfigError(fmt::format(
        "front_end.frequencies_hz: {:.4g} periods in a window are too few to distinguish a tone from an offset; "
        "expected at least "
        "about one, or remove_dc: false",
        radians_per_step * static_cast<double>(length) / (2.0 * std::numbers::pi)));
  }
  return {.forward = rows[0][3] / rows[0][0],
          .image = rows[1][3] / rows[1][1],
          .constant = rows[2][3] / rows[2][2],
          .radians_per_step = radians_per_step};
}

bool is_inner_bin(double frequency_hz, double sample_rate_hz, int window_samples) {
  const double bin = std::round(frequency_hz / sample_rate_hz * window_samples);
  return bin >= 1.0 && 2.0 * bin < window_samples;  // false for NaN too
}

std::vector<std::uint32_t> nearest_bins(const std::vector<double>& frequencies_hz, double sample_rate_hz,
                                        int window_samples) {
  std::vector<std::uint32_t> bins;
  for (const double frequency_hz : frequencies_hz) {
    bins.push_back(static_cast<std::uint32_t>(std::lround(frequency_hz / sample_rate_hz * window_samples)));
  }
  return bins;
}

std::vector<double> window_values(WindowKind kind, int window_samples) {
  std::vector<double> values(static_cast<std::size_t>(window_samples), 1.0);
  if (kind == WindowKind::kHann) {
    for (int n = 0; n < window_samples; ++n) {
      values[static_cast<std::size_t>(n)] = 0.5 - 0.5 * std::cos(2.0 * std::numbers::pi * n / window_samples);
    }
  }
  return values;
}

}  // namespace nearfield
