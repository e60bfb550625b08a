#include "frontend/dot_product/dot_product.hpp"

#include <gmock/gmock.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <numbers>
#include <optional>

#include "core/error.hpp"
#include "core/frame.hpp"
#include "frontend/dot_product/settings.hpp"
#include "frontend/front_end_support.hpp"
#include "frontend/samples/samples_reference.hpp"
#include "frontend/test_bits.hpp"
#include "support/command.hpp"
#include "support/environment.hpp"

namespace nearfield {
namespace {

using test::Array;
using test::Bench;
using ComplexD = std::complex<double>;
using ComplexF = std::complex<float>;

constexpr double kPi = std::numbers::pi;
constexpr double kSampleRateHz = kBitRateHz / kBitsPerWord;
constexpr Array kSmall{5, 7, WireLayout::kRowMajor};
constexpr WireLayout kRows = WireLayout::kRowMajor;

/// Every kernel there is; more parts than a window fills, too.
std::vector<DotVariant> variants() {
  std::vector<DotVariant> all = {{.kernel = DotKernel::kGemm}};
  for (const int parts : {1, 3, 16}) {
    all.push_back({.kernel = DotKernel::kTiled, .parts = parts});
  }
  for (const DotKernel kernel : {DotKernel::kPlain, DotKernel::kMirrored, DotKernel::kFourOutput}) {
    all.push_back({.kernel = kernel});
  }
  return all;
}

Bench bench_of(const FrontEndPlan& plan, const DotVariant& variant) {
  return {plan, [&](const ocl::Device& device, const FrontEndPlan& from) -> std::unique_ptr<FrontEnd> {
            return std::make_unique<DotProduct>(device, from, variant);
          }};
}

/// From 1.1 bins of the shortest window to just below half the sample rate, off every grid but for the second, which
/// lies on that of 1024.
std::vector<double> frequencies(std::size_t count) {
  std::vector<double> values;
  for (std::size_t i = 0; i < count; ++i) {
    values.push_back(i == 1 ? 22.0 * kSampleRateHz / 1024.0
                            : 541.3 + 22500.7 * static_cast<double>(i) / static_cast<double>(count));
  }
  return values;
}

FrontEndPlan plan_of(const Array& array, int window_samples, std::size_t frequency_count) {
  FrontEndPlan plan;
  plan.geometry = array.geometry();
  plan.layout = array.layout;
  plan.settings.kind = "dot_product";
  plan.settings.window_samples = window_samples;
  plan.settings.frequencies_hz = frequencies(frequency_count);
  return plan;
}

struct StreamCase {
  Array array;
  int window_samples;
  std::size_t hop_samples;
  std::size_t frequency_count;
  WindowKind window = WindowKind::kHann;
  bool remove_dc = true;
  int frames = 3;
};

class DotProductOfStream : public ::testing::TestWithParam<StreamCase> {};

// float32 against double: sums of 96 to 1024 products, each rounded to 6e-8.
constexpr double kSpectraTolerance = 1e-5;

// A pipeline's stream, as for decimated_fft: where a hop skips bits, they are left out and the history fed again.
TEST_P(DotProductOfStream, EveryKernelAgreesWithTheReference) {
  const StreamCase& stream = GetParam();
  FrontEndPlan plan = plan_of(stream.array, stream.window_samples, stream.frequency_count);
  plan.settings.window = stream.window;
  plan.settings.remove_dc = stream.remove_dc;
  std::mt19937 generator(test::fresh_seed());
  const auto window = static_cast<std::size_t>(stream.window_samples);
  const std::size_t total = window + stream.hop_samples * static_cast<std::size_t>(stream.frames - 1);
  const std::vector<std::uint32_t> wire = test::random_wire(stream.array, total, generator);
  std::vector<Bench> benches;
  for (const DotVariant& variant : variants()) {
    benches.push_back(bench_of(plan, variant));
  }
  reference::SampleFrontEnd expected(plan);
  EXPECT_EQ(benches[0].front_end->actual_frequencies_hz(), plan.settings.frequencies_hz);
  EXPECT_EQ(expected.actual_frequencies_hz(), plan.settings.frequencies_hz);
  const auto history = static_cast<std::size_t>(benches[0].front_end->history_words());
  EXPECT_EQ(history, expected.history_words());
  std::size_t fed = 0;
  double worst = 0.0;
  for (std::size_t first = 0; first + window <= total; first += stream.hop_samples) {
    const std::size_t from = std::max(fed, first > history ? first - history : 0);
    expected.push_bits(fed, test::words_of(stream.array, wire, fed, first + window - fed));
    const std::vector<ComplexD> wanted = expected.spectra(first);
    for (std::size_t i = 0; i < benches.size(); ++i) {
      benches[i].front_end->enqueue_bits(from, test::words_of(stream.array, wire, from, first + window - from));
      const double difference = test::relative_l2(benches[i].spectra(first), wanted);
      EXPECT_LT(difference, kSpectraTolerance) << name_of(variants()[i]) << " at " << first;
      // Filtered random bits reach the level of clipping at times.
      EXPECT_EQ(benches[i].flags(), (std::vector<std::uint32_t>{expected.clipped() ? kFlagClipped : 0U, 0, 0, 0}))
          << name_of(variants()[i]);
      worst = std::max(worst, difference);
    }
    fed = first + window;
  }
  std::printf("dot_product against the reference: relative L2 at most %.2g\n", worst);
}

INSTANTIATE_TEST_SUITE_P(Streams, DotProductOfStream,
                         ::testing::Values(StreamCase{{32, 32, WireLayout::kSoramaCam}, 1024, 32, 2},
                                           StreamCase{{32, 32, kRows}, 96, 7, 5, WindowKind::kNone},
                                           StreamCase{{8, 8, kRows}, 1000, 1500, 33},
                                           StreamCase{{16, 64, kRows}, 96, 1, 7},
                                           StreamCase{{12, 20, kRows}, 1000, 7, 1, WindowKind::kHann, false},
                                           StreamCase{{5, 7, kRows}, 96, 1, 33, WindowKind::kHann, true, 200},
                                           StreamCase{{5, 7, kRows}, 1024, 1500, 5, WindowKind::kNone, false},
                                           StreamCase{{1, 1, kRows}, 96, 32, 2}));

FrontEndPlan sample_plan(const Array& array, int window_samples, std::size_t frequency_count) {
  FrontEndPlan plan = plan_of(array, window_samples, frequency_count);
  plan.input_is_bits = false;
  plan.sample_rate_hz = 51200.0;
  return plan;
}

// Time data in pascal, windows with gaps and overlaps, the ring wrapped around several times.
TEST(DotProductOfSamples, EveryKernelAgreesWithTheReference) {
  for (const Array& array : {kSmall, Array{12, 20, kRows}}) {
    const FrontEndPlan plan = sample_plan(array, 96, 5);
    for (const DotVariant& variant : variants()) {
      std::mt19937 generator(test::fresh_seed());
      Bench bench = bench_of(plan, variant);
      reference::SampleFrontEnd expected(plan);
      ASSERT_EQ(bench.front_end->history_words(), 0U);
      std::uint64_t end = 0;
      for (const std::size_t count : {96U, 1U, 32U, 96U, 70U, 300U, 96U}) {
        const auto samples = test::random_samples(count * array.channels(), generator);
        end += count == 300U ? 1000U : 0U;  // a gap
        bench.front_end->enqueue_samples(end, samples);
        expected.push_samples(end, samples);
        end += count;
        EXPECT_LT(test::relative_l2(bench.spectra(end - 96), expected.spectra(end - 96)), kSpectraTolerance)
            << name_of(variant);
        EXPECT_EQ(bench.flags().at(0), 0U) << "pascal cannot clip";
      }
    }
  }
}

/// offset + 2.5 cos(2 pi f n / fs + 0.7) for all channels.
std::vector<float> tone_samples(const FrontEndPlan& plan, double frequency_hz, double offset) {
  const auto channels = static_cast<std::size_t>(plan.geometry.channels());
  std::vector<float> samples(static_cast<std::size_t>(plan.settings.window_samples) * channels);
  for (std::size_t i = 0; i < samples.size(); ++i) {
    const std::size_t sample = i / channels;
    const double angle = 2.0 * kPi * frequency_hz * static_cast<double>(sample) / plan.sample_rate_hz;
    samples[i] = static_cast<float>(offset + 2.5 * std::cos(angle + 0.7));
  }
  return samples;
}

// Off the grid a tone leaks into no other frequency of the plan: it comes back to float32's rounding (of the samples,
// the coefficients and their sum, 1e-7 each), even 1.2 and 1.7 bins from 0, where its image and an offset would be in
// the way.
TEST(DotProductOfSamples, ToneOffTheGridGivesItsPhasor) {
  for (const double bins : {1.2, 1.7, 22.46, 301.9}) {
    FrontEndPlan plan = sample_plan({2, 3, kRows}, 1024, 1);
    const double frequency_hz = bins * plan.sample_rate_hz / 1024.0;
    plan.settings.frequencies_hz = {frequency_hz};
    const std::vector<float> samples = tone_samples(plan, frequency_hz, 0.4);
    for (const DotVariant& variant : variants()) {
      Bench bench = bench_of(plan, variant);
      bench.front_end->enqueue_samples(77, samples);
      for (const ComplexF& value : bench.spectra(77)) {
        EXPECT_NEAR(std::abs(value - ComplexF(std::polar(2.5, 0.7))), 0.0F, 5e-6F) << name_of(variant) << " " << bins;
      }
    }
  }
}

// NaN in one channel, infinity in another, both in a sample whose Hann weight is 0 and elsewhere; their neighbours must
// not see them, and the next window neither.
TEST(DotProductOfSamples, NotANumberStaysInItsChannel) {
  const FrontEndPlan plan = sample_plan(kSmall, 96, 3);
  std::mt19937 generator(test::fresh_seed());
  const std::vector<float> clean = test::random_samples(96 * kSmall.channels(), generator);
  for (const DotVariant& variant : variants()) {
    for (const std::size_t row : {std::size_t{0}, std::size_t{40}}) {
      std::vector<float> samples = clean;
      samples[row * kSmall.channels() + 11] = std::numeric_limits<float>::quiet_NaN();
      samples[row * kSmall.channels() + 30] = -std::numeric_limits<float>::infinity();
      Bench bench = bench_of(plan, variant);
      bench.front_end->enqueue_samples(0, clean);
      const std::vector<ComplexF> expected = bench.spectra(0);
      bench.front_end->enqueue_samples(96, samples);
      const std::vector<ComplexF> spectra = bench.spectra(96);
      for (std::size_t i = 0; i < spectra.size(); ++i) {
        const bool is_bad = i % kSmall.channels() == 11 || i % kSmall.channels() == 30;
        EXPECT_EQ(std::isnan(spectra[i].real()) && std::isnan(spectra[i].imag()), is_bad) << name_of(variant) << i;
        EXPECT_TRUE(is_bad || std::abs(spectra[i] - expected[i]) < 1e-5F) << name_of(variant) << i;
      }
      bench.front_end->enqueue_samples(192, clean);
      EXPECT_LT(test::relative_l2(bench.spectra(192), expected), 1e-6) << name_of(variant);
    }
  }
}

// Channel 3 is full scale in words 150 to 199; a window sees that or not, and it counts only when the channel lives.
TEST(DotProduct, ClippingIsFlaggedInTheWindowsThatHaveIt) {
  const auto wire = test::make_wire(kSmall, 400, [](std::size_t channel, std::size_t time) {
    return (channel == 3 && time / 32 >= 150 && time / 32 < 200) || time % 2 != 0;
  });
  for (const bool is_dead : {false, true}) {
    FrontEndPlan plan = plan_of(kSmall, 96, 2);
    plan.dead_channels = is_dead ? std::vector<int>{3} : std::vector<int>{2, 4};
    for (const DotVariant& variant : variants()) {
      Bench bench = bench_of(plan, variant);
      for (const auto& [first, clipped] :
           {std::pair{20U, false}, std::pair{100U, true}, std::pair{190U, true}, std::pair{230U, false}}) {
        bench.front_end->enqueue_bits(first - 20, test::words_of(kSmall, wire, first - 20, 116));
        (void)bench.spectra(first);
        EXPECT_EQ(bench.flags().at(0), clipped && !is_dead ? std::uint32_t{kFlagClipped} : 0U)
            << name_of(variant) << " at " << first;
      }
    }
  }
}

/// Largest error of a tone of 4 % of full scale, relative, on a microphone with an offset of 3 %.
double tone_error_with_offset(FrontEndPlan plan, double frequency_hz, bool remove_dc) {
  constexpr double kAmplitude = 0.04;
  constexpr Array kFew{2, 2, kRows};
  plan.settings.remove_dc = remove_dc;
  plan.settings.frequencies_hz = {frequency_hz};
  Bench bench(plan);
  const std::unique_ptr<reference::FrontEnd> expected = reference::make_front_end(plan);
  std::vector<test::Modulator> modulators;
  for (std::size_t channel = 0; channel < kFew.channels(); ++channel) {
    modulators.emplace_back(kAmplitude, frequency_hz, 1.3 * static_cast<double>(channel), 0.03);
  }
  const auto wire = test::make_wire(
      kFew, 1100, [&](std::size_t channel, std::size_t /*time*/) { return modulators[channel].next(); });
  bench.front_end->enqueue_bits(0, wire);
  expected->push_bits(0, wire);
  const std::vector<ComplexF> spectra = bench.spectra(50);
  EXPECT_LT(test::relative_l2(spectra, expected->spectra(50)), kSpectraTolerance);
  double worst = 0.0;
  for (std::size_t channel = 0; channel < kFew.channels(); ++channel) {
    const double turns = frequency_hz / kBitRateHz * 32.0 * 50.0;
    const ComplexD tone = std::polar(kAmplitude, 2.0 * kPi * turns + 1.3 * static_cast<double>(channel));
    const ComplexD found = ComplexD(spectra[channel]) / full_scale_pa(plan.sensitivity_dbfs);
    worst = std::max(worst, std::abs(found - tone) / kAmplitude);
  }
  return worst;
}

// Figure 7.9 of the thesis: an offset leaks into the lowest bins. At bin 1 a Hann window lets through -1 times the
// offset, 75 % of the tone here; at 1.2 bins (54.9 Hz) most of that. Removed, what is left is the modulators' noise.
TEST(OffsetRemoval, ToneNextToAnOffsetIsRight) {
  FrontEndPlan dot = plan_of({2, 2, kRows}, 1024, 1);
  FrontEndPlan fft = dot;
  fft.settings.kind = "decimated_fft";
  const double bin_hz = kSampleRateHz / 1024.0;
  for (const auto& [plan, frequency_hz] :
       {std::pair{&fft, bin_hz}, std::pair{&dot, bin_hz}, std::pair{&dot, 1.2 * bin_hz}}) {
    const double with = tone_error_with_offset(*plan, frequency_hz, true);
    const double without = tone_error_with_offset(*plan, frequency_hz, false);
    std::printf("%s, offset 3 %%, tone 4 %% of full scale at %.1f Hz: error %.2g with removal, %.2g without\n",
                plan->settings.kind.c_str(), frequency_hz, with, without);
    EXPECT_LT(with, 1e-4);
    EXPECT_GT(without, 0.3);
  }
}

// On a Hann window's grid only bin 1 sees the offset: from bin 2 on, removing it changes nothing but rounding.
TEST(OffsetRemoval, ChangesOnlyBinOneOnTheGrid) {
  for (const char* const kind : {"decimated_fft", "dot_product"}) {
    FrontEndPlan plan = sample_plan(kSmall, 96, 1);
    plan.settings.kind = kind;
    const double bin_hz = plan.sample_rate_hz / 96.0;
    plan.settings.frequencies_hz = {bin_hz, 2.0 * bin_hz, 3.0 * bin_hz, 47.0 * bin_hz};
    std::mt19937 generator(test::fresh_seed());
    const std::vector<float> samples = test::random_samples(96 * kSmall.channels(), generator);
    Bench with(plan);
    plan.settings.remove_dc = false;
    Bench without(plan);
    with.front_end->enqueue_samples(0, samples);
    without.front_end->enqueue_samples(0, samples);
    const std::vector<ComplexF> a = with.spectra(0);
    const std::vector<ComplexF> b = without.spectra(0);
    for (std::size_t i = 0; i < a.size(); ++i) {
      if (i >= kSmall.channels()) {
        EXPECT_NEAR(std::abs(a[i] - b[i]), 0.0F, 5e-6F) << i;
      }
    }
    const std::vector<ComplexF> first_a(a.begin(), a.begin() + 35);
    const std::vector<ComplexF> first_b(b.begin(), b.begin() + 35);
    EXPECT_GT(test::relative_l2(first_a, first_b), 0.01);
  }
}

// The signal contract through the bits, off the grid: as PhaseContract in front_end_test.cpp, whose comment gives the
// limits' reasons.
TEST(DotProduct, ModulatedToneOffTheGridComesBack) {
  constexpr double kAmplitude = 0.3;
  constexpr Array kOne{1, 1, kRows};
  for (const double frequency_hz : {531.7, 1234.5, 7321.0}) {
    FrontEndPlan plan = plan_of(kOne, 1024, 1);
    plan.settings.frequencies_hz = {frequency_hz};
    plan.settings.own.edit<DotProductSettings>().kernel = DotKernel::kTiled;
    Bench bench(plan);
    test::Modulator modulator(kAmplitude, frequency_hz, 0.4);
    std::vector<double> bits;
    const auto wire = test::make_wire(kOne, 1400, [&](std::size_t /*channel*/, std::size_t /*time*/) {
      bits.push_back(modulator.next() ? 1.0 : -1.0);
      return bits.back() > 0.0;
    });
    bench.front_end->enqueue_bits(0, wire);
    for (const std::uint64_t first : {20U, 333U}) {
      const ComplexD found = ComplexD(bench.spectra(first).at(0)) / full_scale_pa(plan.sensitivity_dbfs);
      const double turns = frequency_hz / kBitRateHz * 32.0 * static_cast<double>(first);
      const double from_tone = std::abs(found - std::polar(kAmplitude, 2.0 * kPi * turns + 0.4)) / kAmplitude;
      const double from_bits = std::abs(found - test::bit_spectrum(bits, 32 * first, frequency_hz)) / kAmplitude;
      std::printf("tone at %.1f Hz: relative error %.2g from the tone, %.2g from the bits' own spectrum\n",
                  frequency_hz, from_tone, from_bits);
      EXPECT_LT(from_tone, 4.0 * std::pow(std::sin(kPi * frequency_hz / kBitRateHz), 2.0) + 2e-6);
      EXPECT_LT(from_bits, 5e-5);
    }
  }
}

TEST(DotProduct, AThousandFrequencies) {
  const FrontEndPlan plan = sample_plan(kSmall, 96, 1000);
  std::mt19937 generator(test::fresh_seed());
  const auto samples = test::random_samples(96 * kSmall.channels(), generator);
  reference::SampleFrontEnd expected(plan);
  expected.push_samples(0, samples);
  const std::vector<ComplexD> wanted = expected.spectra(0);
  for (const DotVariant& variant : {DotVariant{.kernel = DotKernel::kTiled, .parts = 3},
                                    DotVariant{.kernel = DotKernel::kGemm}, DotVariant{.kernel = DotKernel::kPlain}}) {
    Bench bench = bench_of(plan, variant);
    bench.front_end->enqueue_samples(0, samples);
    EXPECT_LT(test::relative_l2(bench.spectra(0), wanted), kSpectraTolerance) << name_of(variant);
  }
}

// What lies behind the last spectrum stays as it was.
TEST(DotProduct, WritesNothingElse) {
  const FrontEndPlan plan = sample_plan(kSmall, 96, 5);
  const ComplexF canary(123.0F, -456.0F);
  std::mt19937 generator(test::fresh_seed());
  const auto samples = test::random_samples(96 * kSmall.channels(), generator);
  for (const DotVariant& variant : variants()) {
    Bench bench = bench_of(plan, variant);
    const auto output = bench.device.allocate<ComplexF>(5 * kSmall.channels() + 4096, "test");
    bench.device.enqueue_fill(output, canary, "test");
    bench.front_end->enqueue_samples(0, samples);
    bench.front_end->enqueue_spectra(0, output, bench.status);
    const std::vector<ComplexF> values = bench.device.download(output, "test");
    const auto behind = values.begin() + static_cast<std::ptrdiff_t>(5 * kSmall.channels());
    EXPECT_EQ(std::count(behind, values.end(), canary), 4096) << name_of(variant);
    EXPECT_EQ(std::count(values.begin(), behind, canary), 0) << name_of(variant);
  }
}

/// A folder of its own for choices, in which nothing is remembered yet.
struct EmptyChoices {
  const test::TemporaryFolder folder;
  const test::Variable variable{"NEARFIELD_CACHE_DIR", folder.path()};
};

TEST(DotProduct, AutoTakesTheFastestItMeasuredAndSaysSo) {
  const EmptyChoices choices;
  const FrontEndPlan plan = plan_of(kSmall, 96, 3);
  const ocl::Device device = ocl::Device::open({});
  const DotProduct front_end(device, plan);
  ASSERT_GE(front_end.measurements().size(), 2U) << "tiled and gemm run everywhere";
  const auto fastest =
      std::min_element(front_end.measurements().begin(), front_end.measurements().end(),
                       [](const DotMeasurement& a, const DotMeasurement& b) { return a.seconds_s < b.seconds_s; });
  EXPECT_EQ(front_end.variant(), fastest->variant);
  EXPECT_EQ(front_end.origin(), ocl::ChoiceOrigin::kMeasured);
  EXPECT_GT(fastest->seconds_s, 0.0);
  EXPECT_EQ(front_end.description(), "dot_product (" + name_of(fastest->variant) + ")");
}

// Two that measured could differ in the last bits of their spectra.
TEST(DotProduct, AutoOfASecondPlanIsThatOfTheFirst) {
  const EmptyChoices choices;
  const ocl::Device device = ocl::Device::open({});
  const DotProduct first(device, plan_of(kSmall, 96, 3));
  FrontEndPlan live = plan_of(kSmall, 96, 3);
  live.batch = 4;
  live.settings.hop_samples = 7;
  const DotProduct second(ocl::Device::open({}), live);
  EXPECT_EQ(second.variant(), first.variant());
  EXPECT_EQ(second.origin(), ocl::ChoiceOrigin::kRemembered) << "neither batch nor hop changes a window's kernels";
  EXPECT_TRUE(second.measurements().empty());
  EXPECT_EQ(second.description(), first.description());
  const DotProduct other(device, plan_of(kSmall, 96, 4));
  EXPECT_EQ(other.origin(), ocl::ChoiceOrigin::kMeasured) << "another number of frequencies is another question";
}

TEST(DotProduct, AutoWithoutAFolderForChoicesGoesByTheRule) {
  const test::Variable off("NEARFIELD_CACHE_DIR", "");
  const DotProduct front_end(ocl::Device::open({}), plan_of(kSmall, 96, 6));
  EXPECT_EQ(front_end.origin(), ocl::ChoiceOrigin::kRule);
  EXPECT_TRUE(front_end.measurements().empty());
  EXPECT_EQ(front_end.variant().kernel, DotKernel::kTiled);
}

/// Builds a front end on PoCL, which alone reads the variable: the macros break the kernels of every candidate and no
/// others. Returns the number of choices that were stored; nothing where the front end was built.
std::optional<std::ptrdiff_t> choices_where_every_candidate_fails() {
  const EmptyChoices choices;
  const test::Variable broken("POCL_EXTRA_BUILD_FLAGS", "-Ddot_tiled=1 -Dcheck_window=1");
  DeviceSettings settings;
  settings.platform = "Portable";
  try {
    const DotProduct front_end(ocl::Device::open(settings), plan_of(kSmall, 96, 7));
    return std::nullopt;
  } catch (const DeviceError& error) {
    EXPECT_THAT(error.what(), ::testing::HasSubstr("dot_tiled.cl")) << "what the rule names";
  }
  if (!std::filesystem::exists(ocl::choices_folder())) {
    return 0;
  }
  const std::filesystem::directory_iterator files(ocl::choices_folder());
  return std::count_if(begin(files), end(files), [](const auto& file) { return file.path().extension() == ".cache"; });
}

// In a process of its own: PoCL keeps the variable's value after its end.
TEST(DotProductDeathTest, AutoStoresNoChoiceWhereEveryCandidateFails) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  EXPECT_EXIT(
      {
        const std::optional<std::ptrdiff_t> stored = choices_where_every_candidate_fails();
        std::exit(stored == 0 && !HasFailure() ? 0 : 1);
      },
      ::testing::ExitedWithCode(0), "");
}

// 16 groups of 64 microphones: the fewest parts that give each compute unit one, and where there are more units than
// groups, the most parts.
TEST(DotProduct, TheRuleGivesEachComputeUnitAGroup) {
  const ocl::Device device = ocl::Device::open({});
  const FrontEndPlan plan = plan_of({32, 32, WireLayout::kRowMajor}, 1024, 5);
  const SampleSource source(device, plan, "test");
  DotWork work{.source = &source, .channels = 1024, .window = {}, .vectors = {}, .scales = {}};
  work.window.resize(1024);
  work.vectors.resize(5);
  for (const auto& [units, parts] : {std::pair{8U, 1}, std::pair{20U, 4}, std::pair{132U, 16}, std::pair{9999U, 64}}) {
    ocl::DeviceInfo info = device.info();
    info.is_gpu = true;
    info.compute_units = units;
    const ocl::Device gpu = device.restricted(info);
    const std::vector<DotVariant> candidates = dot_candidates(gpu, work);
    EXPECT_EQ(candidates.at(candidate_by_rule(gpu, work, candidates)),
              (DotVariant{.kernel = DotKernel::kTiled, .parts = parts}))
        << units;
  }
}

TEST(DotProduct, ANamedKernelIsTakenUnmeasured) {
  const ocl::Device device = ocl::Device::open({});
  for (const auto& [kernel, name] :
       {std::pair{DotKernel::kPlain, "dot_product (plain)"}, std::pair{DotKernel::kMirrored, "dot_product (mirrored)"},
        std::pair{DotKernel::kFourOutput, "dot_product (four_output)"},
        std::pair{DotKernel::kTiled, "dot_product (tiled)"}, std::pair{DotKernel::kGemm, "dot_product (gemm)"}}) {
    FrontEndPlan plan = plan_of(kSmall, 96, 3);
    plan.settings.own.edit<DotProductSettings>().kernel = kernel;
    EXPECT_EQ(make_front_end(device, plan)->description(), name);
  }
  FrontEndPlan fft = plan_of(kSmall, 96, 3);
  fft.settings.kind = "decimated_fft";
  EXPECT_EQ(make_front_end(device, fft)->description(), "decimated_fft");
}

TEST(DotProduct, RefusesWrongUse) {
  std::mt19937 generator(1);
  Bench bench = bench_of(plan_of(kSmall, 96, 2), {});
  const auto wire = test::random_wire(kSmall, 100, generator);
  EXPECT_THROW(bench.front_end->enqueue_samples(0, std::vector<float>(35)), Error);
  EXPECT_THROW(bench.spectra(0), Error) << "nothing was fed";
  bench.front_end->enqueue_bits(10, wire);
  EXPECT_THROW(bench.spectra(9), Error);
  EXPECT_THROW(bench.spectra(15), Error);
  EXPECT_NO_THROW(bench.spectra(14));
  EXPECT_THROW(bench.front_end->enqueue_spectra(14, bench.device.allocate<ComplexF>(69, "test"), bench.status), Error);
  Bench samples = bench_of(sample_plan(kSmall, 96, 2), {});
  EXPECT_THROW(samples.front_end->enqueue_bits(0, wire), Error);
  FrontEndPlan plan = plan_of(kSmall, 96, 2);
  plan.settings.frequencies_hz = {30000.0};
  EXPECT_THROW((void)make_front_end(bench.device, plan), ConfigError);
}

}  // namespace
}  // namespace nearfield
