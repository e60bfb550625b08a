#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <numbers>

#include "core/error.hpp"
#include "core/images.hpp"
#include "files/files.hpp"
#include "simulate/scene.hpp"
#include "simulate/temporary_folder.hpp"

/// Scenes as time data and as spectra.
namespace nearfield {
namespace {

using Complex = std::complex<double>;
using test::TemporaryFolder;
using ::testing::HasSubstr;

Scene small_scene() {
  Scene scene;
  scene.measurement = {{2, 3, 0.1, 0.12}, 0.03, -20.0};
  scene.layout = WireLayout::kRowMajor;
  scene.duration_s = 0.02;
  scene.tones = {{1000.0, Monopole{{0.1, 0, -0.5}, std::polar(1e-3, 0.3), false}},
                 {2500.0, Piston{0.02, 0.01, 0.03, {0.01, 0}}}};
  scene.gain_spread_db = 2.0;
  scene.dead_channels = {4};
  return scene;
}

std::vector<float> samples_of(const std::filesystem::path& path) {
  const TimeDataReader reader(path);
  std::vector<float> values(reader.samples() * static_cast<std::uint64_t>(reader.channels()));
  reader.read(0, values);
  return values;
}

TEST(SimulateTimeData, HoldsTheTonesWithTheMicrophonesGains) {
  const TemporaryFolder folder;
  Scene scene = small_scene();
  scene.phase_spread_deg = 5.0;
  const SimulationReport report = simulate_time_data(scene, folder / "t.h5", 48000.0);
  EXPECT_EQ(report.samples, 960U);
  const TimeDataReader reader(folder / "t.h5");
  EXPECT_EQ(reader.sample_rate_hz(), 48000.0);
  EXPECT_EQ(reader.channels(), 6);
  const std::vector<float> values = samples_of(folder / "t.h5");
  const Truth truth = truth_of(scene);
  const auto responses = microphone_responses(scene);
  for (std::size_t i = 0; i < 960; i += 7) {
    for (std::size_t channel = 0; channel < 6; ++channel) {
      double expected = 0.0;
      for (std::size_t f = 0; f < 2 && channel != 4; ++f) {
        const double angle = 2 * std::numbers::pi * truth.frequencies_hz[f] * static_cast<double>(i) / 48000.0;
        expected +=
            (responses[channel] * Complex(truth.aperture_pressure[f * 6 + channel]) * std::polar(1.0, angle)).real();
      }
      EXPECT_NEAR(static_cast<double>(values[i * 6 + channel]), expected, 1e-6);
    }
  }
}

// One at rest and one in samples at two rates: the same sound.
TEST(SimulateTimeData, NoiseAndMotionAreTheSameAtAnyRate) {
  const TemporaryFolder folder;
  Scene scene = small_scene();
  scene.noises = {{.position = {0, 0.2, -1},
                   .rms_at_1m_pa = 0.1,
                   .band_hz = {500, 6000},
                   .motion = {{0.0, {0, 0.2, -1}}, {0.02, {0.3, 0.2, -1}}}}};
  simulate_time_data(scene, folder / "a.h5", 24000.0);
  simulate_time_data(scene, folder / "b.h5", 72000.0);
  const std::vector<float> slow = samples_of(folder / "a.h5");
  const std::vector<float> fast = samples_of(folder / "b.h5");
  for (std::size_t i = 0; i < 480; ++i) {
    for (std::size_t channel = 0; channel < 6; ++channel) {
      EXPECT_NEAR(slow[i * 6 + channel], fast[3 * i * 6 + channel], 1e-6F);
    }
  }
}

TEST(SimulateTimeData, HasNoiseOfItsLevelAndOffsets) {
  const TemporaryFolder folder;
  Scene scene = small_scene();
  scene.tones.clear();
  scene.duration_s = 1.0;
  scene.noise_pa = 0.1;
  scene.dc_offset_fs = 0.01;
  simulate_time_data(scene, folder / "t.h5", 40000.0);
  const std::vector<float> values = samples_of(folder / "t.h5");
  for (std::size_t channel = 0; channel < 6; ++channel) {
    double mean = 0.0;
    double square = 0.0;
    for (std::size_t i = 0; i < 40000; ++i) {
      mean += static_cast<double>(values[i * 6 + channel]) / 40000;
      square += std::pow(static_cast<double>(values[i * 6 + channel]), 2) / 40000;
    }
    if (channel == 4) {
      EXPECT_EQ(square, 0.0) << "dead";
      continue;
    }
    EXPECT_LT(std::abs(mean), 0.01 * full_scale_pa(-20.0) + 0.003);
    // 40,000 uniform deviates: 0.3 % of the rms, five times that.
    EXPECT_NEAR(std::sqrt(square - mean * mean), 0.1, 0.0015);
  }
}

TEST(SimulateTimeData, RefusesWhatTheRateCannotHold) {
  const TemporaryFolder folder;
  Scene scene = small_scene();
  const auto refusal = [&](double rate_hz) -> std::string {
    try {
      simulate_time_data(scene, folder / "t.h5", rate_hz);
    } catch (const ConfigError& error) {
      return error.what();
    }
    return "no refusal";
  };
  EXPECT_THAT(refusal(5000.0), HasSubstr("sample rate: expected more than twice 2500 Hz"));
  scene.tones[0].motion = {{0.0, {0, 0, -20}}, {0.1, {0, 0, -2.85}}};  // 171.5 m/s: twice the frequency
  scene.tones[0].frequency_hz = 2000.0;
  EXPECT_THAT(refusal(8000.0), HasSubstr("expected more than twice 4000 Hz"));
  scene.tracks = {{"a.wav", {0, 0, -1}, 1.0}};
  EXPECT_THAT(refusal(48000.0), HasSubstr("none of kind track for samples"));
  EXPECT_FALSE(std::filesystem::exists(folder / "t.h5"));
}

// At the microphones' own places, with a truth on the grid of their images: both by the closed form of a monopole.
TEST(SimulateSpectra, OfMicrophonesAtAnyPlacesHoldTheFieldThere) {
  const TemporaryFolder folder;
  Scene scene;
  scene.measurement.geometry = geometry_of({{0.0, 0.0, 0.0}, {0.11, 0.02, 0.01}, {0.03, 0.07, -0.01}});
  scene.tones = {{1000.0, Monopole{{0.02, 0.01, -0.05}, 1e-4, false}}};
  (void)simulate_spectra(scene, folder / "s.h5");
  const SpectraFile file = read_spectra(folder / "s.h5");
  EXPECT_FALSE(file.measurement.geometry.is_grid());
  const double omega = 2.0 * std::numbers::pi * 1000.0;
  const auto expected = [&](double x_m, double y_m, double z_m) {
    const double r_m = std::hypot(x_m - 0.02, y_m - 0.01, z_m + 0.05);
    return Complex(0.0, omega * scene.medium.density_kg_m3 * 1e-4) *
           std::polar(1.0 / (4.0 * std::numbers::pi * r_m), -omega / scene.medium.sound_speed_m_s * r_m);
  };
  for (int channel = 0; channel < 3; ++channel) {
    const MicrophonePosition at = scene.measurement.geometry.position_m(channel);
    const Complex there = expected(at.x_m, at.y_m, 0.03 + at.z_m);
    EXPECT_LT(std::abs(Complex(file.spectra[static_cast<std::size_t>(channel)]) - there), 1e-6 * std::abs(there));
  }
  const std::optional<Truth> truth = read_spectra_truth(folder / "s.h5");
  ASSERT_TRUE(truth.has_value());
  const ImageGrid grid = image_grid(scene.measurement.geometry);
  ASSERT_EQ(truth->pressure.size(), grid.pixels());
  for (int row = 0; row < grid.rows(); ++row) {
    for (int column = 0; column < grid.columns(); ++column) {
      const Complex there = expected(grid.x_m(column), grid.y_m(row), 0.0);
      const auto pixel = static_cast<std::size_t>(row * grid.columns() + column);
      EXPECT_LT(std::abs(Complex(truth->pressure[pixel]) - there), 1e-6 * std::abs(there));
    }
  }
}

TEST(SimulateSpectra, HoldTheTones) {
  const TemporaryFolder folder;
  Scene scene = small_scene();
  scene.noise_pa = 0.1;
  const SimulationReport report = simulate_spectra(scene, folder / "s.h5");
  EXPECT_THAT(report.warnings, ::testing::ElementsAre(HasSubstr("without the microphones' noise")));
  const SpectraFile file = read_spectra(folder / "s.h5");
  const Truth truth = truth_of(scene);
  EXPECT_EQ(file.frequencies_hz, truth.frequencies_hz);
  EXPECT_EQ(file.measurement.standoff_m, 0.03);
  const auto responses = microphone_responses(scene);
  for (std::size_t i = 0; i < 12; ++i) {
    const Complex expected = i % 6 == 4 ? 0.0 : responses[i % 6] * Complex(truth.aperture_pressure[i]);
    EXPECT_LT(std::abs(Complex(file.spectra[i]) - expected), 1e-7 + 1e-6 * std::abs(expected));
  }
  scene.noises = {{.position = {0, 0.2, -1}}};
  EXPECT_THROW(simulate_spectra(scene, folder / "n.h5"), ConfigError);
}

}  // namespace
}  // namespace nearfield
