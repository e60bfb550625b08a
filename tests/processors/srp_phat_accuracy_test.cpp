#include <gtest/gtest.h>

#include <algorithm>

#include "processors/srp_phat_support.hpp"

/// How near found places are to the true ones: seeded draws, few of them. The figures are those of larger experiments.
namespace nearfield {
namespace {

using far_field::GridKind;
using far_field::Position;
using test::Complex;
using test::SrpFrame;
using test::SrpOnDevice;
using test::SrpSetup;

double median_of(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return values[values.size() / 2];
}

// B9: a volume before a 62 cm aperture, noise 10 dB below at each microphone, 2 to 8 kHz: distances at half a metre
// within 2 cm. Every third bin, which leaves the band's width.
TEST(SrpAccuracy, OfDistancesBeforeALargeArray) {
  constexpr double kNoise = 0.316;
  SrpSetup setup(16, 16, 0, 0);
  setup.array.geometry.pitch_x_m = setup.array.geometry.pitch_y_m = 0.04;
  for (std::size_t k = 0; k < 44; ++k) {
    setup.array.frequencies_hz.push_back(static_cast<double>(44 + 3 * k) * SrpSetup::kRate_hz / 1024.0);
  }
  setup.own.grid.kind = GridKind::kVolume;
  setup.own.grid.x_m = setup.own.grid.y_m = {-0.1, 0.1};
  setup.own.grid.distance_m = {0.3, 1.5};
  setup.own.grid.step_m = 0.025;
  SrpOnDevice device(setup);
  std::mt19937 generator(61);
  std::uniform_real_distribution<double> aside(-0.09, 0.09);
  std::vector<double> errors_m;
  for (int draw = 0; draw < 5; ++draw) {
    const Position source = {aside(generator), aside(generator), -0.5 + 0.1 * aside(generator)};
    std::vector<Complex> spectra = setup.source(source, generator);
    const std::vector<Complex> noise = setup.noise(generator);
    for (std::size_t i = 0; i < spectra.size(); ++i) {
      spectra[i] += kNoise / norm(source) * noise[i];
    }
    const SrpFrame frame = device.look(spectra);
    ASSERT_EQ(frame.rows.size(), 1U);
    errors_m.push_back(std::abs(frame.rows[0][test::kZ] - setup.array.standoff_m - source.z));
  }
  EXPECT_LE(median_of(errors_m), 0.02);
}

/// A source of the same amplitude in all bins before the array, in a room of 5 m x 4 m x 3 m whose walls reflect `beta`
/// of a pressure, by images of up to `most` reflections in all. The array stands 1 m before the middle of a wall.
std::vector<Complex> in_a_room(const SrpSetup& setup, const Position& source, double beta, int most,
                               std::mt19937& generator) {
  const std::array<double, 3> room_m = {5.0, 4.0, 3.0};
  const std::array<double, 3> array_m = {2.5, 1.5, 2.0};  // looks along -z, to the far wall at z = 0
  const SrpPlan plan = setup.places();
  std::vector<Position> images;
  std::vector<double> strengths;
  const std::array<double, 3> at = {array_m[0] + source.x, array_m[1] + source.y, array_m[2] + source.z};
  // Along one axis: image n of a place p lies at n L + p, or n L + L - p where n is odd, after |n| reflections.
  const auto place = [&](std::size_t axis, int n) {
    const double length = room_m.at(axis);
    return n * length + (n % 2 == 0 ? at.at(axis) : length - at.at(axis)) - array_m.at(axis);
  };
  for (int i = -most; i <= most; ++i) {
    for (int j = -most; j <= most; ++j) {
      for (int k = -most; k <= most; ++k) {
        const int reflections = std::abs(i) + std::abs(j) + std::abs(k);
        if (reflections <= most) {
          images.push_back({place(0, i), place(1, j), place(2, k)});
          strengths.push_back(std::pow(beta, reflections));
        }
      }
    }
  }
  std::vector<Complex> spectra;
  for (std::size_t bin = 0; bin < setup.array.frequencies_hz.size(); ++bin) {
    const Complex amplitude = SrpSetup::normal(generator);
    for (const Position& microphone : plan.microphones) {
      Complex sum = 0.0;
      for (std::size_t image = 0; image < images.size(); ++image) {
        const double r_m = distance(images[image], microphone);
        sum += strengths[image] / r_m * std::polar(1.0, -setup.array.wavenumber(bin) * r_m);
      }
      spectra.push_back(amplitude * sum);
    }
  }
  return spectra;
}

// B10: in a room, walls of 0.7, without noise: directions within half a degree in the median, and 2 degrees.
TEST(SrpAccuracy, OfDirectionsInARoom) {
  constexpr double kDegree = std::numbers::pi / 180.0;
  SrpSetup setup(8, 8, 11, 77);
  setup.array.geometry.pitch_x_m = setup.array.geometry.pitch_y_m = 0.08;
  setup.own.grid.distance_m = {1.5};
  setup.own.grid.x_m = setup.own.grid.y_m = {-0.9, 0.9};
  setup.own.grid.step_m = 0.05;
  SrpOnDevice device(setup);
  std::mt19937 generator(62);
  std::uniform_real_distribution<double> aside(-0.8, 0.8);
  std::vector<double> errors_deg;
  for (int draw = 0; draw < 9; ++draw) {
    const Position source = {aside(generator), aside(generator), -1.5};
    const SrpFrame frame = device.look(in_a_room(setup, source, 0.7, 4, generator));
    ASSERT_EQ(frame.rows.size(), 1U);
    const Position found = {frame.rows[0][test::kX], frame.rows[0][test::kY],
                            frame.rows[0][test::kZ] - setup.array.standoff_m};
    errors_deg.push_back(std::acos(std::min(dot(source, found) / norm(source) / norm(found), 1.0)) / kDegree);
  }
  EXPECT_LE(median_of(errors_deg), 0.5);
  EXPECT_LE(*std::max_element(errors_deg.begin(), errors_deg.end()), 2.0);
}

// Nothing is looked at between the planes of a grid: a source may lie anywhere in half of the way to the next one,
// which has a variance of a twelfth of its square. A source that seems to change planes is the same one.
TEST(SrpAccuracy, AcrossPlanesIsTheirDistances) {
  SrpSetup setup(8, 8, 80, 20);
  setup.own.grid.x_m = setup.own.grid.y_m = {-0.2, 0.2};
  setup.own.grid.step_m = 0.1;
  setup.own.grid.distance_m = {0.5, 0.8, 1.4};
  setup.own.significance = 0.0;
  setup.own.tracks.confirm = {2, 3};
  std::mt19937 generator(63);
  test::SrpReference reference(setup);
  SrpOnDevice device(setup);
  for (int window = 0; window < 8; ++window) {
    const double depth_m = window % 2 == 0 ? 0.5 : 0.8;
    const std::vector<Complex> spectra = setup.source({0.1, -0.1, -depth_m}, generator);
    for (const SrpFrame& frame : {reference.look(spectra), device.look(spectra)}) {
      ASSERT_EQ(frame.rows.size(), 1U) << window;
      EXPECT_EQ(frame.rows[0][test::kId], window == 0 ? 0.0 : 1.0) << window;
      if (window == 0) {
        EXPECT_NEAR(frame.rows[0][test::kMajor], 0.3 / std::sqrt(12.0), 1e-6);
      }
    }
  }
}

TEST(SrpAccuracy, OfPointsIsTheDistanceToTheNextOne) {
  SrpSetup setup(4, 4, 80, 5);
  setup.own.grid.step_m = 0.25;
  SrpPlan plan = setup.places();
  plan.settings.grid.kind = GridKind::kPoints;
  plan.dimensions = 0;
  const SrpWindow window = {.microphones = 16.0,
                            .bin_powers = std::vector<double>(5, 1.0),
                            .bin_spreads = std::vector<double>(5),
                            .maxima = {{.place = plan.grid.pixels[7], .beam_power = 1.0, .powers = {0.9}}}};
  const std::vector<SrpSource> sources = sources_of(plan, SrpSignificance(plan), window);
  ASSERT_EQ(sources.size(), 1U);
  EXPECT_NEAR(sources[0].sigma_major, 0.25 / std::sqrt(12.0), 1e-12);
  EXPECT_NEAR(sources[0].sigma_minor, 0.25 / std::sqrt(12.0), 1e-12);
  EXPECT_NEAR(sources[0].variance.z, 0.0625 / 12.0, 1e-12);
}

}  // namespace
}  // namespace nearfield
