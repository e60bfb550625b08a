#include <gtest/gtest.h>

#include <cmath>
#include <complex>
#include <numbers>

#include "core/numerics.hpp"
#include "simulate/points/paths.hpp"
#include "simulate/points/point_player.hpp"

namespace nearfield {
namespace {

constexpr double kSoundSpeed = 343.0;

double distance(const Point& a, const Point& b) { return std::hypot(a.x_m - b.x_m, a.y_m - b.y_m, a.z_m - b.z_m); }

// The definition, t = t_e + |p(t_e) - x|/c, at random times before, within and after a path of random legs, some of
// them at rest. Times go back and forth, so that legs are found in both directions.
TEST(RetardedPath, SolvesItsEquation) {
  RandomStream random(1, 1);
  for (int draw = 0; draw < 20; ++draw) {
    Path path;
    double t_s = -1.0;
    for (int i = 0; i < 12; ++i) {
      const Point place = i % 4 == 3 ? path.back().position
                                     : Point{10 * random.uniform(), 10 * random.uniform(), -12 + 10 * random.uniform()};
      // Legs of at most 35 m last at least 0.3 s: below 117 m/s.
      path.push_back({.t_s = t_s, .position = place});
      t_s += 0.5 + 0.2 * random.uniform();
    }
    const Point place{random.uniform(), random.uniform(), 0.03};
    RetardedPath retarded(path, place, kSoundSpeed, 0.0);
    for (int i = 0; i < 200; ++i) {
      const double t = 2.5 + 5 * random.uniform();
      const Emission emission = retarded.at(t);
      const Point from = position_at(path, t - emission.delay_s);
      EXPECT_NEAR(distance(from, place), emission.distance_m, 1e-12 * emission.distance_m);
      EXPECT_NEAR(emission.delay_s, emission.distance_m / kSoundSpeed, 1e-15);
    }
  }
}

TEST(Path, RestsBeforeAndAfter) {
  const Path path{{0.0, {0, 0, -1}}, {2.0, {2, 4, -1}}, {3.0, {2, 4, -2}}};
  EXPECT_EQ(position_at(path, -5.0).x_m, 0.0);
  EXPECT_EQ(position_at(path, 0.5).x_m, 0.5);
  EXPECT_EQ(position_at(path, 0.5).y_m, 1.0);
  EXPECT_EQ(position_at(path, 2.5).z_m, -1.5);
  EXPECT_EQ(position_at(path, 9.0).z_m, -2.0);
  EXPECT_NEAR(highest_speed(path), std::sqrt(5.0), 1e-15);
  EXPECT_EQ(highest_speed({{0.0, {0, 0, -1}}}), 0.0);
}

/// One microphone before which a monopole moves along z, at from_z_m at time 0.
Scene moving_monopole(double frequency_hz, double from_z_m, double speed_m_s) {
  Scene scene;
  scene.measurement = {{1, 1, 0.1, 0.1}, 0.03, 0.0};
  scene.layout = WireLayout::kRowMajor;
  scene.duration_s = 1.0;
  scene.tones = {{frequency_hz, Monopole{{0, 0, from_z_m}, {1e-3, 0}, false},
                  Path{{-3.0, {0, 0, from_z_m - 3 * speed_m_s}}, {2.0, {0, 0, from_z_m + 2 * speed_m_s}}}}};
  return scene;
}

/// Phasor of values times distance around a time, referred to time 0 at frequency f.
std::complex<double> phasor_at(const PointPlayer& player, double t_s, double frequency_hz, double closing_m_s,
                               double distance_at_0_m) {
  constexpr double kRate = 187500.0;
  constexpr std::size_t kCount = 18750;
  std::vector<float> values(kCount);
  const auto first = static_cast<std::int64_t>(t_s * kRate);
  player.play(first, kRate, values);
  std::complex<double> sum = 0.0;
  for (std::size_t i = 0; i < kCount; ++i) {
    const double t = (static_cast<double>(first) + static_cast<double>(i)) / kRate;
    // Of a source that comes straight at the microphone, c (t - t_e) = (d0 - v t) / (1 - v/c).
    const double r = (distance_at_0_m - closing_m_s * t) / (1 - closing_m_s / kSoundSpeed);
    const double share = (static_cast<double>(i) + 0.5) / static_cast<double>(kCount);
    const double window = 1 - std::cos(2 * std::numbers::pi * share);
    sum += window * r * static_cast<double>(values[i]) * std::polar(2.0, -2 * std::numbers::pi * frequency_hz * t);
  }
  return sum / static_cast<double>(kCount);
}

// A tone that comes at v is heard at f/(1 - v/c), one that goes at f/(1 + v/c), and its amplitude is A/r(t_e).
TEST(PointPlayer, MovingToneIsShiftedByDoppler) {
  for (const double closing_m_s : {20.0, -35.0, 150.0}) {
    const Scene scene = moving_monopole(1000.0, -200.0, closing_m_s);
    const PointPlayer player(scene, {});
    const double expected_hz = 1000.0 / (1 - closing_m_s / kSoundSpeed);
    const auto early = phasor_at(player, 0.0, expected_hz, closing_m_s, 200.03);
    const auto late = phasor_at(player, 0.9, expected_hz, closing_m_s, 200.03);
    const double drift_hz = std::arg(late / early) / (2 * std::numbers::pi * 0.9);
    EXPECT_LT(std::abs(drift_hz), 1e-7 * expected_hz) << closing_m_s;  // float32 values; ten times below the contract
    const double amplitude = 1000.0 * scene.medium.density_kg_m3 * 1e-3 / 2;  // f rho Q / 2
    EXPECT_NEAR(std::abs(early), amplitude, 1e-5 * amplitude) << closing_m_s;
    EXPECT_NEAR(std::abs(late), amplitude, 1e-5 * amplitude) << closing_m_s;
  }
}

// A tone that "moves" from a place to the same place is the tone that rests, image by image of a room.
TEST(PointPlayer, ARestingPathIsTheMonopole) {
  Scene scene;
  scene.measurement = {{2, 3, 0.1, 0.12}, 0.03, 0.0};
  scene.layout = WireLayout::kRowMajor;
  scene.room.walls = {{{Wall{-1.0, 0.8}, Wall{1.5, 0.7}}, {Wall{-0.9, -0.5}, std::nullopt}, {Wall{-2.0, 0.9}, {}}}};
  scene.room.order = 3;
  const Point place{0.3, -0.2, -0.7};
  scene.tones = {{777.0, Monopole{place, std::polar(1e-3, 0.4), false}}};
  const std::vector<std::complex<float>> resting = aperture_pressure_of(scene);
  scene.tones.front().motion = {{-1.0, place}, {0.5, place}, {2.0, place}};
  const PointPlayer player(scene, {});
  std::vector<float> values(std::size_t{100} * 6);
  constexpr double kRate = 48000.0;
  player.play(-10, kRate, values);
  for (std::size_t i = 0; i < 100; ++i) {
    const double t = (static_cast<double>(i) - 10) / kRate;
    for (std::size_t channel = 0; channel < 6; ++channel) {
      const std::complex<double> turned =
          std::complex<double>(resting[channel]) * std::polar(1.0, 2 * std::numbers::pi * 777.0 * t);
      // Both are float32.
      EXPECT_NEAR(static_cast<double>(values[i * 6 + channel]), turned.real(), 3e-7 * std::abs(turned));
    }
  }
}

}  // namespace
}  // namespace nearfield
