#include "frontend/walsh_fourier/walsh_functions.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <numeric>

#include "core/error.hpp"
#include "frontend/common/spectral_bins.hpp"

namespace nearfield {
namespace {

using Complex = std::complex<double>;

/// Magnitudes closer than this, relative to the largest, are ties; it is above the rounding errors of sums of 2^20
/// terms.
constexpr double kTie = 1e-12;
/// Least share of the tone that the kept terms must hold to determine amplitude and phase.
constexpr double kLeastDeterminant = 1e-6;

/// Indexes by falling magnitude, runs of ties by rising index.
std::vector<std::uint32_t> by_magnitude(const std::vector<double>& magnitudes, double tie) {
  std::vector<std::uint32_t> order(magnitudes.size());
  std::iota(order.begin(), order.end(), 0U);
  std::sort(order.begin(), order.end(),
            [&](std::uint32_t a, std::uint32_t b) { return magnitudes[a] > magnitudes[b]; });
  for (auto begin = order.begin(); begin != order.end();) {
    auto end = begin + 1;
    while (end != order.end() && magnitudes[*(end - 1)] - magnitudes[*end] <= tie) {
      ++end;
    }
    std::sort(begin, end);
    begin = end;
  }
  return order;
}

}  // namespace

unsigned log2_of(std::size_t power_of_two) { return static_cast<unsigned>(std::bit_width(power_of_two) - 1); }

std::uint32_t walsh_mask(std::uint32_t sequency, unsigned log2_length) {
  const std::uint32_t gray = sequency ^ (sequency >> 1U);
  std::uint32_t mask = 0;
  for (unsigned bit = 0; bit < log2_length; ++bit) {
    mask |= ((gray >> bit) & 1U) << (log2_length - 1U - bit);
  }
  return mask;
}

std::uint32_t walsh_word(std::uint32_t mask) {
  std::uint32_t word = 0;
  for (std::uint32_t bit = 0; bit < kBitsPerWord; ++bit) {
    word |= (static_cast<std::uint32_t>(std::popcount(mask & bit)) & 1U) << bit;
  }
  return word;
}

void fast_walsh_hadamard(std::span<Complex> values) {
  for (std::size_t half = 1; half < values.size(); half *= 2) {
    for (std::size_t i = 0; i < values.size(); ++i) {
      if ((i & half) == 0) {
        const Complex first = values[i];
        values[i] = first + values[i + half];
        values[i + half] = first - values[i + half];
      }
    }
  }
}

std::vector<Complex> walsh_weights(const AnalysisVector& analysis, WindowKind window, std::size_t length) {
  std::vector<Complex> values(length);
  const std::vector<double> shape = window_values(window, static_cast<int>(length));
  for (std::size_t t = 0; t < length; ++t) {
    values[t] = shape[t] * analysis.without_window(static_cast<double>(t));
  }
  fast_walsh_hadamard(values);
  const unsigned log2 = log2_of(length);
  std::vector<Complex> weights(length);
  for (std::size_t m = 0; m < length; ++m) {
    weights[m] = values[walsh_mask(static_cast<std::uint32_t>(m), log2)];
  }
  return weights;
}

int in_word_order(const WalshFourierSettings& settings, std::size_t length) {
  if (settings.variant == WalshVariant::kFast && settings.coefficients > 0) {
    const std::size_t words = length / kBitsPerWord;
    const auto wanted = static_cast<std::size_t>(settings.coefficients);
    if (wanted <= 16 * words) {
      return wanted <= 6 * words ? 1 : 2;
    }
  }
  return std::bit_width(static_cast<unsigned>(kBitsPerWord)) - 1;
}

std::vector<WalshTerm> keep_terms(const std::vector<Complex>& weights, const WalshFourierSettings& settings) {
  std::vector<double> magnitudes(weights.size());
  std::transform(weights.begin(), weights.end(), magnitudes.begin(), [](Complex weight) { return std::abs(weight); });
  const double tie = kTie * *std::max_element(magnitudes.begin(), magnitudes.end());
  std::vector<std::uint32_t> kept = by_magnitude(magnitudes, tie);
  const unsigned log2 = log2_of(weights.size());
  const int order = in_word_order(settings, weights.size());
  std::erase_if(kept, [&](std::uint32_t m) {
    return std::popcount(walsh_mask(m, log2) & static_cast<std::uint32_t>(kBitsPerWord - 1)) > order;
  });
  if (settings.coefficients > 0) {
    kept.resize(std::min(kept.size(), static_cast<std::size_t>(settings.coefficients)));
  } else {
    std::erase_if(kept, [&](std::uint32_t m) { return magnitudes[m] < settings.threshold - tie; });
  }
  std::sort(kept.begin(), kept.end());
  std::vector<WalshTerm> terms;
  for (const std::uint32_t m : kept) {
    terms.push_back({.function = m, .weight = weights[m] / static_cast<double>(weights.size())});
  }
  return terms;
}

ToneResponse tone_response(const std::vector<WalshTerm>& terms, std::size_t length, double radians_per_bit) {
  // The transform of e^{-jwt}; that of e^{jwt} is its conjugate.
  const AnalysisVector tone{.forward = 1.0, .image = 0.0, .constant = 0.0, .radians_per_step = radians_per_bit};
  const std::vector<Complex> image = walsh_weights(tone, WindowKind::kNone, length);
  ToneResponse response{};
  for (const WalshTerm& term : terms) {
    response.forward += term.weight * std::conj(image[term.function]);
    response.image += term.weight * image[term.function];
  }
  return response;
}

std::vector<WalshTerm> walsh_terms(const WalshFourierSettings& settings, WindowKind window, bool remove_dc,
                                   std::size_t length, double radians_per_bit) {
  const AnalysisVector analysis = analysis_vector(window, length, radians_per_bit, remove_dc);
  std::vector<WalshTerm> terms = keep_terms(walsh_weights(analysis, window, length), settings);
  // y = (P A + Q conj(A)) / 2 for a tone of phasor A, hence A = 2 (conj(P) y - Q conj(y)) / (|P|^2 - |Q|^2), and
  // conj(y) has the conjugate weights, for Walsh coefficients are real.
  const auto [forward, image] = tone_response(terms, length, radians_per_bit);
  const double determinant = std::norm(forward) - std::norm(image);
  if (!(determinant > kLeastDeterminant)) {
    throw ConfigError(fmt::format(
        "front_end.walsh_fourier: expected enough coefficients, or a low enough threshold, to determine a tone's "
        "amplitude and phase, found {} kept (coefficients {}, threshold {})",
        terms.size(), settings.coefficients, settings.threshold));
  }
  for (WalshTerm& term : terms) {
    term.weight = 2.0 * (std::conj(forward) * term.weight - image * std::conj(term.weight)) / determinant;
  }
  return terms;
}

}  // namespace nearfield
