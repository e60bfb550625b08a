#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <map>
#include <numbers>
#include <string>

#include "core/error.hpp"
#include "frontend/test_bits.hpp"
#include "frontend/walsh_fourier/walsh_fourier_reference.hpp"
#include "frontend/walsh_fourier/walsh_summation.hpp"

namespace nearfield {
namespace {

using Complex = std::complex<double>;

constexpr double kTwoPi = 2.0 * std::numbers::pi;
constexpr std::size_t kBits = 32768;
constexpr unsigned kLog2Bits = 15;

/// +1 and -1 as the thesis prints a row of W_8.
std::string row_of(const std::function<int(std::uint32_t)>& value) {
  std::string row;
  for (std::uint32_t i = 0; i < 8; ++i) {
    row += value(i) == 1 ? '+' : '-';
  }
  return row;
}

// Thesis, eq. 5.9.
TEST(WalshFunctions, W8IsTheThesiss) {
  const std::array<std::string, 8> w8 = {"++++++++", "++++----", "++----++", "++--++--",
                                         "+--++--+", "+--+-++-", "+-+--+-+", "+-+-+-+-"};
  for (std::uint32_t m = 0; m < 8; ++m) {
    EXPECT_EQ(row_of([&](std::uint32_t i) { return reference::walsh(m, i, 3); }), w8[m]);
    EXPECT_EQ(row_of([&](std::uint32_t i) { return std::popcount(walsh_mask(m, 3) & i) % 2 == 0 ? 1 : -1; }), w8[m]);
  }
}

// Thesis, table 5.1 and figure 5.2: RAD(1) is the slowest.
TEST(WalshFunctions, RademacherFunctions) {
  EXPECT_EQ(row_of([](std::uint32_t i) { return reference::rademacher(0, i, 3); }), "++++++++");
  EXPECT_EQ(row_of([](std::uint32_t i) { return reference::rademacher(1, i, 3); }), "++++----");
  EXPECT_EQ(row_of([](std::uint32_t i) { return reference::rademacher(2, i, 3); }), "++--++--");
  EXPECT_EQ(row_of([](std::uint32_t i) { return reference::rademacher(3, i, 3); }), "+-+-+-+-");
}

TEST(WalshFunctions, SequencyIsTheNumberOfZeroCrossings) {
  for (std::uint32_t m = 0; m < 1024; ++m) {
    std::uint32_t crossings = 0;
    for (std::uint32_t i = 1; i < 1024; ++i) {
      crossings += reference::walsh(m, i, 10) != reference::walsh(m, i - 1, 10) ? 1U : 0U;
    }
    ASSERT_EQ(crossings, m);
  }
}

TEST(WalshFunctions, FastTransformIsTheSumWithEachWalshFunction) {
  std::mt19937 generator(test::fresh_seed());
  std::normal_distribution<double> normal;
  for (const unsigned log2_length : {0U, 1U, 3U, 8U}) {
    const std::uint32_t length = 1U << log2_length;
    std::vector<Complex> values(length);
    for (Complex& value : values) {
      const double real = normal(generator);
      value = Complex(real, normal(generator));
    }
    std::vector<Complex> transform = values;
    fast_walsh_hadamard(transform);
    for (std::uint32_t m = 0; m < length; ++m) {
      Complex sum = 0.0;
      for (std::uint32_t i = 0; i < length; ++i) {
        sum += values[i] * static_cast<double>(reference::walsh(m, i, log2_length));
      }
      EXPECT_NEAR(std::abs(transform[walsh_mask(m, log2_length)] - sum), 0.0, 1e-12) << m;
    }
  }
}

/// Weights of bin k of a window of `length` bits, without DC removal.
std::vector<Complex> weights_of_bin(WindowKind window, std::size_t length, int bin, bool remove_dc) {
  const double radians = kTwoPi * bin / static_cast<double>(length);
  return walsh_weights(analysis_vector(window, length, radians, remove_dc), window, length);
}

// Thesis, eq. 5.11: rows b_1 to a_3 of A^-1, printed to 4 decimals. 0.2071 and 1.2071 are (sqrt 2 -+ ...) / 2.
TEST(WalshFunctions, InverseOfA8IsTheThesiss) {
  using Row = std::array<double, 8>;
  const std::array<Row, 3> a = {
      {{0, 0.5, 1.2071, 0, 0, -0.2071, 0.5, 0}, {0, 0, 0, 1, 1, 0, 0, 0}, {0, 0.5, -0.2071, 0, 0, 1.2071, 0.5, 0}}};
  const std::array<Row, 3> b = {
      {{0, 1.2071, -0.5, 0, 0, -0.5, -0.2071, 0}, {0, 0, 0, 1, -1, 0, 0, 0}, {0, 0.2071, 0.5, 0, 0, 0.5, -1.2071, 0}}};
  for (std::size_t k = 1; k <= 3; ++k) {
    const std::vector<Complex> weights = weights_of_bin(WindowKind::kNone, 8, static_cast<int>(k), false);
    for (std::size_t m = 0; m < 8; ++m) {
      EXPECT_NEAR(weights[m].real(), a[k - 1][m], 5e-5) << "a_" << k << ", A(" << m << ")";
      EXPECT_NEAR(-weights[m].imag(), b[k - 1][m], 5e-5) << "b_" << k << ", A(" << m << ")";
    }
  }
}

WalshFourierSettings keep(int coefficients, double threshold = 0.0, WalshVariant variant = WalshVariant::kComputed) {
  return {.variant = variant, .coefficients = coefficients, .threshold = threshold};
}

std::vector<std::uint32_t> functions(const std::vector<WalshTerm>& terms) {
  std::vector<std::uint32_t> numbers;
  for (const WalshTerm& term : terms) {
    numbers.push_back(term.function);
  }
  return numbers;
}

TEST(WalshFunctions, TheLargestAreKeptAndTiesGoToTheLowest) {
  const std::vector<Complex> weights = {0.1, Complex(0.0, 1.0), 0.5, 1.0 + 1e-15, -0.5, 0.01, 0.5 - 1e-15, 2.0};
  using Numbers = std::vector<std::uint32_t>;
  EXPECT_EQ(functions(keep_terms(weights, keep(2))), (Numbers{1, 7}));
  EXPECT_EQ(functions(keep_terms(weights, keep(4))), (Numbers{1, 2, 3, 7}));
  EXPECT_EQ(functions(keep_terms(weights, keep(5))), (Numbers{1, 2, 3, 4, 7}));
  EXPECT_EQ(functions(keep_terms(weights, keep(0, 0.5))), (Numbers{1, 2, 3, 4, 6, 7}));
  EXPECT_EQ(keep_terms(weights, keep(0)).size(), 8U);
  EXPECT_EQ(keep_terms(weights, keep(100)).size(), 8U);
  EXPECT_TRUE(keep_terms(weights, keep(0, 3.0)).empty());
}

std::size_t in_word_patterns(const std::vector<WalshTerm>& terms) {
  std::map<std::uint32_t, int> patterns;
  for (const WalshTerm& term : terms) {
    ++patterns[walsh_mask(term.function, kLog2Bits) & 31U];
  }
  return patterns.size();
}

// What `fast` pays for is in-word patterns: 6 up to 6 N coefficients, 16 up to 16 N, then 32.
TEST(WalshFunctions, FastChoosesAmongFewInWordPatterns) {
  struct Case {
    int coefficients;
    std::size_t terms;
    std::size_t patterns;
  };
  for (const auto& [coefficients, terms, patterns] :
       {Case{40, 40, 1}, Case{6144, 6144, 6}, Case{6145, 6145, 16}, Case{16384, 16384, 16}, Case{20000, 20000, 32},
        Case{0, 32768, 32}}) {
    const auto kept = walsh_terms(keep(coefficients, 0.0, WalshVariant::kFast), WindowKind::kHann, true, kBits,
                                  kTwoPi * 44.0 / static_cast<double>(kBits));
    EXPECT_EQ(kept.size(), terms) << coefficients;
    EXPECT_EQ(in_word_patterns(kept), patterns) << coefficients;
  }
}

// The terms' mixing makes every kept set exact on a real tone, and an offset leaves nothing.
TEST(WalshFunctions, AnyKeptSetReturnsATonesPhasor) {
  for (const WindowKind window : {WindowKind::kHann, WindowKind::kNone}) {
    for (const int count : {2, 5, 40, 0}) {
      for (const int bin : {1, 3, 22, 44}) {
        const double radians = kTwoPi * bin / 2048.0;
        const auto terms = walsh_terms(keep(count), window, true, 2048, radians);
        const Complex phasor = std::polar(0.3, 1.0);
        Complex found = 0.0;
        for (const WalshTerm& term : terms) {
          for (std::uint32_t i = 0; i < 2048; ++i) {
            const double value = (phasor * std::polar(1.0, radians * i)).real() + 0.2;
            found += term.weight * (reference::walsh(term.function, i, 11) * value);
          }
        }
        EXPECT_NEAR(std::abs(found - phasor), 0.0, 1e-9) << count << " coefficients, bin " << bin;
      }
    }
  }
}

TEST(WalshFunctions, TooFewCoefficientsAreRefused) {
  const double radians = kTwoPi * 22.0 / 2048.0;
  EXPECT_THROW((void)walsh_terms(keep(1), WindowKind::kHann, true, 2048, radians), ConfigError);
  EXPECT_THROW((void)walsh_terms(keep(0, 10.0), WindowKind::kHann, true, 2048, radians), ConfigError);
}

// Thesis, figure 5.4: the bins at F / 2^14, F / 2^13, ... need 10 coefficients above 0.1, and more are needed the
// higher the frequency. The curve is printed for docs/how/walsh_fourier.md.
TEST(WalshFunctions, CoefficientsAboveATenthPerBin) {
  std::map<int, std::size_t> above;
  std::map<int, std::size_t> rows;
  for (int bin = 1; bin <= 218; ++bin) {
    const std::vector<Complex> weights = weights_of_bin(WindowKind::kNone, kBits, bin, false);
    for (const Complex& weight : weights) {
      above[bin] += std::abs(weight) > 0.1 ? 1U : 0U;
      rows[bin] += std::abs(weight.real()) > 0.1 || std::abs(weight.imag()) > 0.1 ? 1U : 0U;
    }
  }
  double low = 0.0;
  double high = 0.0;
  std::printf("bin: coefficients with |a| or |b| above 0.1, with |a - jb| above 0.1\n");
  for (const auto& [bin, count] : rows) {
    std::printf("%d: %zu, %zu%s", bin, count, above[bin], bin % 8 == 0 || bin == 218 ? "\n" : "; ");
    (bin <= 109 ? low : high) += static_cast<double>(count) / 109.0;
  }
  std::printf("mean of bins 1 to 109: %.1f, of 110 to 218: %.1f\n", low, high);
  for (const int bin : {2, 4, 8, 16, 32, 64}) {
    EXPECT_EQ(rows[bin], 10U) << bin;
  }
  EXPECT_GT(high, low);
}

/// A tone through a second-order error-feedback modulator from a random past: bits u + (1 - z^-1)^2 e.
std::vector<double> modulated_tone(Complex phasor, double radians, std::mt19937& generator) {
  std::uniform_real_distribution<double> past(-1.0, 1.0);
  double error = past(generator);
  double older = past(generator);
  std::vector<double> bits(kBits);
  for (std::size_t t = 0; t < kBits; ++t) {
    const double value = (phasor * std::polar(1.0, radians * static_cast<double>(t))).real() - 2.0 * error + older;
    bits[t] = value >= 0.0 ? 1.0 : -1.0;
    older = std::exchange(error, bits[t] - value);
  }
  return bits;
}

/// d(t) of the kept terms: their Walsh functions, summed.
std::vector<Complex> kept_analysis(const std::vector<WalshTerm>& terms) {
  std::vector<Complex> d(kBits);
  for (const WalshTerm& term : terms) {
    d[walsh_mask(term.function, kLog2Bits)] = term.weight;
  }
  fast_walsh_hadamard(d);
  return d;
}

/// Error against the true tones of 16 microphones, relative L2, with the terms' Walsh sums.
double error_of(const std::vector<WalshTerm>& terms, const std::vector<std::vector<double>>& bits,
                const std::vector<Complex>& tones) {
  const std::vector<Complex> d = kept_analysis(terms);
  std::vector<Complex> found;
  for (const std::vector<double>& channel : bits) {
    Complex sum = 0.0;
    for (std::size_t t = 0; t < kBits; ++t) {
      sum += d[t] * channel[t];
    }
    found.push_back(sum);
  }
  double difference = 0.0;
  double norm = 0.0;
  for (std::size_t i = 0; i < tones.size(); ++i) {
    difference += std::norm(found[i] - tones[i]);
    norm += std::norm(tones[i]);
  }
  return std::sqrt(difference / norm);
}

double print_error(const WalshFourierSettings& settings, double radians, const std::vector<std::vector<double>>& bits,
                   const std::vector<Complex>& tones) {
  const auto terms = walsh_terms(settings, WindowKind::kHann, true, kBits, radians);
  const double error = error_of(terms, bits, tones);
  std::printf("  %s, coefficients %d, threshold %g: %zu kept, %zu in-word patterns, %.3g %%\n",
              std::string(name_of(settings.variant)).c_str(), settings.coefficients, settings.threshold, terms.size(),
              in_word_patterns(terms), 100.0 * error);
  return error;
}

// The trade of coefficients against error, printed for docs/how/walsh_fourier.md.
TEST(WalshFunctions, ErrorFallsWithTheCoefficients) {
  std::mt19937 generator(test::fresh_seed());
  std::uniform_real_distribution<double> turn(0.0, kTwoPi);
  for (const int bin : {22, 44}) {
    for (const double level_dbfs : {-32.0, -46.0}) {
      const double radians = kTwoPi * bin / static_cast<double>(kBits);
      std::vector<Complex> tones;
      std::vector<std::vector<double>> bits;
      for (int channel = 0; channel < 16; ++channel) {
        tones.push_back(std::polar(std::sqrt(2.0) * std::pow(10.0, level_dbfs / 20.0), turn(generator)));
        bits.push_back(modulated_tone(tones.back(), radians, generator));
      }
      std::printf("bin %d, %.0f dBFS rms, hann: coefficients (in-word patterns) relative error\n", bin, level_dbfs);
      double last = 1.0;
      double first = 0.0;
      for (const int count : {10, 20, 40, 80, 160, 320, 640, 1280, 2560, 5120, 10240, 0}) {
        last = print_error(keep(count), radians, bits, tones);
        first = first == 0.0 ? last : first;
      }
      for (const double threshold : {0.1, 0.01, 1e-3, 1e-4, 1e-5}) {
        (void)print_error(keep(0, threshold), radians, bits, tones);
      }
      for (const int count : {40, 1024, 2048, 3072, 6144, 16384}) {
        const double fast = print_error(keep(count, 0.0, WalshVariant::kFast), radians, bits, tones);
        EXPECT_TRUE(count != 6144 || level_dbfs < -40.0 || fast < 1e-3) << "the issue's mark at -32 dBFS";
        EXPECT_TRUE(count != 16384 || fast < 1.3 * last) << "16 patterns come close to all of them";
      }
      EXPECT_LT(last, 2e-3);
      EXPECT_GT(first, 10.0 * last);
    }
  }
}

}  // namespace
}  // namespace nearfield
