#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "imaging/priors/make_mask.hpp"
#include "processors/beamform_support.hpp"
#include "processors/far_field/array.hpp"
#include "processors/srp_phat_support.hpp"
#include "support/positions.hpp"

// What looks far takes microphones wherever they stand.
namespace nearfield {
namespace {

using far_field::Formulation;
using far_field::Position;
using test::Beamformer;

// 1e-4 of the maximum is what float32 is allowed; some 1e-5 is expected (beamform_test.cpp).
constexpr double kAllowed = 1e-4;

Beamformer on_a_sunflower(int microphones, std::vector<double> frequencies_hz) {
  Beamformer beamformer(1, 1, std::move(frequencies_hz));
  beamformer.array.geometry = geometry_of(test::sunflower(microphones, 0.3));
  beamformer.own.grid.step_m = 0.1;
  return beamformer;
}

TEST(IrregularArray, MapsOfTheDeviceAreTheReferences) {
  for (const auto& [kind, shading] : {std::pair{far_field::GridKind::kPlane, far_field::Shading::kUniform},
                                      {far_field::GridKind::kAngles, far_field::Shading::kHann},
                                      {far_field::GridKind::kSphere, far_field::Shading::kDolphChebyshev}}) {
    Beamformer beamformer = on_a_sunflower(37, {500.0, 4000.0});
    beamformer.own.grid.kind = kind;
    beamformer.own.grid.step_deg = 10.0;
    beamformer.own.steering.shading = shading;
    if (kind == far_field::GridKind::kAngles) {
      beamformer.own.grid.distance_m = {far_field::kInfinitelyFar};
    }
    const auto field = test::busy_field(beamformer, 3);
    test::DeviceMapper device(beamformer);
    EXPECT_THAT(device.description(), testing::HasSubstr("direct"));
    test::ReferenceMapper reference(beamformer);
    EXPECT_LT(test::difference_of(device.beams(field), reference.beams(field)), kAllowed);
    const MicrophoneMask mask = make_mask(beamformer.array, {3, 17});
    device.use(mask);
    reference.use(mask);
    EXPECT_LT(test::difference_of(device.beams(field), reference.beams(field)), kAllowed);
  }
}

// II and III show the level of a source exactly, from wherever the microphones stand: 1 Pa m over its distance from the
// origin. Plane waves: 1 Pa.
TEST(IrregularArray, LevelsAreThoseOfTheClosedForm) {
  for (const Formulation formulation : {Formulation::kInverse, Formulation::kTrueLevel}) {
    Beamformer beamformer = on_a_sunflower(37, {300.0, 3000.0});
    beamformer.own.steering.formulation = formulation;
    const Position source = {0.2, -0.1, -0.6};
    beamformer.own.grid.x_m = {source.x, source.x};
    beamformer.own.grid.y_m = {source.y, source.y};
    beamformer.own.grid.distance_m = {-source.z};
    test::DeviceMapper mapper(beamformer);
    for (const std::complex<float>& beam : mapper.beams(beamformer.monopole(source))) {
      EXPECT_NEAR(static_cast<double>(std::abs(beam)) * norm(source), 1.0, kAllowed);
    }
  }
  Beamformer far = on_a_sunflower(37, {300.0, 3000.0});
  far.own.grid.kind = far_field::GridKind::kAngles;
  far.own.grid.distance_m = {far_field::kInfinitelyFar};
  far.own.grid.azimuth_deg = far.own.grid.elevation_deg = {20.0, 20.0};
  const double side = std::sin(20.0 * std::numbers::pi / 180.0);
  test::DeviceMapper mapper(far);
  for (const std::complex<float>& beam :
       mapper.beams(far.plane_wave({side, side, -std::sqrt(1.0 - 2.0 * side * side)}))) {
    EXPECT_NEAR(static_cast<double>(beam.real()), 1.0, kAllowed);
    EXPECT_NEAR(static_cast<double>(beam.imag()), 0.0, kAllowed);
  }
}

// The window along the radius: 1 in the middle, falling outwards, on the edge the line's last weight.
TEST(IrregularArray, ShadingGoesByTheRadius) {
  std::vector<MicrophonePosition> ring;
  for (int ray = 0; ray < 5; ++ray) {
    const double angle = 2.0 * std::numbers::pi * ray / 5.0;
    for (int n = 1; n <= 4; ++n) {
      ring.push_back({0.05 * n * std::cos(angle), 0.05 * n * std::sin(angle), 0.0});
    }
  }
  const ArrayGeometry geometry = geometry_of(ring);
  ASSERT_FALSE(geometry.is_grid());
  ASSERT_NEAR(geometry.pitch_x_m, 0.05, 1e-12) << "a line of nine microphones";
  for (const far_field::Shading shading :
       {far_field::Shading::kHann, far_field::Shading::kDolphChebyshev, far_field::Shading::kTaylor}) {
    const std::vector<double> line = far_field::line_shading(shading, 9, 30.0);
    const std::vector<double> weights = far_field::array_shading({.shading = shading}, geometry);
    for (std::size_t i = 0; i < weights.size(); ++i) {
      EXPECT_NEAR(weights[i], line[4 + 1 + i % 4], 1e-9);
    }
  }
}

TEST(IrregularArray, SourcesOfTheDeviceAreTheReferencesAndWhereTheyAre) {
  test::SrpSetup setup(1, 1, 20, 80);
  setup.array.geometry = geometry_of(test::sunflower(37, 0.3));
  setup.look_far(40.0, 2.0);
  setup.own.keep_map = true;
  std::mt19937 generator(7);
  const Position direction = {std::sin(0.3), std::sin(-0.2), 0.0};
  const Position unit = {direction.x, direction.y,
                         -std::sqrt(1.0 - direction.x * direction.x - direction.y * direction.y)};
  const auto spectra = setup.source(unit, generator);
  const test::SrpFrame device = test::SrpOnDevice(setup).look(spectra);
  const test::SrpFrame reference = test::SrpReference(setup).look(spectra);
  EXPECT_LT(test::difference_of(device.map, reference.map), kAllowed);
  for (const test::SrpFrame& frame : {device, reference}) {
    ASSERT_FALSE(frame.rows.empty());
    // Refined to a fraction of the grid's step of 2 degrees: without noise to some hundredths of a degree.
    const std::vector<double>& found = frame.rows.front();
    EXPECT_NEAR(found[test::kX], unit.x, 0.002);
    EXPECT_NEAR(found[test::kY], unit.y, 0.002);
    EXPECT_NEAR(found[test::kZ], unit.z, 0.002);
    EXPECT_GT(found[test::kConfidence], 0.99);
  }
}

}  // namespace
}  // namespace nearfield
