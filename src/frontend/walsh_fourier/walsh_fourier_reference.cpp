#include "frontend/walsh_fourier/walsh_fourier_reference.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <numbers>
#include <numeric>
#include <set>

#include "core/error.hpp"
#include "frontend/common/analysis_reference.hpp"
#include "frontend/walsh_fourier/settings.hpp"

namespace nearfield::reference {
namespace {

constexpr std::size_t kRunWords = 8;
/// Magnitudes closer than this share of the largest are ties.
constexpr double kTie = 1e-12;

using Vector = std::array<double, 3>;

Vector cross(const Vector& a, const Vector& b) {
  return {a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]};
}
double dot(const Vector& a, const Vector& b) { return a[0] * b[0] + a[1] * b[1] + a[2] * b[2]; }

double window_value(WindowKind window, double turns) {
  const double sine = std::sin(std::numbers::pi * turns);
  return window == WindowKind::kHann ? sine * sine : 1.0;
}

}  // namespace

int rademacher(unsigned r, std::uint32_t i, unsigned log2_length) {
  return r == 0 || ((i >> (log2_length - r)) & 1U) == 0 ? 1 : -1;
}

int walsh(std::uint32_t m, std::uint32_t i, unsigned log2_length) {
  int product = 1;
  for (unsigned bit = 0; bit < log2_length; ++bit) {
    // Gray code: bit b of m ^ (m >> 1).
    if ((((m >> bit) ^ (m >> (bit + 1))) & 1U) != 0) {
      product *= rademacher(bit + 1, i, log2_length);
    }
  }
  return product;
}

WalshFourierFrontEnd::WalshFourierFrontEnd(const FrontEndPlan& plan)
    : plan_(plan),
      channels_(static_cast<std::size_t>(plan.geometry.channels())),
      words_(static_cast<std::size_t>(plan.settings.window_samples)),
      length_(words_ * kWordBits) {
  validate(plan);
  if (!plan.input_is_bits) {
    throw ConfigError("front_end.kind: walsh_fourier takes bits, found time data");
  }
  while ((std::size_t{1} << log2_length_) < length_) {
    ++log2_length_;
  }
  if ((std::size_t{1} << log2_length_) != length_) {
    throw ConfigError(
        fmt::format("front_end.window_samples: expected a power of two for walsh_fourier, found {}", words_));
  }
  wire_words_ = static_cast<std::size_t>(words_per_bit_time(plan.layout, plan.geometry));
  bits_.resize(channels_);
  std::vector<std::vector<Complex>> signals;  // analysis vector, then tone, of each frequency
  for (const double wanted_hz : plan.settings.frequencies_hz) {
    const double frequency_hz = snapped_frequency_hz(wanted_hz, plan.sample_rate_hz, plan.settings.window_samples);
    actual_frequencies_hz_.push_back(frequency_hz);
    const double radians =
        2.0 * std::numbers::pi * frequency_hz / (plan.sample_rate_hz * static_cast<double>(kWordBits));
    signals.push_back(analysis(radians));
    std::vector<Complex> tone(length_);
    for (std::size_t t = 0; t < length_; ++t) {
      tone[t] = std::polar(1.0, radians * static_cast<double>(t));
    }
    signals.push_back(tone);
  }
  const std::vector<std::vector<Complex>> transforms = transform(signals);
  std::set<std::uint32_t> functions;
  for (std::size_t f = 0; f < actual_frequencies_hz_.size(); ++f) {
    add_frequency(transforms[2 * f], transforms[2 * f + 1]);
    functions.insert(kept_.back().begin(), kept_.back().end());
  }
  for (const std::uint32_t number : functions) {
    functions_.push_back(function(number));
  }
}

WalshFourierFrontEnd::Function WalshFourierFrontEnd::function(std::uint32_t number) const {
  Function result{.number = number, .sign_of_word = Signs(words_), .sign_in_word = Signs(kWordBits)};
  for (std::size_t w = 0; w < words_; ++w) {
    const auto first = static_cast<std::uint32_t>(w * kWordBits);
    result.sign_of_word[w] = static_cast<signed char>(walsh(number, first, log2_length_));
  }
  for (std::size_t p = 0; p < kWordBits; ++p) {
    result.sign_in_word[p] = static_cast<signed char>(walsh(number, static_cast<std::uint32_t>(p), log2_length_));
  }
  return result;
}

/// d(t) with A = sum d(t) x(t). With DC removal u, v, c of x(t) = u cos(wt) - v sin(wt) + c are fitted by weighted
/// least squares, from the normal equations, and A = u + jv.
std::vector<std::complex<double>> WalshFourierFrontEnd::analysis(double radians_per_bit) const {
  std::vector<Complex> d(length_);
  std::array<Vector, 3> normal{};
  double weight_sum = 0.0;
  const auto basis = [&](std::size_t t) {
    const double angle = radians_per_bit * static_cast<double>(t);
    return Vector{std::cos(angle), -std::sin(angle), 1.0};
  };
  const auto weight = [&](std::size_t t) {
    return window_value(plan_.settings.window, static_cast<double>(t) / static_cast<double>(length_));
  };
  for (std::size_t t = 0; t < length_; ++t) {
    const Vector b = basis(t);
    weight_sum += weight(t);
    for (std::size_t i = 0; i < 3; ++i) {
      for (std::size_t k = 0; k < 3; ++k) {
        normal[i][k] += weight(t) * b[i] * b[k];
      }
    }
  }
  // Rows of the inverse of a symmetric matrix.
  const Vector row_u = cross(normal[1], normal[2]);
  const Vector row_v = cross(normal[2], normal[0]);
  const double determinant = dot(normal[0], row_u);
  for (std::size_t t = 0; t < length_; ++t) {
    const Vector b = basis(t);
    const Complex fitted = Complex(dot(row_u, b), dot(row_v, b)) / determinant;
    const Complex plain = Complex(b[0], b[1]) * (2.0 / weight_sum);
    d[t] = weight(t) * (plan_.settings.remove_dc ? fitted : plain);
  }
  return d;
}

/// [signal][m] = sum_t signal(t) WAL(m, t).
std::vector<std::vector<std::complex<double>>> WalshFourierFrontEnd::transform(
    const std::vector<std::vector<Complex>>& signals) const {
  std::vector<std::vector<Complex>> result(signals.size(), std::vector<Complex>(length_));
  std::map<Signs, std::vector<std::vector<Complex>>> word_sums;  // [signal][word] for each in-word pattern
  for (std::uint32_t m = 0; m < length_; ++m) {
    const Function wal = function(m);
    std::vector<std::vector<Complex>>& sums = word_sums[wal.sign_in_word];
    for (std::size_t s = 0; s < signals.size() && sums.size() < signals.size(); ++s) {
      sums.emplace_back(words_, 0.0);
      for (std::size_t t = 0; t < length_; ++t) {
        sums.back()[t / kWordBits] += signals[s][t] * static_cast<double>(wal.sign_in_word[t % kWordBits]);
      }
    }
    for (std::size_t s = 0; s < signals.size(); ++s) {
      for (std::size_t w = 0; w < words_; ++w) {
        result[s][m] += sums[s][w] * static_cast<double>(wal.sign_of_word[w]);
      }
    }
  }
  return result;
}

/// Rademacher functions in WAL(m) that change sign within a word: those with half a period of 1 to 16 bits.
int WalshFourierFrontEnd::in_word_factors(std::uint32_t m) const {
  int count = 0;
  for (std::uint32_t half_period = 1; half_period < kWordBits; half_period *= 2) {
    count += walsh(m, half_period, log2_length_) == -1 ? 1 : 0;
  }
  return count;
}

std::vector<std::uint32_t> WalshFourierFrontEnd::select(const std::vector<Complex>& weights) const {
  const WalshFourierSettings& settings = plan_.settings.own.get<WalshFourierSettings>();
  double largest = 0.0;
  for (const Complex& weight : weights) {
    largest = std::max(largest, std::abs(weight));
  }
  std::vector<std::uint32_t> order(weights.size());
  std::iota(order.begin(), order.end(), 0U);
  // `fast` with a count: products of at most one in-word Rademacher function while 6 N suffice, of two while 16 N do.
  const auto wanted = static_cast<std::size_t>(settings.coefficients);
  if (settings.variant == WalshVariant::kFast && wanted > 0 && wanted <= 16 * words_) {
    const int most = wanted <= 6 * words_ ? 1 : 2;
    std::erase_if(order, [&](std::uint32_t m) { return in_word_factors(m) > most; });
  }
  std::stable_sort(order.begin(), order.end(),
                   [&](std::uint32_t a, std::uint32_t b) { return std::abs(weights[a]) > std::abs(weights[b]); });
  std::size_t count = 0;
  if (settings.coefficients > 0) {
    count = std::min(order.size(), static_cast<std::size_t>(settings.coefficients));
  } else {
    while (count < order.size() && std::abs(weights[order[count]]) >= settings.threshold - kTie * largest) {
      ++count;
    }
  }
  // A run of ties may extend across the cut: keep the lower functions.
  const auto tied = [&](std::size_t i) {
    return std::abs(weights[order[i - 1]]) - std::abs(weights[order[i]]) <= kTie * largest;
  };
  std::size_t begin = count;
  std::size_t end = count;
  while (begin > 0 && begin < order.size() && tied(begin)) {
    --begin;
  }
  while (end > 0 && end < order.size() && tied(end)) {
    ++end;
  }
  std::sort(order.begin() + static_cast<std::ptrdiff_t>(begin), order.begin() + static_cast<std::ptrdiff_t>(end));
  order.resize(count);
  std::sort(order.begin(), order.end());
  return order;
}

/// Keeps the wanted terms, and mixes them so that cos(wt) gives 1 and -sin(wt) gives j.
void WalshFourierFrontEnd::add_frequency(const std::vector<Complex>& weights, const std::vector<Complex>& tone) {
  const std::vector<std::uint32_t> kept = select(weights);
  const auto length = static_cast<double>(length_);
  Complex of_cosine = 0.0;
  Complex of_sine = 0.0;
  for (const std::uint32_t m : kept) {
    of_cosine += weights[m] * tone[m].real() / length;
    of_sine -= weights[m] * tone[m].imag() / length;
  }
  const double determinant = of_cosine.real() * of_sine.imag() - of_cosine.imag() * of_sine.real();
  if (!(4.0 * determinant > 1e-6)) {
    throw ConfigError(
        fmt::format("front_end.walsh_fourier: {} coefficients cannot determine amplitude and phase", kept.size()));
  }
  const double full_scale = std::sqrt(2.0) / std::pow(10.0, plan_.sensitivity_dbfs / 20.0);
  kept_.push_back(kept);
  weights_.emplace_back();
  for (const std::uint32_t m : kept) {
    const Complex weight = weights[m];
    const double u = of_sine.imag() * weight.real() - of_sine.real() * weight.imag();
    const double v = of_cosine.real() * weight.imag() - of_cosine.imag() * weight.real();
    weights_.back().push_back(full_scale * Complex(u, v) / determinant);
  }
}

void WalshFourierFrontEnd::push_bits(std::uint64_t first_word, std::span<const std::uint32_t> wire) {
  if (wire.size() % (kWordBits * wire_words_) != 0) {
    throw Error(ExitCode::kInternal,
                fmt::format("reference walsh_fourier: {} wire words are no whole groups", wire.size()));
  }
  const bool continues = begin_ != end_ && first_word == end_;
  const std::vector<int> wire_bits = wire_bit_of_channel(plan_.layout, plan_.geometry);
  const std::size_t forget = continues && end_ - begin_ > 4 * words_ ? 2 * words_ : 0;
  for (std::size_t channel = 0; channel < channels_; ++channel) {
    Signs& bits = bits_[channel];
    bits.erase(bits.begin(), continues ? bits.begin() + static_cast<std::ptrdiff_t>(forget * kWordBits) : bits.end());
    const auto wire_bit = static_cast<std::size_t>(wire_bits[channel]);
    for (std::size_t time = 0; time < wire.size() / wire_words_; ++time) {
      const std::uint32_t word = wire[time * wire_words_ + wire_bit / kWordBits];
      bits.push_back(((word >> (wire_bit % kWordBits)) & 1U) != 0 ? 1 : -1);
    }
  }
  begin_ = continues ? begin_ + forget : first_word;
  end_ = first_word + wire.size() / (kWordBits * wire_words_);
}

void WalshFourierFrontEnd::push_samples(std::uint64_t /*first_sample*/, std::span<const float> /*values*/) {
  throw Error(ExitCode::kInternal, "reference walsh_fourier: fed with samples, expected bits as planned");
}

std::vector<std::complex<double>> WalshFourierFrontEnd::spectra(std::uint64_t first_sample_index) {
  if (first_sample_index < begin_ || first_sample_index + words_ > end_) {
    throw Error(ExitCode::kInternal,
                fmt::format("reference walsh_fourier: window at {} is not among the words {} to {}", first_sample_index,
                            begin_, end_));
  }
  clipped_ = false;
  std::vector<Complex> values(channels_ * kept_.size());
  for (std::size_t channel = 0; channel < channels_; ++channel) {
    const signed char* bits = bits_[channel].data() + (first_sample_index - begin_) * kWordBits;
    const std::vector<double> a = walsh_coefficients(bits);
    for (std::size_t f = 0; f < kept_.size(); ++f) {
      for (std::size_t term = 0; term < kept_[f].size(); ++term) {
        const auto place = std::lower_bound(functions_.begin(), functions_.end(), kept_[f][term],
                                            [](const Function& wal, std::uint32_t m) { return wal.number < m; });
        values[f * channels_ + channel] += weights_[f][term] * a[static_cast<std::size_t>(place - functions_.begin())];
      }
    }
    const bool dead = std::count(plan_.dead_channels.begin(), plan_.dead_channels.end(), static_cast<int>(channel)) > 0;
    clipped_ = clipped_ || (!dead && is_clipped(bits));
  }
  return values;
}

/// A(m) of each kept function.
std::vector<double> WalshFourierFrontEnd::walsh_coefficients(const signed char* bits) const {
  std::map<Signs, std::vector<double>> word_sums;  // [word], for each in-word pattern
  std::vector<double> a;
  for (const Function& wal : functions_) {
    std::vector<double>& sums = word_sums[wal.sign_in_word];
    for (std::size_t w = 0; w < words_ && sums.size() < words_; ++w) {
      double sum = 0.0;
      for (std::size_t p = 0; p < kWordBits; ++p) {
        sum += wal.sign_in_word[p] * bits[w * kWordBits + p];
      }
      sums.push_back(sum);
    }
    double sum = 0.0;
    for (std::size_t w = 0; w < words_; ++w) {
      sum += wal.sign_of_word[w] * sums[w];
    }
    a.push_back(sum / static_cast<double>(length_));
  }
  return a;
}

bool WalshFourierFrontEnd::is_clipped(const signed char* bits) const {
  const std::size_t run = std::min(kRunWords, words_);
  for (std::size_t w = 0; w + run <= words_; ++w) {
    const signed char* first = bits + w * kWordBits;
    const int balance = std::accumulate(first, first + run * kWordBits, 0);
    if (std::abs(balance) >= kClipLevel * static_cast<double>(run * kWordBits)) {
      return true;
    }
  }
  return false;
}

}  // namespace nearfield::reference
