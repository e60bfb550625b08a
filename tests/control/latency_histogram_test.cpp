#include "control/metrics/latency_histogram.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <random>
#include <thread>
#include <vector>

namespace nearfield::control {
namespace {

TEST(LatencyHistogram, BucketsHoldWhatTheirBoundsSay) {
  std::mt19937_64 random(5);
  for (int draw = 0; draw < 100000; ++draw) {
    const auto duration_ns = static_cast<std::int64_t>(random() >> (1 + random() % 63));
    const std::size_t bucket = latency_bucket(duration_ns);
    const double duration_s = 1e-9 * static_cast<double>(duration_ns);
    ASSERT_LT(bucket, LatencyCounts::kBuckets);
    // Bounds are whole nanoseconds times 1e-9, as the duration is: both round alike, so comparisons are exact.
    ASSERT_LT(duration_s, latency_upper_bound_s(bucket));
    if (bucket > 0) {
      ASSERT_GE(duration_s, latency_upper_bound_s(bucket - 1));
    }
  }
  EXPECT_EQ(latency_bucket(-5), 0U);
  EXPECT_EQ(latency_bucket(1023), 0U);
  EXPECT_EQ(latency_bucket(1024), 1U);
  EXPECT_EQ(latency_bucket((std::int64_t{1} << 36) - 1), LatencyCounts::kBuckets - 2);
  EXPECT_EQ(latency_bucket(std::numeric_limits<std::int64_t>::max()), LatencyCounts::kBuckets - 1);
}

TEST(LatencyHistogram, PercentilesAreWithinABucketOfTheTruth) {
  LatencyHistogram histogram;
  std::vector<double> truth_s;
  std::mt19937_64 random(6);
  std::lognormal_distribution<double> draw_ms(1.0, 1.0);
  for (int i = 0; i < 100000; ++i) {
    const double duration_ms = draw_ms(random);
    histogram.record(static_cast<std::int64_t>(duration_ms * 1e6));
    truth_s.push_back(duration_ms * 1e-3);
  }
  std::sort(truth_s.begin(), truth_s.end());
  const LatencyCounts counts = histogram.read();
  EXPECT_EQ(counts.total(), truth_s.size());
  for (const double fraction : {0.001, 0.5, 0.99, 0.999}) {
    const double expected_s = truth_s[static_cast<std::size_t>(std::ceil(fraction * 1e5)) - 1];
    const double found_s = counts.percentile_s(fraction);
    EXPECT_GE(found_s, expected_s) << fraction;
    // The upper bound of a bucket that is an eighth of its lower bound wide.
    EXPECT_LE(found_s, expected_s * 1.125) << fraction;
  }
}

TEST(LatencyHistogram, EdgesOfPercentiles) {
  LatencyHistogram histogram;
  EXPECT_TRUE(std::isnan(histogram.read().percentile_s(0.5)));
  histogram.record(2'000'000);
  const double bound_s = latency_upper_bound_s(latency_bucket(2'000'000));
  EXPECT_EQ(histogram.read().percentile_s(0.0), bound_s);
  EXPECT_EQ(histogram.read().percentile_s(1.0), bound_s);
  histogram.record(std::int64_t{1} << 40);
  EXPECT_NEAR(histogram.read().percentile_s(1.0), 68.719476736, 1e-9);  // 2^36 ns, all that is known
}

TEST(LatencyHistogram, DifferencesForgetThePast) {
  LatencyHistogram histogram;
  histogram.record(1'000'000'000);
  const LatencyCounts before = histogram.read();
  histogram.record(2'000);
  const LatencyCounts recent = histogram.read().since(before);
  EXPECT_EQ(recent.total(), 1U);
  EXPECT_EQ(recent.sum_ns, 2000);
  EXPECT_LT(recent.percentile_s(1.0), 3e-6);
}

TEST(LatencyHistogram, LosesNothingBetweenThreads) {
  LatencyHistogram histogram;
  constexpr int kEach = 20000;
  std::vector<std::thread> threads;
  for (int thread = 0; thread < 4; ++thread) {
    threads.emplace_back([&histogram, thread] {
      for (int i = 0; i < kEach; ++i) {
        histogram.record(1000 << thread);
      }
    });
  }
  for (std::thread& thread : threads) {
    thread.join();
  }
  EXPECT_EQ(histogram.read().total(), 4U * kEach);
  EXPECT_EQ(histogram.read().sum_ns, kEach * (1000 + 2000 + 4000 + 8000));
}

}  // namespace
}  // namespace nearfield::control
