#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <numbers>
#include <random>

#include "imaging/search_bench.hpp"
#include "imaging/sonah/sonah_reference.hpp"
#include "imaging/sources/field_source.hpp"
#include "simulate/fields.hpp"

/// Sources that are spread over a disc: their field, how they are found, and the kernels against the double-precision
/// twin. The truth is the piston of src/simulate, to 1e-9.
namespace nearfield {
namespace {

using test::Complex;
using test::plan_of;
using test::SearchBench;
using ComplexF = std::complex<float>;

Tonal tonal_of(double frequency_hz) { return {.frequency_hz = frequency_hz, .medium = {}}; }

/// The plan's quantity at the microphones' places, in a plane.
std::vector<Complex> pistons_at(const std::vector<Piston>& pistons, const ImagePlan& plan, double z_m,
                                Quantity quantity) {
  std::vector<Complex> field(static_cast<std::size_t>(plan.geometry.channels()));
  for (int channel = 0; channel < plan.geometry.channels(); ++channel) {
    const MicrophonePosition at = plan.geometry.position_m(channel);
    for (const Piston& piston : pistons) {
      const FieldValue value = piston_field(piston, tonal_of(plan.frequencies_hz[0]), {at.x_m, at.y_m, z_m});
      field[static_cast<std::size_t>(channel)] +=
          quantity == Quantity::kPressure ? value.pressure_pa : value.velocity_m_s;
    }
  }
  return field;
}

// A piston of velocity v radiates j w rho v a^2 / 2 times the mean of e^{-jkr} / r over it. Tolerances as disc_field()
// states them.
TEST(Disc, ItsFieldIsThatOfAPiston) {
  constexpr double kFrequency_hz = 2000.0;
  constexpr double kRadius_m = 0.04;
  const Tonal tonal = tonal_of(kFrequency_hz);
  const double k = tonal.wavenumber_rad_per_m();
  const Piston piston{.x_m = 0.0, .y_m = 0.0, .radius_m = kRadius_m, .velocity_m_s = 1.0};
  const Complex strength =
      Complex(0.0, tonal.angular_frequency_rad_per_s() * tonal.medium.density_kg_m3) * (0.5 * kRadius_m * kRadius_m);
  for (const double z_m : {0.0, 0.002, 0.01, 0.03, 0.1}) {
    for (const double across_m : {0.0, 0.011, 0.0385, 0.0402, 0.047, 0.07, 0.3}) {
      const Eigen::Vector3d place_m(0.6 * across_m, -0.8 * across_m, z_m);
      const FieldValue truth = piston_field(piston, tonal, {place_m.x(), place_m.y(), z_m});
      const DiscField disc = disc_field(place_m, kRadius_m, k, 1e-6);
      const double from_rim_m = std::hypot(z_m, across_m - kRadius_m);
      const double tolerance = from_rim_m > 0.2 * kRadius_m ? 1e-6 : 1e-2;
      const Complex pressure = strength * disc.pressure;
      EXPECT_LE(std::abs(pressure - truth.pressure_pa), tolerance * std::abs(truth.pressure_pa))
          << z_m << " " << across_m;
      EXPECT_LE(std::abs(-0.5 * kRadius_m * kRadius_m * disc.gradient(2) - truth.velocity_m_s), tolerance)
          << z_m << " " << across_m;
      if (z_m < 0.01) {
        continue;
      }
      constexpr double kStep_m = 1e-5;
      const auto slope = [&](const DiscField& more, const DiscField& less) {
        return (more.pressure - less.pressure) / (2.0 * kStep_m);
      };
      const double scale = std::abs(disc.pressure) / from_rim_m;
      for (int axis = 0; axis < 3; ++axis) {
        const Eigen::Vector3d by = kStep_m * Eigen::Vector3d::Unit(axis);
        const Complex expected =
            slope(disc_field(place_m + by, kRadius_m, k, 1e-6), disc_field(place_m - by, kRadius_m, k, 1e-6));
        EXPECT_LE(std::abs(disc.gradient(axis) - expected), 1e-4 * scale) << z_m << " " << across_m << " " << axis;
      }
      const Complex expected =
          slope(disc_field(place_m, kRadius_m + kStep_m, k, 1e-6), disc_field(place_m, kRadius_m - kStep_m, k, 1e-6));
      EXPECT_LE(std::abs(disc.by_radius - expected), 1e-4 * scale) << z_m << " " << across_m;
    }
  }
}

// Two pistons, one of which is smaller than a pitch: the prior and points alone showed one with 7 and one with 38 % of
// error. Radii are gated by some ten times the error that a source of a thousand times the noise's power has.
TEST(Disc, PistonsAreFoundWithTheirRadii) {
  ImagePlan plan = plan_of(1500.0);
  const std::vector<Piston> pistons = {{.x_m = 0.052, .y_m = -0.031, .radius_m = 0.045, .velocity_m_s = 0.005},
                                       {.x_m = -0.107, .y_m = 0.094, .radius_m = 0.015, .velocity_m_s = {0.0, 0.03}}};
  auto field = pistons_at(pistons, plan, plan.standoff_m, Quantity::kPressure);
  std::mt19937 generator(11U);
  test::add_noise(field, 40.0, generator);
  const auto spectra = test::narrow(field);
  SearchBench bench(plan);
  const auto found = bench.search(spectra);
  auto points = findings_as<WaveFindings>(found).waves[0].points;
  ASSERT_EQ(points.size(), pistons.size());
  std::sort(points.begin(), points.end(), [](const auto& a, const auto& b) { return a.x_m > b.x_m; });
  for (std::size_t i = 0; i < pistons.size(); ++i) {
    EXPECT_NEAR(points[i].x_m, pistons[i].x_m, 1e-3);
    EXPECT_NEAR(points[i].y_m, pistons[i].y_m, 1e-3);
    EXPECT_NEAR(points[i].radius_m, pistons[i].radius_m, 0.1 * pistons[i].radius_m);
    EXPECT_EQ(points[i].z_m, 0.0);
  }
  const double error = bench.error(spectra, pistons_at(pistons, plan, 0.0, Quantity::kPressure), found);
  std::printf("two pistons: error of pressure %.2f %%, radii %.1f and %.1f mm\n", 100.0 * error,
              1e3 * points[0].radius_m, 1e3 * points[1].radius_m);
  EXPECT_LE(error, 0.02);
}

// What is known of a source stays as it is while the field stays.
TEST(Disc, StaysADiscInTheNextSearches) {
  ImagePlan plan = plan_of(1500.0, 16, 16);
  const std::vector<Piston> pistons = {{.x_m = 0.03, .y_m = 0.01, .radius_m = 0.04, .velocity_m_s = 0.005}};
  const auto clean = pistons_at(pistons, plan, plan.standoff_m, Quantity::kPressure);
  std::mt19937 generator(12U);
  SearchBench bench(plan);
  const auto search = bench.new_search();
  for (std::uint64_t number = 0; number < 10; ++number) {
    auto field = clean;
    test::add_noise(field, 40.0, generator);
    const auto found = search->search(test::narrow(field), {}, number);
    const auto& points = findings_as<WaveFindings>(found).waves[0].points;
    ASSERT_EQ(points.size(), 1U) << number;
    EXPECT_NEAR(points[0].radius_m, 0.04, 0.004) << number;
  }
}

// A monopole behind the surface is no disc.
TEST(Disc, AMonopoleStaysAPoint) {
  const ImagePlan plan = plan_of(2000.0);
  std::mt19937 generator(13U);
  SearchBench bench(plan);
  for (const double depth_m : {0.012, 0.03, 0.08}) {
    auto field = test::monopole_field({.x_m = 0.033, .y_m = -0.047, .z_m = -depth_m}, plan.wavenumber(0), plan.geometry,
                                      plan.standoff_m);
    test::add_noise(field, 40.0, generator);
    const auto found = bench.search(test::narrow(field));
    const auto& points = findings_as<WaveFindings>(found).waves[0].points;
    ASSERT_EQ(points.size(), 1U) << depth_m;
    EXPECT_FALSE(points[0].is_disc()) << depth_m;
  }
}

// Two modes of a plate, config/scenes/plate.yaml's at 1007 Hz: a disc there is more probable than a point by some ten
// nepers, and would show a rim, by which the velocity had 15 % of error in place of 12.
TEST(Disc, SmoothModesAreNoDiscs) {
  ImagePlan plan = plan_of(1007.08);
  plan.holography.quantity = Quantity::kNormalVelocity;
  const Plate plate{
      .x_m = 0.0,
      .y_m = 0.0,
      .width_m = 0.4,
      .height_m = 0.3,
      .modes = {{.m = 3, .n = 2, .velocity_m_s = 0.010}, {.m = 2, .n = 1, .velocity_m_s = std::polar(0.002, 1.2)}}};
  const Tonal tonal = tonal_of(plan.frequencies_hz[0]);
  std::vector<Complex> clean;
  for (int channel = 0; channel < plan.geometry.channels(); ++channel) {
    const MicrophonePosition at = plan.geometry.position_m(channel);
    clean.push_back(plate_pressure(plate, tonal, {at.x_m, at.y_m, plan.standoff_m}));
  }
  std::mt19937 generator(15U);
  SearchBench bench(plan);
  for (const double snr_db : {40.0, 30.0}) {
    auto field = clean;
    test::add_noise(field, snr_db, generator);
    const auto spectra = test::narrow(field);
    const auto found = bench.search(spectra);
    const auto& points = findings_as<WaveFindings>(found).waves[0].points;
    EXPECT_FALSE(std::any_of(points.begin(), points.end(), [](const auto& point) { return point.is_disc(); }))
        << snr_db;
  }
}

struct DiscCase {
  std::vector<double> planes_m;
  int upsample;
  Quantity quantity;
};

class DiscsInEveryShape : public testing::TestWithParam<DiscCase> {};

// Tolerances as of points (point_search_test.cpp); next to the rim the line integral is right to 1 %.
TEST_P(DiscsInEveryShape, KernelsAgreeWithReference) {
  const DiscCase& c = GetParam();
  ImagePlan plan = plan_of(1500.0, 12, 16);
  plan.geometry.pitch_y_m = 0.025;
  plan.holography.planes_m = c.planes_m;
  plan.holography.upsample = c.upsample;
  plan.holography.quantity = c.quantity;
  const std::vector<Piston> pistons = {{.x_m = 0.033, .y_m = -0.041, .radius_m = 0.0413, .velocity_m_s = 0.005}};
  auto field = pistons_at(pistons, plan, plan.standoff_m, Quantity::kPressure);
  std::mt19937 generator(14U);
  test::add_noise(field, 50.0, generator);
  const std::vector<ComplexF> narrow = test::narrow(field);
  const auto found = WaveSearch(plan, make_sonah_models(plan)).search(narrow, {});
  ASSERT_EQ(findings_as<WaveFindings>(found).waves[0].points.size(), 1U);
  EXPECT_TRUE(findings_as<WaveFindings>(found).waves[0].points[0].is_disc());
  reference::Sonah sonah(plan);
  sonah.use(findings_as<WaveFindings>(found));
  const reference::Images expected = sonah.image(test::widen(narrow), plan, {.hop = 0});
  for (const test::Path& path : test::kSonahPaths) {
    const test::DeviceImages images = test::run_on_device(plan, narrow, path, found);
    EXPECT_LE(test::relative_l2(images.images, expected.images), 1e-3) << path.name;
    for (std::size_t i = 0; i < expected.reports.size(); ++i) {
      EXPECT_NEAR(images.reports[i].noise_pa, expected.reports[i].noise_pa, 1e-3F * expected.reports[i].noise_pa);
      EXPECT_NEAR(images.reports[i].error_estimate, expected.reports[i].error_estimate,
                  2e-2F * expected.reports[i].error_estimate);
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Disc, DiscsInEveryShape,
                         testing::Values(DiscCase{{0.0}, 1, Quantity::kPressure},
                                         DiscCase{{0.0, 0.01}, 1, Quantity::kNormalVelocity},
                                         DiscCase{{0.0}, 2, Quantity::kDisplacement}));

}  // namespace
}  // namespace nearfield
