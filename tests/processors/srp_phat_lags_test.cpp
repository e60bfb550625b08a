#include <gtest/gtest.h>

#include <algorithm>
#include <limits>
#include <string>

#include "core/error.hpp"
#include "imaging/priors/make_mask.hpp"
#include "processors/srp_phat_support.hpp"

/// The map in the time domain: pairs of microphones and their lags.
namespace nearfield {
namespace {

using far_field::Position;
using test::Complex;
using test::SrpFrame;
using test::SrpOnDevice;
using test::SrpReference;
using test::SrpSetup;

std::vector<Complex> noisy(const SrpSetup& setup, const Position& place, double noise, std::mt19937& generator) {
  std::vector<Complex> spectra = setup.source(place, generator);
  const std::vector<Complex> of_noise = setup.noise(generator);
  for (std::size_t i = 0; i < spectra.size(); ++i) {
    spectra[i] += noise * of_noise[i];
  }
  return spectra;
}

struct LagCase {
  std::string name;
  LagInterpolation interpolation;
  bool is_far;
  SrpWeights weights;
  int longest;
  bool is_cut;  ///< as for GPUs
  std::size_t bins = 17;
};

class SrpLagKinds : public testing::TestWithParam<LagCase> {};

// float32 against double. Between two lags there are no jumps, 1e-4 of the maximum. The nearest lag of a pair may be
// another one where it is rounded from the middle: one in a thousand of a map's pairs and pixels changes by as much as
// the phase between two lags, 2 pi 4 kHz / 187.5 kHz = 0.14 at the most, over the number of pairs.
TEST_P(SrpLagKinds, DeviceAndReferenceAgree) {
  const LagCase& one = GetParam();
  SrpSetup setup(3, 5, 20, one.bins);
  setup.own.domain = SrpDomain::kTime;
  setup.own.interpolation = one.interpolation;
  setup.own.weights = one.weights;
  setup.own.pairs.longest = one.longest;
  if (one.is_far) {
    setup.look_far(45.0, 5.0);
  } else {
    setup.own.grid.step_m = 0.06;
    setup.own.grid.distance_m = {0.6};
  }
  std::mt19937 generator(41);
  std::vector<Complex> spectra =
      noisy(setup, one.is_far ? Position{0.2, 0.1, -std::sqrt(0.95)} : Position{0.1, -0.14, -0.6}, 0.5, generator);
  spectra[13] = {std::numeric_limits<double>::quiet_NaN(), 0.0};
  SrpReference reference(setup);
  SrpCut cut = one.is_cut ? SrpCut::of_groups() : SrpCut::for_device(test::srp_device().info(), setup.places());
  cut.group = one.is_cut ? 64 : cut.group;
  cut.fit(setup.places());
  SrpOnDevice device(setup, cut);
  for (const std::vector<int>& masked : {std::vector<int>(), std::vector<int>{2, 9}}) {
    reference.use(make_mask(setup.array, masked));
    device.use(make_mask(setup.array, masked));
    const SrpFrame expected = reference.look(test::widen(test::narrow(spectra)));
    const SrpFrame found = device.look(spectra);
    ASSERT_EQ(found.map.size(), expected.map.size());
    const double one_flip = 0.14 / (one.longest > 0 ? 10.0 : 60.0);  // of the pairs that remain
    std::size_t others = 0;
    for (std::size_t i = 0; i < found.map.size(); ++i) {
      ASSERT_EQ(std::isnan(found.map[i]), std::isnan(expected.map[i])) << i;
      if (!std::isnan(found.map[i])) {
        const double error = std::abs(static_cast<double>(found.map[i]) - static_cast<double>(expected.map[i]));
        others += error > 1e-4 ? 1 : 0;
        ASSERT_LT(error, one.interpolation == LagInterpolation::kLinear ? 1e-4 : one_flip) << i;
      }
    }
    EXPECT_LT(others, found.map.size() / 20);
    ASSERT_EQ(found.rows.size(), expected.rows.size());
    ASSERT_EQ(found.rows.size(), 1U);
    EXPECT_NEAR(found.rows[0][test::kConfidence], expected.rows[0][test::kConfidence], 1e-3);
  }
}

INSTANTIATE_TEST_SUITE_P(
    All, SrpLagKinds,
    testing::Values(LagCase{"Nearest", LagInterpolation::kNearest, false, SrpWeights::kPhat, 0, false},
                    LagCase{"Linear", LagInterpolation::kLinear, false, SrpWeights::kPhat, 0, false},
                    LagCase{"FarByPower", LagInterpolation::kLinear, true, SrpWeights::kNone, 0, false},
                    LagCase{"LongestPairs", LagInterpolation::kLinear, true, SrpWeights::kPhat, 30, false},
                    LagCase{"InGroups", LagInterpolation::kLinear, false, SrpWeights::kPhat, 0, true},
                    LagCase{"InGroupsOfWays", LagInterpolation::kLinear, false, SrpWeights::kPhat, 0, true, 67},
                    LagCase{"InGroupsOfMostWays", LagInterpolation::kLinear, true, SrpWeights::kPhat, 0, true, 257}),
    [](const auto& one) { return one.param.name; });

// B1: the finer the lags, the nearer the time domain comes to the frequency domain: a line between lags 1/16 of a
// sample apart differs by (2 pi f / rate)^2 / 8 of a coherence at most, 1.4e-4 at 4 kHz.
TEST(SrpLags, OfAllPairsAreTheFrequencyDomain) {
  SrpSetup setup(3, 5, 20, 60);
  setup.own.grid.step_m = 0.2;
  std::mt19937 generator(42);
  const std::vector<Complex> spectra = noisy(setup, {0.1, -0.2, -1.0}, 0.7, generator);
  const SrpFrame expected = SrpOnDevice(setup).look(spectra);
  setup.own.domain = SrpDomain::kTime;
  setup.own.upsample = 16;
  setup.own.interpolation = LagInterpolation::kLinear;
  const SrpFrame found = SrpOnDevice(setup).look(spectra);
  for (std::size_t i = 0; i < expected.map.size(); ++i) {
    EXPECT_NEAR(found.map[i], expected.map[i], 1.6e-4) << i;
  }
}

// B1: where all lags are whole samples the nearest lag is the lag itself. Pitches are two samples of sound long seen
// from 30 degrees, so that lags of all pairs are whole for directions of -30, 0 and 30 degrees along both axes.
TEST(SrpLags, OfWholeSamplesAreTheFrequencyDomain) {
  SrpSetup setup(4, 5, 20, 60);
  setup.array.geometry.pitch_x_m = 4.0 * setup.array.medium.sound_speed_m_s / SrpSetup::kRate_hz;
  setup.array.geometry.pitch_y_m = setup.array.geometry.pitch_x_m;
  setup.look_far(30.0, 30.0);
  std::mt19937 generator(45);
  const std::vector<Complex> spectra = noisy(setup, {0.5, -0.5, -std::sqrt(0.5)}, 0.5, generator);
  const SrpFrame reference = SrpReference(setup).look(spectra);
  const SrpFrame device = SrpOnDevice(setup).look(spectra);
  ASSERT_EQ(device.map.size(), 9U);
  setup.own.domain = SrpDomain::kTime;
  setup.own.upsample = 1;
  setup.own.interpolation = LagInterpolation::kNearest;
  const SrpFrame reference_of_lags = SrpReference(setup).look(spectra);
  const SrpFrame device_of_lags = SrpOnDevice(setup).look(spectra);
  for (std::size_t i = 0; i < device.map.size(); ++i) {
    EXPECT_NEAR(reference_of_lags.map[i], reference.map[i], 1e-6) << i;  // maps are float32
    EXPECT_NEAR(device_of_lags.map[i], device.map[i], 1e-5) << i;
    EXPECT_NEAR(device_of_lags.map[i], reference.map[i], 1e-5) << i;
  }
  const auto largest = std::max_element(device_of_lags.map.begin(), device_of_lags.map.end());
  EXPECT_EQ(largest - device_of_lags.map.begin(), 2);  // up on the right: the source
}

// B2: at the only source, below 4 kHz, the nearest of four lags a sample leaves 0.99 of p = 1.
TEST(SrpLags, AreNearlyOneAtTheOnlySource) {
  SrpSetup setup(8, 8, 11, 77);
  const Position source = {0.13, -0.21, -0.9};
  setup.own.domain = SrpDomain::kTime;
  setup.own.grid.x_m = {source.x, source.x};
  setup.own.grid.y_m = {source.y, source.y};
  setup.own.grid.distance_m = {-source.z};
  std::mt19937 generator(43);
  const std::vector<Complex> spectra = setup.source(source, generator);
  for (const SrpFrame& frame : {SrpReference(setup).look(spectra), SrpOnDevice(setup).look(spectra)}) {
    EXPECT_GE(frame.map[0], 0.99);
    EXPECT_LE(frame.map[0], 1.0);
    ASSERT_EQ(frame.rows.size(), 1U);
    EXPECT_NEAR(frame.rows[0][test::kConfidence], 1.0, 2e-5);  // refined in the frequency domain
  }
}

TEST(SrpLags, AreChosenWhereTheyNeedFewerOperations) {
  SrpSetup few(2, 4, 11, 300);
  few.own.domain = SrpDomain::kAuto;
  few.own.grid.step_m = 0.01;  // 10,201 pixels: 28 pairs of 400 each, against 8 times 300 times 16
  EXPECT_TRUE(few.places().is_time);
  EXPECT_EQ(few.places().pairs.size(), 28U);
  few.own.grid.step_m = 1.0;  // 4 pixels: lags cost more than they do
  EXPECT_FALSE(few.places().is_time);
  SrpSetup many(9, 9, 11, 77);
  many.own.domain = SrpDomain::kAuto;
  many.own.grid.step_m = 0.01;
  EXPECT_FALSE(many.places().is_time);
}

TEST(SrpLags, AreOfTheLongestOrTheGivenPairs) {
  SrpSetup setup(1, 4, 20, 5);
  setup.own.domain = SrpDomain::kTime;
  setup.own.pairs.longest = 3;  // of equal ones the first
  using Pairs = std::vector<std::array<std::size_t, 2>>;
  EXPECT_EQ(setup.places().pairs, (Pairs{{0, 2}, {0, 3}, {1, 3}}));
  setup.own.pairs = {.longest = 0, .list = {{3, 1}, {0, 1}}};
  EXPECT_EQ(setup.places().pairs, (Pairs{{0, 1}, {1, 3}}));
}

std::string refusal(const SrpSetup& setup) {
  try {
    (void)setup.places();
  } catch (const ConfigError& error) {
    return error.what();
  }
  return "";
}

TEST(SrpLags, AreRefusedWithTheReason) {
  SrpSetup setup(12, 12, 20, 5);
  setup.own.domain = SrpDomain::kTime;
  EXPECT_EQ(
      refusal(setup),
      "processors.where.pairs: expected at most 8192 pairs for domain: time, such as longest 8192, found 10296 of "
      "144 microphones");
  setup.own.pairs.list = {{3, 144}};
  EXPECT_EQ(refusal(setup), "processors.where.pairs: expected channels from 0 to 143, found [3, 144]");
  setup.own.pairs.list = {{3, 14}, {14, 3}};
  EXPECT_EQ(refusal(setup), "processors.where.pairs: expected each pair once, found [3, 14] twice");
  setup.own.pairs = {};
  ProcessorPlan plan = setup.plan();
  plan.sample_rate_hz = 0.0;
  EXPECT_THROW(SrpPlan{plan}, ConfigError);
  setup.own.domain = SrpDomain::kAuto;
  plan = setup.plan();
  plan.sample_rate_hz = 0.0;
  EXPECT_FALSE(SrpPlan(plan).is_time);
}

}  // namespace
}  // namespace nearfield
