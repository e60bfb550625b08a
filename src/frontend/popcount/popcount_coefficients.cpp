#include "frontend/popcount/popcount_coefficients.hpp"

#include <algorithm>
#include <cmath>
#include <numbers>

#include "core/geometry.hpp"

namespace nearfield {
namespace {

using Complex = std::complex<double>;

constexpr double kCentre = (kBitsPerWord - 1) / 2.0;
constexpr double kMeanSquare = (kBitsPerWord * kBitsPerWord - 1) / 12.0;

double polynomial(int q, int place) {
  const double u = place - kCentre;
  return q == 0 ? 1.0 : q == 1 ? u : u * u - kMeanSquare;
}

double squared_norm(int q) {
  double sum = 0.0;
  for (int place = 0; place < kBitsPerWord; ++place) {
    sum += polynomial(q, place) * polynomial(q, place);
  }
  return sum;
}

/// sum_i p_q(i) e^{j radians i}.
Complex word_response(int q, double radians) {
  Complex sum = 0.0;
  for (int place = 0; place < kBitsPerWord; ++place) {
    sum += polynomial(q, place) * std::polar(1.0, radians * place);
  }
  return sum;
}

/// A term of the window: weight e^{j (bins) (one bin's radians) t}.
struct WindowTerm {
  int bins;
  double weight;
};

std::vector<WindowTerm> window_terms(WindowKind window) {
  if (window == WindowKind::kNone) {
    return {{0, 1.0}};
  }
  return {{0, 0.5}, {-1, -0.25}, {1, -0.25}};
}

double window_value(WindowKind window, double turns) {
  return window == WindowKind::kNone ? 1.0 : 0.5 - 0.5 * std::cos(2.0 * std::numbers::pi * turns);
}

/// Projections of the analysis vector, not yet divided by their response.
std::vector<Complex> projections(const WordExpansion& expansion) {
  const auto words = static_cast<std::size_t>(expansion.words);
  const double bits = static_cast<double>(kBitsPerWord) * expansion.words;
  const auto moments = static_cast<std::size_t>(expansion.order + 1);
  std::vector<Complex> values(moments * words, 0.0);
  for (std::size_t word = 0; word < words; ++word) {
    for (int place = 0; place < kBitsPerWord; ++place) {
      const double t = static_cast<double>(kBitsPerWord) * static_cast<double>(word) + place;
      const Complex d = window_value(expansion.window, t / bits) * expansion.vector.without_window(t);
      for (std::size_t q = 0; q < moments; ++q) {
        values[q * words + word] += polynomial(static_cast<int>(q), place) * d;
      }
    }
  }
  for (std::size_t q = 0; q < moments; ++q) {
    const double norm = squared_norm(static_cast<int>(q));
    for (std::size_t word = 0; word < words; ++word) {
      values[q * words + word] /= norm;
    }
  }
  return values;
}

/// Half the sum of the projections' moments of e^{jwt}.
Complex half_response_of(const WordExpansion& expansion, const std::vector<Complex>& coefficients) {
  const auto words = static_cast<std::size_t>(expansion.words);
  const double radians = expansion.vector.radians_per_step;
  Complex sum = 0.0;
  for (int q = 0; q <= expansion.order; ++q) {
    const Complex in_word = word_response(q, radians);
    for (std::size_t word = 0; word < words; ++word) {
      const Complex turn = std::polar(1.0, radians * kBitsPerWord * static_cast<double>(word));
      sum += coefficients[static_cast<std::size_t>(q) * words + word] * in_word * turn;
    }
  }
  return sum / 2.0;
}

}  // namespace

std::complex<double> half_response(const WordExpansion& expansion) {
  return half_response_of(expansion, projections(expansion));
}

std::vector<std::complex<double>> exponential_coefficients(double radians_per_bit, int order) {
  std::vector<Complex> values;
  for (int q = 0; q <= order; ++q) {
    values.push_back(word_response(q, -radians_per_bit) / squared_norm(q));
  }
  return values;
}

std::vector<std::complex<double>> word_coefficients(const WordExpansion& expansion) {
  std::vector<Complex> values = projections(expansion);
  const Complex response = half_response_of(expansion, values);
  for (Complex& value : values) {
    value /= response;
  }
  return values;
}

std::vector<std::array<BinWeight, kUsedBins>> bin_weights(const WordExpansion& expansion, std::uint32_t bin) {
  const int middle = static_cast<int>(bin);
  const int last = expansion.words / 2;
  const std::array<int, kUsedBins> used = {middle - 1, middle, std::min(middle + 1, last), 0, 1};
  const double bin_radians = 2.0 * std::numbers::pi / (static_cast<double>(kBitsPerWord) * expansion.words);
  const Complex response = half_response(expansion);
  std::vector<std::array<BinWeight, kUsedBins>> weights(static_cast<std::size_t>(expansion.order + 1));
  // sum_t s(t) e^{-j (index) t} of an exponential of the analysis, weighted, as a bin of the moments' transforms.
  const auto add = [&](int index, const Complex& weight) {
    const bool beyond = std::abs(index) > last;  // odd number of words: bin N - index is the conjugate
    const int bin_used = beyond ? expansion.words - std::abs(index) : std::abs(index);
    const auto at = static_cast<std::size_t>(std::find(used.begin(), used.end(), bin_used) - used.begin());
    for (int q = 0; q <= expansion.order; ++q) {
      const Complex factor = weight * word_response(q, -bin_radians * index) / (squared_norm(q) * response);
      BinWeight& target = weights[static_cast<std::size_t>(q)].at(at);
      ((index < 0) != beyond ? target.mirrored : target.direct) += factor;
    }
  };
  for (const WindowTerm& term : window_terms(expansion.window)) {
    add(middle + term.bins, expansion.vector.forward * term.weight);
    add(-middle + term.bins, expansion.vector.image * term.weight);
    add(term.bins, expansion.vector.constant * term.weight);
  }
  return weights;
}

}  // namespace nearfield
