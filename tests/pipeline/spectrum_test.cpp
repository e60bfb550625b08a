#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <numbers>
#include <vector>

#include "config/config.hpp"
#include "core/error.hpp"
#include "core/frame.hpp"
#include "engine/engine.hpp"
#include "engine/feeder.hpp"

/// The processor `spectrum` in an engine that is fed with bits.
namespace nearfield {
namespace {

constexpr double kRate_hz = 46875.0;
constexpr int kWindow = 1024;
constexpr double kTone_hz = 3333.3;  // none of the run's frequencies, and between bins of 45.8 Hz
constexpr double kAmplitude = 0.25;  // of full scale

Settings settings_of_spectrum(int every_hops, int batch) {
  Settings settings = load_settings("", {"processors.here.kind=spectrum", "processors.here.window_samples=1024",
                                         "processors.here.points=[[0.0, 0.0]]"});
  settings.processors.front().every_hops = every_hops;
  settings.array.geometry = {.rows = 4, .columns = 8, .pitch_x_m = 0.02, .pitch_y_m = 0.02};
  settings.array.layout = WireLayout::kRowMajor;
  settings.front_end.window_samples = 256;
  settings.front_end.frequencies_hz = {1464.84375};
  settings.front_end.hop_samples = 64;
  settings.device.batch = batch;
  return settings;
}

/// The same tone at all 32 microphones, by a sigma-delta modulator of second order.
std::vector<std::uint32_t> bits_of_tone(std::size_t samples) {
  std::vector<std::uint32_t> wire;
  double first = 0.0;
  double second = 0.0;
  for (std::size_t n = 0; n < samples * kBitsPerWord; ++n) {
    const double radians = 2.0 * std::numbers::pi * kTone_hz / (kRate_hz * kBitsPerWord) * static_cast<double>(n);
    const double out = second >= 0.0 ? 1.0 : -1.0;
    wire.push_back(out > 0.0 ? ~0U : 0U);
    first += kAmplitude * std::cos(radians) - out;
    second += first - out;
  }
  return wire;
}

struct Heard {
  std::vector<float> amplitudes_pa;
  std::uint32_t microphone = 0;
  SampleSpan window;
};

/// Feeds and computes a batch that begins with window `number`, with all late processors.
FinishedBatch computed(Engine& engine, const Settings& settings, Feeder& feeder, std::uint64_t number,
                       std::span<const std::uint32_t> wire) {
  const std::uint64_t first = number * static_cast<std::uint64_t>(settings.front_end.hop_samples);
  const auto batch = static_cast<std::size_t>(settings.device.batch);
  const SampleSpan span = feeder.next(first, batch, engine);
  for (std::uint64_t fed = span.first; fed < span.end;) {
    const std::uint64_t samples = std::min<std::uint64_t>(span.end - fed, 256);
    engine.push_bits(fed, wire.subspan(fed * kBitsPerWord, samples * kBitsPerWord));
    fed += samples;
  }
  FinishedBatch all = engine.compute({.first_sample = first, .windows = batch});
  std::vector<std::size_t> late;
  for (std::size_t p = 0; p < engine.processors(); ++p) {
    if (engine.is_late(p)) {
      late.push_back(p);
    }
  }
  engine.begin_late(all, late);
  engine.finish_late();
  return all;
}

/// Of `windows` windows from number `first` on, those that the processor has.
std::vector<Heard> heard(Engine& engine, const Settings& settings, Feeder& feeder, std::uint64_t first,
                         std::size_t windows, std::span<const std::uint32_t> wire) {
  const auto hop = static_cast<std::uint64_t>(settings.front_end.hop_samples);
  const auto batch = static_cast<std::size_t>(settings.device.batch);
  std::vector<Heard> all;
  for (std::uint64_t number = first; number < first + windows; number += batch) {
    const FinishedBatch windows_there = computed(engine, settings, feeder, number, wire);
    for (std::size_t i = 0; i < batch; ++i) {
      if (engine.has_products(windows_there, 1, i)) {
        const Products products = engine.read(windows_there, 1, i).products;
        const auto values = values_of<float>(products[0]);
        all.push_back({.amplitudes_pa = {values.begin(), values.end()},
                       .microphone = values_of<std::uint32_t>(products[1])[0],
                       .window = engine.window_of(1, (number + i) * hop)});
      }
    }
  }
  return all;
}

EnginePlan plan_of(const Settings& settings) {
  EnginePlan plan;
  plan.settings = settings;
  plan.sample_rate_hz = kRate_hz;
  return plan;
}

// A tone among none of the run's frequencies has its level: HFT95 keeps it to 0.0044 dB, the modulator's noise adds
// some hundredths. Prompt and in batches, late, behind a gap, and with the nearest microphone masked; both engines.
TEST(SpectrumOfBits, HasAToneAtItsLevel) {
  const std::vector<std::uint32_t> wire = bits_of_tone(4096);
  const double expected_pa = kAmplitude * full_scale_pa(-26.0);
  for (const auto& [every_hops, batch] : {std::pair(1, 3), std::pair(2, 1)}) {
    const Settings settings = settings_of_spectrum(every_hops, batch);
    std::vector<std::vector<Heard>> of_engines;
    for (const EngineKind kind : {EngineKind::kOpencl, EngineKind::kReference}) {
      const std::unique_ptr<Engine> engine = make_engine(kind, plan_of(settings));
      EXPECT_EQ(engine->window_samples(1), static_cast<std::uint64_t>(kWindow));
      EXPECT_TRUE(engine->reaches(1, kWindow - 256));
      EXPECT_FALSE(engine->reaches(1, kWindow - 256 - 1));
      Feeder feeder(settings.front_end);
      feeder.begin(0);
      std::vector<Heard> all = heard(*engine, settings, feeder, 0, 15, wire);
      ASSERT_EQ(all.size(), 3U);  // windows end at 256 + 64 n, from 1024 on
      engine->use(make_masks(engine->array_plans(), {11}));
      const std::vector<Heard> more = heard(*engine, settings, feeder, 50, 3, wire);
      all.insert(all.end(), more.begin(), more.end());
      ASSERT_EQ(all.size(), 6U);
      EXPECT_EQ(all[0].window.first, 0U);
      EXPECT_EQ(all[3].window.end, 50U * 64 + 256);
      EXPECT_EQ(all[0].microphone, 11U);  // row 1, column 3: the first of the four at the centre
      EXPECT_EQ(all[5].microphone, 12U);
      for (const Heard& one : all) {
        const auto loudest = std::max_element(one.amplitudes_pa.begin(), one.amplitudes_pa.end());
        EXPECT_EQ(loudest - one.amplitudes_pa.begin(), 73);  // 72.82 bins
        EXPECT_NEAR(20.0 * std::log10(static_cast<double>(*loudest) / expected_pa), 0.0, 0.05);
      }
      of_engines.push_back(std::move(all));
    }
    for (std::size_t i = 0; i < of_engines[0].size(); ++i) {
      for (std::size_t bin = 0; bin < of_engines[0][i].amplitudes_pa.size(); ++bin) {
        // float32 against double, as images of both engines.
        EXPECT_NEAR(of_engines[0][i].amplitudes_pa[bin], of_engines[1][i].amplitudes_pa[bin], 1e-4 * expected_pa);
      }
    }
  }
}

// Two of the same window: one at every hop near a sound microphone, a late one near one whose bits are all 1.
TEST(SpectrumOfBits, HasTheClippingOfItsOwnMicrophonesAlone) {
  Settings settings = settings_of_spectrum(1, 1);
  const Settings others =
      load_settings("", {"processors.here.kind=spectrum", "processors.here.window_samples=1024",
                         "processors.here.points=[[0.07, 0.03]]", "processors.there.kind=spectrum",
                         "processors.there.window_samples=1024", "processors.there.points=[[-0.07, -0.03]]",
                         "processors.there.every_hops=2"});
  settings.processors = others.processors;
  std::vector<std::uint32_t> wire = bits_of_tone(2048);
  for (std::uint32_t& word : wire) {
    word |= 1U;  // channel 0, the corner at (-0.07, -0.03)
  }
  for (const EngineKind kind : {EngineKind::kOpencl, EngineKind::kReference}) {
    const std::unique_ptr<Engine> engine = make_engine(kind, plan_of(settings));
    Feeder feeder(settings.front_end);
    feeder.begin(0);
    for (std::uint64_t number = 12; number < 16; ++number) {
      const FinishedBatch batch = computed(*engine, settings, feeder, number, wire);
      EXPECT_EQ(engine->read(batch, 1, 0).flags & kFlagClipped, 0U) << number;
      EXPECT_EQ(engine->read(batch, 2, 0).flags & kFlagClipped, kFlagClipped) << number;
    }
  }
}

TEST(SpectrumOfBits, TakesNoSpectra) {
  EnginePlan plan = plan_of(settings_of_spectrum(1, 1));
  plan.input = InputForm::kSpectra;
  plan.spectra_hz = {500.0};
  try {
    (void)make_engine(EngineKind::kReference, plan);
    FAIL() << "expected a refusal";
  } catch (const ConfigError& error) {
    EXPECT_EQ(std::string(error.what()),
              "processors.here.kind: expected bits or time data, found spectra, which have no samples for spectrum to "
              "work on");
  }
}

}  // namespace
}  // namespace nearfield
