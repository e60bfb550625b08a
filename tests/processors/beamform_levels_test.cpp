#include <gtest/gtest.h>

#include <algorithm>
#include <random>

#include "processors/beamform_support.hpp"
#include "support/measures.hpp"

/// What each formulation says of the place and level of one source, in closed form.
namespace nearfield {
namespace {

using far_field::Formulation;
using far_field::Position;
using test::Beamformer;
using test::Complex;

constexpr std::array kFormulations = {Formulation::kClassic, Formulation::kInverse, Formulation::kTrueLevel,
                                      Formulation::kTrueLocation};

/// Of a monopole of amplitude A at q: (map's power at q) / (|A|^2 / (2 r_0^2)), Sarradj 2012.
double closed_ratio(Formulation formulation, const Position& source, const std::vector<Position>& microphones) {
  double mean_inverse = 0.0;
  double mean_inverse_square = 0.0;
  for (const Position& microphone : microphones) {
    const double r = distance(source, microphone);
    mean_inverse += 1.0 / r / static_cast<double>(microphones.size());
    mean_inverse_square += 1.0 / (r * r) / static_cast<double>(microphones.size());
  }
  const double r_0 = norm(source);
  switch (formulation) {
    case Formulation::kClassic:
      return mean_inverse * mean_inverse * r_0 * r_0;
    case Formulation::kTrueLocation:
      return mean_inverse_square * r_0 * r_0;
    default:
      return 1.0;
  }
}

/// One pixel.
void look_at(Beamformer& beamformer, const Position& place) {
  beamformer.own.grid.x_m = {place.x, place.x};
  beamformer.own.grid.y_m = {place.y, place.y};
  beamformer.own.grid.distance_m = {-place.z};
}

double level_error_db(const Beamformer& beamformer, const Position& source) {
  test::ReferenceMapper mapper(beamformer);
  return test::in_db(std::norm(Complex(mapper.beams(beamformer.monopole(source)).front()))) +
         20.0 * std::log10(norm(source));
}

// The figures are those of the closed form, computed apart; float32 of the product leaves 1e-6 dB.
TEST(BeamformLevels, OfAMonopoleOffAThirtyTwoSquareArray) {
  const std::array<double, 3> distances_m = {0.3, 0.5, 1.0};
  const std::array<double, 3> classic_db = {-1.814, -0.897, -0.273};
  const std::array<double, 3> location_db = {-1.694, -0.865, -0.270};
  for (const double frequency_hz : {1000.0, 6000.0}) {
    Beamformer beamformer(32, 32, {frequency_hz});
    for (std::size_t i = 0; i < distances_m.size(); ++i) {
      const Position source = {0.1, -0.06, -distances_m[i]};
      look_at(beamformer, source);
      beamformer.own.steering.formulation = Formulation::kClassic;
      EXPECT_NEAR(level_error_db(beamformer, source), classic_db[i], 0.0006);
      beamformer.own.steering.formulation = Formulation::kTrueLocation;
      EXPECT_NEAR(level_error_db(beamformer, source), location_db[i], 0.0006);
      for (const Formulation exact : {Formulation::kInverse, Formulation::kTrueLevel}) {
        beamformer.own.steering.formulation = exact;
        EXPECT_NEAR(level_error_db(beamformer, source), 0.0, 1e-5);
      }
    }
  }
}

// At any place and frequency, phases too: the source's at the reference. I and IV have their maximum at the source, in
// three dimensions (Sarradj 2012); II and III need not.
TEST(BeamformLevels, AndPlacesOfFortyMonopoles) {
  std::mt19937 generator(11U);
  std::uniform_real_distribution<double> place(-0.4, 0.4);
  std::uniform_real_distribution<double> distance(0.2, 3.0);
  std::uniform_real_distribution<double> exponent(std::log(500.0), std::log(10000.0));
  for (int trial = 0; trial < 40; ++trial) {
    const Position source = {place(generator), place(generator), -distance(generator)};
    Beamformer beamformer(16, 16, {std::exp(exponent(generator))});
    look_at(beamformer, source);
    const double r_0 = norm(source);
    const Complex expected = std::polar(1.0 / r_0, -beamformer.array.wavenumber(0) * r_0);
    for (const Formulation formulation : kFormulations) {
      SCOPED_TRACE(name_of(formulation));
      beamformer.own.steering.formulation = formulation;
      test::ReferenceMapper mapper(beamformer);
      const Complex found(mapper.beams(beamformer.monopole(source)).front());
      const double ratio = closed_ratio(formulation, source, beamformer.places().microphones);
      EXPECT_NEAR(std::abs(found / expected - std::sqrt(ratio)), 0.0, 1e-5);
    }
    Beamformer around = beamformer;
    constexpr double kStep_m = 0.02;
    around.own.grid.kind = far_field::GridKind::kVolume;
    around.own.grid.step_m = kStep_m;
    around.own.grid.x_m = {source.x - 2 * kStep_m, source.x + 2 * kStep_m};
    around.own.grid.y_m = {source.y - 2 * kStep_m, source.y + 2 * kStep_m};
    around.own.grid.distance_m = {-source.z - 2 * kStep_m, -source.z + 2 * kStep_m};
    for (const Formulation formulation : {Formulation::kClassic, Formulation::kTrueLocation}) {
      around.own.steering.formulation = formulation;
      // I weighs all microphones alike, and its normalised map |sum e/r|^2 is largest at q by the triangle inequality.
      test::ReferenceMapper mapper(around);
      const auto map = mapper.beams(around.monopole(source));
      ASSERT_EQ(map.size(), 125U);
      const auto highest =
          std::max_element(map.begin(), map.end(), [](auto a, auto b) { return std::norm(a) < std::norm(b); });
      EXPECT_EQ(highest - map.begin(), 62) << name_of(formulation) << ", trial " << trial;
    }
  }
}

// With the reference at 1 m the map of III is the source's pressure there, whatever the distance.
TEST(BeamformLevels, AtAReferenceDistance) {
  const Position source = {0.1, -0.06, -0.7};
  Beamformer beamformer(16, 16, {3000.0});
  look_at(beamformer, source);
  beamformer.own.steering.reference_m = 1.0;
  const Complex expected = std::polar(1.0, -beamformer.array.wavenumber(0));
  for (const Formulation formulation : {Formulation::kInverse, Formulation::kTrueLevel}) {
    beamformer.own.steering.formulation = formulation;
    EXPECT_LT(
        std::abs(Complex(test::ReferenceMapper(beamformer).beams(beamformer.monopole(source)).front()) - expected),
        1e-6);
    EXPECT_LT(std::abs(Complex(test::DeviceMapper(beamformer).beams(beamformer.monopole(source)).front()) - expected),
              1e-5);
  }
}

// The published page of a narrowband beamformer: 64 microphones half a wavelength apart, a wave from 60 degrees, 512
// angles. Its scale is 8192 times the pressure; the curve is 128 |sin(32 psi) / sin(psi / 2)|.
TEST(BeamformLevels, OfALineOfSixtyFourMicrophones) {
  Beamformer beamformer(1, 64, {2000.0});
  beamformer.array.geometry.pitch_x_m = 0.375;
  beamformer.array.medium.sound_speed_m_s = 1500.0;
  beamformer.own.grid.kind = far_field::GridKind::kLine;
  beamformer.own.grid.distance_m = {far_field::kInfinitelyFar};
  const double angle = std::numbers::pi / 3.0;
  const auto wave = beamformer.plane_wave({std::cos(angle), 0.0, -std::sin(angle)});
  test::ReferenceMapper reference(beamformer);
  test::DeviceMapper device(beamformer);
  for (test::Mapper* mapper : {static_cast<test::Mapper*>(&reference), static_cast<test::Mapper*>(&device)}) {
    const auto map = mapper->beams(wave);
    ASSERT_EQ(map.size(), 512U);
    std::vector<double> scaled;
    for (const auto value : map) {
      scaled.push_back(8192.0 * std::abs(Complex(value)));
    }
    EXPECT_EQ(std::max_element(scaled.begin(), scaled.end()) - scaled.begin(), 170);
    EXPECT_NEAR(scaled[170], 8148.6684, 0.08);
    EXPECT_NEAR(std::log(scaled[170]), 9.005610, 1e-5);
    EXPECT_NEAR(scaled[169], 7517.388, 0.08);
    EXPECT_NEAR(scaled[171], 8018.890, 0.08);
    for (std::size_t i = 0; i < scaled.size(); ++i) {
      const double theta = std::numbers::pi * static_cast<double>(i) / 511.0;
      const double psi = std::numbers::pi * (std::cos(angle) - std::cos(theta));
      EXPECT_NEAR(scaled[i], 128.0 * std::abs(std::sin(32.0 * psi) / std::sin(psi / 2.0)), 0.08) << i;  // 1e-5 of 8192
    }
    // A local maximum of both neighbours.
    for (const std::size_t lobe : {std::size_t{162}, std::size_t{179}}) {
      EXPECT_GT(scaled[lobe], scaled[lobe - 1]);
      EXPECT_GT(scaled[lobe], scaled[lobe + 1]);
      EXPECT_NEAR(20.0 * std::log10(scaled[lobe] / 8192.0), lobe == 162 ? -13.25 : -13.40, 0.06);
    }
  }
}

// Half-power angles, nulls and the side lobe of the same line on a fine grid.
TEST(BeamformLevels, OfTheSameLineOnAFineGrid) {
  Beamformer beamformer(1, 64, {2000.0});
  beamformer.array.geometry.pitch_x_m = 0.375;
  beamformer.array.medium.sound_speed_m_s = 1500.0;
  beamformer.own.grid.kind = far_field::GridKind::kLine;
  beamformer.own.grid.distance_m = {far_field::kInfinitelyFar};
  beamformer.own.grid.angles_deg = {56.5, 62.5};
  beamformer.own.grid.count = 6001;
  const double angle = std::numbers::pi / 3.0;
  test::ReferenceMapper mapper(beamformer);
  const auto map = mapper.beams(beamformer.plane_wave({std::cos(angle), 0.0, -std::sin(angle)}));
  const auto power_at = [&](double degrees) {
    return std::norm(Complex(map.at(static_cast<std::size_t>(std::lround((degrees - 56.5) * 1000.0)))));
  };
  for (const double half : {59.0799, 60.9117}) {
    EXPECT_NE(power_at(half - 0.002) > 0.5, power_at(half + 0.002) > 0.5) << half;
  }
  for (const double null : {57.9100, 62.0468}) {
    EXPECT_LT(power_at(null), power_at(null - 0.002));
    EXPECT_LT(power_at(null), power_at(null + 0.002));
  }
  const auto lobe =
      std::max_element(map.begin(), map.begin() + 1400, [](auto a, auto b) { return std::norm(a) < std::norm(b); });
  EXPECT_NEAR(56.5 + static_cast<double>(lobe - map.begin()) * 0.001, 56.996, 0.002);
  EXPECT_NEAR(test::in_db(std::norm(Complex(*lobe))), -13.2543, 0.001);
}

// A wave from (azimuth, elevation) has its maximum there, at its own level, for each model that looks far away.
TEST(BeamformLevels, OfAPlaneWaveOverAngles) {
  Beamformer beamformer(12, 9, {5000.0});
  beamformer.own.grid.kind = far_field::GridKind::kAngles;
  beamformer.own.grid.distance_m = {far_field::kInfinitelyFar};
  beamformer.own.grid.azimuth_deg = {-40.0, 40.0};
  beamformer.own.grid.elevation_deg = {-30.0, 30.0};
  beamformer.own.grid.step_deg = 5.0;
  const double x = std::sin(20.0 * std::numbers::pi / 180.0);
  const double y = std::sin(-15.0 * std::numbers::pi / 180.0);
  const auto wave = beamformer.plane_wave({x, y, -std::sqrt(1.0 - x * x - y * y)});
  const auto expect_peak = [&] {
    test::ReferenceMapper mapper(beamformer);
    const auto map = mapper.beams(wave);
    const auto highest =
        std::max_element(map.begin(), map.end(), [](auto a, auto b) { return std::norm(a) < std::norm(b); });
    EXPECT_EQ(highest - map.begin(), 3 * 17 + 12);  // elevation -15, azimuth 20
    EXPECT_LT(std::abs(*highest - 1.0F), 1e-6F);
  };
  expect_peak();
  beamformer.own.steering.model = far_field::Model::kPlaneWave;
  expect_peak();
  beamformer.own.grid.distance_m = {2.0};  // of which plane waves say nothing
  expect_peak();
}

}  // namespace
}  // namespace nearfield
