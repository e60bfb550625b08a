#include "bench/fidelity/fidelity_kinds.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <numbers>

#include "bench/fidelity/fidelity_calibration.hpp"
#include "cl/device.hpp"
#include "simulate/fields.hpp"
#include "support/measures.hpp"

namespace nearfield::bench {
namespace {

using Complex = std::complex<double>;

const WavePacket kPacket{.x_m = 0.05,
                         .y_m = -0.11,
                         .width_m = 0.03,
                         .kx_rad_per_m = 40.0,
                         .ky_rad_per_m = -30.0,
                         .velocity_m_s = Complex(0.3, 0.4)};

double distance(const std::vector<Complex>& found, const std::vector<Complex>& expected) {
  double difference = 0.0;
  double power = 0.0;
  for (std::size_t i = 0; i < found.size(); ++i) {
    difference += std::norm(found[i] - expected[i]);
    power += std::norm(expected[i]);
  }
  return std::sqrt(difference / power);
}

// The spectrum ends where it has fallen to e^{-24.5}, beyond which 1e-8 of the velocity lies.
TEST(SceneKinds, APacketsVelocityOnTheSurfaceIsItsBell) {
  const ArrayGeometry geometry;
  for (const double frequency_hz : {500.0, 4000.0}) {
    const PacketFields found = packet_fields({kPacket}, frequency_hz, {}, geometry, 0.0);
    std::vector<Complex> bell;
    for (int channel = 0; channel < geometry.channels(); ++channel) {
      const MicrophonePosition at = geometry.position_m(channel);
      const double x_m = at.x_m - kPacket.x_m;
      const double y_m = at.y_m - kPacket.y_m;
      bell.push_back(kPacket.velocity_m_s *
                     std::polar(std::exp(-0.5 * (x_m * x_m + y_m * y_m) / (0.03 * 0.03)), -40.0 * x_m + 30.0 * y_m));
    }
    EXPECT_LT(distance(found.velocity_m_s, bell), 1e-7) << frequency_hz;
  }
}

/// Rayleigh's integral over the bell, p = (j w rho / 2 pi) int v e^{-jkR}/R dS, by a sum over 2 mm squares: smooth at 3
/// cm, so that the sum converges exponentially.
Complex rayleigh(double frequency_hz, const Point& point) {
  const Tonal tonal{frequency_hz, {}};
  const double step_m = 0.002;
  Complex sum;
  for (int row = -120; row <= 120; ++row) {
    for (int column = -120; column <= 120; ++column) {
      const double x_m = column * step_m;
      const double y_m = row * step_m;
      const double r_m = std::hypot(point.x_m - kPacket.x_m - x_m, point.y_m - kPacket.y_m - y_m, point.z_m);
      sum += std::polar(std::exp(-0.5 * (x_m * x_m + y_m * y_m) / (0.03 * 0.03)) / r_m,
                        -40.0 * x_m + 30.0 * y_m - tonal.wavenumber_rad_per_m() * r_m);
    }
  }
  return Complex(0.0, tonal.angular_frequency_rad_per_s() * tonal.medium.density_kg_m3 / (2.0 * std::numbers::pi)) *
         kPacket.velocity_m_s * sum * step_m * step_m;
}

TEST(SceneKinds, APacketsPressureIsRayleighsIntegral) {
  const ArrayGeometry geometry;
  for (const double frequency_hz : {500.0, 4000.0}) {
    const PacketFields found = packet_fields({kPacket}, frequency_hz, {}, geometry, 0.03);
    for (const int channel : {0, 10 * 32 + 18, 31 * 32 + 31}) {
      const MicrophonePosition at = geometry.position_m(channel);
      const Complex expected = rayleigh(frequency_hz, {at.x_m, at.y_m, 0.03});
      EXPECT_LT(std::abs(found.pressure_pa[static_cast<std::size_t>(channel)] - expected), 1e-5 * std::abs(expected))
          << frequency_hz << " " << channel;
    }
  }
}

TEST(SceneKinds, AreTheSameEveryTimeAndOfEveryQuantity) {
  const std::vector<SceneKind> kinds = scene_kinds(2);
  const std::vector<SceneKind> again = scene_kinds(1);
  ASSERT_EQ(kinds.size(), 10U);
  EXPECT_EQ(std::count_if(kinds.begin(), kinds.end(), [](const SceneKind& kind) { return kind.is_fitted; }), 4);
  for (std::size_t i = 0; i < kinds.size(); ++i) {
    EXPECT_EQ(kinds[i].scenes[0].aperture, again[i].scenes[0].aperture) << kinds[i].name;
    EXPECT_NE(kinds[i].scenes[0].aperture, kinds[i].scenes[1].aperture) << kinds[i].name;
    const TrueField velocity = kinds[i].field(1, Quantity::kNormalVelocity);
    const TrueField displacement = kinds[i].field(1, Quantity::kDisplacement);
    const TrueField intensity = kinds[i].field(1, Quantity::kActiveIntensity);
    const std::size_t last = velocity.truth.size() - 1;  // at 4000 Hz
    const Complex jw(0.0, 2.0 * std::numbers::pi * 4000.0);
    EXPECT_LT(std::abs(Complex(displacement.truth[last]) * jw - Complex(velocity.truth[last])),
              1e-6 * std::abs(Complex(velocity.truth[last])));
    const Complex power = Complex(kinds[i].scenes[1].pressure[last]) * std::conj(Complex(velocity.truth[last]));
    EXPECT_NEAR(static_cast<double>(intensity.truth[last].real()), 0.5 * power.real(), 1e-6 * std::abs(power));
    EXPECT_EQ(intensity.truth[last].imag(), 0.0F);
  }
}

// One scene at one frequency: every image that has an expected error has one of its size. A factor of 4 either way is
// wider than what the ratio has over this kind, 0.5 to 2, and narrower than the six times by which a pressure's error
// is off a velocity's.
TEST(Fidelity, OfAKindHasExpectedErrorsOfTheirSize) {
  SceneKind kind = scene_kinds(1)[6];
  ASSERT_EQ(kind.name, "seven monopoles, 3 cm");
  kind.frequencies_hz.resize(1);
  for (Values* values : {&kind.scenes[0].aperture, &kind.scenes[0].pressure, &kind.scenes[0].velocity}) {
    values->resize(1024);
  }
  const KindResult result = measure_kind(ocl::Device::open({}), kind, 40.0);
  EXPECT_EQ(result.rows.size(), 3U + 3U + 2U + 2U + 2U) << "auto, search, sonah, the best fixed cut-off, imager: auto";
  for (const KindRow& row : result.rows) {
    ASSERT_EQ(row.relative_l2.size(), 1U);
    const double ratio = row.error_estimate.at(0) / row.relative_l2[0];
    EXPECT_EQ(std::isnan(ratio), row.knows_truth) << row.filter;
    if (!row.knows_truth) {
      EXPECT_GT(ratio, 0.25) << row.filter << " " << name_of(row.quantity);
      EXPECT_LT(ratio, 4.0) << row.filter << " " << name_of(row.quantity);
    }
  }
}

}  // namespace
}  // namespace nearfield::bench
