#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <random>

#include "imaging/priors/make_mask.hpp"
#include "processors/beamform_support.hpp"

/// The device against the reference, averages, removal of the diagonal, and microphones that are not used.
namespace nearfield {
namespace {

using far_field::Formulation;
using far_field::GridKind;
using far_field::Model;
using test::Beamformer;
using test::busy_field;
using test::Complex;
using test::difference_of;
using test::noise;

struct Case {
  std::string name;
  GridKind grid;
  Formulation formulation;
  Model model;
  double distance_m;
  double reference_m;
  std::size_t frequencies;
  AverageKind average;
  bool removal;
};

constexpr double kInf = far_field::kInfinitelyFar;
const std::vector<Case> kCases = {
    {"PlaneI", GridKind::kPlane, Formulation::kClassic, Model::kMonopole, 0.4, 0.0, 1, AverageKind::kNone, false},
    {"PlaneII", GridKind::kPlane, Formulation::kInverse, Model::kMonopole, 0.4, 0.0, 3, AverageKind::kNone, false},
    {"PlaneIII", GridKind::kPlane, Formulation::kTrueLevel, Model::kMonopole, 0.4, 0.0, 9, AverageKind::kNone, false},
    {"PlaneIV", GridKind::kPlane, Formulation::kTrueLocation, Model::kMonopole, 0.4, 0.0, 17, AverageKind::kNone,
     false},
    {"PlaneAtOneMetre", GridKind::kPlane, Formulation::kTrueLevel, Model::kMonopole, 900.0, 1.0, 2, AverageKind::kNone,
     false},
    {"AnglesFar", GridKind::kAngles, Formulation::kTrueLevel, Model::kMonopole, kInf, 0.0, 2, AverageKind::kNone,
     false},
    {"AnglesNear", GridKind::kAngles, Formulation::kTrueLocation, Model::kMonopole, 0.5, 0.0, 2, AverageKind::kLinear,
     true},
    {"AnglesByPlaneWaves", GridKind::kAngles, Formulation::kInverse, Model::kPlaneWave, 0.5, 0.0, 2,
     AverageKind::kLinear, true},
    {"LineFar", GridKind::kLine, Formulation::kInverse, Model::kMonopole, kInf, 0.0, 1, AverageKind::kExponential,
     false},
    {"LineNear", GridKind::kLine, Formulation::kClassic, Model::kMonopole, 0.7, 0.0, 1, AverageKind::kLinear, true},
    {"Sphere", GridKind::kSphere, Formulation::kInverse, Model::kMonopole, 1.0, 0.3, 2, AverageKind::kLinear, true},
    {"Volume", GridKind::kVolume, Formulation::kTrueLevel, Model::kMonopole, 0.3, 0.0, 2, AverageKind::kLinear, true},
};

class BeamformKinds : public testing::TestWithParam<Case> {};

// 1e-4 of the maximum is what float32 is allowed; phases of up to 90 rad in float32 are wrong by some 1e-5.
TEST_P(BeamformKinds, DeviceAndReferenceAgree) {
  const Case& one = GetParam();
  std::vector<double> frequencies_hz;
  for (std::size_t f = 0; f < one.frequencies; ++f) {
    frequencies_hz.push_back(700.0 + 9300.0 * static_cast<double>(f + 1) / static_cast<double>(one.frequencies));
  }
  Beamformer beamformer(7, 11, frequencies_hz);
  beamformer.array.gains.assign(one.frequencies * 77, {0.5F, -0.25F});
  beamformer.own.grid.kind = one.grid;
  beamformer.own.grid.distance_m = {one.distance_m};
  if (one.grid == GridKind::kVolume) {
    beamformer.own.grid.distance_m = {one.distance_m, one.distance_m + 0.15};
  }
  beamformer.own.grid.step_m = 0.07;
  beamformer.own.grid.step_deg = 13.0;
  beamformer.own.grid.azimuth_deg = {-80.0, 80.0};
  beamformer.own.grid.elevation_deg = {-70.0, 80.0};
  beamformer.own.grid.count = 133;
  beamformer.own.steering.formulation = one.formulation;
  beamformer.own.steering.model = one.model;
  beamformer.own.steering.reference_m = one.reference_m;
  beamformer.own.steering.shading = far_field::Shading::kHamming;
  beamformer.own.average.kind = one.average;
  beamformer.own.diagonal_removal = one.removal;
  if (one.average !=
      AverageKind::kNone) {  // each window is a snapshot, and a block: the next mask has a map of its own
    beamformer.settings.front_end.hop_samples = beamformer.settings.front_end.window_samples / 2;
    beamformer.own.average.seconds = 1e-6;
  }
  test::ReferenceMapper reference(beamformer);
  test::DeviceMapper device(beamformer);
  for (const std::vector<int>& masked : {std::vector<int>(), std::vector<int>({3, 40, 41})}) {
    const MicrophoneMask mask = make_mask(beamformer.array, masked);
    reference.use(mask);
    device.use(mask);
    const auto field = test::widen(test::narrow(busy_field(beamformer, 5U)));
    if (one.average == AverageKind::kNone) {
      EXPECT_LE(difference_of(device.beams(field), reference.beams(field)), 1e-4);
    } else {
      EXPECT_LE(difference_of(device.powers(field), reference.powers(field)), 1e-4);
    }
    EXPECT_EQ(device.flags(), reference.flags());
    EXPECT_EQ(device.flags(), masked.empty() ? 0U : static_cast<std::uint32_t>(kFlagMaskedMicrophones));
  }
}

INSTANTIATE_TEST_SUITE_P(All, BeamformKinds, testing::ValuesIn(kCases),
                         [](const auto& instance) { return instance.param.name; });

/// 9 x 9 pixels before 6 x 8 microphones.
Beamformer small_one() {
  Beamformer beamformer(6, 8, {2500.0, 4000.0});
  beamformer.own.grid.distance_m = {0.4};
  beamformer.own.grid.x_m = beamformer.own.grid.y_m = {-0.2, 0.2};
  beamformer.own.grid.step_m = 0.05;
  return beamformer;
}

// Masked microphones count for nothing: the outer columns masked, whatever they say, is the array without them.
TEST(Beamform, MaskedMicrophonesAreAsIfTheyWereNotThere) {
  const Beamformer wide = small_one();
  Beamformer narrow = small_one();
  narrow.array.geometry.columns = 6;
  std::vector<Complex> field = wide.monopole({0.05, -0.03, -0.4});
  std::vector<int> outer;
  for (int row = 0; row < 6; ++row) {
    for (const int column : {0, 7}) {
      outer.push_back(row * 8 + column);
      field[static_cast<std::size_t>(outer.back())] = std::nan("");
      field[static_cast<std::size_t>(48 + outer.back())] = 1e9;
    }
  }
  test::ReferenceMapper expected(narrow);
  const auto map = expected.beams(narrow.monopole({0.05, -0.03, -0.4}));
  test::ReferenceMapper reference(wide);
  test::DeviceMapper device(wide);
  for (test::Mapper* mapper : {static_cast<test::Mapper*>(&reference), static_cast<test::Mapper*>(&device)}) {
    mapper->use(make_mask(wide.array, outer));
    EXPECT_LE(difference_of(mapper->beams(field), map), 1e-5);
    EXPECT_EQ(mapper->flags(), static_cast<std::uint32_t>(kFlagMaskedMicrophones));
    mapper->use(make_mask(wide.array, {}));
    for (std::size_t i = 0; i < field.size(); ++i) {
      field[i] = std::isnan(field[i].real()) || field[i] == 1e9 ? std::nan("") : field[i].real();
    }
    (void)mapper->beams(field);
    EXPECT_EQ(mapper->flags(), static_cast<std::uint32_t>(kFlagNonFiniteInput));
    field = wide.monopole({0.05, -0.03, -0.4});
    for (const int channel : outer) {
      field[static_cast<std::size_t>(channel)] = std::nan("");
    }
    EXPECT_LE(difference_of(mapper->beams(field), map), 1e-5) << "not finite at the other frequency";
    for (const int channel : outer) {
      field[static_cast<std::size_t>(48 + channel)] = 1e9;
    }
  }
}

TEST(Beamform, FewerThanFourMicrophonesHaveNoMap) {
  const Beamformer beamformer = small_one();
  const std::vector<Complex> field = beamformer.monopole({0.05, -0.03, -0.4});
  test::ReferenceMapper reference(beamformer);
  test::DeviceMapper device(beamformer);
  std::vector<int> masked;
  for (int channel = 0; channel < 44; ++channel) {
    masked.push_back(channel);
  }
  for (test::Mapper* mapper : {static_cast<test::Mapper*>(&reference), static_cast<test::Mapper*>(&device)}) {
    mapper->use(make_mask(beamformer.array, masked));
    EXPECT_FALSE(std::isnan(mapper->beams(field).front().real()));
    std::vector<int> more = masked;
    more.push_back(44);
    mapper->use(make_mask(beamformer.array, more));
    for (const auto value : mapper->beams(field)) {
      EXPECT_TRUE(std::isnan(value.real()));
    }
    EXPECT_EQ(mapper->flags(), static_cast<std::uint32_t>(kFlagMaskedMicrophones));
  }
}

TEST(Beamform, IsLinear) {
  const Beamformer beamformer = small_one();
  const auto a = beamformer.monopole({0.05, -0.03, -0.4});
  const auto b = beamformer.monopole({-0.1, 0.13, -0.6});
  std::vector<Complex> both(a.size());
  for (std::size_t i = 0; i < a.size(); ++i) {
    both[i] = 2.0 * a[i] + Complex(0.0, 1.0) * b[i];
  }
  test::DeviceMapper mapper(beamformer);
  const auto of_a = mapper.beams(a);
  const auto of_b = mapper.beams(b);
  std::vector<std::complex<float>> sum(of_a.size());
  for (std::size_t i = 0; i < sum.size(); ++i) {
    sum[i] = 2.0F * of_a[i] + std::complex<float>(0.0F, 1.0F) * of_b[i];
  }
  EXPECT_LE(difference_of(mapper.beams(both), sum), 1e-5);
}

/// Windows come half a window apart, so that each is a snapshot.
Beamformer averaging(AverageKind kind, double snapshots) {
  Beamformer beamformer = small_one();
  beamformer.settings.front_end.hop_samples = 512;
  beamformer.own.average = {.kind = kind, .seconds = snapshots * 512.0 / 46875.0};
  return beamformer;
}

// A stream that begins has a map of its own from its first window on.
TEST(Beamform, AnAverageForgetsTheStreamBefore) {
  for (const AverageKind kind : {AverageKind::kLinear, AverageKind::kExponential}) {
    const Beamformer beamformer = averaging(kind, 4.0);
    const auto field = beamformer.monopole({0.05, -0.03, -0.4});
    test::ReferenceMapper reference(beamformer);
    test::DeviceMapper device(beamformer);
    for (test::Mapper* mapper : {static_cast<test::Mapper*>(&reference), static_cast<test::Mapper*>(&device)}) {
      const std::vector<float> alone = mapper->powers(field);
      for (int silent = 0; silent < 3; ++silent) {
        mapper->powers(std::vector<Complex>(field.size()));
      }
      mapper->forget();
      EXPECT_EQ(mapper->powers(field), alone);
    }
  }
}

// Silence after eight windows of a source: the weights fall by exp(-1/4) a window, from a mean that began with the
// first.
TEST(Beamform, AnExponentialAverageDecays) {
  const Beamformer beamformer = averaging(AverageKind::kExponential, 4.0);
  const auto field = beamformer.monopole({0.05, -0.03, -0.4});
  test::ReferenceMapper reference(beamformer);
  test::DeviceMapper device(beamformer);
  for (test::Mapper* mapper : {static_cast<test::Mapper*>(&reference), static_cast<test::Mapper*>(&device)}) {
    const float full = mapper->powers(field)[40];
    EXPECT_NEAR(full, 0.5 / (0.4 * 0.4), 0.6);  // pixel (0, 0, 0.4) is not quite the source's
    for (int window = 1; window < 8; ++window) {
      EXPECT_NEAR(mapper->powers(field)[40] / full, 1.0, 1e-5);
    }
    const double decay = std::exp(-0.25);
    for (int silent = 1; silent <= 12; ++silent) {
      const float found = mapper->powers(std::vector<Complex>(field.size()))[40];
      const double expected =
          std::pow(decay, silent) * (1.0 - std::pow(decay, 8)) / (1.0 - std::pow(decay, 8 + silent));
      EXPECT_NEAR(found / full, expected, 1e-5);
    }
  }
}

// Blocks of four: until the first is complete the mean of what there is, then the last complete block's.
TEST(Beamform, ALinearAverageIsTheMeanOfABlock) {
  const Beamformer beamformer = averaging(AverageKind::kLinear, 4.0);
  const auto field = beamformer.monopole({0.05, -0.03, -0.4});
  const std::array<double, 10> amplitudes = {1.0, 2.0, 0.0, 1.0, 3.0, 3.0, 3.0, 3.0, 7.0, 7.0};
  const std::array<double, 10> expected = {1.0, 2.5, 5.0 / 3.0, 1.5, 1.5, 1.5, 1.5, 9.0, 9.0, 9.0};
  test::ReferenceMapper reference(beamformer);
  test::DeviceMapper device(beamformer);
  for (test::Mapper* mapper : {static_cast<test::Mapper*>(&reference), static_cast<test::Mapper*>(&device)}) {
    float unit = 0.0F;
    for (std::size_t window = 0; window < amplitudes.size(); ++window) {
      std::vector<Complex> scaled = field;
      std::transform(field.begin(), field.end(), scaled.begin(),
                     [&](const Complex& value) { return amplitudes[window] * value; });
      const float power = mapper->powers(scaled)[40];
      unit = window == 0 ? power : unit;
      EXPECT_NEAR(power / unit, expected[window], 1e-5) << window;
    }
  }
}

// A batch gives each window the map of its own time, as one window after the other does.
class BeamformBatches : public testing::TestWithParam<PathChoice> {};

TEST_P(BeamformBatches, AreAsOneWindowAfterTheOther) {
  Beamformer beamformer = averaging(AverageKind::kExponential, 3.0);
  beamformer.own.path_choice = GetParam();
  beamformer.own.grid.step_m = 0.04;  // two pitches
  if (GetParam() == PathChoice::kSeparable) {
    beamformer.own.grid.kind = GridKind::kAngles;
    beamformer.own.grid.distance_m = {kInf};
    beamformer.own.grid.azimuth_deg = beamformer.own.grid.elevation_deg = {-30.0, 30.0};  // none is NaN
    beamformer.own.grid.step_deg = 15.0;
  }
  beamformer.settings.front_end.hop_samples = 256;  // every second window is a snapshot
  test::DeviceMapper one_by_one(beamformer);
  beamformer.batch = 3;
  const auto batched = processor_entry("beamform").make(test::beamform_device(), beamformer.plan());
  std::mt19937 generator(3U);
  for (int round = 0; round < 3; ++round) {
    const auto field = test::widen(test::narrow(noise(3U * 2U * 48U, generator)));
    const auto input = test::beamform_device().upload<std::complex<float>>(test::narrow(field), "test");
    const auto status =
        test::beamform_device().upload<std::uint32_t>(std::vector<std::uint32_t>(3 * kStatusWords), "test");
    batched->enqueue({.spectra = input, .status = status, .windows = 3});
    test::beamform_device().wait();
    for (std::size_t window = 0; window < 3; ++window) {
      const auto first = field.begin() + static_cast<std::ptrdiff_t>(window * 96);
      const auto expected = one_by_one.powers({first, first + 96});
      const auto found = values_of<float>(batched->products({.window = window}).products.front());
      EXPECT_EQ(std::vector<float>(found.begin(), found.end()), expected) << round << ", " << window;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Paths, BeamformBatches,
                         testing::Values(PathChoice::kDirect, PathChoice::kConvolve, PathChoice::kSeparable),
                         [](const auto& instance) { return std::string(name_of(instance.param)); });

// One source at a pixel keeps its level exactly; noise of the microphones alone sinks.
TEST(Beamform, RemovalOfTheDiagonalKeepsTheLevelOfOneSource) {
  for (const Formulation formulation :
       {Formulation::kClassic, Formulation::kInverse, Formulation::kTrueLevel, Formulation::kTrueLocation}) {
    Beamformer beamformer = averaging(AverageKind::kLinear, 1.0);
    beamformer.own.steering.formulation = formulation;
    const auto field = beamformer.monopole({0.05, -0.1, -0.4});  // pixel (row 2, column 5)
    const float plain = test::ReferenceMapper(beamformer).powers(field)[2 * 9 + 5];
    beamformer.own.diagonal_removal = true;
    EXPECT_NEAR(test::ReferenceMapper(beamformer).powers(field)[2 * 9 + 5] / plain, 1.0, 1e-5);
    EXPECT_NEAR(test::DeviceMapper(beamformer).powers(field)[2 * 9 + 5] / plain, 1.0, 1e-4);
  }
}

// The grid holds some 60 beams that are independent of each other. Of each the mean of 64 exponential powers varies by
// 1/8, of which removal leaves what lies above the mean: 0.4 / 8 on average, 13 dB less.
TEST(Beamform, RemovalOfTheDiagonalTakesTheNoiseOfMicrophones) {
  constexpr int kSnapshots = 64;
  Beamformer beamformer(32, 32, {4000.0});
  beamformer.settings.front_end.hop_samples = 512;
  beamformer.own.average = {.kind = AverageKind::kLinear, .seconds = kSnapshots * 512.0 / 46875.0};
  beamformer.own.grid.step_m = 0.05;
  test::DeviceMapper plain(beamformer);
  beamformer.own.diagonal_removal = true;
  test::DeviceMapper removed(beamformer);
  std::mt19937 generator(17U);
  std::vector<float> with;
  std::vector<float> without;
  for (int snapshot = 0; snapshot < kSnapshots; ++snapshot) {
    const auto field = noise(1024, generator);
    with = plain.powers(field);
    without = removed.powers(field);
  }
  const auto mean = [](const std::vector<float>& map) {
    return std::accumulate(map.begin(), map.end(), 0.0) / static_cast<double>(map.size());
  };
  // A microphone's power is 1 Pa^2; the mean of 1024 of them is 30.1 dB below.
  EXPECT_NEAR(test::in_db(mean(with)), -30.1, 1.0);
  EXPECT_GE(test::in_db(mean(with) / mean(without)), 11.0);
  const auto most = [](const std::vector<float>& map) {
    return static_cast<double>(*std::max_element(map.begin(), map.end()));
  };
  EXPECT_GE(test::in_db(most(with) / most(without)), 5.0);
}

}  // namespace
}  // namespace nearfield
