#include "processors/beamform/beam_pattern.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <numbers>

#include "core/error.hpp"
#include "processors/beamform_support.hpp"

/// A beamformer's answer to one source, without data.
namespace nearfield {
namespace {

using far_field::GridKind;
using test::Beamformer;
using test::Complex;

/// 64 microphones half a wavelength apart, over angles against their line.
Beamformer line_of_64(int count) {
  Beamformer beamformer(1, 64, {2000.0});
  beamformer.array.geometry.pitch_x_m = 0.375;
  beamformer.array.medium.sound_speed_m_s = 1500.0;
  beamformer.own.grid.kind = GridKind::kLine;
  beamformer.own.grid.distance_m = {far_field::kInfinitelyFar};
  beamformer.own.grid.count = count;
  return beamformer;
}

// |sin(32 psi) / (64 sin(psi / 2))|^2 over 512 angles: its maximum is at angle 170 of 511, its next one at 162. Noise
// from all directions is incoherent half a wavelength apart, so both gains are 64.
TEST(BeamPattern, OfALineOfMicrophonesIsTheClosedForm) {
  const BeamPattern found = beam_pattern(line_of_64(512).plan(), {.place_m = {}, .direction_deg = {30.0, 0.0}});
  ASSERT_EQ(found.pattern.size(), 512U);
  const auto power = [](std::size_t i) {
    const double psi = std::numbers::pi * (0.5 - std::cos(std::numbers::pi * static_cast<double>(i) / 511.0));
    return std::pow(std::sin(32.0 * psi) / (64.0 * std::sin(psi / 2.0)), 2);
  };
  for (std::size_t i = 0; i < 512; ++i) {
    EXPECT_NEAR(found.pattern[i], power(i) / power(170), 1e-6) << i;
  }
  EXPECT_NEAR(found.figures.peak.at(0), 170 * 180.0 / 511.0, 1e-9);
  EXPECT_NEAR(found.figures.side_lobe.at(0), 162 * 180.0 / 511.0, 1e-9);
  EXPECT_NEAR(found.figures.side_lobe_db, 10.0 * std::log10(power(162) / power(170)), 1e-4);
  EXPECT_NEAR(found.figures.white_noise_gain_db, 10.0 * std::log10(64.0), 1e-9);
  EXPECT_NEAR(found.figures.directivity_db, 10.0 * std::log10(64.0), 1e-9);
  EXPECT_EQ(found.figures.microphones, 64);
  EXPECT_EQ(flaw_of(found.header), "");
  EXPECT_EQ(found.figure_values.size() + 1, found.header.products.size());
}

// A source at azimuth 0 of a full circle has its main lobe on both sides of the circle's end; at azimuth 180 the same
// lobe lies inside, as 8 x 8 microphones look the same from both.
TEST(BeamPattern, GoesRoundAFullCircle) {
  Beamformer beamformer(8, 8, {8000.0});
  beamformer.own.grid.kind = GridKind::kSphere;
  beamformer.own.grid.radius_m = {1.0};
  beamformer.own.grid.azimuth_deg = {0.0, 360.0};
  beamformer.own.grid.elevation_deg = {0.0, 90.0};
  beamformer.own.grid.step_deg = 2.0;
  const ProcessorPlan plan = beamformer.plan();
  const double z_m = plan.array.standoff_m - 0.77;
  const double x_m = std::sqrt(1.0 - 0.77 * 0.77);
  const PatternFigures at_end = beam_pattern(plan, {.place_m = {{x_m, 0.0, z_m}}, .direction_deg = {}}).figures;
  const PatternFigures inside = beam_pattern(plan, {.place_m = {{-x_m, 0.0, z_m}}, .direction_deg = {}}).figures;
  ASSERT_EQ(at_end.half_power_width.size(), inside.half_power_width.size());
  for (std::size_t axis = 0; axis < inside.half_power_width.size(); ++axis) {
    EXPECT_EQ(std::isnan(at_end.half_power_width[axis]), std::isnan(inside.half_power_width[axis])) << axis;
    if (!std::isnan(inside.half_power_width[axis])) {
      EXPECT_NEAR(at_end.half_power_width[axis], inside.half_power_width[axis], 1e-6) << axis;
    }
  }
  EXPECT_GT(
      std::count_if(inside.half_power_width.begin(), inside.half_power_width.end(), [](double w) { return w > 0.0; }),
      1);
  EXPECT_NEAR(at_end.side_lobe_db, inside.side_lobe_db, 1e-6);
}

// Planes that do not rise have no width and no side lobes.
TEST(BeamPattern, OfPlanesInAnyOrderHasNoWidthAcrossThem) {
  Beamformer beamformer(8, 8, {8000.0});
  beamformer.own.grid.distance_m = {0.5, 0.3, 0.4};
  const BeamPattern found = beam_pattern(beamformer.plan(), {.place_m = {{0.0, 0.0, -0.35}}, .direction_deg = {}});
  EXPECT_TRUE(std::isnan(found.figures.half_power_width.at(0)));
  EXPECT_TRUE(std::isnan(found.figures.side_lobe_db));
}

// On a fine grid half the power is reached at 59.0799 and 60.9117 degrees, and the side lobe is that of any long line.
TEST(BeamPattern, HasTheWidthsOfALineOfMicrophones) {
  Beamformer beamformer = line_of_64(6001);
  beamformer.own.grid.angles_deg = {56.5, 62.5};
  const BeamPattern found = beam_pattern(beamformer.plan(), {.place_m = {}, .direction_deg = {30.0, 0.0}});
  EXPECT_NEAR(found.figures.peak.at(0), 60.0, 1e-9);
  EXPECT_NEAR(found.figures.half_power_width.at(0), 60.9117 - 59.0799, 2e-4);
  EXPECT_NEAR(found.figures.side_lobe_db, -13.2543, 1e-3);
  EXPECT_NEAR(found.figures.side_lobe.at(0), 56.996, 2e-3);
  beamformer.own.grid.angles_deg = {59.5, 60.5};
  const BeamPattern narrow = beam_pattern(beamformer.plan(), {.place_m = {}, .direction_deg = {30.0, 0.0}});
  EXPECT_TRUE(std::isnan(narrow.figures.half_power_width.at(0)));
  EXPECT_TRUE(std::isnan(narrow.figures.side_lobe_db));
}

// Of a hann-shaded line: the side lobe and the gain over the microphones' noise.
TEST(BeamPattern, ShowsWhatShadingDoes) {
  Beamformer beamformer = line_of_64(20001);
  beamformer.own.steering.shading = far_field::Shading::kHann;
  const BeamPattern found = beam_pattern(beamformer.plan(), {.place_m = {}, .direction_deg = {0.0, 0.0}});
  EXPECT_NEAR(found.figures.peak.at(0), 90.0, 1e-9);
  EXPECT_NEAR(found.figures.side_lobe_db, -31.47, 0.05);
  EXPECT_NEAR(found.figures.white_noise_gain_db, 16.37, 0.05);
}

// Of a point it is the map that the processor makes of the point's field, whatever it makes of maps after that.
TEST(BeamPattern, OfAPointIsTheMapOfItsField) {
  for (const bool removes : {false, true}) {
    Beamformer beamformer(9, 12, {4000.0});
    beamformer.settings.front_end.hop_samples = beamformer.settings.front_end.window_samples / 2;
    beamformer.own.grid.distance_m = {0.3, 0.5};
    beamformer.own.grid.step_m = 0.05;
    beamformer.own.steering.shading = far_field::Shading::kHamming;
    beamformer.own.steering.subset =
        SubsetSettings{.kind = SubsetSettings::Kind::kGrid, .rows = 9, .columns = 12, .channels = {}};
    beamformer.own.diagonal_removal = removes;
    beamformer.own.average = {.kind = AverageKind::kLinear, .seconds = 1e-6};
    beamformer.array.dead_channels = {5, 17};
    test::ReferenceMapper mapper(beamformer);
    const std::vector<float> map = mapper.powers(beamformer.monopole({0.1, -0.05, -0.5}));
    Beamformer other = beamformer;  // what is made of maps is passed over
    other.own.focus = Focus::kMax;
    other.own.sectors = {{.name = "a", .across = {-0.1, 0.1}, .down = {-0.1, 0.1}}};
    other.own.average = {};
    const BeamPattern found =
        beam_pattern(other.plan(), {.place_m = {{0.1, -0.05, beamformer.array.standoff_m - 0.5}}, .direction_deg = {}});
    ASSERT_EQ(found.pattern.size(), map.size());
    const float largest = *std::max_element(map.begin(), map.end());
    for (std::size_t i = 0; i < map.size(); ++i) {
      EXPECT_NEAR(found.pattern[i], map[i] / largest, 1e-5) << i;
    }
    EXPECT_EQ(found.figures.microphones, 106);
    EXPECT_EQ(found.header.products[0].axes, std::vector<std::string>({"frequency", "distance", "y", "x"}));
  }
}

TEST(BeamPattern, RefusesASourceAtAMicrophone) {
  const Beamformer beamformer(3, 3, {1000.0});
  EXPECT_THROW((void)beam_pattern(beamformer.plan(), {.place_m = {{0.02, 0.0, 0.03}}, .direction_deg = {}}),
               ConfigError);
}

}  // namespace
}  // namespace nearfield
