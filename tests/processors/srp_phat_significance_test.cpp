#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>

#include "processors/srp_phat/significance.hpp"
#include "processors/srp_phat_support.hpp"

/// What noise alone does, against the law that significance is computed by.
namespace nearfield {
namespace {

using test::Complex;
using test::SrpSetup;

// Of shape 1 the tail is e^-x, of shape 3 e^-x (1 + x + x^2/2); far out it has no double.
TEST(GammaTail, HasItsClosedForms) {
  for (const double x : {1e-3, 0.5, 2.0, 3.9, 4.1, 40.0, 900.0}) {
    EXPECT_NEAR(log_gamma_tail(1.0, x), -x, 1e-12 * std::max(x, 1.0));
    EXPECT_NEAR(log_gamma_tail(3.0, x), -x + std::log1p(x + x * x / 2.0), 1e-12 * std::max(x, 1.0));
  }
  EXPECT_EQ(log_gamma_tail(5.0, 0.0), 0.0);
}

/// Significance of p M = x at the only pixel of a grid.
double significance_of_one_pixel(SrpSetup setup, double x) {
  setup.own.grid.x_m = setup.own.grid.y_m = {0.1, 0.1};
  const std::vector<double> bins(setup.array.frequencies_hz.size(), 1.0);
  return SrpSignificance(setup.places())(x / 4.0, 4.0, bins);
}

/// Of a tail of one maximum to expect; rare ones are their probability.
double significance_of(double tail) { return -std::log10(-std::expm1(-tail)); }

// One bin: e^-x. Independent bins: Gamma(K, 1/K). Two bins that Hann's window correlates by rho = 2/3: the sum of two
// exponential numbers of means (1 +- rho)/2. Three moments are exact in the first two, and 0.1 decades off in the
// third.
TEST(SrpSignificance, OfOnePixelHasItsClosedForms) {
  for (const double x : {2.0, 5.0, 8.0}) {
    EXPECT_NEAR(significance_of_one_pixel(SrpSetup(2, 2, 11, 1), x), significance_of(std::exp(-x)), 1e-9);
    SrpSetup independent(2, 2, 11, 9);
    independent.settings.front_end.window = WindowKind::kNone;
    EXPECT_NEAR(significance_of_one_pixel(independent, x), significance_of(std::exp(log_gamma_tail(9.0, 9.0 * x))),
                1e-9);
  }
  SrpSetup two(2, 2, 11, 2);
  two.own.weights = SrpWeights::kNone;
  for (const double x : {3.0, 5.0, 7.0}) {
    constexpr double kLarge = 5.0 / 6.0;
    constexpr double kSmall = 1.0 / 6.0;
    const double tail = (kLarge * std::exp(-x / kLarge) - kSmall * std::exp(-x / kSmall)) / (kLarge - kSmall);
    EXPECT_NEAR(significance_of_one_pixel(two, x), significance_of(tail), 0.03) << x;
  }
}

/// p straight ahead, where no microphone is delayed, of frames of noise, times the number of microphones.
std::vector<double> powers_of_noise(const SrpSetup& setup, int frames, unsigned seed) {
  std::mt19937 generator(seed);
  const auto channels = static_cast<std::size_t>(setup.array.geometry.channels());
  std::vector<double> powers;
  for (int frame = 0; frame < frames; ++frame) {
    const std::vector<Complex> noise = setup.noise(generator);
    double power = 0.0;
    double total = 0.0;
    for (std::size_t first = 0; first < noise.size(); first += channels) {
      Complex sum = 0.0;
      for (std::size_t at = first; at < first + channels; ++at) {
        const Complex value = setup.own.weights == SrpWeights::kPhat ? noise[at] / std::abs(noise[at]) : noise[at];
        sum += value;
        total += std::norm(value);
      }
      power += std::norm(sum);
    }
    powers.push_back(power / total);
  }
  return powers;
}

// p M is Gamma(K, 1/K): mean 1, variance 1/K. 1,200 frames know the variance to some 5 %.
TEST(SrpSignificance, EffectiveBinsAreThoseOfNoise) {
  for (const SrpWeights weights : {SrpWeights::kPhat, SrpWeights::kNone}) {
    SrpSetup setup(8, 8, 11, 77);
    setup.own.weights = weights;
    setup.look_far(30.0, 5.0);
    const std::vector<double> powers = powers_of_noise(setup, 1200, 21);
    const double mean = std::accumulate(powers.begin(), powers.end(), 0.0) / static_cast<double>(powers.size());
    double variance = 0.0;
    for (const double power : powers) {
      variance += std::pow(power - mean, 2.0) / static_cast<double>(powers.size());
    }
    const SrpSignificance significance(setup.places());
    const double bins = significance.effective_bins(std::vector<double>(77, 1.0));
    EXPECT_NEAR(mean, 1.0, 0.02);
    EXPECT_NEAR(variance * bins, 1.0, 0.15);
    EXPECT_LT(bins, weights == SrpWeights::kPhat ? 50.0 : 45.0);
    EXPECT_GT(bins, weights == SrpWeights::kPhat ? 43.0 : 36.0);
  }
}

// B6, short: how often noise alone seems significant somewhere in the grid, on the device with its refinement.
TEST(SrpSignificance, FalseAlarmsAreAsRareAsItSays) {
  SrpSetup setup(8, 8, 22, 40);
  setup.look_far(24.0, 4.0);
  setup.own.keep_map = false;
  setup.own.tracks.enabled = false;
  test::SrpOnDevice processor(setup);
  std::mt19937 generator(31);
  constexpr int kFrames = 600;
  int tenths = 0;
  int hundredths = 0;
  for (int frame = 0; frame < kFrames; ++frame) {
    const std::vector<std::vector<double>> rows = processor.look(setup.noise(generator)).rows;
    ASSERT_EQ(rows.size(), 1U);
    tenths += rows[0][test::kSignificance] >= 1.0 ? 1 : 0;
    hundredths += rows[0][test::kSignificance] >= 2.0 ? 1 : 0;
    EXPECT_LT(rows[0][test::kSignificance], 6.0);
  }
  // Within a factor of 3 of 60 and 6; fewer than 2 of 6 or more than 18 would be one draw in 50 at that.
  EXPECT_GT(tenths, 20);
  EXPECT_LT(tenths, 180);
  EXPECT_GT(hundredths, 1);
  EXPECT_LT(hundredths, 18);
}

// B3, short: directions of sources in noise, 10 dB a microphone.
TEST(SrpSignificance, SourcesInNoiseAreFoundAndKnown) {
  SrpSetup setup(8, 8, 11, 77);
  setup.look_far(45.0, 3.0);
  setup.own.keep_map = false;
  setup.own.tracks.enabled = false;
  test::SrpOnDevice processor(setup);
  std::mt19937 generator(41);
  std::uniform_real_distribution<double> sines(-0.6, 0.6);
  std::vector<double> errors_deg;
  for (int i = 0; i < 60; ++i) {
    const double x = sines(generator);
    const double y = sines(generator);
    const far_field::Position source = {x, y, -std::sqrt(1.0 - x * x - y * y)};
    std::vector<Complex> spectra = setup.source(source, generator);
    const std::vector<Complex> noise = setup.noise(generator);
    for (std::size_t k = 0; k < spectra.size(); ++k) {
      spectra[k] += std::pow(10.0, -0.5) * noise[k];
    }
    const std::vector<std::vector<double>> rows = processor.look(spectra).rows;
    ASSERT_EQ(rows.size(), 1U);
    EXPECT_GT(rows[0][test::kSignificance], 6.0);
    errors_deg.push_back(distance(source, {rows[0][test::kX], rows[0][test::kY], rows[0][test::kZ]}) * 180.0 /
                         std::numbers::pi);
  }
  std::sort(errors_deg.begin(), errors_deg.end());
  EXPECT_LT(errors_deg[30], 0.5);
  EXPECT_LT(errors_deg[57], 1.5);
}

// B9, short: distances half a metre before an aperture of 0.62 m, 2 to 8 kHz, 10 dB.
TEST(SrpSignificance, DistancesInTheNearFieldAreFound) {
  SrpSetup setup(8, 8, 44, 131);
  setup.array.geometry.pitch_x_m = setup.array.geometry.pitch_y_m = 0.62 / 7.0;
  setup.own.grid.kind = far_field::GridKind::kVolume;
  setup.own.grid.x_m = setup.own.grid.y_m = {-0.1, 0.1};
  setup.own.grid.distance_m = {0.3, 1.5};
  setup.own.grid.step_m = 0.05;
  setup.own.keep_map = false;
  setup.own.tracks.enabled = false;
  test::SrpOnDevice processor(setup);
  std::mt19937 generator(43);
  std::uniform_real_distribution<double> across_m(-0.08, 0.08);
  std::uniform_real_distribution<double> away_m(0.45, 0.55);
  std::vector<double> errors_m;
  for (int i = 0; i < 15; ++i) {
    const far_field::Position source = {across_m(generator), across_m(generator), -away_m(generator)};
    std::vector<Complex> spectra = setup.source(source, generator, true);
    const std::vector<Complex> noise = setup.noise(generator);
    for (std::size_t k = 0; k < spectra.size(); ++k) {
      spectra[k] += std::pow(10.0, -0.5) * noise[k];
    }
    const std::vector<std::vector<double>> rows = processor.look(spectra).rows;
    ASSERT_EQ(rows.size(), 1U);
    errors_m.push_back(std::abs(rows[0][test::kZ] - setup.array.standoff_m - source.z));
  }
  std::sort(errors_m.begin(), errors_m.end());
  EXPECT_LE(errors_m[7], 0.02);
}

}  // namespace
}  // namespace nearfield
