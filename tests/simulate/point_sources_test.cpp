#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <fstream>
#include <numbers>

#include "core/error.hpp"
#include "simulate/points/signal.hpp"
#include "simulate/scene.hpp"
#include "simulate/spectrum.hpp"
#include "simulate/temporary_folder.hpp"

/// Scenes with sources that move, with noise and in rooms, as they are read and as bits.
namespace nearfield {
namespace {

using Complex = std::complex<double>;
using test::bits_of;
using test::hann_dft;
using test::TemporaryFolder;
using ::testing::HasSubstr;

Scene scene_of(const std::string& text) {
  const TemporaryFolder folder;
  std::ofstream(folder / "scene.yaml") << "version: 1\n" << text;
  return load_scene(folder / "scene.yaml");
}

std::string refusal_of(const std::string& text) {
  try {
    (void)scene_of(text);
  } catch (const ConfigError& error) {
    return error.what();
  }
  return "no refusal";
}

std::string refusal_of_source(const std::string& source, const std::string& before = "") {
  return refusal_of(before + "sources:\n  - " + source + "\n");
}

TEST(LoadScene, SourcesInARoomThatMoveAndOfNoise) {
  const Scene scene = scene_of(R"(
array: {rows: 4, columns: 4}
standoff_m: 0.1
room: {size_m: [5, 4, 3], array_at_m: [2, 1.5, 2.5], reflection: 0.7, order: 4}
sources:
  - {kind: monopole, frequency_hz: 1000, volume_velocity_m3_s: 1.0e-4, path: [{t_s: 0, x_m: 0, y_m: 1, z_m: -1}, {t_s: 0.5, x_m: 1, y_m: 1, z_m: -1}]}
  - {kind: track, file: a.wav, path: [{t_s: -1, x_m: 0, y_m: 0, z_m: -2}]}
  - {kind: noise, x_m: 0.1, y_m: 0.2, z_m: -1.3, rms_at_1m_pa: 0.2, band_hz: [500, 4000]}
  - {kind: noise, rms_at_1m_pa: 0.1, path: [{t_s: 0, x_m: 0, y_m: 1, z_m: -1}, {t_s: 1, x_m: 1, y_m: 1, z_m: -1}]}
)");
  EXPECT_EQ(scene.room.order, 4);
  ASSERT_TRUE(scene.room.walls[0][0] && scene.room.walls[2][1]);
  EXPECT_DOUBLE_EQ(scene.room.walls[0][0]->place_m, -2.0);
  EXPECT_DOUBLE_EQ(scene.room.walls[0][1]->place_m, 3.0);
  EXPECT_DOUBLE_EQ(scene.room.walls[1][1]->place_m, 2.5);
  EXPECT_DOUBLE_EQ(scene.room.walls[2][0]->place_m, -2.4);
  EXPECT_DOUBLE_EQ(scene.room.walls[2][1]->place_m, 0.6);
  EXPECT_EQ(scene.room.walls[1][0]->reflection, 0.7);
  ASSERT_EQ(scene.tones.size(), 1U);
  ASSERT_EQ(scene.tones[0].motion.size(), 2U);
  EXPECT_EQ(scene.tones[0].motion[1].t_s, 0.5);
  EXPECT_EQ(std::get<Monopole>(scene.tones[0].shape).position.y_m, 1.0);
  EXPECT_EQ(scene.tracks[0].motion[0].position.z_m, -2.0);
  ASSERT_EQ(scene.noises.size(), 2U);
  EXPECT_EQ(scene.noises[0].rms_at_1m_pa, 0.2);
  EXPECT_EQ(scene.noises[0].band_hz, (Band{500, 4000}));
  EXPECT_EQ(scene.noises[1].band_hz, (Band{0, 20000})) << "white by default";
  EXPECT_EQ(scene.moving_sources(), 3U);
}

TEST(LoadScene, SingleWalls) {
  const Scene scene =
      scene_of("room: {walls: [{y_m: -0.5, reflection: 0.9}, {z_m: -3, reflection: -1}]}\nsources: []\n");
  EXPECT_EQ(scene.room.order, 1);
  EXPECT_DOUBLE_EQ(scene.room.walls[1][0]->place_m, -0.5);
  EXPECT_EQ(scene.room.walls[1][0]->reflection, 0.9);
  EXPECT_EQ(scene.room.walls[2][0]->reflection, -1.0);
  EXPECT_FALSE(scene.room.walls[0][0] || scene.room.walls[0][1] || scene.room.walls[1][1]);
}

TEST(LoadScene, RefusesWrongPaths) {
  const auto of_path = [](const std::string& path) {
    return refusal_of_source("{kind: noise, rms_at_1m_pa: 0.1, path: " + path + "}");
  };
  EXPECT_THAT(of_path("[]"), HasSubstr("sources[0].path: expected a list of places"));
  EXPECT_THAT(of_path("[{t_s: 0, x_m: 0, y_m: 0, z_m: 0.01}]"), HasSubstr("sources[0].path[0].z_m"));
  EXPECT_THAT(of_path("[{t_s: 0, x_m: 0, y_m: 0, z_m: -1}, {t_s: 1, x_m: 0, y_m: 0, z_m: 1}]"),
              HasSubstr("sources[0].path[1].z_m: expected places on one side"));
  EXPECT_THAT(of_path("[{t_s: 1, x_m: 0, y_m: 0, z_m: -1}, {t_s: 1, x_m: 0, y_m: 0, z_m: -1}]"),
              HasSubstr("sources[0].path[1].t_s: expected ascending times"));
  EXPECT_THAT(of_path("[{t_s: 0, x_m: 0, y_m: 0, z_m: -1}, {t_s: 0.01, x_m: 2, y_m: 0, z_m: -1}]"),
              HasSubstr("sources[0].path: expected at most 171.5 m/s, half the speed of sound, not 200"));
  EXPECT_THAT(of_path("[{x_m: 0, y_m: 0, z_m: -1}]"), HasSubstr("sources[0].path[0].t_s"));
  const std::string path = "path: [{t_s: 0, x_m: 0, y_m: 0, z_m: -1}]";
  EXPECT_THAT(refusal_of_source("{kind: noise, rms_at_1m_pa: 0.1, z_m: -1, " + path + "}"),
              HasSubstr("sources[0].z_m: expected x_m, y_m and z_m, or a path, not both"));
  EXPECT_THAT(refusal_of_source("{kind: piston, frequency_hz: 100, x_m: 0, y_m: 0, radius_m: 0.1, velocity_m_s: 1, " +
                                path + "}"),
              HasSubstr("sources[0].path: expected a path of monopoles, noise and recordings alone"));
  EXPECT_THAT(
      refusal_of_source("{kind: monopole, frequency_hz: 100, volume_velocity_m3_s: 1, baffled: true, " + path + "}"),
      HasSubstr("sources[0].baffled: expected false for a source that moves"));
  EXPECT_THAT(refusal_of_source("{kind: monopole, frequency_hz: 30000, volume_velocity_m3_s: 1, " + path + "}"),
              HasSubstr("sources[0].frequency_hz: expected at most 24000 Hz for a source that moves"));
  EXPECT_THAT(
      refusal_of_source("{kind: noise, rms_at_1m_pa: 0.1, " + path + "}", "microphones: {phase_spread_deg: 3}\n"),
      HasSubstr("no phase_spread_deg beside sources that move"));
}

TEST(LoadScene, RefusesWrongNoise) {
  const auto of = [](const std::string& rest) {
    return refusal_of_source("{kind: noise, x_m: 0, y_m: 0, z_m: -1, " + rest + "}", "duration_s: 0.1\n");
  };
  EXPECT_THAT(of("band_hz: [500, 4000]"), HasSubstr("sources[0].rms_at_1m_pa: expected"));
  EXPECT_THAT(of("rms_at_1m_pa: 1, band_hz: [4000, 500]"), HasSubstr("sources[0].band_hz: expected [low, high] in Hz"));
  EXPECT_THAT(of("rms_at_1m_pa: 1, band_hz: [501, 509]"), HasSubstr("with a multiple of 10 Hz"));
  EXPECT_THAT(of("rms_at_1m_pa: 1, band_hz: [500, 25000]"), HasSubstr("sources[0].band_hz"));
  EXPECT_THAT(of("rms_at_1m_pa: 1, band_hz: [500]"), HasSubstr("sources[0].band_hz"));
  EXPECT_THAT(of("rms_at_1m_pa: 0"), HasSubstr("sources[0].rms_at_1m_pa"));
}

TEST(LoadScene, RefusesWrongRooms) {
  const auto of = [](const std::string& room) { return refusal_of("room: " + room + "\nsources: []\n"); };
  EXPECT_THAT(of("{size_m: [5, 4, 3]}"), AllOf(HasSubstr("room.array_at_m"), HasSubstr("room.reflection")));
  EXPECT_THAT(of("{order: 2}"), HasSubstr("room.size_m"));
  EXPECT_THAT(of("{size_m: [5, 4, 3], array_at_m: [2, 2, 2], reflection: [0.5, 0.5]}"),
              HasSubstr("room.reflection: expected one reflection factor, or six"));
  EXPECT_THAT(of("{size_m: [5, 4, 3], array_at_m: [2, 2, 2], reflection: 1.1}"), HasSubstr("room.reflection"));
  EXPECT_THAT(of("{size_m: [5, 4, 3], array_at_m: [2, 2, 2], reflection: 0.5, order: 21}"), HasSubstr("room.order"));
  EXPECT_THAT(
      of("{size_m: [5, 4, 3], array_at_m: [0.2, 2, 2], reflection: 0.5}"),
      HasSubstr("room.array_at_m: expected all microphones inside, but that at (-0.31, -0.31, 0.03) m lies on or "
                "behind the wall at x_m = -0.2"));
  EXPECT_THAT(of("{walls: [{reflection: 0.5}]}"), HasSubstr("one of x_m, y_m and z_m"));
  EXPECT_THAT(of("{walls: [{x_m: 1, y_m: 1, reflection: 0.5}]}"), HasSubstr("one of x_m, y_m and z_m"));
  EXPECT_THAT(of("{walls: [{x_m: 1, reflection: 0.5}, {x_m: 2, reflection: 0.5}]}"),
              HasSubstr("room.walls[1].x_m: expected at most one wall on each side"));
  EXPECT_THAT(of("{size_m: [5, 4, 3], walls: [{x_m: 1, reflection: 0.5}]}"), HasSubstr("room.walls: expected either"));
  const std::string floor = "room: {walls: [{y_m: 0.6, reflection: 0.5}]}\n";
  EXPECT_THAT(refusal_of_source("{kind: noise, x_m: 0, y_m: 0.7, z_m: -1, rms_at_1m_pa: 1}", floor),
              HasSubstr("expected a place inside the room, not on or behind the wall at y_m = 0.6"));
  EXPECT_THAT(
      refusal_of_source("{kind: piston, frequency_hz: 9, x_m: 0, y_m: 0, radius_m: 0.1, velocity_m_s: 1}", floor),
      HasSubstr("no source in a baffle in a room"));
}

/// One microphone 0.5 m before a resting source of noise, with a wall beside it.
Scene one_microphone(double duration_s) {
  Scene scene;
  scene.measurement = {{1, 1, 0.1, 0.1}, 0.03, -20.0};
  scene.layout = WireLayout::kRowMajor;
  scene.order = SigmaDeltaOrder::kFourth;
  scene.duration_s = duration_s;
  scene.noises = {{.position = {0.3, 0, -0.37}, .rms_at_1m_pa = 0.4, .band_hz = {1000.0, 5000.0}}};
  return scene;
}

double power_of_bits(const Scene& scene, const Band& band) {
  const TemporaryFolder folder;
  simulate_capture(scene, folder / "c.h5");
  const CaptureReader reader(folder / "c.h5");
  const std::uint64_t bits = reader.info().bit_times;
  std::vector<std::uint32_t> words(bits);
  reader.read(0, words);
  const std::vector<double> values = bits_of(words, 1, 0, 0);
  double power = 0.0;
  const NoiseLines lines = noise_lines(band, scene.duration_s);
  for (std::uint64_t line = lines.first; line < lines.first + lines.count; ++line) {
    Complex sum = 0.0;
    const Complex turn = std::polar(1.0, -2 * std::numbers::pi * static_cast<double>(line) / static_cast<double>(bits));
    Complex phasor = 1.0;
    for (const double value : values) {
      sum += value * phasor;
      phasor *= turn;
    }
    power += std::norm(2.0 * sum / static_cast<double>(bits)) / 2;
  }
  const double full_scale = full_scale_pa(scene.measurement.sensitivity_dbfs);
  return power * full_scale * full_scale;
}

// The bits' lines over a whole period hold the band's mean square at 0.5 m, and that of third octaves. The modulator's
// noise up to 5 kHz is below -100 dBFS, the signal at -30: 1e-4 holds it and the modulator's gain of 1 - |NTF|.
TEST(SimulateCapture, BitsHoldTheNoisesLevel) {
  const Scene scene = one_microphone(30000 / kBitRateHz);
  const double expected = 0.4 * 0.4 / 0.25;
  EXPECT_NEAR(power_of_bits(scene, {1000.0, 5000.0}), expected, 1e-4 * expected);
  const SourceTruth truth = source_truth_of(scene);
  const auto band = static_cast<std::size_t>(17 + 3);  // 1995 Hz
  EXPECT_NEAR(truth.band_centres_hz[band], 1995.26, 0.01);
  const double share = truth.band_mean_square_pa2[band] / 0.25;
  EXPECT_GT(share, 0.05 * expected);
  EXPECT_NEAR(power_of_bits(scene, {1995.2623 * std::pow(10, -0.05), 1995.2623 * std::pow(10, 0.05)}), share,
              1e-4 * expected);
}

// 0.9 of a wall's image comes with it: each line is A (e^{-jk r}/r + 0.9 e^{-jk r'}/r').
TEST(SimulateCapture, BitsHoldTheReflection) {
  Scene scene = one_microphone(30000 / kBitRateHz);
  scene.room.walls[1][0] = Wall{-0.5, 0.9};
  const double image_r = std::hypot(0.3, 1.0, 0.4);
  const NoiseLines lines = noise_lines({1000.0, 5000.0}, scene.duration_s);
  double expected = 0.0;
  for (std::uint64_t line = lines.first; line < lines.first + lines.count; ++line) {
    const double k = 2 * std::numbers::pi * static_cast<double>(line) / scene.duration_s / scene.medium.sound_speed_m_s;
    const Complex sum = std::polar(2.0, -k * 0.5) + std::polar(0.9 / image_r, -k * image_r);
    expected += 0.4 * 0.4 / static_cast<double>(lines.count) * std::norm(sum);
  }
  EXPECT_NEAR(power_of_bits(scene, {1000.0, 5000.0}), expected, 1e-4 * expected);
}

TEST(SimulateCapture, HoldsTheTruthOfSources) {
  const TemporaryFolder folder;
  Scene scene = one_microphone(0.02);
  scene.tones = {{1000.0, Monopole{{0, 0, -1}, {1e-3, 0}, false}, Path{{0.0, {0, 0, -1}}, {0.02, {0.2, 0, -1}}}},
                 {2000.0, Piston{0.1, 0.2, 0.05, {0.01, 0}}}};
  simulate_capture(scene, folder / "c.h5");
  const std::optional<Truth> truth = CaptureReader(folder / "c.h5").truth();
  ASSERT_TRUE(truth && truth->sources);
  EXPECT_EQ(truth->frequencies_hz, std::vector<double>{2000.0}) << "what moves has no phasor";
  const SourceTruth& found = *truth->sources;
  EXPECT_EQ(found.names, "monopole 1000 Hz, piston 2000 Hz, noise 1000 to 5000 Hz");
  ASSERT_EQ(found.sources(), 3U);
  ASSERT_EQ(found.times_s.size(), 5U);
  EXPECT_EQ(found.times_s.back(), 0.02);
  EXPECT_NEAR(found.positions_m[(2 * 3 + 0) * 3], 0.1, 1e-12) << "half way";
  EXPECT_EQ(found.positions_m[(4 * 3 + 1) * 3 + 1], 0.2);
  EXPECT_EQ(found.positions_m[(4 * 3 + 2) * 3 + 2], -0.37);
  ASSERT_EQ(found.band_centres_hz.size(), 31U);
  const double amplitude = 1000.0 * scene.medium.density_kg_m3 * 1e-3 / 2;
  EXPECT_NEAR(found.band_mean_square_pa2[17], amplitude * amplitude / 2, 1e-12);
  EXPECT_EQ(found.band_mean_square_pa2[18], 0.0);
  EXPECT_TRUE(std::isnan(found.band_mean_square_pa2[31 + 20]));
  EXPECT_THAT(text_of(facts_of_file(folder / "c.h5")), HasSubstr("places of 3 sources at 5 times, levels in 31 bands"));
}

TEST(SimulateCapture, ASceneThatMovesAloneHasATruth) {
  const TemporaryFolder folder;
  simulate_capture(one_microphone(0.01), folder / "c.h5");
  const std::optional<Truth> truth = CaptureReader(folder / "c.h5").truth();
  ASSERT_TRUE(truth && truth->sources);
  EXPECT_TRUE(truth->frequencies_hz.empty());
  EXPECT_THAT(text_of(facts_of_file(folder / "c.h5")), HasSubstr("truth         places of 1 source at 3 times"));
}

TEST(SimulateCapture, SeedDecidesTheNoise) {
  Scene scene = one_microphone(0.01);
  const auto words_of = [&] {
    std::vector<std::uint32_t> all;
    synthesize_scene(scene, 15000,
                     [&](std::span<const std::uint32_t> words) { all.insert(all.end(), words.begin(), words.end()); });
    return all;
  };
  const auto first = words_of();
  EXPECT_EQ(first, words_of());
  scene.noises.push_back(scene.noises.front());
  EXPECT_NE(first, words_of()) << "another source of noise has phases of its own";
  scene.noises.pop_back();
  scene.seed = 2;
  EXPECT_NE(first, words_of());
}

// 0.4 Pa rms at 1 m is 0.8 Pa at 0.5 m; 10 dB below, and flat in 0 .. 20 kHz of which the band is a fifth.
TEST(LoadScene, NoiseBySignalToNoiseRatio) {
  const std::string array = "array: {rows: 1, columns: 1}\nstandoff_m: 0.03\n";
  const std::string noise =
      "sources: [{kind: noise, x_m: 0.3, y_m: 0, z_m: -0.37, rms_at_1m_pa: 0.4, band_hz: [1000, 5000]}]\n";
  const Scene all = scene_of(array + "microphones: {snr_db: 10}\n" + noise);
  EXPECT_NEAR(all.noise_pa, 0.8 * std::pow(10, -0.5), 1e-9);
  const Scene in_band = scene_of(array + "microphones: {snr_db: 10, snr_band_hz: [1000, 5000]}\n" + noise);
  EXPECT_NEAR(in_band.noise_pa, 0.8 * std::pow(10, -0.5) * std::sqrt(5.0), 1e-9);
  // A tone: f rho Q/(2 r) peak.
  const Scene tone = scene_of(array +
                              "microphones: {snr_db: 0}\nsources: [{kind: monopole, frequency_hz: 1000, x_m: 0.3, y_m: "
                              "0, z_m: -0.37, volume_velocity_m3_s: 1.0e-3}]\n");
  EXPECT_NEAR(tone.noise_pa, 1000 * tone.medium.density_kg_m3 * 1e-3 / 2 / 0.5 / std::sqrt(2.0), 1e-6);
  EXPECT_THAT(refusal_of(array + "microphones: {snr_db: 10, noise_pa: 1}\n" + noise), HasSubstr("noise_pa or snr_db"));
  EXPECT_THAT(refusal_of(array + "microphones: {snr_db: 10, snr_band_hz: [6000, 7000]}\n" + noise),
              HasSubstr("microphones.snr_db: expected sources that sound from 6000 to 7000 Hz, found none"));
  EXPECT_THAT(refusal_of(array + "microphones: {snr_band_hz: [6000, 7000]}\n" + noise), HasSubstr("snr_band_hz"));
  EXPECT_THAT(
      refusal_of(array + "microphones: {snr_db: 3}\nsources: [{kind: track, file: a.wav, x_m: 0, y_m: 0, z_m: -1}]\n"),
      HasSubstr("no snr_db beside recordings"));
}

}  // namespace
}  // namespace nearfield
