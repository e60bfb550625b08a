#include "simulate/scene.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <fstream>
#include <numbers>
#include <numeric>

#include "core/error.hpp"
#include "simulate/spectrum.hpp"
#include "simulate/temporary_folder.hpp"
#include "support/places.hpp"

namespace nearfield {
namespace {

using Complex = std::complex<double>;
using test::bits_of;
using test::hann_dft;
using test::TemporaryFolder;
using ::testing::HasSubstr;

constexpr std::size_t kWindowBits = 32768;
constexpr double kBinHz = kBitRateHz / kWindowBits;
constexpr double kWindowSeconds = kWindowBits / kBitRateHz;

std::filesystem::path write_text(const std::filesystem::path& path, const std::string& text) {
  std::ofstream(path) << text;
  return path;
}

/// The message with which a scene is refused.
std::string complaint(const std::string& text) {
  const TemporaryFolder folder;
  try {
    (void)load_scene(write_text(folder / "scene.yaml", text));
  } catch (const ConfigError& error) {
    return error.what();
  }
  return "no complaint";
}

std::vector<std::uint32_t> read_words(const CaptureReader& reader, std::uint64_t first, std::size_t bits) {
  std::vector<std::uint32_t> words(bits * static_cast<std::size_t>(reader.info().words_per_bit_time));
  reader.read(first, words);
  return words;
}

/// Hann-windowed DFT of one channel's bits, full scale 1.
Complex channel_dft(const std::vector<std::uint32_t>& words, const CaptureInfo& info, int channel,
                    double frequency_hz) {
  const auto wire_bits = wire_bit_of_channel(info.layout, info.measurement.geometry);
  const auto bit = static_cast<std::size_t>(wire_bits[static_cast<std::size_t>(channel)]);
  return hann_dft(bits_of(words, static_cast<std::size_t>(info.words_per_bit_time), bit / 32, bit % 32), frequency_hz,
                  info.sample_rate_hz);
}

double rms_of(std::span<const std::complex<float>> phasors) {
  double sum = 0.0;
  for (const std::complex<float> value : phasors) {
    sum += std::norm(Complex(value)) / 2;
  }
  return std::sqrt(sum / static_cast<double>(phasors.size()));
}

Scene two_monopoles() {
  Scene scene;
  scene.duration_s = kWindowSeconds;
  scene.tones = {{22 * kBinHz, Monopole{{0.1, -0.06, -0.03}, {2e-4, 0}, false}},
                 {44 * kBinHz, Monopole{{-0.08, 0.12, -0.03}, std::polar(1e-4, 0.8), false}}};
  return scene;
}

TEST(LoadScene, TheExamples) {
  const std::filesystem::path folder = std::filesystem::path(NEARFIELD_SOURCE_DIR) / "config/scenes";
  const Scene plate = load_scene(folder / "plate.yaml");
  EXPECT_EQ(plate.tones.size(), 2U);
  EXPECT_EQ(std::get<Plate>(plate.tones[0].shape).modes.size(), 2U);
  EXPECT_EQ(plate.layout, WireLayout::kSoramaCam);
  const Scene monopoles = load_scene(folder / "monopoles.yaml");
  EXPECT_EQ(std::get<Monopole>(monopoles.tones[1].shape).position.x_m, -0.08);
  const Scene piston = load_scene(folder / "piston.yaml");
  EXPECT_EQ(piston.order, SigmaDeltaOrder::kFourth);
  EXPECT_EQ(piston.layout, WireLayout::kRowMajor);
  EXPECT_EQ(piston.dead_channels, std::vector<int>{37});
  const Scene moving = load_scene(folder / "moving.yaml");
  EXPECT_EQ(moving.moving_sources(), 1U);
  EXPECT_EQ(moving.room.order, 2);
  EXPECT_GT(moving.noise_pa, 0.0);
}

TEST(LoadScene, EveryKey) {
  const TemporaryFolder folder;
  const Scene scene = load_scene(write_text(folder / "scene.yaml", R"(
version: 1
array: {rows: 5, columns: 7, pitch_x_m: 0.03, pitch_y_m: 0.04, sensitivity_dbfs: -30}
standoff_m: 0.05
medium: {sound_speed_m_s: 340, density_kg_m3: 1.3}
duration_s: 0.5
start_time_ns: 1700000000123456789
seed: 9
sigma_delta: {order: 4}
microphones: {noise_pa: 0.1, dc_offset_fs: 0.02, dead_channels: [3, 34]}
sources:
  - {kind: monopole, frequency_hz: 500, x_m: 1, y_m: 2, z_m: -3, volume_velocity_m3_s: 2, phase_rad: 1.5707963267948966, baffled: true}
  - {kind: piston, frequency_hz: 600, x_m: 0.1, y_m: 0.2, radius_m: 0.3, velocity_m_s: 0.4}
  - {kind: plate, frequency_hz: 700, x_m: 0.1, y_m: 0.2, width_m: 0.5, height_m: 0.6, modes: [{m: 2, n: 3, velocity_m_s: 0.1}]}
  - {kind: track, file: a.wav, x_m: 0, y_m: 0, z_m: -1, pressure_at_1m_pa: 0.5}
)"));
  EXPECT_EQ(scene.measurement.geometry, (ArrayGeometry{5, 7, 0.03, 0.04}));
  EXPECT_EQ(scene.measurement.standoff_m, 0.05);
  EXPECT_EQ(scene.measurement.sensitivity_dbfs, -30.0);
  EXPECT_EQ(scene.layout, WireLayout::kRowMajor);
  EXPECT_EQ(scene.medium.sound_speed_m_s, 340.0);
  EXPECT_EQ(scene.medium.density_kg_m3, 1.3);
  EXPECT_EQ(scene.duration_s, 0.5);
  EXPECT_EQ(scene.start_time_ns, 1700000000123456789);
  EXPECT_EQ(scene.seed, 9U);
  EXPECT_EQ(scene.order, SigmaDeltaOrder::kFourth);
  EXPECT_EQ(scene.noise_pa, 0.1);
  EXPECT_EQ(scene.dc_offset_fs, 0.02);
  EXPECT_EQ(scene.dead_channels, (std::vector<int>{3, 34}));
  ASSERT_EQ(scene.tones.size(), 3U);
  const Monopole& monopole = std::get<Monopole>(scene.tones[0].shape);
  EXPECT_EQ(monopole.position.z_m, -3.0);
  EXPECT_TRUE(monopole.baffled);
  EXPECT_LT(std::abs(monopole.volume_velocity_m3_s - Complex(0, 2)), 1e-15);
  EXPECT_EQ(std::get<Piston>(scene.tones[1].shape).radius_m, 0.3);
  EXPECT_EQ(std::get<Plate>(scene.tones[2].shape).modes[0].n, 3);
  ASSERT_EQ(scene.tracks.size(), 1U);
  EXPECT_EQ(scene.tracks[0].path, (folder / "a.wav").string());
  EXPECT_EQ(scene.tracks[0].pressure_at_1m_pa, 0.5);
}

TEST(LoadScene, NamesWhatIsWrong) {
  EXPECT_THAT(complaint("version: 2\nsources: []\n"), HasSubstr("version"));
  EXPECT_THAT(complaint("version: 1\n"), HasSubstr("sources"));
  EXPECT_THAT(complaint("sources: []\n"), HasSubstr("version"));
  EXPECT_THAT(complaint("version: 1\nsources: []\nstandof_m: 1\n"), HasSubstr("standof_m"));
  EXPECT_THAT(complaint("version: 1\nsources: []\nstandoff_m: 3 cm\n"), HasSubstr("3 cm"));
  EXPECT_THAT(complaint("version: 1\nsources: []\nsigma_delta: {order: 3}\n"), HasSubstr("sigma_delta.order"));
  EXPECT_THAT(complaint("version: 1\nsources: []\nstart_time_ns: 1.5\n"), HasSubstr("start_time_ns"));
  EXPECT_THAT(complaint("version: 1\nsources: []\narray: {rows: 8, layout: sorama-cam}\n"), HasSubstr("array.layout"));
  EXPECT_THAT(complaint("version: 1\nsources: []\nmicrophones: {dead_channels: [1024]}\n"), HasSubstr("dead_channels"));
}

TEST(LoadScene, PointsAtKeysAndValues) {
  EXPECT_THAT(complaint("version: 1\nsources: []\nstandof_m: 1\n"), HasSubstr(":3:1: standof_m: unknown key"));
  EXPECT_THAT(complaint("version: 1\nsources: []\nstandoff_m: 3 cm\n"), HasSubstr(":3:13: standoff_m: expected"));
  EXPECT_THAT(complaint("version: 1\nsources:\n  - {kind: drum}\n"), HasSubstr(":3:12: sources[0].kind: "));
  EXPECT_THAT(complaint("version: 1\nsources:\n  - kind: piston\n    x_m: 0\n    y_m:\n"),
              HasSubstr(":5:5: sources[0].y_m: expected"));
}

TEST(LoadScene, NamesWhatIsWrongInASource) {
  const auto of_source = [](const std::string& source) {
    return complaint("version: 1\nsources:\n  - " + source + "\n");
  };
  EXPECT_THAT(of_source("{kind: drum}"), HasSubstr("drum"));
  EXPECT_THAT(of_source("{frequency_hz: 100}"), HasSubstr("kind"));
  EXPECT_THAT(of_source("{kind: monopole, frequency_hz: 0, x_m: 0, y_m: 0, z_m: -1, volume_velocity_m3_s: 1}"),
              HasSubstr("frequency_hz"));
  EXPECT_THAT(of_source("{kind: monopole, frequency_hz: 9, x_m: 0, y_m: 0, z_m: 0.02, volume_velocity_m3_s: 1}"),
              HasSubstr("z_m: expected a z <= 0 m, on or behind the surface, or at least 0.031 m"));
  EXPECT_THAT(of_source("{kind: piston, frequency_hz: 9, x_m: 0, y_m: 0, velocity_m_s: 1}"), HasSubstr("radius_m"));
  EXPECT_THAT(of_source("{kind: plate, frequency_hz: 9, width_m: 1, height_m: 1}"), HasSubstr("modes"));
  EXPECT_THAT(
      of_source("{kind: plate, frequency_hz: 9, width_m: 1, height_m: 1, modes: [{m: 0, n: 1, velocity_m_s: 1}]}"),
      HasSubstr("m"));
  EXPECT_THAT(of_source("{kind: plate, frequency_hz: 9, width_m: 1, height_m: 1, modes: [{m: 1, velocity_m_s: 1}]}"),
              HasSubstr("modes[0].n"));
  EXPECT_THAT(of_source("{kind: track, x_m: 0, y_m: 0, z_m: -1}"), HasSubstr("file"));
}

TEST(LoadScene, MissingFile) { EXPECT_THROW((void)load_scene("/no/such/scene.yaml"), NoInputError); }

TEST(TruthOf, LeavesOutWhatSoundsBehindTheArray) {
  Scene scene = two_monopoles();
  const Truth expected = truth_of(scene);
  scene.tones.push_back({22 * kBinHz, Monopole{{0.0, 0.1, 0.5}, 1e-4}});
  const Truth found = truth_of(scene);
  EXPECT_EQ(found.pressure, expected.pressure);
  EXPECT_NE(found.aperture_pressure, expected.aperture_pressure);
}

TEST(TruthOf, SumsSourcesOfOneFrequency) {
  Scene scene = two_monopoles();
  scene.measurement.geometry = {3, 4, 0.02, 0.02};
  scene.tones.push_back({22 * kBinHz, Piston{0.01, 0.0, 0.02, {0.01, 0}}});
  const Truth truth = truth_of(scene);
  EXPECT_EQ(truth.frequencies_hz, (std::vector<double>{22 * kBinHz, 44 * kBinHz}));
  ASSERT_EQ(truth.pressure.size(), 24U);
  const Tonal tonal{22 * kBinHz, scene.medium};
  for (int row = 0; row < 3; ++row) {
    for (int column = 0; column < 4; ++column) {
      const Point surface{(column - 1.5) * 0.02, (row - 1) * 0.02, 0.0};
      const Point aperture{surface.x_m, surface.y_m, 0.03};
      const auto sum = [&](const Point& point) {
        const FieldValue monopole = monopole_field(std::get<Monopole>(scene.tones[0].shape), tonal, point);
        const FieldValue piston = piston_field(std::get<Piston>(scene.tones[2].shape), tonal, point);
        return FieldValue{monopole.pressure_pa + piston.pressure_pa, monopole.velocity_m_s + piston.velocity_m_s};
      };
      const auto i = static_cast<std::size_t>(row * 4 + column);
      const double single = 1e-6;  // of float32
      EXPECT_LT(std::abs(Complex(truth.pressure[i]) - sum(surface).pressure_pa),
                single * std::abs(sum(surface).pressure_pa));
      EXPECT_LT(std::abs(Complex(truth.normal_velocity[i]) - sum(surface).velocity_m_s),
                single * std::abs(sum(surface).velocity_m_s));
      EXPECT_LT(std::abs(Complex(truth.aperture_pressure[i]) - sum(aperture).pressure_pa),
                single * std::abs(sum(aperture).pressure_pa));
    }
  }
}

// Bits against the known field at an rms of -32 dBFS over the aperture, second order. One bin's noise by the white
// model (4/3 * 1.5 / 32768)^(1/2) * |NTF| is 1.4e-7 at 1 kHz and 5.5e-7 at 2 kHz, full scale 1. Channels whose idle
// tones fall into the bin see up to twenty times that; the whole aperture's rms error stays below four times. The
// modulator's gain error, |NTF| = 1.8e-5 and 7e-5 of the amplitude, comes on top.
TEST(SimulateCapture, BitsHoldTheField) {
  const TemporaryFolder folder;
  Scene scene = two_monopoles();
  const Truth truth = truth_of(scene);
  const double full_scale_rms =
      rms_of(truth.aperture_pressure) * std::sqrt(2.0) * std::pow(10.0, 32.0 / 20);  // both tones
  scene.measurement.sensitivity_dbfs = -20 * std::log10(full_scale_rms);
  const SimulationReport report = simulate_capture(scene, folder / "capture.h5");
  EXPECT_THAT(report.warnings, ::testing::IsEmpty());
  const CaptureReader reader(folder / "capture.h5");
  EXPECT_EQ(reader.info().bit_times, kWindowBits);
  EXPECT_EQ(reader.info().measurement.geometry, ArrayGeometry{});
  const auto words = read_words(reader, 0, kWindowBits);
  const double full_scale = full_scale_pa(reader.info().measurement.sensitivity_dbfs);
  constexpr std::array<double, 2> kBinNoise = {1.4e-7, 5.5e-7};
  constexpr std::array<double, 2> kGainError = {1.8e-5, 7.1e-5};
  for (std::size_t i = 0; i < 2; ++i) {
    double error_power = 0.0;
    double power = 0.0;
    int channels = 0;
    for (int channel = 0; channel < 1024; channel += 9, ++channels) {
      const Complex expected =
          Complex(truth.aperture_pressure[i * 1024 + static_cast<std::size_t>(channel)]) / full_scale;
      const Complex error = channel_dft(words, reader.info(), channel, truth.frequencies_hz[i]) - expected;
      EXPECT_LT(std::abs(error), 20 * kBinNoise[i] + kGainError[i] * std::abs(expected)) << "channel " << channel;
      error_power += std::norm(error);
      power += std::norm(expected);
    }
    const double rms_error = std::sqrt(error_power / channels);
    EXPECT_LT(rms_error, 4 * kBinNoise[i] + kGainError[i] * std::sqrt(power / channels));
  }
}

TEST(SimulateCapture, HoldsTheTruth) {
  const TemporaryFolder folder;
  Scene scene = two_monopoles();
  scene.measurement.geometry = {4, 6, 0.02, 0.03};
  scene.layout = WireLayout::kRowMajor;
  scene.start_time_ns = 123456789;
  simulate_capture(scene, folder / "capture.h5");
  const CaptureReader reader(folder / "capture.h5");
  EXPECT_EQ(reader.info().start_time_ns, 123456789);
  EXPECT_EQ(reader.info().measurement.geometry, scene.measurement.geometry);
  EXPECT_EQ(reader.info().measurement.standoff_m, 0.03);
  const std::optional<Truth> found = reader.truth();
  ASSERT_TRUE(found.has_value());
  const Truth expected = truth_of(scene);
  EXPECT_EQ(found->frequencies_hz, expected.frequencies_hz);
  EXPECT_EQ(found->pressure, expected.pressure);
  EXPECT_EQ(found->normal_velocity, expected.normal_velocity);
  EXPECT_EQ(found->aperture_pressure, expected.aperture_pressure);
}

TEST(SimulateCapture, SeedDecidesTheBits) {
  const TemporaryFolder folder;
  Scene scene = two_monopoles();
  scene.duration_s = 0.003;
  scene.noise_pa = 0.01;
  const auto words = [&](const char* name) {
    const SimulationReport report = simulate_capture(scene, folder / name);
    EXPECT_THAT(report.warnings, ::testing::ElementsAre(HasSubstr("fewer than")));
    return read_words(CaptureReader(folder / name), 0, 4500);
  };
  const auto first = words("a.h5");
  EXPECT_EQ(first, words("b.h5"));
  scene.seed = 2;
  EXPECT_NE(first, words("c.h5"));
}

TEST(SimulateCapture, OverloadIsAWarning) {
  const TemporaryFolder folder;
  Scene scene = two_monopoles();
  scene.measurement.sensitivity_dbfs = 20.0;
  const SimulationReport report = simulate_capture(scene, folder / "capture.h5");
  ASSERT_EQ(report.warnings.size(), 1U);
  EXPECT_THAT(report.warnings[0], HasSubstr("microphones go beyond"));
  EXPECT_FALSE(report.overload.overloaded_channels().empty());
}

// The sound at the microphone is the recording, delayed by r/c and divided by r.
TEST(SimulateCapture, TracksComeFromTheLoader) {
  const TemporaryFolder folder;
  Scene scene;
  scene.measurement = {{1, 1, 0.1, 0.1}, 0.03, -10.0};
  scene.layout = WireLayout::kRowMajor;
  scene.duration_s = 0.003;
  scene.tracks = {{"any.wav", {0.0, 0.0, -0.3}, 0.2}};
  std::string loaded;
  const auto ones = [&](const std::string& path) {
    loaded = path;
    return std::vector<float>(4500, 0.5F);
  };
  simulate_capture(scene, folder / "capture.h5", ones);
  EXPECT_EQ(loaded, "any.wav");
  const auto words = read_words(CaptureReader(folder / "capture.h5"), 0, 4500);
  const auto arrival = static_cast<std::ptrdiff_t>(0.33 / scene.medium.sound_speed_m_s * kBitRateHz);
  const auto mean = [](auto begin, auto end) {
    const double sum = std::accumulate(
        begin, end, 0.0, [](double so_far, std::uint32_t word) { return so_far + ((word & 1U) != 0 ? 1.0 : -1.0); });
    return sum / static_cast<double>(end - begin);
  };
  // The sum of a modulator's quantisation errors is bounded by some full scales, of 1443 and of 3057 bits.
  EXPECT_NEAR(mean(words.begin(), words.begin() + arrival), 0.0, 5e-3);
  EXPECT_NEAR(mean(words.begin() + arrival, words.end()), 0.2 * 0.5 / 0.33 / full_scale_pa(-10.0), 5e-3);
}

TEST(SimulateCapture, TracksWithoutALoaderAndUnwritableFolder) {
  const TemporaryFolder folder;
  Scene scene = two_monopoles();
  EXPECT_THROW(simulate_capture(scene, folder / "none/capture.h5"), IoError);
  scene.tracks = {{"/no/such.wav", {0, 0, -1}, 1.0}};
  EXPECT_THROW(simulate_capture(scene, folder / "capture.h5"), ConfigError);
  EXPECT_FALSE(std::filesystem::exists(folder / "capture.h5"));
}

TEST(SimulateCapture, ProgressEndsAtOne) {
  const TemporaryFolder folder;
  Scene scene = two_monopoles();
  std::vector<double> shares;
  simulate_capture(scene, folder / "capture.h5", {}, [&](double share) { shares.push_back(share); });
  EXPECT_TRUE(std::is_sorted(shares.begin(), shares.end()));
  EXPECT_EQ(shares.back(), 1.0);
}

}  // namespace
}  // namespace nearfield
