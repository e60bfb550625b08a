#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <numbers>
#include <random>

#include "bench/front_ends/front_ends.hpp"

namespace nearfield::bench {
namespace {

TEST(WalshHadamard, IsTheSumOverSigns) {
  std::mt19937 generator(5);
  std::uniform_real_distribution<double> uniform(-1.0, 1.0);
  std::vector<double> values(64);
  for (double& value : values) {
    value = uniform(generator);
  }
  std::vector<double> fast = values;
  walsh_hadamard(fast);
  for (unsigned k = 0; k < 64; ++k) {
    double sum = 0.0;
    for (unsigned i = 0; i < 64; ++i) {
      sum += std::popcount(i & k) % 2 == 0 ? values[i] : -values[i];
    }
    EXPECT_NEAR(fast[k], sum, 1e-13) << k;  // 64 additions of numbers below 1
  }
}

TEST(WalshCounts, AgreeWithTheThesis) {
  // Section 5.3.2: about 91, 182, 365, 730, 1460 and 2930 Hz need only 10 of the 32768 coefficients.
  const std::vector<int> counts = walsh_counts(32768, 64, kWalshThreshold);
  ASSERT_EQ(counts.size(), 64U);
  for (const int bin : kThesisTenCoefficientBins) {
    EXPECT_EQ(counts[static_cast<std::size_t>(bin) - 1], kThesisFewestCoefficients) << bin;
  }
  EXPECT_GT(counts[22 - 1], 10);
}

TEST(WalshCounts, CountWhatALoopCounts) {
  constexpr int kLength = 128;
  constexpr int kBin = 5;
  int count = 0;
  for (unsigned k = 0; k < kLength; ++k) {
    double a = 0.0;
    double b = 0.0;
    for (unsigned i = 0; i < kLength; ++i) {
      const double sign = std::popcount(i & k) % 2 == 0 ? 1.0 : -1.0;
      const double phase = 2.0 * std::numbers::pi * kBin * i / kLength;
      a += sign * std::cos(phase);
      b += sign * std::sin(phase);
    }
    count += std::abs(a) * 2.0 / kLength > 0.1 ? 1 : 0;
    count += std::abs(b) * 2.0 / kLength > 0.1 ? 1 : 0;
  }
  EXPECT_EQ(walsh_counts(kLength, kBin, 0.1).back(), count);
}

}  // namespace
}  // namespace nearfield::bench
