#include "core/numerics.hpp"

#include <algorithm>
#include <cmath>
#include <initializer_list>
#include <numbers>
#include <vector>

namespace nearfield {
namespace {

void factor(std::span<double> matrix, std::size_t n) {
  for (std::size_t j = 0; j < n; ++j) {
    for (std::size_t i = j; i < n; ++i) {
      double sum = matrix[i * n + j];
      for (std::size_t k = 0; k < j; ++k) {
        sum -= matrix[i * n + k] * matrix[j * n + k];
      }
      matrix[i * n + j] = i == j ? std::sqrt(sum) : sum / matrix[j * n + j];
    }
  }
}

}  // namespace

void solve_cholesky(std::span<double> matrix, std::span<double> values) {
  const std::size_t n = values.size();
  factor(matrix, n);
  for (std::size_t i = 0; i < n; ++i) {
    for (std::size_t k = 0; k < i; ++k) {
      values[i] -= matrix[i * n + k] * values[k];
    }
    values[i] /= matrix[i * n + i];
  }
  for (std::size_t i = n; i-- > 0;) {
    for (std::size_t k = i + 1; k < n; ++k) {
      values[i] -= matrix[k * n + i] * values[k];
    }
    values[i] /= matrix[i * n + i];
  }
}

namespace {

constexpr int kSmallestRule = 14;
constexpr int kLargestRule = kSmallestRule + static_cast<int>(kMaxGaussPhase / 2);

struct LegendreValue {
  double value;
  double derivative;
};

LegendreValue legendre(int n, double x) {
  double previous = 1.0;
  double current = x;
  for (int k = 2; k <= n; ++k) {
    const double next = ((2 * k - 1) * x * current - (k - 1) * previous) / k;
    previous = current;
    current = next;
  }
  return {current, n * (x * current - previous) / (x * x - 1)};
}

/// Newton's method from the usual cosine guess; 8 steps are more than double precision needs.
std::vector<GaussNode> make_rule(int n) {
  std::vector<GaussNode> rule;
  for (int i = 1; i <= n; ++i) {
    double x = std::cos(std::numbers::pi * (i - 0.25) / (n + 0.5));
    for (int step = 0; step < 8; ++step) {
      const LegendreValue p = legendre(n, x);
      x -= p.value / p.derivative;
    }
    const double slope = legendre(n, x).derivative;
    rule.push_back({(1 - x) / 2, 1 / ((1 - x * x) * slope * slope)});
  }
  return rule;
}

std::vector<std::vector<GaussNode>> make_rules() {
  std::vector<std::vector<GaussNode>> rules;
  for (int n = kSmallestRule; n <= kLargestRule; ++n) {
    rules.push_back(make_rule(n));
  }
  return rules;
}

}  // namespace

std::span<const GaussNode> gauss_rule(double phase_rad) {
  static const std::vector<std::vector<GaussNode>> kRules = make_rules();
  const double extra = std::clamp(std::ceil(phase_rad / 2), 0.0, static_cast<double>(kRules.size() - 1));
  return kRules[static_cast<std::size_t>(extra)];
}

bool is_fft_length(int n) {
  if (n < 1) {
    return false;
  }
  for (const int radix : {2, 3, 5, 7}) {
    while (n % radix == 0) {
      n /= radix;
    }
  }
  return n == 1;
}

int next_fft_length(int n) {
  while (!is_fft_length(n)) {
    ++n;
  }
  return n;
}

}  // namespace nearfield
