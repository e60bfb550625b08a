#include "encode/encode.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <fstream>
#include <limits>
#include <numbers>

#include "core/error.hpp"
#include "core/numerics.hpp"
#include "encode/wav_file.hpp"
#include "simulate/spectrum.hpp"
#include "simulate/temporary_folder.hpp"

namespace nearfield {
namespace {

using Complex = std::complex<double>;
using test::bits_of;
using test::hann_dft;
using test::TemporaryFolder;
using test::write_wav;
using ::testing::HasSubstr;

constexpr std::size_t kWindowBits = 32768;
constexpr double kBinHz = kBitRateHz / kWindowBits;
constexpr float kNan = std::numeric_limits<float>::quiet_NaN();

/// Channel's phasor in pascal, referred to bit-time 0, from the window that starts at `first`.
Complex phasor_pa(const CaptureReader& reader, std::uint64_t first, int channel, double frequency_hz) {
  const CaptureInfo& info = reader.info();
  std::vector<std::uint32_t> words(kWindowBits * static_cast<std::size_t>(info.words_per_bit_time));
  reader.read(first, words);
  const auto wire_bits = wire_bit_of_channel(info.layout, info.measurement.geometry);
  const auto bit = static_cast<std::size_t>(wire_bits[static_cast<std::size_t>(channel)]);
  const auto bits = bits_of(words, static_cast<std::size_t>(info.words_per_bit_time), bit / 32, bit % 32);
  const double angle = -2 * std::numbers::pi * frequency_hz * static_cast<double>(first) / kBitRateHz;
  return hann_dft(bits, frequency_hz, kBitRateHz) * std::polar(full_scale_pa(info.measurement.sensitivity_dbfs), angle);
}

/// Spectra with random phasors whose size is that of measured transfer functions.
SpectraFile random_spectra(const ArrayGeometry& geometry, std::vector<double> frequencies_hz) {
  SpectraFile file;
  file.measurement = {geometry, 0.031, 0.0};
  file.frames = 1;
  file.frequencies_hz = std::move(frequencies_hz);
  RandomStream random(11, 0);
  for (std::size_t i = 0; i < file.frequencies_hz.size() * static_cast<std::size_t>(geometry.channels()); ++i) {
    file.spectra.emplace_back(static_cast<float>(1e-5 * random.uniform()), static_cast<float>(1e-5 * random.uniform()));
  }
  return file;
}

// Noise of a bin at -20 dBFS: by the white model 2e-7 of full scale at 1.2 kHz, twenty times that at most, against 0.1:
// below 1e-4 of the aperture's rms, even at 3 kHz below 3e-4.
constexpr double kOfTheRms = 3e-4;

double rms(std::span<const std::complex<float>> values) {
  double sum = 0.0;
  for (const std::complex<float> value : values) {
    sum += std::norm(Complex(value)) / 2;
  }
  return std::sqrt(sum / static_cast<double>(values.size()));
}

TEST(EncodeSpectra, SegmentsGiveThePhasorsBack) {
  for (const ArrayGeometry& geometry : {ArrayGeometry{8, 8, 0.05, 0.06}, ArrayGeometry{16, 64, 0.005, 0.01}}) {
    const TemporaryFolder folder;
    const SpectraFile spectra = random_spectra(geometry, {302.3, 1209.7, 2996.2});
    write_spectra(folder / "spectra.h5", spectra);
    EncodeOptions options;
    options.segment_per_frequency = true;
    options.bin_grid = true;
    const EncodeReport report = encode_capture(folder / "spectra.h5", folder / "capture.h5", options);
    EXPECT_THAT(report.warnings, ::testing::ElementsAre(HasSubstr("bin grid")));
    const CaptureReader reader(folder / "capture.h5");
    EXPECT_EQ(reader.info().measurement.geometry, geometry);
    EXPECT_EQ(reader.info().measurement.standoff_m, 0.031);
    EXPECT_EQ(reader.info().layout, WireLayout::kRowMajor);
    const std::optional<Segments> segments = reader.segments();
    ASSERT_TRUE(segments.has_value());
    ASSERT_EQ(segments->first_bit_time.size(), 3U);
    EXPECT_EQ(segments->frequencies_hz, report.frequencies_hz);
    const auto channels = static_cast<std::size_t>(geometry.channels());
    for (std::size_t i = 0; i < 3; ++i) {
      EXPECT_EQ(segments->first_bit_time[i] % 32, 0U);
      EXPECT_EQ(segments->bit_times[i], (1024U + 128U) * 32U);
      EXPECT_NEAR(report.frequencies_hz[i], spectra.frequencies_hz[i], kBinHz / 2);
      EXPECT_NEAR(std::remainder(report.frequencies_hz[i], kBinHz), 0.0, 1e-9);
      const double scale = rms(std::span(spectra.spectra).subspan(i * channels, channels));
      for (std::size_t channel = 0; channel < channels; channel += channels / 9) {
        const Complex found = phasor_pa(reader, segments->first_bit_time[i] + 64 * 32, static_cast<int>(channel),
                                        report.frequencies_hz[i]);
        EXPECT_LT(std::abs(found - Complex(spectra.spectra[i * channels + channel])), kOfTheRms * scale);
      }
    }
  }
}

TEST(EncodeSpectra, LevelIsThatOfTheLoudestSegment) {
  const TemporaryFolder folder;
  SpectraFile spectra = random_spectra({8, 8, 0.05, 0.05}, {500.0, 1000.0});
  for (std::size_t i = 0; i < 64; ++i) {
    spectra.spectra[i] *= 0.01F;
  }
  write_spectra(folder / "spectra.h5", spectra);
  EncodeOptions options;
  options.level_dbfs = -26.0;
  options.segment_per_frequency = true;
  const EncodeReport report = encode_capture(folder / "spectra.h5", folder / "capture.h5", options);
  const double full_scale_rms = full_scale_pa(report.sensitivity_dbfs) / std::sqrt(2.0);
  const double loudest = rms(std::span(spectra.spectra).subspan(64));
  EXPECT_NEAR(20 * std::log10(loudest / full_scale_rms), -26.0, 1e-9);
  options.segment_per_frequency = false;
  const EncodeReport sum = encode_capture(folder / "spectra.h5", folder / "capture.h5", options);
  const double both = std::hypot(rms(std::span(spectra.spectra).first(64)), loudest);
  EXPECT_NEAR(20 * std::log10(both * std::sqrt(2.0) / full_scale_pa(sum.sensitivity_dbfs)), -26.0, 1e-9);
}

TEST(EncodeSpectra, SumOfTonesAndSoramaLayout) {
  const TemporaryFolder folder;
  const SpectraFile spectra = random_spectra(ArrayGeometry{}, {20 * kBinHz, 50 * kBinHz});
  write_spectra(folder / "spectra.h5", spectra);
  EncodeOptions options;
  options.duration_s = kWindowBits / kBitRateHz;
  const EncodeReport report = encode_capture(folder / "spectra.h5", folder / "capture.h5", options);
  EXPECT_EQ(report.bit_times, kWindowBits);
  const CaptureReader reader(folder / "capture.h5");
  EXPECT_EQ(reader.info().layout, WireLayout::kSoramaCam);
  EXPECT_FALSE(reader.segments().has_value());
  const std::optional<Truth> truth = reader.truth();
  ASSERT_TRUE(truth.has_value());
  EXPECT_EQ(truth->aperture_pressure, spectra.spectra);
  const double scale = rms(spectra.spectra);
  for (std::size_t i = 0; i < 2; ++i) {
    for (std::size_t channel = 5; channel < 1024; channel += 200) {
      const Complex found = phasor_pa(reader, 0, static_cast<int>(channel), spectra.frequencies_hz[i]);
      EXPECT_LT(std::abs(found - Complex(spectra.spectra[i * 1024 + channel])), kOfTheRms * scale);
    }
  }
}

TEST(EncodeSpectra, AFewBadChannelsAreDeadManyAreAnError) {
  const TemporaryFolder folder;
  SpectraFile spectra = random_spectra({8, 8, 0.05, 0.05}, {500.0, 1000.0});
  spectra.spectra[3] = {kNan, 0.0F};
  spectra.spectra[64 + 17] = {0.0F, std::numeric_limits<float>::infinity()};
  write_spectra(folder / "spectra.h5", spectra);
  const EncodeReport report = encode_capture(folder / "spectra.h5", folder / "capture.h5", {});
  EXPECT_EQ(report.dead_channels, (std::vector<int>{3, 17}));
  EXPECT_THAT(report.warnings, ::testing::ElementsAre(HasSubstr("3, 17")));
  for (std::size_t channel = 20; channel < 25; ++channel) {
    spectra.spectra[channel] = {kNan, kNan};
  }
  write_spectra(folder / "many.h5", spectra);
  EXPECT_THROW(encode_capture(folder / "many.h5", folder / "none.h5", {}), DataError);
  EXPECT_FALSE(std::filesystem::exists(folder / "none.h5"));
}

TEST(EncodeSpectra, RefusesSilenceAndWrongFrames) {
  const TemporaryFolder folder;
  SpectraFile spectra = random_spectra({8, 8, 0.05, 0.05}, {500.0});
  write_spectra(folder / "spectra.h5", spectra);
  EncodeOptions options;
  options.frame = 1;
  EXPECT_THROW(encode_capture(folder / "spectra.h5", folder / "capture.h5", options), DataError);
  std::fill(spectra.spectra.begin(), spectra.spectra.end(), std::complex<float>{});
  write_spectra(folder / "silence.h5", spectra);
  EXPECT_THROW(encode_capture(folder / "silence.h5", folder / "capture.h5", {}), DataError);
}

/// Six channels, a tone each, 0.1 s at `rate_hz`; returns the phasors.
std::vector<Complex> tone_recording(double rate_hz, double tone_hz, std::vector<float>& values) {
  std::vector<Complex> phasors;
  for (int channel = 0; channel < 6; ++channel) {
    phasors.push_back(std::polar(0.01 * (channel + 1), 0.7 * channel));
  }
  for (int n = 0; n < static_cast<int>(rate_hz / 10); ++n) {
    for (const Complex phasor : phasors) {
      values.push_back(
          static_cast<float>((phasor * std::polar(1.0, 2 * std::numbers::pi * tone_hz * n / rate_hz)).real()));
    }
  }
  return phasors;
}

EncodeOptions options_2x3() {
  EncodeOptions options;
  options.geometry = {2, 3, 0.02, 0.02};
  options.standoff_m = 0.04;
  return options;
}

TEST(EncodeTimeData, KeepsPhaseAndPascal) {
  const TemporaryFolder folder;
  constexpr double kToneHz = 30 * kBinHz;
  std::vector<float> values;
  const auto phasors = tone_recording(51200.0, kToneHz, values);
  write_time_data(folder / "time.h5", 51200.0, 6, values);
  const EncodeReport report = encode_capture(folder / "time.h5", folder / "capture.h5", options_2x3());
  EXPECT_THAT(report.warnings, ::testing::IsEmpty());
  const CaptureReader reader(folder / "capture.h5");
  EXPECT_NEAR(static_cast<double>(reader.info().bit_times), 150000.0, 16.0);
  EXPECT_EQ(reader.info().measurement.standoff_m, 0.04);
  for (int channel = 0; channel < 6; ++channel) {
    const Complex found = phasor_pa(reader, 2 * kWindowBits, channel, kToneHz);
    EXPECT_LT(std::abs(found - phasors[static_cast<std::size_t>(channel)]), kOfTheRms * 0.03);
  }
}

// The level is that of the loudest 21.85 ms.
TEST(EncodeTimeData, LevelOfTheLoudestSegment) {
  const TemporaryFolder folder;
  constexpr int kRate = 46875;
  std::vector<float> values(static_cast<std::size_t>(4 * 1024) * 6, 0.0F);
  for (std::size_t i = 2 * 1024 * 6; i < 3 * 1024 * 6; ++i) {
    values[i] = (i / 6) % 8 < 4 ? 0.5F : -0.5F;
  }
  write_time_data(folder / "time.h5", kRate, 6, values);
  const EncodeReport report = encode_capture(folder / "time.h5", folder / "capture.h5", options_2x3());
  EXPECT_NEAR(20 * std::log10(0.5 * std::sqrt(2.0) / full_scale_pa(report.sensitivity_dbfs)), -20.0, 1e-6);
}

TEST(EncodeTimeData, RefusesAnotherChannelCount) {
  const TemporaryFolder folder;
  write_time_data(folder / "time.h5", 48000.0, 2, std::vector<float>(200, 0.1F));
  EXPECT_THROW(encode_capture(folder / "time.h5", folder / "capture.h5", options_2x3()), DataError);
}

TEST(EncodeTimeData, NotFiniteChannelsAreDeadOrAnError) {
  const TemporaryFolder folder;
  std::vector<float> values(static_cast<std::size_t>(3000) * 12, 0.1F);
  values[2500 * 12 + 7] = kNan;
  write_time_data(folder / "time.h5", 48000.0, 12, values);
  EncodeOptions options;
  options.standoff_m = 0.03;
  options.geometry = {3, 4, 0.02, 0.02};
  EXPECT_EQ(encode_capture(folder / "time.h5", folder / "capture.h5", options).dead_channels, std::vector<int>{7});
  values[8] = kNan;
  write_time_data(folder / "many.h5", 48000.0, 12, values);
  EXPECT_THROW(encode_capture(folder / "many.h5", folder / "capture.h5", options), DataError);
}

TEST(EncodeSoundFile, PascalPerUnit) {
  const TemporaryFolder folder;
  constexpr double kToneHz = 30 * kBinHz;
  std::vector<float> values;
  const auto phasors = tone_recording(48000.0, kToneHz, values);
  write_wav(folder / "sound.wav", 48000, 6, values);
  EncodeOptions options = options_2x3();
  options.pascal_per_unit = 20.0;
  options.order = SigmaDeltaOrder::kFourth;
  encode_capture(folder / "sound.wav", folder / "capture.h5", options);
  const CaptureReader reader(folder / "capture.h5");
  for (int channel = 0; channel < 6; ++channel) {
    const Complex found = phasor_pa(reader, kWindowBits, channel, kToneHz);
    EXPECT_LT(std::abs(found - 20.0 * phasors[static_cast<std::size_t>(channel)]), kOfTheRms * 20 * 0.03);
  }
}

// FLAC is read as a sound file and not as time data; 1e7 Pa are no sound.
TEST(EncodeSoundFile, WhatCannotBePascalIsNamed) {
  const TemporaryFolder folder;
  std::vector<float> values;
  tone_recording(48000.0, 30 * kBinHz, values);
  SF_INFO info{};
  info.samplerate = 48000;
  info.channels = 6;
  info.format = SF_FORMAT_FLAC | SF_FORMAT_PCM_24;
  SNDFILE* file = sf_open((folder / "sound.flac").c_str(), SFM_WRITE, &info);
  ASSERT_NE(file, nullptr);
  sf_write_float(file, values.data(), static_cast<sf_count_t>(values.size()));
  sf_close(file);
  EncodeOptions options = options_2x3();
  options.pascal_per_unit = 20.0;
  EXPECT_TRUE(encode_capture(folder / "sound.flac", folder / "capture.h5", options).warnings.empty());
  options.pascal_per_unit = 1e7;
  EXPECT_THAT(encode_capture(folder / "sound.flac", folder / "capture.h5", options).warnings,
              ::testing::ElementsAre(HasSubstr("expected at most 200 dB re 20 uPa")));
}

TEST(Encode, RefusesOtherInputs) {
  const TemporaryFolder folder;
  EXPECT_THROW(encode_capture(folder / "none.h5", folder / "capture.h5", {}), NoInputError);
  std::ofstream(folder / "text.h5") << "not a recording";
  EXPECT_THROW(encode_capture(folder / "text.h5", folder / "capture.h5", {}), DataError);
  write_spectra(folder / "spectra.h5", random_spectra({2, 2, 0.05, 0.05}, {500.0}));
  encode_capture(folder / "spectra.h5", folder / "capture.h5", {});
  EXPECT_THROW(encode_capture(folder / "capture.h5", folder / "again.h5", {}), DataError);
  EncodeOptions options;
  options.level_dbfs = 3.0;
  EXPECT_THROW(encode_capture(folder / "spectra.h5", folder / "again.h5", options), ConfigError);
}

TEST(Encode, TooLoudIsAWarning) {
  const TemporaryFolder folder;
  write_spectra(folder / "spectra.h5", random_spectra({8, 8, 0.05, 0.05}, {500.0}));
  EncodeOptions options;
  options.level_dbfs = -2.0;
  options.order = SigmaDeltaOrder::kFourth;
  const EncodeReport report = encode_capture(folder / "spectra.h5", folder / "capture.h5", options);
  EXPECT_THAT(report.warnings, ::testing::ElementsAre(HasSubstr("microphones go beyond")));
}

}  // namespace
}  // namespace nearfield
