#include <gtest/gtest.h>

#include <cmath>
#include <numbers>

#include "core/error.hpp"
#include "encode/sound_file.hpp"
#include "encode/wav_file.hpp"
#include "simulate/scene.hpp"
#include "simulate/spectrum.hpp"
#include "simulate/temporary_folder.hpp"

namespace nearfield {
namespace {

using Complex = std::complex<double>;
using test::bits_of;
using test::hann_dft;
using test::TemporaryFolder;
using test::write_wav;

constexpr std::size_t kWindowBits = 32768;
constexpr double kBinHz = kBitRateHz / kWindowBits;
constexpr double kWindowSeconds = kWindowBits / kBitRateHz;

/// Hann-windowed DFT of one channel's bits, full scale 1.
Complex channel_dft(const std::vector<std::uint32_t>& words, const CaptureInfo& info, int channel,
                    double frequency_hz) {
  const auto wire_bits = wire_bit_of_channel(info.layout, info.measurement.geometry);
  const auto bit = static_cast<std::size_t>(wire_bits[static_cast<std::size_t>(channel)]);
  return hann_dft(bits_of(words, static_cast<std::size_t>(info.words_per_bit_time), bit / 32, bit % 32), frequency_hz,
                  info.sample_rate_hz);
}

// A recorded tone through a point source is the tone of a monopole of that pressure: p = A e^{-jkr}/r.
TEST(LoadTrack, EqualsATone) {
  const TemporaryFolder folder;
  constexpr int kRate = 48000;
  constexpr double kToneHz = 22 * kBinHz;
  std::vector<float> recording;
  for (int n = 0; n < kRate / 8; ++n) {
    recording.push_back(static_cast<float>(0.5 * std::cos(2 * std::numbers::pi * kToneHz * n / kRate + 0.4)));
  }
  write_wav(folder / "tone.wav", kRate, 1, recording);
  Scene scene;
  scene.measurement = {{2, 3, 0.1, 0.1}, 0.03, -10.0};
  scene.layout = WireLayout::kRowMajor;
  scene.duration_s = 2 * kWindowSeconds;
  scene.tracks = {{(folder / "tone.wav").string(), {0.05, 0.0, -0.3}, 0.2}};
  simulate_capture(scene, folder / "capture.h5", load_track);
  const CaptureReader reader(folder / "capture.h5");
  std::vector<std::uint32_t> words(kWindowBits * static_cast<std::size_t>(reader.info().words_per_bit_time));
  reader.read(kWindowBits, words);  // whole periods after bit-time 0
  const double k = 2 * std::numbers::pi * kToneHz / scene.medium.sound_speed_m_s;
  const double full_scale = full_scale_pa(-10.0);
  for (int channel = 0; channel < 6; ++channel) {
    const int row = channel / 3;
    const int column = channel % 3;
    const double x = (column - 1) * 0.1 - 0.05;
    const double y = (row - 0.5) * 0.1;
    const double r = std::hypot(x, y, 0.33);
    const Complex expected = std::polar(0.2 * 0.5 / r / full_scale, 0.4 - k * r);
    // 20 bin noises, the modulator's gain error, and 1e-5 for the recording's start at full level.
    EXPECT_LT(std::abs(channel_dft(words, reader.info(), channel, kToneHz) - expected),
              3e-6 + 3e-5 * std::abs(expected));
  }
}

TEST(LoadTrack, TheFirstChannelCounts) {
  const TemporaryFolder folder;
  std::vector<float> stereo;
  for (int n = 0; n < 4800; ++n) {
    stereo.push_back(0.25F);
    stereo.push_back(-0.5F);
  }
  write_wav(folder / "stereo.wav", 48000, 2, stereo);
  const std::vector<float> track = load_track(folder / "stereo.wav");
  EXPECT_NEAR(static_cast<double>(track.size()), 0.1 * kBitRateHz, 16.0);
  EXPECT_NEAR(static_cast<double>(track[track.size() / 2]), 0.25, 2e-6);  // the converter's own error
}

TEST(LoadTrack, MissingFilesAreNamedWhereTheSceneIsMade) {
  const TemporaryFolder folder;
  Scene scene;
  scene.tracks = {{"/no/such.wav", {0, 0, -1}, 1.0}};
  EXPECT_THROW(simulate_capture(scene, folder / "capture.h5", load_track), NoInputError);
  EXPECT_FALSE(std::filesystem::exists(folder / "capture.h5"));
}

}  // namespace
}  // namespace nearfield
