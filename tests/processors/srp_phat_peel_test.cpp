#include <gtest/gtest.h>

#include <algorithm>
#include <limits>
#include <string>

#include "imaging/priors/make_mask.hpp"
#include "processors/srp_phat_support.hpp"

/// Sources that are looked for in what remains of a window without those that were found before.
namespace nearfield {
namespace {

using far_field::GridKind;
using far_field::Position;
using test::Complex;
using test::SrpFrame;
using test::SrpOnDevice;
using test::SrpReference;
using test::SrpSetup;

Position direction(double azimuth_deg, double elevation_deg) {
  constexpr double kDegree = std::numbers::pi / 180.0;
  const double x = std::sin(azimuth_deg * kDegree);
  const double y = std::sin(elevation_deg * kDegree);
  return {x, y, -std::sqrt(1.0 - x * x - y * y)};
}

double gain(double level_db) { return std::pow(10.0, level_db / 20.0); }

/// 8 x 8 microphones 6 cm apart: beams of some 20 degrees between 500 and 4000 Hz, side lobes 13 dB below.
SrpSetup wide_array() {
  SrpSetup setup(8, 8, 11, 77);
  setup.array.geometry.pitch_x_m = setup.array.geometry.pitch_y_m = 0.06;
  setup.look_far(60.0, 3.0);
  setup.own.keep_map = false;
  return setup;
}

struct Sound {
  Position place;
  double level_db;
};

/// Sounds with their levels at the array's centre, re 1 Pa of each bin's standard deviation, and noise of each
/// microphone.
std::vector<Complex> scene(const SrpSetup& setup, const std::vector<Sound>& sounds, double noise_db,
                           std::mt19937& generator) {
  std::vector<Complex> spectra = setup.noise(generator);
  for (Complex& value : spectra) {
    value *= gain(noise_db);
  }
  for (const Sound& sound : sounds) {
    const double distance_m = setup.places().grid.is_far ? 1.0 : norm(sound.place);
    const std::vector<Complex> one = setup.source(sound.place, generator);
    for (std::size_t i = 0; i < spectra.size(); ++i) {
      spectra[i] += gain(sound.level_db) * distance_m * one[i];
    }
  }
  return spectra;
}

Position place_of(const std::vector<double>& row) { return {row[test::kX], row[test::kY], row[test::kZ]}; }

double degrees_between(const Position& one, const Position& other) {
  return std::acos(std::clamp(dot(one, other) / norm(one) / norm(other), -1.0, 1.0)) * 180.0 / std::numbers::pi;
}

// A source 20 dB below another one, which the other one's side lobes hide: with `peel` it is the second row,
// significant and with its level. The two have less than a hundredth of their fields in common.
TEST(SrpPeel, FindsWhatTheSideLobesOfALouderSourceHide) {
  SrpSetup setup = wide_array();
  setup.own.sources = 2;
  std::mt19937 generator(71);
  std::uniform_real_distribution<double> aside(-1.5, 1.5);
  for (int draw = 0; draw < 4; ++draw) {
    const Position loud = direction(-9.0 + aside(generator), -6.0 + aside(generator));
    const Position quiet = direction(30.0 + aside(generator), 12.0 + aside(generator));
    const std::vector<Complex> spectra = scene(setup, {{loud, 0.0}, {quiet, -20.0}}, -35.0, generator);
    setup.own.peel = false;
    for (const std::vector<double>& row : SrpReference(setup).look(spectra).rows) {
      EXPECT_GT(degrees_between(place_of(row), quiet), 5.0) << draw;
    }
    setup.own.peel = true;
    for (const SrpFrame& frame : {SrpReference(setup).look(spectra), SrpOnDevice(setup).look(spectra)}) {
      ASSERT_EQ(frame.rows.size(), 2U);
      EXPECT_LT(degrees_between(place_of(frame.rows[0]), loud), 0.2) << draw;
      EXPECT_LT(degrees_between(place_of(frame.rows[1]), quiet), 0.5) << draw;
      EXPECT_GT(frame.rows[1][test::kSignificance], 6.0) << draw;
      EXPECT_GT(frame.rows[1][test::kConfidence], 0.5) << draw;
      // Amplitudes of 77 bins are drawn: their powers' sum differs by 10 lg(1 + sqrt(2 / 77)) = 0.65 dB, one standard
      // deviation.
      EXPECT_NEAR(frame.rows[1][test::kLevel] - frame.rows[0][test::kLevel], -20.0, 2.0) << draw;
    }
  }
}

// Three of them, from the loudest on. Fields of each but the first are orthogonal to those before: none is found again.
TEST(SrpPeel, FindsOneAfterTheOther) {
  SrpSetup setup = wide_array();
  setup.own.sources = 3;
  setup.own.peel = true;
  setup.own.separation_deg = 0.0;
  std::mt19937 generator(72);
  const std::vector<Sound> sounds = {
      {direction(-25.0, -10.0), 0.0}, {direction(10.0, 20.0), -10.0}, {direction(35.0, -15.0), -20.0}};
  const std::vector<Complex> spectra = scene(setup, sounds, -35.0, generator);
  for (const SrpFrame& frame : {SrpReference(setup).look(spectra), SrpOnDevice(setup).look(spectra)}) {
    ASSERT_EQ(frame.rows.size(), 3U);
    for (std::size_t row = 0; row < 3; ++row) {
      EXPECT_LT(degrees_between(place_of(frame.rows[row]), sounds[row].place), 0.5) << row;
      EXPECT_NEAR(frame.rows[row][test::kLevel] - frame.rows[0][test::kLevel], sounds[row].level_db, 2.0) << row;
    }
  }
}

// Of a source alone, in noise 20 dB below, noise remains. Its side lobes, a twentieth of the source's power before 256
// microphones whose noise has a 256th, are significant where nothing is peeled off.
TEST(SrpPeel, OfOneSourceLeavesNoise) {
  SrpSetup setup(16, 16, 60, 20);
  setup.array.geometry.pitch_x_m = setup.array.geometry.pitch_y_m = 0.03;
  setup.look_far(60.0, 4.0);
  setup.own.keep_map = false;
  setup.own.sources = 2;
  std::mt19937 generator(73);
  for (int draw = 0; draw < 3; ++draw) {
    const std::vector<Complex> spectra = scene(setup, {{direction(8.0, -14.0), 0.0}}, -20.0, generator);
    setup.own.peel = false;
    const SrpFrame whole = SrpOnDevice(setup).look(spectra);
    ASSERT_EQ(whole.rows.size(), 2U);
    EXPECT_GT(whole.rows[1][test::kSignificance], 6.0) << draw;
    setup.own.peel = true;
    for (const SrpFrame& frame : {SrpReference(setup).look(spectra), SrpOnDevice(setup).look(spectra)}) {
      ASSERT_EQ(frame.rows.size(), 2U);
      EXPECT_LT(frame.rows[1][test::kSignificance], 3.0) << draw;
      EXPECT_LT(frame.rows[1][test::kConfidence], 0.1) << draw;
    }
  }
}

// Without noise what remains is what refinement leaves of the source: no sound, and no row.
TEST(SrpPeel, OfOneSourceWithoutNoiseLeavesNothing) {
  SrpSetup setup = wide_array();
  setup.own.sources = 3;
  setup.own.peel = true;
  std::mt19937 generator(74);
  const std::vector<Complex> spectra = setup.source(direction(8.0, -14.0), generator);
  EXPECT_EQ(SrpReference(setup).look(spectra).rows.size(), 1U);
  EXPECT_EQ(SrpOnDevice(setup).look(spectra).rows.size(), 1U);
}

// The map is that of the window, whatever is peeled off afterwards, and so is the first source.
TEST(SrpPeel, LeavesTheMapAndTheFirstSourceAsTheyAre) {
  SrpSetup setup = wide_array();
  setup.own.keep_map = true;
  setup.own.sources = 2;
  std::mt19937 generator(75);
  const std::vector<Complex> spectra =
      scene(setup, {{direction(-9.0, -6.0), 0.0}, {direction(30.0, 12.0), -10.0}}, -20.0, generator);
  const SrpFrame whole = SrpOnDevice(setup).look(spectra);
  setup.own.peel = true;
  const SrpFrame peeled = SrpOnDevice(setup).look(spectra);
  for (std::size_t i = 0; i < whole.map.size(); ++i) {
    ASSERT_TRUE(whole.map[i] == peeled.map[i] || std::isnan(whole.map[i])) << i;
  }
  EXPECT_EQ(whole.rows[0], peeled.rows[0]);
}

// A processor looks at one window after the other: nothing of a window's sources remains for the next one.
TEST(SrpPeel, BeginsEachWindowAnew) {
  SrpSetup setup = wide_array();
  setup.own.sources = 2;
  setup.own.peel = true;
  std::mt19937 generator(76);
  const std::vector<Complex> one =
      scene(setup, {{direction(-9.0, -6.0), 0.0}, {direction(30.0, 12.0), -15.0}}, -30.0, generator);
  const std::vector<Complex> other =
      scene(setup, {{direction(20.0, -25.0), -15.0}, {direction(-30.0, 12.0), 0.0}}, -30.0, generator);
  setup.batch = 2;
  const std::unique_ptr<Processor> device = processor_entry("srp_phat").make(test::srp_device(), setup.plan());
  std::vector<Complex> windows = one;
  windows.insert(windows.end(), other.begin(), other.end());
  const auto input = test::srp_device().upload<std::complex<float>>(test::narrow(windows), "test");
  const auto status = test::srp_device().upload<std::uint32_t>(std::vector<std::uint32_t>(2 * kStatusWords), "test");
  setup.batch = 1;
  setup.own.tracks.enabled = false;
  for (int round = 0; round < 2; ++round) {
    device->enqueue({.spectra = input, .status = status, .windows = 2});
    test::srp_device().wait();
    for (const std::size_t window : {std::size_t{0}, std::size_t{1}}) {
      const SrpFrame expected = SrpOnDevice(setup).look(window == 0 ? one : other);
      const SrpFrame found = test::frame_of(device->header(), device->products({.window = window}).products, 0);
      ASSERT_EQ(found.rows.size(), 2U);
      ASSERT_EQ(expected.rows.size(), 2U);
      for (std::size_t row = 0; row < 2; ++row) {
        // Tracks may stand first; a batch cuts sums otherwise.
        const auto same = std::find_if(found.rows.begin(), found.rows.end(), [&](const std::vector<double>& candidate) {
          return degrees_between(place_of(candidate), place_of(expected.rows[row])) < 0.2;
        });
        EXPECT_NE(same, found.rows.end()) << round << " " << window << " " << row;
      }
    }
  }
}

struct PeelCase {
  std::string name;
  GridKind grid;
  bool is_far;
  SrpWeights weights;
  SrpDomain domain = SrpDomain::kFrequency;
  bool rejects_common = false;
  bool is_cut = false;  ///< as for GPUs
};

class SrpPeelKinds : public testing::TestWithParam<PeelCase> {};

// float32 against double, with gains, masks, a microphone that is not finite and a silent one. Places and confidences
// as without peeling; those of the second source carry the roundings of the projection, 1e-6 of the louder source's
// amplitude, 1e-5 of its own at 20 dB below.
TEST_P(SrpPeelKinds, DeviceAndReferenceAgree) {
  const PeelCase& one = GetParam();
  SrpSetup setup(7, 9, 40, 37);
  setup.array.geometry.pitch_x_m = setup.array.geometry.pitch_y_m = 0.05;
  setup.array.gains.assign(37 * 63, {0.5F, -0.25F});
  far_field::GridSettings& grid = setup.own.grid;
  if (one.is_far) {
    setup.look_far(60.0, 4.0);
  }
  grid.kind = one.grid;
  grid.step_m = one.grid == GridKind::kVolume ? 0.1 : 0.05;
  grid.x_m = grid.y_m = {-0.5, 0.5};
  grid.count = 301;
  grid.angles_deg = {5.0, 175.0};
  if (!one.is_far) {
    grid.distance_m = {0.6};
  }
  if (one.grid == GridKind::kVolume) {
    grid.distance_m = {0.4, 0.8};
  }
  setup.own.weights = one.weights;
  setup.own.domain = one.domain;
  setup.own.interpolation = LagInterpolation::kLinear;
  setup.own.upsample = 8;
  setup.own.pairs.longest = one.domain == SrpDomain::kTime ? 150 : 0;
  setup.own.reject_common = one.rejects_common;
  setup.own.sources = 3;
  setup.own.peel = true;
  setup.own.separation_deg = 15.0;
  std::mt19937 generator(77);
  const bool is_line = one.grid == GridKind::kLine;
  const std::vector<Sound> sounds =
      one.is_far ? std::vector<Sound>{{direction(-20.0, is_line ? 0.0 : -8.0), 0.0}, {direction(25.0, 0.0), -8.0}}
                 : std::vector<Sound>{{{-0.22, -0.12, -0.6}, 0.0}, {{0.2, 0.1, -0.6}, -8.0}};
  std::vector<Complex> spectra = scene(setup, sounds, -25.0, generator);
  for (std::size_t k = 0; k < 37; ++k) {
    spectra[k * 63 + 17] = 0.0;
  }
  spectra[13] = {std::numeric_limits<double>::quiet_NaN(), 0.0};
  SrpReference reference(setup);
  SrpCut cut = one.is_cut ? SrpCut::of_groups() : SrpCut::for_device(test::srp_device().info(), setup.places());
  cut.group = one.is_cut ? 64 : cut.group;
  cut.fit(setup.places());
  SrpOnDevice device(setup, cut);
  if (one.weights == SrpWeights::kSnr) {  // a floor, 30 dB below
    std::vector<Complex> quiet = spectra;
    std::transform(quiet.begin(), quiet.end(), quiet.begin(), [](const Complex& value) { return 0.03 * value; });
    (void)reference.look(quiet);
    (void)device.look(quiet);
  }
  for (const std::vector<int>& masked : {std::vector<int>(), std::vector<int>{3, 40}}) {
    reference.use(make_mask(setup.array, masked));
    device.use(make_mask(setup.array, masked));
    const SrpFrame expected = reference.look(test::widen(test::narrow(spectra)));
    const SrpFrame found = device.look(spectra);
    EXPECT_EQ(found.flags, expected.flags);
    ASSERT_GE(expected.rows.size(), 2U);
    ASSERT_GE(found.rows.size(), 2U);
    for (std::size_t row = 0; row < 2; ++row) {
      for (const std::size_t column : {test::kX, test::kY, test::kZ}) {
        EXPECT_NEAR(found.rows[row][column], expected.rows[row][column], setup.places().step / 16.0) << row;
      }
      EXPECT_NEAR(found.rows[row][test::kConfidence], expected.rows[row][test::kConfidence], 1e-3) << row;
      EXPECT_NEAR(found.rows[row][test::kLevel], expected.rows[row][test::kLevel], 0.02) << row;
    }
    Position loud = place_of(found.rows[0]);
    Position quiet = place_of(found.rows[1]);
    if (!one.is_far) {
      loud.z -= setup.array.standoff_m;
      quiet.z -= setup.array.standoff_m;
    }
    if (!is_line) {
      EXPECT_LT(degrees_between(loud, sounds[0].place), 1.0);
      EXPECT_LT(degrees_between(quiet, sounds[1].place), 2.0);
    }
  }
}

INSTANTIATE_TEST_SUITE_P(All, SrpPeelKinds,
                         testing::Values(PeelCase{"Far", GridKind::kAngles, true, SrpWeights::kPhat},
                                         PeelCase{"FarByPower", GridKind::kAngles, true, SrpWeights::kNone},
                                         PeelCase{"FarByTime", GridKind::kAngles, true, SrpWeights::kPhat,
                                                  SrpDomain::kTime},
                                         PeelCase{"FarOfLoudBins", GridKind::kAngles, true, SrpWeights::kSnr},
                                         PeelCase{"FarWithoutCommon", GridKind::kAngles, true, SrpWeights::kPhat,
                                                  SrpDomain::kFrequency, true},
                                         PeelCase{"Line", GridKind::kLine, true, SrpWeights::kPhat},
                                         PeelCase{"Plane", GridKind::kPlane, false, SrpWeights::kPhat},
                                         PeelCase{"PlaneByPower", GridKind::kPlane, false, SrpWeights::kNone},
                                         PeelCase{"PlaneInGroups", GridKind::kPlane, false, SrpWeights::kPhat,
                                                  SrpDomain::kFrequency, false, true},
                                         PeelCase{"Volume", GridKind::kVolume, false, SrpWeights::kPhat}),
                         [](const auto& one) { return one.param.name; });

// Near sources have other distances to each microphone, and other pressures there: both belong to the field that is
// taken out. With plane waves in their place a tenth of the louder source would remain and hide the quiet one.
TEST(SrpPeel, TakesTheSpreadingOfNearSourcesOut) {
  SrpSetup setup = wide_array();
  setup.own.grid = {};
  setup.own.grid.distance_m = {0.3};
  setup.own.grid.x_m = setup.own.grid.y_m = {-0.4, 0.4};
  setup.own.grid.step_m = 0.04;
  setup.own.sources = 2;
  setup.own.peel = true;
  std::mt19937 generator(78);
  const std::vector<Sound> sounds = {{{-0.15, -0.09, -0.3}, 0.0}, {{0.21, 0.11, -0.3}, -25.0}};
  const std::vector<Complex> spectra = scene(setup, sounds, -45.0, generator);
  for (const SrpFrame& frame : {SrpReference(setup).look(spectra), SrpOnDevice(setup).look(spectra)}) {
    ASSERT_EQ(frame.rows.size(), 2U);
    for (std::size_t row = 0; row < 2; ++row) {
      Position found = place_of(frame.rows[row]);
      found.z -= setup.array.standoff_m;
      EXPECT_LT(distance(found, sounds[row].place), 0.004) << row;
    }
    EXPECT_GT(frame.rows[1][test::kSignificance], 6.0);
  }
}

// With too few microphones, and in silence, there is nothing to take out.
TEST(SrpPeel, OfNoSourceTakesNothing) {
  SrpSetup setup(2, 3, 20, 5);
  setup.own.sources = 2;
  setup.own.peel = true;
  SrpReference reference(setup);
  SrpOnDevice device(setup);
  const std::vector<Complex> silence(30);
  EXPECT_TRUE(reference.look(silence).rows.empty());
  EXPECT_TRUE(device.look(silence).rows.empty());
  reference.use(make_mask(setup.array, {0, 1, 2}));
  device.use(make_mask(setup.array, {0, 1, 2}));
  std::mt19937 generator(79);
  const std::vector<Complex> spectra = setup.noise(generator);
  EXPECT_TRUE(reference.look(spectra).rows.empty());
  EXPECT_TRUE(device.look(spectra).rows.empty());
}

}  // namespace
}  // namespace nearfield
