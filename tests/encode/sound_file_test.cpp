#include "encode/sound_file.hpp"

#include <gtest/gtest.h>
#include <sndfile.h>

#include <cmath>
#include <fstream>
#include <numbers>

#include "core/error.hpp"
#include "core/geometry.hpp"
#include "encode/wav_file.hpp"
#include "simulate/spectrum.hpp"
#include "simulate/temporary_folder.hpp"

namespace nearfield {
namespace {

using std::numbers::pi;
using test::TemporaryFolder;
using test::write_wav;

std::vector<float> two_tones(std::size_t samples, double rate_hz) {
  std::vector<float> values;
  for (std::size_t n = 0; n < samples; ++n) {
    const double t = static_cast<double>(n) / rate_hz;
    values.push_back(static_cast<float>(0.5 * std::cos(2 * pi * 1000 * t + 0.3)));
    values.push_back(static_cast<float>(0.2 * std::sin(2 * pi * 7000 * t)));
  }
  return values;
}

TEST(SoundFile, ReadsWhatWasWritten) {
  const TemporaryFolder folder;
  const auto values = two_tones(100, 48000);
  write_wav(folder / "a.wav", 48000, 2, values);
  const SoundFile file(folder / "a.wav");
  EXPECT_EQ(file.sample_rate_hz(), 48000.0);
  EXPECT_EQ(file.samples(), 100U);
  EXPECT_EQ(file.channels(), 2);
  std::vector<float> found(20);
  file.read(90, found);
  EXPECT_TRUE(std::equal(found.begin(), found.end(), values.begin() + 180));
  EXPECT_THROW(file.read(95, found), DataError);
}

TEST(SoundFile, MissingEmptyAndForeignFiles) {
  const TemporaryFolder folder;
  EXPECT_THROW(SoundFile(folder / "none.wav"), NoInputError);
  std::ofstream(folder / "text.wav") << "no sound";
  EXPECT_THROW(SoundFile(folder / "text.wav"), DataError);
  write_wav(folder / "empty.wav", 48000, 1, {});
  EXPECT_THROW(SoundFile(folder / "empty.wav"), DataError);
}

// No delay: output sample n is the input's signal at n / 1.5 MHz, in the middle of the recording. The converter's own
// error is below -120 dB; the interpolator's, too. The length may be out by one sample before the interpolator, 8 after
// it.
void write_sound(const std::filesystem::path& path, int format, const char* title = nullptr) {
  SF_INFO info{};
  info.samplerate = 48000;
  info.channels = 2;
  info.format = format;
  SNDFILE* file = sf_open(path.string().c_str(), SFM_WRITE, &info);
  ASSERT_NE(file, nullptr);
  if (title != nullptr) {
    ASSERT_EQ(sf_set_string(file, SF_STR_TITLE, title), 0);
  }
  const auto values = two_tones(20'000, 48000);
  sf_write_float(file, values.data(), static_cast<sf_count_t>(values.size()));
  sf_close(file);
}

// libsndfile's log quotes the texts of a file, which looked like sizes of chunks.
TEST(SoundFile, TextsOfAFileAreNoSizes) {
  const TemporaryFolder folder;
  for (const std::string& title :
       {std::string("x : 12 (should be 1)"), "x : " + std::string(400, '9') + " (should be 1)",
        std::string("SSND : 12 (should be 1)"), std::string(" : (should be "),
        std::string("a\nb : " + std::string(400, '9') + " (should be 1)")}) {
    write_sound(folder / "a.aiff", SF_FORMAT_AIFF | SF_FORMAT_PCM_16, title.c_str());
    EXPECT_EQ(SoundFile(folder / "a.aiff").samples(), 20'000U) << title;
  }
  std::filesystem::resize_file(folder / "a.aiff", 40'000);
  EXPECT_THROW(SoundFile(folder / "a.aiff"), DataError) << "truncated";
}

// Between its header and its samples an AU file may have a text of any length; samples behind the stated ones none.
TEST(SoundFile, SamplesOfAuBeginWhereTheHeaderSays) {
  const TemporaryFolder folder;
  for (const int endian : {SF_ENDIAN_BIG, SF_ENDIAN_LITTLE}) {
    write_sound(folder / "a.au", SF_FORMAT_AU | SF_FORMAT_PCM_16 | endian);
    std::ifstream file(folder / "a.au", std::ios::binary);
    std::string bytes{std::istreambuf_iterator<char>(file), {}};
    const std::string as_stated = bytes;
    bytes[endian == SF_ENDIAN_BIG ? 6 : 5] = '\x20';  // 8192 = 0x2000, in place of 24
    bytes[endian == SF_ENDIAN_BIG ? 7 : 4] = '\0';
    bytes.insert(24, 8192 - 24, 't');
    std::ofstream(folder / "b.au", std::ios::binary) << bytes;
    const SoundFile late(folder / "b.au");
    ASSERT_EQ(late.samples(), 20'000U);
    std::vector<float> first(2);
    std::vector<float> expected(2);
    late.read(0, first);
    SoundFile(folder / "a.au").read(0, expected);
    EXPECT_EQ(first, expected);
    std::ofstream(folder / "c.au", std::ios::binary) << as_stated << std::string(8192, 't');
    EXPECT_THROW(SoundFile(folder / "c.au"), DataError);
  }
}

TEST(Resampler, KeepsTheTimeAxis) {
  for (const double rate_hz : {48000.0, 51200.0, 96000.0, 192000.0}) {
    const auto values = two_tones(4800, rate_hz);
    Resampler resampler(2, rate_hz, kBitRateHz);
    std::vector<float> output;
    for (std::size_t first = 0; first < values.size(); first += 1000) {
      const std::size_t count = std::min<std::size_t>(1000, values.size() - first);
      resampler.process(std::span(values).subspan(first, count), first + count == values.size(), output);
    }
    EXPECT_NEAR(static_cast<double>(output.size()), 2 * 4800 * kBitRateHz / rate_hz, 32.0);
    for (std::size_t n = output.size() / 6; n < output.size() / 3; n += 97) {
      const double t = static_cast<double>(n) / kBitRateHz;
      EXPECT_NEAR(static_cast<double>(output[2 * n]), 0.5 * std::cos(2 * pi * 1000 * t + 0.3), 2e-6);
      EXPECT_NEAR(static_cast<double>(output[2 * n + 1]), 0.2 * std::sin(2 * pi * 7000 * t), 2e-6);
    }
  }
}

// The nominal array has more channels than libsamplerate takes at once. Every channel has a phase of its own.
TEST(Resampler, TakesAllChannelsOfAnArray) {
  constexpr std::size_t kChannels = 300, kSamples = 480;
  const auto tone = [](std::size_t channel, double t) {
    return 0.5 * std::cos(2 * pi * 1000 * t + 0.02 * static_cast<double>(channel));
  };
  std::vector<float> values;
  for (std::size_t n = 0; n < kSamples; ++n) {
    for (std::size_t channel = 0; channel < kChannels; ++channel) {
      values.push_back(static_cast<float>(tone(channel, static_cast<double>(n) / 48000.0)));
    }
  }
  Resampler resampler(kChannels, 48000.0, kBitRateHz);
  std::vector<float> output;
  resampler.process(std::span(values).first(200 * kChannels), false, output);
  resampler.process(std::span(values).subspan(200 * kChannels), true, output);
  const std::size_t samples = output.size() / kChannels;
  EXPECT_NEAR(static_cast<double>(samples), kSamples * kBitRateHz / 48000.0, 16.0);
  for (std::size_t n = samples / 3; n < samples / 2; n += 97) {
    for (std::size_t channel = 0; channel < kChannels; ++channel) {
      ASSERT_NEAR(static_cast<double>(output[n * kChannels + channel]),
                  tone(channel, static_cast<double>(n) / kBitRateHz), 2e-6)
          << "channel " << channel;
    }
  }
}

TEST(Resampler, RefusesRatesOutOfRange) {
  EXPECT_THROW(Resampler(1, 1000.0, kBitRateHz), DataError);
  EXPECT_THROW(Resampler(1, 3e6, kBitRateHz), DataError);
  EXPECT_THROW(Resampler(1, 0.0, kBitRateHz), DataError);
}

}  // namespace
}  // namespace nearfield
