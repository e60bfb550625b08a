#include "processors/srp_phat/significance.hpp"

#include <algorithm>
#include <cmath>
#include <complex>
#include <numbers>
#include <numeric>
#include <optional>

namespace nearfield {
namespace {

using far_field::Position;
using std::numbers::pi;

/// Weaker correlations of bins do not change the moments.
constexpr double kLeastCorrelation = 1e-9;

Position difference(const Position& a, const Position& b) { return {a.x - b.x, a.y - b.y, a.z - b.z}; }

/// Correlation of the spectra of white noise at two frequencies, `bins` apart, for Hann's window: the spectrum of its
/// square, relative to that at 0. Rectangular windows correlate no bins.
double correlation(WindowKind window, double bins) {
  constexpr int kSamples = 64;
  if (window == WindowKind::kNone) {
    return 0.0;
  }
  std::complex<double> product;
  double square = 0.0;
  for (int i = 0; i < kSamples; ++i) {
    const double weight = std::pow(std::sin(pi * i / kSamples), 4.0);
    product += weight * std::polar(1.0, 2.0 * pi * bins * i / kSamples);
    square += weight;
  }
  return std::abs(product) / square;
}

/// Correlation of their phasors: E[z conj(w)] of two complex normal numbers of correlation rho, each divided by its
/// magnitude, is pi/4 rho 2F1(1/2, 1/2; 2; rho^2).
double correlation_of_phases(double rho) {
  constexpr int kTerms = 60;
  double term = 1.0;
  double sum = 0.0;
  for (int n = 0; n < kTerms; ++n) {
    sum += term;
    term *= (n + 0.5) * (n + 0.5) / ((n + 2.0) * (n + 1.0)) * rho * rho;
  }
  return pi / 4.0 * rho * sum;
}

/// Change of a microphone's path with a step of the pixel, less the array's mean: [microphone].
std::vector<double> slopes(const SrpPlan& plan, const Position& pixel, const Position& step) {
  std::vector<double> slopes;
  slopes.reserve(plan.channels());
  double mean = 0.0;
  for (const Position& microphone : plan.microphones) {
    const Position to_pixel = difference(pixel, microphone);
    slopes.push_back(plan.grid.is_far ? -dot(step, microphone) : dot(step, to_pixel) / norm(to_pixel));
    mean += slopes.back() / static_cast<double>(plan.channels());
  }
  for (double& slope : slopes) {
    slope -= mean;
  }
  return slopes;
}

/// Covariance of the paths' changes with two steps, m^2.
struct Metric {
  double first = 0.0;
  double second = 0.0;
  double mixed = 0.0;
  [[nodiscard]] double area() const { return std::sqrt(std::max(first * second - mixed * mixed, 0.0)); }
};

Metric metric_at(const SrpPlan& plan, const Position& pixel, const Position& first, const Position& second) {
  const std::vector<double> a = slopes(plan, pixel, first);
  const std::vector<double> b = slopes(plan, pixel, second);
  Metric metric;
  for (std::size_t m = 0; m < a.size(); ++m) {
    metric.first += a[m] * a[m] / static_cast<double>(a.size());
    metric.second += b[m] * b[m] / static_cast<double>(a.size());
    metric.mixed += a[m] * b[m] / static_cast<double>(a.size());
  }
  return metric;
}

/// ln(a + b) from the logarithms.
double log_sum(double a, double b) {
  const double largest = std::max(a, b);
  return std::isinf(largest) ? largest : largest + std::log1p(std::exp(std::min(a, b) - largest));
}

}  // namespace

double log_gamma_tail(double shape, double x) {
  if (x <= 0.0) {
    return 0.0;
  }
  constexpr int kMost = 10000;
  constexpr double kExact = 1e-15;
  const double front = shape * std::log(x) - x - std::lgamma(shape);
  if (x < shape + 1.0) {  // series of the lower tail
    double term = 1.0 / shape;
    double sum = term;
    for (int n = 1; n < kMost && term > kExact * sum; ++n) {
      term *= x / (shape + n);
      sum += term;
    }
    return std::log1p(-std::min(std::exp(front) * sum, 1.0 - kExact));
  }
  // Use a continued fraction by Lentz's method.
  double b = x + 1.0 - shape;
  double c = 1e300;
  double d = 1.0 / b;
  double fraction = d;
  for (int n = 1; n < kMost; ++n) {
    const double a = -n * (n - shape);
    b += 2.0;
    d = 1.0 / (a * d + b);
    c = b + a / c;
    fraction *= c * d;
    if (std::abs(c * d - 1.0) < kExact) {
      break;
    }
  }
  return front + std::log(fraction);
}

SrpSignificance::SrpSignificance(const SrpPlan& plan) : weights_(plan.settings.weights) {
  for (std::size_t k = 0; k < plan.bins.size(); ++k) {
    squared_waves_.push_back(std::pow(2.0 * pi * plan.waves_per_m(k), 2.0));
  }
  correlate(plan);
  measure(plan);
}

void SrpSignificance::correlate(const SrpPlan& plan) {
  constexpr double kFarthest = 3.0;  // Hann's correlation ends there
  const std::size_t bins = plan.bins.size();
  std::vector<double> sorted = plan.frequencies_hz;
  std::sort(sorted.begin(), sorted.end());
  double bin_hz = plan.bin_hz;
  for (std::size_t i = 1; plan.bin_hz == 0.0 && i < sorted.size(); ++i) {
    // For spectra of an unknown window, treat their nearest lines as neighbouring bins.
    bin_hz = i == 1 ? sorted[1] - sorted[0] : std::min(bin_hz, sorted[i] - sorted[i - 1]);
  }
  const auto correlation_between = [&](std::size_t one, std::size_t other) {
    const double apart = std::abs(plan.frequencies_hz[other] - plan.frequencies_hz[one]) / bin_hz;
    const double rho = apart < kFarthest ? correlation(plan.window, apart) : 0.0;
    return weights_ == SrpWeights::kNone ? rho : correlation_of_phases(rho);
  };
  std::vector<std::vector<std::pair<std::size_t, double>>> later(bins);  // [bin] later ones that it correlates with
  for (std::size_t one = 0; one < bins; ++one) {
    for (std::size_t other = one + 1; other < bins; ++other) {
      if (const double rho = correlation_between(one, other); rho > kLeastCorrelation) {
        pairs_.push_back({one, other, rho});
        later[one].emplace_back(other, rho);
      }
    }
  }
  for (const Pair& pair : pairs_) {
    for (const auto& [third, rho] : later[pair.other]) {
      if (const double closing = correlation_between(pair.one, third); closing > kLeastCorrelation) {
        triples_.push_back({{pair.one, pair.other, third}, pair.correlation * rho * closing});
      }
    }
  }
}

void SrpSignificance::measure(const SrpPlan& plan) {
  if (plan.dimensions == 0) {
    parts_ = static_cast<double>(plan.pixels());  // each pixel is independent
    return;
  }
  constexpr std::size_t kMostCells = 4096;  // over all planes; skipped cells are represented by neighbours
  const std::size_t pixels = plan.columns * plan.rows;
  std::size_t stride = (plan.pixels() + kMostCells - 1) / kMostCells;
  while (plan.columns > 2 && std::gcd(stride, plan.columns - 1) != 1) {
    ++stride;  // otherwise some columns would never be measured
  }
  for (std::size_t first = 0; first + pixels <= plan.pixels(); first += pixels) {
    parts_ += 1.0;
    measure_plane(plan, first, stride);
  }
}

/// Measures every `stride`-th cell, which stands for `stride` cells, for the area and for each edge.
void SrpSignificance::measure_plane(const SrpPlan& plan, std::size_t first, std::size_t stride) {
  const std::size_t rows = std::max<std::size_t>(plan.rows, 2) - 1;
  const std::size_t columns = std::max<std::size_t>(plan.columns, 2) - 1;
  const auto metric_of = [&](std::size_t row, std::size_t column) -> std::optional<Metric> {
    const Position& pixel = plan.grid.pixels[first + row * plan.columns + column];
    const auto step_to = [&](std::size_t to_row, std::size_t to_column) {
      const bool is_there = to_row < plan.rows && to_column < plan.columns;
      return is_there ? difference(plan.grid.pixels[first + to_row * plan.columns + to_column], pixel) : Position();
    };
    const Metric metric = metric_at(plan, pixel, step_to(row, column + 1), step_to(row + 1, column));
    return std::isfinite(metric.first) && std::isfinite(metric.second) ? std::optional(metric) : std::nullopt;
  };
  /// Number of cells, of `cells`, that the one at `cell` stands for.
  const auto weight_of = [&](std::size_t cell, std::size_t cells) {
    return static_cast<double>(std::min(stride, cells - cell));
  };
  for (std::size_t cell = 0; cell < rows * columns; cell += stride) {
    if (const auto metric = metric_of(cell / columns, cell % columns)) {
      area_ += weight_of(cell, rows * columns) * metric->area();
    }
  }
  // Add half of the perimeter.
  for (std::size_t column = 0; column < columns; column += stride) {
    for (const std::size_t row : {std::size_t{0}, plan.rows - 1}) {
      const auto metric = metric_of(row, column);
      length_ += metric ? 0.5 * weight_of(column, columns) * std::sqrt(metric->first) : 0.0;
    }
  }
  for (std::size_t row = 0; row < rows; row += stride) {
    for (const std::size_t column : {std::size_t{0}, plan.columns - 1}) {
      const auto metric = metric_of(row, column);
      length_ += metric ? 0.5 * weight_of(row, rows) * std::sqrt(metric->second) : 0.0;
    }
  }
}

double SrpSignificance::weight(double bin_power) const {
  return weights_ == SrpWeights::kNone ? bin_power : (bin_power > 0.0 ? 1.0 : 0.0);
}

/// Cumulants of sum_k w_k |s_k|^2 with s complex normal of correlation C: (n - 1)! tr (W C)^n.
SrpSignificance::Moments SrpSignificance::moments_of(std::span<const double> bin_powers) const {
  Moments moments;
  double second = 0.0;
  double third = 0.0;
  for (const double power : bin_powers) {
    const double w = weight(power);
    moments.sum += w;
    second += w * w;
    third += w * w * w;
  }
  for (const Pair& pair : pairs_) {
    const double one = weight(bin_powers[pair.one]);
    const double other = weight(bin_powers[pair.other]);
    const double square = pair.correlation * pair.correlation;
    second += 2.0 * square * one * other;
    third += 3.0 * square * one * other * (one + other);
  }
  for (const Triple& triple : triples_) {
    third += 6.0 * triple.product * weight(bin_powers[triple.bins[0]]) * weight(bin_powers[triple.bins[1]]) *
             weight(bin_powers[triple.bins[2]]);
  }
  if (moments.sum > 0.0) {
    moments.variance = second / (moments.sum * moments.sum);
    moments.skewness = 2.0 * third / std::pow(second, 1.5);
  }
  return moments;
}

double SrpSignificance::effective_bins(std::span<const double> bin_powers) const {
  const double variance = moments_of(bin_powers).variance;
  return variance > 0.0 ? 1.0 / variance : 0.0;
}

double SrpSignificance::operator()(double p, double microphones, std::span<const double> bin_powers) const {
  const Moments moments = moments_of(bin_powers);
  if (moments.variance <= 0.0 || !(p > 0.0)) {
    return 0.0;
  }
  double waves = 0.0;
  for (std::size_t k = 0; k < bin_powers.size(); ++k) {
    waves += weight(bin_powers[k]) * squared_waves_[k] / moments.sum;
  }
  // Use the chi-squared field of the same skewness, with threshold t.
  const double freedom = 8.0 / (moments.skewness * moments.skewness);
  const double threshold = freedom + std::sqrt(2.0 * freedom / moments.variance) * (p * microphones - 1.0);
  if (threshold <= 0.0) {
    return 0.0;
  }
  const double half = threshold / 2.0;
  const double shape = freedom / 2.0;
  // t^((nu - 2)/2) e^(-t/2) / (2^((nu - 2)/2) Gamma(nu/2))
  const double density = (shape - 1.0) * std::log(half) - half - std::lgamma(shape);
  double log_expected = std::log(parts_) + log_gamma_tail(shape, half);
  if (length_ > 0.0) {
    log_expected = log_sum(log_expected, std::log(length_ * std::sqrt(waves * threshold / (2.0 * pi))) + density);
  }
  if (area_ > 0.0 && threshold > freedom - 1.0) {
    log_expected =
        log_sum(log_expected, std::log(area_ * waves / (2.0 * pi) * (threshold - (freedom - 1.0))) + density);
  }
  constexpr double kRare = -20.0;
  const double log_probability =
      log_expected < kRare ? log_expected : std::log(-std::expm1(-std::exp(std::min(log_expected, -kRare))));
  return std::max(-log_probability / std::numbers::ln10, 0.0);
}

}  // namespace nearfield
