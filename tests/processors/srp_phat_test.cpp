#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <limits>
#include <string>

#include "core/error.hpp"
#include "imaging/priors/make_mask.hpp"
#include "processors/srp_phat_support.hpp"

/// Closed forms of the map, and the device against the reference.
namespace nearfield {
namespace {

using far_field::GridKind;
using far_field::Position;
using test::Complex;
using test::SrpFrame;
using test::SrpOnDevice;
using test::SrpReference;
using test::SrpSetup;

std::vector<Complex> sum(std::vector<Complex> a, const std::vector<Complex>& b, double scale) {
  for (std::size_t i = 0; i < a.size(); ++i) {
    a[i] += scale * b[i];
  }
  return a;
}

/// 1/M + 2/(K M^2) sum over pairs and bins of Re(Z_i conj(Z_j) e^{+j 2 pi f (tau_i - tau_j)}).
double pair_sum(const SrpSetup& setup, const std::vector<Complex>& spectra, const Position& pixel) {
  const SrpPlan plan = setup.places();
  const std::size_t channels = plan.channels();
  double total = 0.0;
  for (std::size_t k = 0; k < plan.bins.size(); ++k) {
    for (std::size_t i = 0; i < channels; ++i) {
      for (std::size_t j = i + 1; j < channels; ++j) {
        const Complex a = spectra[k * channels + i];
        const Complex b = spectra[k * channels + j];
        const double path_m = distance(pixel, plan.microphones[i]) - distance(pixel, plan.microphones[j]);
        total += (a / std::abs(a) * std::conj(b / std::abs(b)) *
                  std::polar(1.0, 2.0 * std::numbers::pi * plan.waves_per_m(k) * path_m))
                     .real();
      }
    }
  }
  const auto m = static_cast<double>(channels);
  return 1.0 / m + 2.0 * total / (static_cast<double>(plan.bins.size()) * m * m);
}

// B1: the sum over microphones is the sum over all pairs. 1e-5 is what float32 leaves of the contract's figure.
TEST(SrpPhat, IsTheSumOverAllPairs) {
  SrpSetup setup(3, 5, 11, 20);
  setup.own.grid.step_m = 0.2;
  std::mt19937 generator(1);
  const std::vector<Complex> spectra = sum(setup.source({0.1, -0.2, -1.0}, generator), setup.noise(generator), 0.7);
  const SrpPlan plan = setup.places();
  const SrpFrame reference = SrpReference(setup).look(spectra);
  const SrpFrame device = SrpOnDevice(setup).look(spectra);
  ASSERT_EQ(reference.map.size(), plan.pixels());
  for (std::size_t i = 0; i < plan.pixels(); ++i) {
    const double expected = pair_sum(setup, spectra, plan.grid.pixels[i]);
    EXPECT_NEAR(reference.map[i], expected, 1e-7) << i;  // the map is float32
    EXPECT_NEAR(device.map[i], expected, 1e-5) << i;
  }
}

// B2: all phases agree at the only source; noise has 1/M on average.
TEST(SrpPhat, IsOneAtTheOnlySource) {
  SrpSetup setup(8, 8, 11, 77);
  setup.own.grid.kind = GridKind::kPoints;
  const Position source = {0.31, -0.17, -0.9};
  setup.own.grid.kind = GridKind::kPlane;
  setup.own.grid.x_m = {source.x, source.x};
  setup.own.grid.y_m = {source.y, source.y};
  setup.own.grid.distance_m = {-source.z};
  std::mt19937 generator(2);
  const std::vector<Complex> spectra = setup.source(source, generator);
  EXPECT_NEAR(SrpReference(setup).look(spectra).map[0], 1.0, 1e-7);
  EXPECT_NEAR(SrpOnDevice(setup).look(spectra).map[0], 1.0, 1e-5);
  // Its level is that of the classic beam: mean(1/r) of the amplitudes, whose squares' sum over bins counts.
  double power = 0.0;
  double mean_inverse = 0.0;
  const SrpPlan plan = setup.places();
  for (const Position& microphone : plan.microphones) {
    mean_inverse += 1.0 / distance(source, microphone) / 64.0;
  }
  for (std::size_t k = 0; k < 77; ++k) {
    power += std::norm(spectra[k * 64] * distance(source, plan.microphones[0]) * mean_inverse) / 2.0 / 1.5;
  }
  const SrpFrame frame = SrpOnDevice(setup).look(spectra);
  ASSERT_EQ(frame.rows.size(), 1U);
  EXPECT_NEAR(frame.rows[0][test::kLevel], 10.0 * std::log10(power / 4e-10), 1e-3);
  EXPECT_NEAR(frame.rows[0][test::kConfidence], 1.0, 2e-5);
}

TEST(SrpPhat, FindsADirectionBetweenPixels) {
  SrpSetup setup(8, 8, 11, 77);
  setup.look_far(60.0, 4.0);
  const Position source = {std::sin(0.3), std::sin(-0.21),
                           -std::sqrt(1.0 - std::pow(std::sin(0.3), 2.0) - std::pow(std::sin(0.21), 2.0))};
  std::mt19937 generator(3);
  const std::vector<Complex> spectra = setup.source(source, generator);
  for (const SrpFrame& frame : {SrpReference(setup).look(spectra), SrpOnDevice(setup).look(spectra)}) {
    ASSERT_EQ(frame.rows.size(), 1U);
    const Position found = {frame.rows[0][test::kX], frame.rows[0][test::kY], frame.rows[0][test::kZ]};
    // The last round's spacing is 4/16 degrees; the top of its peak lies within a tenth of that.
    EXPECT_LT(distance(found, source), 0.1 * 4.0 / 16.0 * std::numbers::pi / 180.0);
    EXPECT_NEAR(norm(found), 1.0, 1e-6);
    EXPECT_NEAR(frame.rows[0][test::kConfidence], 1.0, 1e-3);
    EXPECT_EQ(frame.rows[0][test::kState], 1.0);
    EXPECT_GT(frame.rows[0][test::kSignificance], 300.0);
  }
}

struct Case {
  std::string name;
  GridKind grid;
  bool is_far;
  SrpWeights weights;
  std::size_t bins;
  int sources;
  bool is_uneven;
};

class SrpKinds : public testing::TestWithParam<Case> {};

// float32 against double: 1e-4 of the map's maximum, and places within the last round's spacing.
TEST_P(SrpKinds, DeviceAndReferenceAgree) {
  const Case& one = GetParam();
  SrpSetup setup(7, 11, 20, one.bins);
  if (one.is_uneven) {
    setup.array.frequencies_hz.back() += 13.7;
  }
  setup.array.gains.assign(one.bins * 77, {0.5F, -0.25F});
  far_field::GridSettings& grid = setup.own.grid;
  grid.kind = one.grid;
  grid.step_m = 0.07;
  grid.step_deg = 5.0;
  grid.count = 301;
  grid.angles_deg = {5.0, 175.0};
  grid.distance_m = {one.is_far ? far_field::kInfinitelyFar : 0.6};
  if (one.grid == GridKind::kVolume) {
    grid.distance_m = {0.4, 0.75};
  }
  if (one.grid == GridKind::kSphere) {
    grid.azimuth_deg = {0.0, 360.0};
    grid.elevation_deg = {20.0, 90.0};
    grid.radius_m = {0.6, 3.0};
  }
  setup.own.weights = one.weights;
  setup.own.sources = one.sources;
  std::mt19937 generator(5);
  const Position near = {0.08, -0.13, -0.6};
  const Position source = one.is_far ? Position{0.2, 0.1, -std::sqrt(0.95)} : near;
  std::vector<Complex> spectra = sum(setup.source(source, generator), setup.noise(generator), 0.5);
  spectra[13] = {std::numeric_limits<double>::quiet_NaN(), 0.0};
  SrpReference reference(setup);
  SrpOnDevice device(setup);
  for (const std::vector<int>& masked : {std::vector<int>(), std::vector<int>{3, 40}}) {
    reference.use(make_mask(setup.array, masked));
    device.use(make_mask(setup.array, masked));
    const SrpFrame expected = reference.look(test::widen(test::narrow(spectra)));
    const SrpFrame found = device.look(spectra);
    EXPECT_EQ(found.flags, expected.flags);
    EXPECT_EQ(found.flags, kFlagNonFiniteInput | (masked.empty() ? 0U : std::uint32_t{kFlagMaskedMicrophones}));
    ASSERT_EQ(found.map.size(), expected.map.size());
    for (std::size_t i = 0; i < found.map.size(); ++i) {
      ASSERT_EQ(std::isnan(found.map[i]), std::isnan(expected.map[i])) << i;
      if (!std::isnan(found.map[i])) {
        ASSERT_NEAR(found.map[i], expected.map[i], 1e-4) << i;
      }
    }
    ASSERT_EQ(found.rows.size(), expected.rows.size());
    ASSERT_GE(found.rows.size(), 1U);
    for (std::size_t row = 0; row < found.rows.size(); ++row) {
      const double step = setup.places().step * (setup.places().is_round && !one.is_far ? 3.0 : 1.0);
      for (const std::size_t column : {test::kX, test::kY, test::kZ}) {
        EXPECT_NEAR(found.rows[row][column], expected.rows[row][column], step / 16.0) << row;
      }
      EXPECT_NEAR(found.rows[row][test::kConfidence], expected.rows[row][test::kConfidence], 1e-4);
      EXPECT_NEAR(found.rows[row][test::kLevel], expected.rows[row][test::kLevel], 0.01);
      // The curvature is a second difference of p in float32.
      EXPECT_NEAR(found.rows[row][test::kMajor], expected.rows[row][test::kMajor],
                  0.05 * expected.rows[row][test::kMajor]);
    }
  }
}

INSTANTIATE_TEST_SUITE_P(All, SrpKinds,
                         testing::Values(Case{"Plane", GridKind::kPlane, false, SrpWeights::kPhat, 17, 1, false},
                                         Case{"PlaneByPower", GridKind::kPlane, false, SrpWeights::kNone, 17, 2, false},
                                         Case{"PlaneOfOneBin", GridKind::kPlane, false, SrpWeights::kPhat, 1, 1, false},
                                         Case{"PlaneOfUnevenBins", GridKind::kPlane, false, SrpWeights::kPhat, 19, 1,
                                              true},
                                         Case{"AnglesFar", GridKind::kAngles, true, SrpWeights::kPhat, 65, 3, false},
                                         Case{"AnglesNear", GridKind::kAngles, false, SrpWeights::kPhat, 16, 1, false},
                                         Case{"LineFar", GridKind::kLine, true, SrpWeights::kPhat, 40, 1, false},
                                         Case{"Sphere", GridKind::kSphere, false, SrpWeights::kPhat, 33, 1, false},
                                         Case{"Volume", GridKind::kVolume, false, SrpWeights::kPhat, 15, 1, false}),
                         [](const auto& one) { return one.param.name; });

TEST(SrpPhat, OfSilenceHasNoPowerAndOfThreeMicrophonesNone) {
  SrpSetup setup(2, 3, 20, 5);
  const std::vector<Complex> silence(30);
  SrpReference reference(setup);
  SrpOnDevice device(setup);
  const SrpFrame expected = reference.look(silence);
  const SrpFrame found = device.look(silence);
  EXPECT_EQ(found.map, expected.map);
  EXPECT_EQ(found.map.front(), 0.0F);
  EXPECT_TRUE(expected.rows.empty());
  EXPECT_TRUE(found.rows.empty());
  reference.use(make_mask(setup.array, {0, 1, 2}));
  device.use(make_mask(setup.array, {0, 1, 2}));
  std::mt19937 generator(8);
  const std::vector<Complex> spectra = setup.noise(generator);
  for (const SrpFrame& frame : {reference.look(spectra), device.look(spectra)}) {
    EXPECT_TRUE(std::all_of(frame.map.begin(), frame.map.end(), [](float value) { return std::isnan(value); }));
    EXPECT_TRUE(frame.rows.empty());
    EXPECT_EQ(frame.flags, std::uint32_t{kFlagMaskedMicrophones});
  }
}

// B11: what all channels share is 20 dB above a source. Its direction is straight ahead, and the frame says so; without
// the mean of the microphones the source is found.
TEST(SrpPhat, SeesOrRejectsWhatAllChannelsShare) {
  SrpSetup setup(8, 8, 100, 40);
  setup.look_far(45.0, 3.0);
  setup.own.keep_map = false;
  std::mt19937 generator(17);
  const Position source = {0.45, 0.2, -std::sqrt(1.0 - 0.45 * 0.45 - 0.2 * 0.2)};
  std::vector<Complex> spectra = setup.source(source, generator);
  for (std::size_t k = 0; k < 40; ++k) {
    const Complex common = 10.0 * SrpSetup::normal(generator);
    for (std::size_t m = 0; m < 64; ++m) {
      spectra[k * 64 + m] += common;
    }
  }
  for (const bool rejects : {false, true}) {
    setup.own.reject_common = rejects;
    const Position expected = rejects ? source : Position{0.0, 0.0, -1.0};
    for (const SrpFrame& frame : {SrpReference(setup).look(spectra), SrpOnDevice(setup).look(spectra)}) {
      ASSERT_EQ(frame.rows.size(), 1U);
      EXPECT_EQ(frame.flags, rejects ? 0U : std::uint32_t{kFlagCommonToAll});
      // The mean of 64 microphones takes a part of the source itself: its direction moves by a fraction of a beam.
      EXPECT_LT(distance({frame.rows[0][test::kX], frame.rows[0][test::kY], frame.rows[0][test::kZ]}, expected), 0.05)
          << rejects;
    }
  }
}

// As loud in all microphones, but not from straight ahead; and straight ahead, but with noise of each microphone.
TEST(SrpPhat, KnowsASourceFromWhatAllChannelsShare) {
  SrpSetup setup(8, 8, 100, 40);
  setup.look_far(45.0, 3.0);
  setup.own.keep_map = false;
  std::mt19937 generator(18);
  const Position aside = {0.6, 0.0, -0.8};
  EXPECT_EQ(SrpReference(setup).look(setup.source(aside, generator)).flags, 0U);
  const std::vector<Complex> ahead = setup.source({0.0, 0.0, -1.0}, generator);
  EXPECT_EQ(SrpReference(setup).look(ahead).flags, std::uint32_t{kFlagCommonToAll});
  EXPECT_EQ(SrpReference(setup).look(sum(ahead, setup.noise(generator), 0.3)).flags, 0U);
}

// Frames that follow each other by their stamps: windows that nobody asks for are none, and rows have the time of the
// window in which a source was seen.
TEST(SrpPhat, FollowsTheFramesThatHaveStamps) {
  SrpSetup setup(3, 5, 11, 20);
  setup.own.grid.step_m = 0.25;
  setup.own.keep_map = false;
  setup.own.significance = 0.0;
  setup.own.tracks.confirm = {1, 1};
  setup.batch = 3;
  std::mt19937 generator(19);
  const std::vector<Complex> one = setup.source({0.1, -0.2, -1.0}, generator);
  std::vector<Complex> windows;
  for (int window = 0; window < 3; ++window) {
    windows.insert(windows.end(), one.begin(), one.end());
  }
  const std::unique_ptr<Processor> device = processor_entry("srp_phat").make(test::srp_device(), setup.plan());
  const std::unique_ptr<reference::Processor> reference = processor_entry("srp_phat").make_reference(setup.plan());
  const auto input = test::srp_device().upload<std::complex<float>>(test::narrow(windows), "test");
  const auto status = test::srp_device().upload<std::uint32_t>(std::vector<std::uint32_t>(3 * kStatusWords), "test");
  device->enqueue({.spectra = input, .status = status, .windows = 3});
  test::srp_device().wait();
  (void)reference->compute(std::vector(3, reference::WindowInput{.spectra = one}));
  for (const std::size_t window : {std::size_t{0}, std::size_t{2}}) {
    const FrameStamp stamp = {.sequence = 7 + window, .first_bit_time = 5'000'000'000 + window};
    const WindowToRead of = {.window = window, .stamp = stamp};
    for (const Products& products :
         {device->products(of).products, reference->products(of).products, device->products(of).products}) {
      const std::vector<std::vector<double>> rows = test::rows_of_table(device->header().products[0], products[0]);
      ASSERT_EQ(rows.size(), 1U);
      EXPECT_EQ(rows[0][test::kId], 1.0);
      EXPECT_EQ(rows[0][test::kFirstBitTime], 5e9 + static_cast<double>(window));
    }
  }
}

// A hundred hops lie between the two windows, and ten centimetres between their sources.
TEST(SrpPhat, HasVelocitiesByTheSequenceOfFrames) {
  SrpSetup setup(3, 5, 11, 20);
  setup.own.grid.step_m = 0.1;
  setup.own.keep_map = false;
  setup.own.significance = 0.0;
  setup.own.tracks.confirm = {1, 1};
  setup.batch = 2;
  std::mt19937 generator(20);
  const std::vector<Complex> before = setup.source({-0.05, 0.0, -1.0}, generator);
  const std::vector<Complex> after = setup.source({0.05, 0.0, -1.0}, generator);
  const double expected_m_s = 0.1 / (100.0 * setup.places().hop_s);
  const std::unique_ptr<Processor> device = processor_entry("srp_phat").make(test::srp_device(), setup.plan());
  const std::unique_ptr<reference::Processor> reference = processor_entry("srp_phat").make_reference(setup.plan());
  std::vector<Complex> windows = before;
  windows.insert(windows.end(), after.begin(), after.end());
  const auto input = test::srp_device().upload<std::complex<float>>(test::narrow(windows), "test");
  const auto status = test::srp_device().upload<std::uint32_t>(std::vector<std::uint32_t>(2 * kStatusWords), "test");
  device->enqueue({.spectra = input, .status = status, .windows = 2});
  test::srp_device().wait();
  (void)reference->compute(
      std::array{reference::WindowInput{.spectra = before}, reference::WindowInput{.spectra = after}});
  for (const std::size_t window : {std::size_t{0}, std::size_t{1}}) {
    const FrameStamp stamp = {.sequence = 7 + 100 * window, .first_bit_time = 0};
    const WindowToRead of = {.window = window, .stamp = stamp};
    for (const Products& products : {device->products(of).products, reference->products(of).products}) {
      const std::vector<std::vector<double>> rows = test::rows_of_table(device->header().products[0], products[0]);
      ASSERT_EQ(rows.size(), 1U);
      // The prior velocity of 10 m/s leaves a few per cent, refinement some more.
      EXPECT_NEAR(rows[0][test::kVx], window == 0 ? 0.0 : expected_m_s, 0.1 * expected_m_s);
    }
  }
}

TEST(SrpPhat, RefusesFrequenciesMuchNearerThanBins) {
  SrpSetup setup(4, 4, 20, 3);
  setup.array.frequencies_hz = {1000.0, 1000.0, 1001.0};
  try {
    (void)setup.places();
    FAIL() << "expected a ConfigError";
  } catch (const ConfigError& error) {
    const std::string message = error.what();
    EXPECT_NE(message.find("processors.where.front_end.frequencies_hz: expected"), std::string::npos) << message;
    EXPECT_NE(message.find("found 1000 and 1001"), std::string::npos) << message;
  }
  setup.array.frequencies_hz = {1000.0, 1000.0, 1030.0};
  EXPECT_EQ(setup.places().bins.size(), 3U);
}

// From the first frequency, however it is rounded, to below the second.
TEST(SrpPhat, HasTheBandsFirstFrequencyAndNotItsLast) {
  SrpSetup setup(4, 4, 20, 3);
  setup.own.band_hz = {setup.array.frequencies_hz[0] * (1.0 + 5e-10), setup.array.frequencies_hz[2]};
  EXPECT_EQ(setup.places().bins, (std::vector<std::size_t>{0, 1}));
}

TEST(SrpPhat, NeedsAFrequencyInItsBand) {
  SrpSetup setup(4, 4, 20, 5);
  setup.own.band_hz = {5000.0, 6000.0};
  try {
    (void)setup.places();
    FAIL() << "expected a ConfigError";
  } catch (const ConfigError& error) {
    const std::string message = error.what();
    EXPECT_NE(message.find("processors.where.band_hz: expected"), std::string::npos) << message;
    EXPECT_NE(message.find("found [5000, 6000]"), std::string::npos) << message;
  }
}

TEST(SrpPhat, WithoutItsMapIsATable) {
  SrpSetup setup(4, 4, 20, 5);
  setup.own.keep_map = false;
  std::mt19937 generator(9);
  const std::vector<Complex> spectra = setup.source({0.1, 0.1, -1.0}, generator);
  SrpOnDevice device(setup);
  const SrpFrame frame = device.look(spectra);
  EXPECT_TRUE(frame.map.empty());
  EXPECT_EQ(frame.rows.size(), 1U);
  EXPECT_EQ(flaw_of(header_of(setup.places())), "");
}

}  // namespace
}  // namespace nearfield
