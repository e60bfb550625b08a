#include "engine/engine.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <string>
#include <vector>

#include "cl/memory.hpp"
#include "config/config.hpp"

namespace nearfield {
namespace {

EnginePlan plan_of_spectra() {
  EnginePlan plan;
  plan.settings.array.geometry = {.rows = 8, .columns = 8, .pitch_x_m = 0.02, .pitch_y_m = 0.02};
  plan.settings.holography.imager = ImagerKind::kPnah;
  plan.input = InputForm::kSpectra;
  plan.spectra_hz = {500.0, 900.0};
  return plan;
}

EnginePlan plan_of_bits() {
  EnginePlan plan = plan_of_spectra();
  plan.input = InputForm::kBits;
  plan.sample_rate_hz = 46875.0;
  plan.settings.array.layout = WireLayout::kRowMajor;
  plan.settings.front_end.frequencies_hz = {1007.08};
  plan.settings.array.geometry.pitch_x_m = 0.2;  // too far apart for that: every frame is flagged
  return plan;
}

std::vector<std::complex<float>> some_spectra(std::size_t count) {
  std::vector<std::complex<float>> spectra;
  for (std::size_t i = 0; i < count; ++i) {
    spectra.emplace_back(std::sin(0.3F * static_cast<float>(i)), std::cos(0.7F * static_cast<float>(i)));
  }
  return spectra;
}

class EngineTest : public testing::TestWithParam<EngineKind> {};
INSTANTIATE_TEST_SUITE_P(, EngineTest, testing::Values(EngineKind::kOpencl, EngineKind::kReference),
                         [](const auto& kind) { return kind.param == EngineKind::kOpencl ? "opencl" : "reference"; });

// Of a subset's microphones those count that are masked or not finite and belong to it.
TEST_P(EngineTest, ValidMicrophonesAreThoseThatAProcessorSees) {
  EnginePlan plan = plan_of_spectra();
  plan.settings.array.dead_channels = {63, 2};
  plan.settings.processors =
      load_settings("", {"processors.some.kind=beamform", "processors.some.steering.subset=[0,1,2,3,4,5,6]",
                         "processors.all.kind=beamform"})
          .processors;
  const std::unique_ptr<Engine> engine = make_engine(GetParam(), plan);
  auto spectra = some_spectra(engine->spectra_values());
  spectra[5] = std::numeric_limits<float>::quiet_NaN();
  spectra[40] = std::numeric_limits<float>::quiet_NaN();
  FinishedBatch batch = engine->compute_spectra(spectra);
  std::map<std::string, std::uint32_t> valid;
  for (std::size_t p = 0; p < engine->processors(); ++p) {
    valid[engine->header(p).processor] = engine->read(batch, p, 0).valid_microphones;
  }
  const std::map<std::string, std::uint32_t> expected = {{"surface", 60}, {"all", 60}, {"some", 5}};
  EXPECT_EQ(valid, expected);
  EXPECT_EQ(microphone_use(*engine).masked, (std::vector<int>{2, 63}));
  for (std::size_t p = 0; p < engine->processors(); ++p) {
    const bool is_some = engine->header(p).processor == "some";  // of which microphones() counts no dead one
    EXPECT_EQ(engine->microphones(p), is_some ? 6U : 64U);
    EXPECT_EQ(engine->of_processor(p, {0, 2, 33}), is_some ? std::vector<int>{0} : std::vector<int>({0, 2, 33}));
  }
  engine->use(make_masks(engine->array_plans(), {0, 33}));  // beside the dead ones
  batch = engine->compute_spectra(spectra);
  EXPECT_EQ(engine->read(batch, 1, 0).valid_microphones + engine->read(batch, 2, 0).valid_microphones, 58U + 4U);
}

// A late processor works on the spectra that were given, as one of every hop does.
TEST_P(EngineTest, LateProcessorsSeeTheGivenSpectra) {
  EnginePlan plan = plan_of_spectra();
  plan.settings.processors = load_settings("", {"processors.slow.kind=row_power", "processors.slow.every_hops=3",
                                                "processors.fast.kind=row_power"})
                                 .processors;
  const std::unique_ptr<Engine> engine = make_engine(GetParam(), plan);
  const auto spectra = some_spectra(engine->spectra_values());
  const FinishedBatch batch = engine->compute_spectra(spectra);
  engine->compute_late(batch);
  const auto power_of = [&](std::size_t processor) {
    const auto values = values_of<float>(engine->read(batch, processor, 0).products[0]);
    return std::vector<float>(values.begin(), values.end());
  };
  EXPECT_EQ(power_of(1), power_of(2));
  EXPECT_GT(power_of(1).front(), 0.0F);
  EXPECT_EQ(engine->read(batch, 1, 0).flags, engine->read(batch, 2, 0).flags);
}

// More processors than a word has bits; every other one is late.
TEST_P(EngineTest, AnyNumberOfProcessorsWorkBesideTheFirst) {
  constexpr std::size_t kProcessors = 70;
  std::vector<std::string> keys;
  for (std::size_t p = 0; p < kProcessors; ++p) {
    keys.push_back("processors.p" + std::to_string(p) + ".kind=row_power");
    keys.push_back("processors.p" + std::to_string(p) + ".every_hops=" + (p % 2 == 0 ? "1" : "3"));
  }
  EnginePlan plan = plan_of_spectra();
  plan.settings.processors = load_settings("", keys).processors;
  const std::unique_ptr<Engine> engine = make_engine(GetParam(), plan);
  ASSERT_EQ(engine->processors(), 1 + kProcessors);
  const FinishedBatch batch = engine->compute_spectra(some_spectra(engine->spectra_values()));
  engine->compute_late(batch);
  const auto power_of = [&](std::size_t processor) {
    const auto values = values_of<float>(engine->read(batch, processor, 0).products[0]);
    return std::vector<float>(values.begin(), values.end());
  };
  EXPECT_GT(power_of(1).front(), 0.0F);
  for (std::size_t p = 2; p <= kProcessors; ++p) {
    EXPECT_EQ(power_of(p), power_of(1)) << engine->header(p).processor;
  }
}

// Calibration and inspection read spectra: nothing that an image alone needs may keep them from it.
TEST_P(EngineTest, WithoutAProcessorGivesSpectraAlone) {
  EnginePlan plan = plan_of_spectra();
  plan.has_processor = false;
  plan.settings.holography.planes_m = {1.0};  // above the microphones: an imager would refuse it
  const std::unique_ptr<Engine> engine = make_engine(GetParam(), plan);
  const auto spectra = some_spectra(engine->spectra_values());
  const FinishedBatch batch = engine->compute_spectra(spectra);
  ASSERT_EQ(batch.windows(), 1U);
  EXPECT_EQ(batch.statuses()[0].flags, 0U);
  std::vector<std::complex<float>> read(spectra.size());
  engine->read_spectra(batch, 0, read);
  EXPECT_EQ(read, spectra);
  EXPECT_EQ(engine->processors(), 0U);
  EXPECT_FALSE(engine->searcher());
  EXPECT_EQ(engine->make_search(), nullptr);
  EXPECT_EQ(engine->array_plan().frequencies_hz, plan.spectra_hz);
}

// The front end's flags arrive without a processor too, and belong to their own window alone.
TEST_P(EngineTest, WithoutAProcessorFlagsAreThoseWithOne) {
  EnginePlan with = plan_of_bits();
  EnginePlan without = with;
  without.has_processor = false;
  const std::unique_ptr<Engine> engines[] = {make_engine(GetParam(), with), make_engine(GetParam(), without)};
  std::vector<std::vector<std::complex<float>>> read;
  std::vector<std::uint32_t> flags;
  for (const std::unique_ptr<Engine>& engine : engines) {
    const auto window = static_cast<std::uint64_t>(with.settings.front_end.window_samples);
    const std::uint64_t history = engine->history_samples();
    const std::size_t words_per_sample = 32 * 2;  // 64 microphones at 32 bit-times
    FinishedBatch batch;
    const auto push = [&](std::uint64_t first, std::uint32_t at_odd_bit_times) {
      std::vector<std::uint32_t> wire((window + history) * words_per_sample, 0xFFFFFFFFU);
      for (std::size_t i = 0; i < wire.size(); ++i) {
        wire[i] = i / 2 % 2 == 1 ? at_odd_bit_times : wire[i];
      }
      engine->push_bits(first, wire);
      batch = engine->compute({.first_sample = first + history});
      flags.push_back(batch.statuses().front().flags);
    };
    push(0, 0xFFFFFFFFU);  // every bit set: full scale
    push(1U << 20U, 0U);   // every other one: silence
    read.emplace_back(engine->spectra_values());
    engine->read_spectra(batch, 0, read.back());
  }
  ASSERT_EQ(flags.size(), 4U);
  EXPECT_EQ(flags[0] & kFlagClipped, kFlagClipped);
  EXPECT_EQ(flags[1] & kFlagClipped, 0U);
  EXPECT_NE(flags[0] & kFlagWavenumberAboveNyquist, 0U);
  constexpr std::uint32_t kWithoutAnImage = kFlagClipped | kFlagWavenumberAboveNyquist;
  EXPECT_EQ(flags[0] & kWithoutAnImage, flags[2]);
  EXPECT_EQ(flags[1] & kWithoutAnImage, flags[3]);
  EXPECT_EQ(read[0], read[1]);
}

// The front end says what the input is like once a window; images that are made again keep it.
TEST_P(EngineTest, ImagesThatAreMadeAgainKeepTheFlagsOfTheInput) {
  const EnginePlan plan = plan_of_bits();
  const std::unique_ptr<Engine> engine = make_engine(GetParam(), plan);
  const auto window = static_cast<std::size_t>(plan.settings.front_end.window_samples);
  const std::vector<std::uint32_t> ones(window * 32 * 2, ~0U);  // 64 microphones at full scale
  engine->push_bits(0, ones);
  const FinishedBatch batch = engine->compute({});
  const WindowStatus status = batch.statuses().front();
  ASSERT_NE(status.flags & kFlagClipped, 0U);
  EXPECT_EQ(engine->read(batch, 0, 0).flags, status.flags);
  engine->compute_again(batch, 0);
  EXPECT_EQ(engine->read(batch, 0, 0).flags, status.flags);
}

// Predictions from all microphones take long to make: only masks of spectra that a sonah works on have them.
TEST_P(EngineTest, MasksFillFromAllWhereSonahIsFed) {
  EnginePlan plan = plan_of_bits();
  plan.settings.array.geometry.pitch_x_m = 0.02;
  const auto filled = [&](ImagerKind first, const std::vector<std::string>& processors) {
    plan.settings.holography.imager = first;
    plan.settings.processors = load_settings("", processors).processors;
    const std::unique_ptr<Engine> engine = make_engine(GetParam(), plan);
    std::vector<bool> from_all;
    for (const MicrophoneMask& mask : make_masks(engine->array_plans(), {9})) {
      from_all.push_back(!mask.prior_weights.empty());
    }
    return from_all;
  };
  const std::string own = ".front_end.frequencies_hz=[2014.16]";
  const std::vector<std::string> beam = {"processors.beam.kind=beamform", "processors.beam" + own};
  const std::vector<std::string> fine = {"processors.fine.kind=sonah", "processors.fine" + own};
  EXPECT_EQ(filled(ImagerKind::kSonah, beam), (std::vector<bool>{true, false}));
  EXPECT_EQ(filled(ImagerKind::kPnah, beam), (std::vector<bool>{false, false}));
  EXPECT_EQ(filled(ImagerKind::kPnah, fine), (std::vector<bool>{false, true}));
  EXPECT_EQ(filled(ImagerKind::kPnah, {"processors.beside.kind=sonah"}), (std::vector<bool>{true}));
}

// To the last bit, and in no more memory than the engine was made with; who pushes a whole window at once has room for
// it from then on.
TEST_P(EngineTest, WindowsThatComeInPiecesAreThoseThatComeWhole) {
  const EnginePlan plan = plan_of_bits();
  const auto window = static_cast<std::uint64_t>(plan.settings.front_end.window_samples);
  const auto hop = static_cast<std::uint64_t>(plan.settings.front_end.hop_samples);
  const std::size_t words_per_sample = 32 * 2;  // 64 microphones at 32 bit-times
  std::vector<std::uint32_t> wire((window + hop) * words_per_sample);
  std::uint32_t state = 1;
  for (std::uint32_t& word : wire) {
    state = state * 1664525U + 1013904223U;
    word = state ^ state >> 16U;
  }
  std::vector<std::vector<std::complex<float>>> spectra;
  std::vector<std::int64_t> grown_bytes;
  for (const bool in_pieces : {true, false}) {
    const std::unique_ptr<Engine> engine = make_engine(GetParam(), plan);
    ASSERT_LT(engine->piece_samples(), window);
    const auto push = [&](std::uint64_t first, std::uint64_t end) {
      while (first < end) {
        const std::uint64_t samples = std::min(end - first, in_pieces ? engine->piece_samples() : window);
        const std::span<std::uint32_t> room = engine->room_for_bits(samples * words_per_sample);
        std::copy_n(wire.begin() + static_cast<std::ptrdiff_t>(first * words_per_sample), room.size(), room.begin());
        engine->push_bits(first, room);
        first += samples;
      }
    };
    const auto before = static_cast<std::int64_t>(ocl::buffer_bytes().host);
    for (const std::uint64_t first : {std::uint64_t{0}, hop}) {
      push(first == 0 ? 0 : window, first + window);
      const FinishedBatch batch = engine->compute({.first_sample = first});
      spectra.emplace_back(engine->spectra_values());
      engine->read_spectra(batch, 0, spectra.back());
    }
    grown_bytes.push_back(static_cast<std::int64_t>(ocl::buffer_bytes().host) - before);
  }
  EXPECT_EQ(spectra[0], spectra[2]);
  EXPECT_EQ(spectra[1], spectra[3]);
  EXPECT_NE(spectra[0], spectra[1]);
  const bool is_on_device = GetParam() == EngineKind::kOpencl;
  const std::int64_t whole_bytes = static_cast<std::int64_t>(window * words_per_sample * sizeof(std::uint32_t));
  EXPECT_EQ(grown_bytes[0], 0);
  EXPECT_EQ(grown_bytes[1], is_on_device ? whole_bytes * 3 / 4 : 0);  // 1024 samples in place of 256
}

}  // namespace
}  // namespace nearfield
