// Levels, phases and frequencies of bits at other clocks and decimations, in each front end.
#include <gtest/gtest.h>

#include <cmath>
#include <complex>
#include <filesystem>
#include <numbers>

#include "core/error.hpp"
#include "frontend/front_end.hpp"
#include "pipeline/recording.hpp"
#include "simulate/bit_synthesizer.hpp"
#include "support/command.hpp"

namespace nearfield {
namespace {

using ComplexD = std::complex<double>;

constexpr int kWindowOfClock = 256;
constexpr int kBinOfTone = 7;

const ArrayGeometry kSquareOfClock{.rows = 2, .columns = 2, .pitch_x_m = 0.02, .pitch_y_m = 0.02};

struct ClockCase {
  double clock_hz;
  int decimation;
};

/// A capture of a tone at a bin of windows at this clock and decimation, its phasors at bit-time 0.
ArrayTone write_tone(const std::filesystem::path& path, const ClockCase& one) {
  ArrayTone tone{kBinOfTone * one.clock_hz / one.decimation / kWindowOfClock, {}};
  for (int channel = 0; channel < kSquareOfClock.channels(); ++channel) {
    tone.phasors.push_back(std::polar(0.1 + 0.05 * channel, 0.7 * channel));
  }
  BitSynthesizer synthesizer({.layout = WireLayout::kRowMajor,
                              .geometry = kSquareOfClock,
                              .sample_rate_hz = one.clock_hz,
                              .order = SigmaDeltaOrder::kFourth,
                              .seed = 3});
  CaptureInfo info;
  info.measurement = {.geometry = kSquareOfClock, .standoff_m = 0.03, .sensitivity_dbfs = -26.0};
  info.layout = WireLayout::kRowMajor;
  info.sample_rate_hz = one.clock_hz;
  CaptureWriter writer(path, info);
  std::vector<std::uint32_t> words(static_cast<std::size_t>(3 * kWindowOfClock * one.decimation));
  synthesizer.generate(0, std::span<const ArrayTone>(&tone, 1), {}, words);
  writer.append(words);
  writer.finish();
  return tone;
}

class Clocks : public testing::TestWithParam<ClockCase> {};

/// Of a window that begins at a word, [channel], Pa.
std::vector<ComplexD> spectra_of(const std::filesystem::path& path, const Settings& settings, EngineKind kind,
                                 std::uint64_t first_word) {
  const std::unique_ptr<Recording> recording = open_recording(path, settings);
  EnginePlan plan = recording->plan();
  plan.has_processor = false;
  const std::unique_ptr<Engine> engine = make_engine(kind, plan);
  const FinishedBatch batch = recording->compute(first_word, 1, *engine);
  std::vector<std::complex<float>> spectra(engine->spectra_values());
  engine->read_spectra(batch, 0, spectra);
  return {spectra.begin(), spectra.end()};
}

// The tone has its level and its phase, whatever the clock. The largest error is popcount's of 3.2e-5, at every clock
// alike, and float32 leaves 1e-6 between device and reference.
TEST_P(Clocks, AToneHasItsLevelPhaseAndFrequencyInEachFrontEnd) {
  const test::TemporaryFolder folder;
  const std::filesystem::path path = folder / "tone.h5";
  const ArrayTone tone = write_tone(path, GetParam());
  for (const FrontEndEntry& entry : front_end_table()) {
    Settings settings;
    settings.front_end.kind = entry.kind;
    settings.front_end.decimation = GetParam().decimation;
    settings.front_end.window_samples = kWindowOfClock;
    settings.front_end.hop_samples = 1;
    settings.front_end.frequencies_hz = {tone.frequency_hz};
    settings.holography.imager = ImagerKind::kNone;
    const auto first_word = static_cast<std::uint64_t>(kWindowOfClock * GetParam().decimation / kBitsPerWord);
    const auto device = spectra_of(path, settings, EngineKind::kOpencl, first_word);
    const auto reference = spectra_of(path, settings, EngineKind::kReference, first_word);
    const double turns = tone.frequency_hz * static_cast<double>(first_word * kBitsPerWord) / GetParam().clock_hz;
    for (std::size_t channel = 0; channel < tone.phasors.size(); ++channel) {
      const ComplexD truth =
          full_scale_pa(-26.0) * tone.phasors[channel] * std::polar(1.0, 2.0 * std::numbers::pi * turns);
      EXPECT_LT(std::abs(device[channel] - truth) / std::abs(truth), 1e-4) << entry.kind << ", channel " << channel;
      EXPECT_LT(std::abs(device[channel] - reference[channel]) / std::abs(truth), 5e-6) << entry.kind;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(OfMicrophones, Clocks,
                         testing::Values(ClockCase{1.0e6, 32}, ClockCase{1.5e6, 64}, ClockCase{1.6384e6, 32},
                                         ClockCase{3.072e6, 64}, ClockCase{6.144e6, 32}, ClockCase{6.144e6, 64}));

TEST(Clock, OfACaptureIsTheRunsAndMustAgree) {
  const test::TemporaryFolder folder;
  const std::filesystem::path path = folder / "tone.h5";
  (void)write_tone(path, {3.072e6, 64});
  Settings settings;
  settings.holography.imager = ImagerKind::kNone;
  settings.front_end.decimation = 64;
  settings.front_end.window_samples = kWindowOfClock;
  settings.front_end.frequencies_hz = {1312.5};
  const auto recording = open_recording(path, settings);
  EXPECT_EQ(recording->plan().settings.array.clock_hz, 3.072e6);
  EXPECT_EQ(recording->info().start_rate_hz, 3.072e6);
  EXPECT_EQ(recording->plan().settings.front_end.window_samples, 2 * kWindowOfClock) << "in words of 32 bits";
  settings.array.clock_hz = 1.5e6;
  settings.explicit_keys.insert("array.clock_hz");
  EXPECT_THROW((void)open_recording(path, settings), ConfigError);
  settings.explicit_keys.clear();
  settings.front_end.frequencies_hz = {24100.0};  // above half of 48 kHz
  EXPECT_THROW((void)open_recording(path, settings), ConfigError);
  settings.front_end.frequencies_hz = {1312.5};
  settings.front_end.window_samples = 65536;
  EXPECT_THROW((void)open_recording(path, settings), ConfigError);
  (void)write_tone(path, {0.5e6, 32});
  EXPECT_THROW((void)open_recording(path, Settings()), DataError);
}

}  // namespace
}  // namespace nearfield
