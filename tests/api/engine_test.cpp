#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <complex>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <limits>
#include <memory>
#include <new>
#include <string>
#include <vector>

#include "config/config.hpp"
#include "files/files.hpp"
#include "nearfield/nearfield.h"
#include "pipeline/replay.hpp"
#include "support/command.hpp"
#include "support/recordings.hpp"

static thread_local int allocations_until_failure = 0;  ///< 0: none fails

void* operator new(std::size_t bytes) {
  const bool fails = allocations_until_failure > 0 && --allocations_until_failure == 0;
  void* const memory = fails ? nullptr : std::malloc(std::max<std::size_t>(bytes, 1));  // NOLINT(*-no-malloc)
  if (memory == nullptr) {
    throw std::bad_alloc();
  }
  return memory;
}
void operator delete(void* memory) noexcept { std::free(memory); }                         // NOLINT(*-no-malloc)
void operator delete(void* memory, std::size_t /*bytes*/) noexcept { std::free(memory); }  // NOLINT(*-no-malloc)

namespace nearfield {
namespace {

using Complex = std::complex<float>;

const std::string kArray =
    "array: {rows: 8, columns: 8, pitch_x_m: 0.02, pitch_y_m: 0.02, layout: row-major}\n"
    "holography: {standoff_m: 0.03, extrapolation: {order: 4}}\n";
const std::string kTwoProcessors = "processors: {rows: {kind: row_power, every_hops: 3}}\n";

/// A frame of any processor with memory of its own.
struct AnyFrame {
  std::size_t processor = 0;
  std::uint64_t sequence = 0;
  std::uint64_t first = 0;
  std::uint32_t flags = 0;
  std::vector<std::vector<std::byte>> products;
  bool operator==(const AnyFrame&) const = default;
};

class AnyOutput : public Output {
 public:
  explicit AnyOutput(std::vector<AnyFrame>& frames) : frames_(&frames) {}
  void begin(const ResultHeader& /*header*/, const Beginning& /*beginning*/) override {}
  void write(const Frame& frame) override {
    AnyFrame& kept =
        frames_->emplace_back(AnyFrame{frame.processor, frame.sequence, frame.first_bit_time, frame.flags, {}});
    for (const std::span<const std::byte> product : frame.products) {
      kept.products.emplace_back(product.begin(), product.end());
    }
  }
  void finish() override {}

 private:
  std::vector<AnyFrame>* frames_;
};

std::vector<AnyFrame> replayed(const std::string& path, const std::string& config, EngineKind engine) {
  std::vector<AnyFrame> frames;
  std::vector<std::unique_ptr<Output>> outputs;
  outputs.push_back(std::make_unique<AnyOutput>(frames));
  ReplayOptions options;
  options.input = path;
  options.settings = parse_settings(config, "a test", {});
  options.engine = engine;
  (void)replay(options, outputs);
  return frames;
}

std::size_t bytes_of_product(const nf_product& product) {
  constexpr std::size_t kBytes[] = {8, 4, 8, 4, 8};
  if (product.form != NF_FORM_TABLE) {
    return static_cast<std::size_t>(product.values) * kBytes[product.type];
  }
  const nf_column& last = product.columns[product.column_count - 1];
  return static_cast<std::size_t>((last.offset + product.most_rows * kBytes[last.type] + 7) / 8 * 8);
}

class Handle {
 public:
  Handle() { EXPECT_EQ(nf_engine_open(&engine_), NF_OK); }
  Handle(const Handle&) = delete;
  Handle& operator=(const Handle&) = delete;
  ~Handle() { nf_engine_close(engine_); }
  operator nf_engine*() const { return engine_; }  // NOLINT(google-explicit-constructor)
  [[nodiscard]] std::string error() const { return nf_engine_error(engine_); }
  /// All frames that there are.
  std::vector<AnyFrame> frames() {
    std::vector<AnyFrame> found;
    nf_engine_frame frame;
    nf_status status = NF_OK;
    while ((status = nf_engine_next(engine_, &frame)) == NF_OK) {
      AnyFrame& kept =
          found.emplace_back(AnyFrame{frame.processor, frame.sequence, frame.first_sample, frame.flags, {}});
      const nf_engine_layout* const layout = nf_engine_get_layout(engine_, frame.processor);
      for (std::uint32_t i = 0; i < layout->product_count; ++i) {
        const auto* const bytes = static_cast<const std::byte*>(frame.products[i]);
        kept.products.emplace_back(bytes, bytes + bytes_of_product(layout->products[i]));
      }
    }
    EXPECT_EQ(status, NF_MORE) << error();
    return found;
  }

 private:
  nf_engine* engine_ = nullptr;
};

nf_input input_of(std::uint32_t form, std::uint32_t engine) {
  nf_input input{};
  input.form = form;
  input.engine = engine;
  input.channels = form == NF_INPUT_BITS ? 0 : 64;
  return input;
}

std::vector<std::uint32_t> bits_of(const std::string& path) {
  const CaptureReader reader(path);
  std::vector<std::uint32_t> words(reader.info().bit_times *
                                   static_cast<std::uint64_t>(reader.info().words_per_bit_time));
  reader.read(0, words);
  return words;
}

const nf_complex* values(const std::vector<Complex>& numbers) {
  return reinterpret_cast<const nf_complex*>(numbers.data());
}

// Bit for bit: the same engine, fed by the same rules.
TEST(CEngine, MakesOfBitsWhatAReplayMakes) {
  const test::TemporaryFolder folder;
  test::write_random_capture(folder / "c.h5", 36000);
  const std::string config = kArray + kTwoProcessors;
  for (const EngineKind kind : {EngineKind::kOpencl, EngineKind::kReference}) {
    const std::vector<AnyFrame> expected = replayed(folder / "c.h5", config, kind);
    ASSERT_GT(expected.size(), 3U);
    Handle engine;
    const nf_input input =
        input_of(NF_INPUT_BITS, kind == EngineKind::kOpencl ? NF_ENGINE_OPENCL : NF_ENGINE_REFERENCE);
    ASSERT_EQ(nf_engine_start(engine, config.c_str(), &input), NF_OK) << engine.error();
    const std::vector<std::uint32_t> words = bits_of(folder / "c.h5");
    std::vector<AnyFrame> found;
    constexpr std::size_t kPiece = 2 * 1501;  // whole bit-times, no whole words of 32
    for (std::size_t at = 0; at < words.size(); at += kPiece) {
      ASSERT_EQ(nf_engine_push_bits(engine, words.data() + at, std::min(kPiece, words.size() - at)), NF_OK);
      std::ranges::move(engine.frames(), std::back_inserter(found));
    }
    EXPECT_TRUE(found == expected) << found.size() << " frames, expected " << expected.size();
  }
}

// With a filter that does not depend on the frames before.
TEST(CEngine, AStreamThatBeginsAgainGivesItsFramesAgain) {
  const std::string config =
      "array: {rows: 8, columns: 8, pitch_x_m: 0.02, pitch_y_m: 0.02}\nfront_end: {hop_samples: 512}\n"
      "holography: {standoff_m: 0.03, extrapolation: {order: 4}, filter: {cutoff_rad_per_m: dynamic_range}}\n"
      "processors: {far: {kind: beamform, average: {kind: exponential, seconds: 0.1}, grid: {step_m: 0.5}}}\n";
  Handle engine;
  nf_input input = input_of(NF_INPUT_SAMPLES, NF_ENGINE_REFERENCE);
  input.sample_rate_hz = 46875.0;
  ASSERT_EQ(nf_engine_start(engine, config.c_str(), &input), NF_OK) << engine.error();
  const std::vector<float> samples = test::monopole_samples(2048, 1007.08);
  ASSERT_EQ(nf_engine_push_samples(engine, samples.data(), samples.size()), NF_OK);
  const std::vector<AnyFrame> first = engine.frames();
  ASSERT_EQ(first.size(), 6U);
  ASSERT_EQ(nf_engine_restart(engine), NF_OK);
  EXPECT_TRUE(engine.frames().empty());
  ASSERT_EQ(nf_engine_push_samples(engine, samples.data(), samples.size()), NF_OK);
  EXPECT_TRUE(engine.frames() == first);
}

TEST(CEngine, MakesOfSamplesWhatAReplayMakes) {
  const test::TemporaryFolder folder;
  const std::vector<float> samples = test::monopole_samples(2000, 1007.08);
  write_time_data(folder / "t.h5", 46875.0, 64, samples);
  const std::string config = kArray + "front_end: {frequencies_hz: [1007.08], hop_samples: 400}\n";
  Handle engine;
  nf_input input = input_of(NF_INPUT_SAMPLES, NF_ENGINE_REFERENCE);
  input.sample_rate_hz = 46875.0;
  ASSERT_EQ(nf_engine_start(engine, config.c_str(), &input), NF_OK) << engine.error();
  ASSERT_EQ(nf_engine_push_samples(engine, samples.data(), samples.size()), NF_OK);
  const std::vector<AnyFrame> expected = replayed(folder / "t.h5", config, EngineKind::kReference);
  ASSERT_EQ(expected.size(), 3U);
  EXPECT_TRUE(engine.frames() == expected);
}

TEST(CEngine, MakesOfSpectraWhatAReplayMakes) {
  const test::TemporaryFolder folder;
  const SpectraFile file = test::monopole_spectra(3, {500.0, 1000.0});
  write_spectra(folder / "s.h5", file);
  Handle engine;
  nf_input input = input_of(NF_INPUT_SPECTRA, NF_ENGINE_OPENCL);
  input.frequencies_hz = file.frequencies_hz.data();
  input.frequency_count = 2;
  ASSERT_EQ(nf_engine_start(engine, kArray.c_str(), &input), NF_OK) << engine.error();
  ASSERT_EQ(nf_engine_push_spectra(engine, values(file.spectra), file.spectra.size()), NF_OK);
  EXPECT_TRUE(engine.frames() == replayed(folder / "s.h5", kArray, EngineKind::kOpencl));
  const nf_engine_layout* const layout = nf_engine_get_layout(engine, 0);
  const auto images = static_cast<std::uint32_t>(nf_engine_find_product(engine, 0, "images"));
  ASSERT_EQ(layout->products[images].axis_count, 4U);
  EXPECT_STREQ(layout->products[images].axes[1]->name, "frequency");
  EXPECT_EQ(layout->products[images].axes[1]->values[1], 1000.0);
  EXPECT_STREQ(layout->products[images].unit, "Pa");
}

// An array that a program gives stands for a file of the same values.
TEST(CEngine, GivenArraysAreAsFiles) {
  const test::TemporaryFolder folder;
  const SpectraFile file = test::monopole_spectra(1, {1000.0});
  write_spectra(folder / "s.h5", file);
  Calibration calibration;  // member by member: GCC 12 takes the null placement in braces for uninitialised
  calibration.geometry = test::small_array();
  calibration.frequencies_hz = {500.0, 1500.0};
  Templates templates;
  templates.measurement.geometry = test::small_array();
  templates.measurement.standoff_m = 0.03;
  templates.frequencies_hz = {1000.0};
  templates.positions_m = {0.0, 0.0, -1.0, 0.2, 0.1, -1.0};
  templates.coherence = {1.0F, 1.0F};
  templates.of_microphones = std::vector<float>(128, 1.0F);
  for (int i = 0; i < 128; ++i) {
    calibration.gains.push_back(std::polar(1.0F + 0.001F * static_cast<float>(i), 0.01F * static_cast<float>(i)));
    templates.a.push_back(std::polar(1.0F, 0.02F * static_cast<float>(i)));
  }
  calibration.gains[5] = std::numeric_limits<float>::quiet_NaN();
  write_calibration(folder / "k.h5", calibration);
  write_templates(folder / "m.h5", templates);
  const auto config_of = [](const std::string& gains, const std::string& steering) {
    return "array: {rows: 8, columns: 8, pitch_x_m: 0.02, pitch_y_m: 0.02, calibration: " + gains +
           "}\nholography: {standoff_m: 0.03, extrapolation: {order: 4}}\n"
           "processors: {far: {kind: beamform, steering: {model: measured, file: " +
           steering + "}}}\n";
  };
  Handle engine;
  nf_input input = input_of(NF_INPUT_SPECTRA, NF_ENGINE_REFERENCE);
  input.frequencies_hz = file.frequencies_hz.data();
  input.frequency_count = 1;
  const std::string config = config_of("gains", "steering");
  EXPECT_EQ(nf_engine_start(engine, config.c_str(), &input), NF_NO_INPUT);
  EXPECT_NE(engine.error().find("nf_engine_give_calibration"), std::string::npos) << engine.error();
  ASSERT_EQ(
      nf_engine_give_calibration(engine, "gains", calibration.frequencies_hz.data(), 2, values(calibration.gains), 64),
      NF_OK);
  ASSERT_EQ(nf_engine_give_templates(engine, "steering", templates.frequencies_hz.data(), 1,
                                     templates.positions_m.data(), 2, values(templates.a), nullptr, 64),
            NF_OK);
  ASSERT_EQ(nf_engine_start(engine, config.c_str(), &input), NF_OK) << engine.error();
  ASSERT_EQ(nf_engine_push_spectra(engine, values(file.spectra), file.spectra.size()), NF_OK);
  const std::vector<AnyFrame> found = engine.frames();
  ASSERT_EQ(found.size(), 2U);
  EXPECT_TRUE(found == replayed(folder / "s.h5", config_of(folder / "k.h5", folder / "m.h5"), EngineKind::kReference));
  ASSERT_EQ(
      nf_engine_give_calibration(engine, "gains", calibration.frequencies_hz.data(), 2, values(calibration.gains), 32),
      NF_OK);
  EXPECT_EQ(nf_engine_start(engine, config.c_str(), &input), NF_BAD_CONFIG) << "of half the microphones";
}

// Points at the pixels of a plane have the plane's levels, and microphones that are given in another order the same
// images of channels in that order.
TEST(CEngine, GivenPlacesAreUsed) {
  const double frequency_hz = 1007.08;
  const std::vector<float> samples = test::monopole_samples(1024, frequency_hz);
  std::vector<float> turned;
  for (std::size_t n = 0; n < 1024; ++n) {
    turned.insert(turned.end(), samples.rend() - static_cast<std::ptrdiff_t>((n + 1) * 64),
                  samples.rend() - static_cast<std::ptrdiff_t>(n * 64));
  }
  std::vector<double> places;
  for (int channel = 63; channel >= 0; --channel) {
    const MicrophonePosition place = test::small_array().position_m(channel);
    places.insert(places.end(), {place.x_m, place.y_m, 0.0});
  }
  const auto images_of = [&](const std::vector<float>& values, const std::string& config, Handle& engine) {
    nf_input input = input_of(NF_INPUT_SAMPLES, NF_ENGINE_REFERENCE);
    input.sample_rate_hz = 46875.0;
    EXPECT_EQ(nf_engine_start(engine, config.c_str(), &input), NF_OK) << engine.error();
    EXPECT_EQ(nf_engine_push_samples(engine, values.data(), values.size()), NF_OK);
    return engine.frames();
  };
  const std::string rest =
      "front_end: {frequencies_hz: [1007.08]}\nholography: {standoff_m: 0.03, extrapolation: {order: 4}}\n"
      "processors: {far: {kind: beamform, grid: {kind: points, points: spots}}}\n";
  const std::vector<double> spots = {0.0, 0.0, -1.0, 0.3, 0.2, -1.0};
  Handle plain;
  ASSERT_EQ(nf_engine_give_points(plain, "spots", spots.data(), 2), NF_OK);
  const std::vector<AnyFrame> expected =
      images_of(samples, "array: {rows: 8, columns: 8, pitch_x_m: 0.02, pitch_y_m: 0.02}\n" + rest, plain);
  ASSERT_EQ(expected.size(), 2U);
  EXPECT_EQ(nf_engine_get_layout(plain, 1)->axes[1].values[3], 0.3);
  Handle given;
  ASSERT_EQ(nf_engine_give_points(given, "spots", spots.data(), 2), NF_OK);
  ASSERT_EQ(nf_engine_give_positions(given, places.data(), 64), NF_OK);
  const std::vector<AnyFrame> found = images_of(turned, rest, given);
  ASSERT_EQ(found.size(), 2U);
  EXPECT_EQ(found[0].products, expected[0].products);
}

// Spectra lie as rows and columns; positions in another order would say that they do not.
TEST(CEngine, SpectraOfReorderedPositionsAreRefusedAndGainsAreOfRowsAndColumns) {
  std::vector<double> places;
  std::vector<Complex> gains;
  for (int channel = 0; channel < 64; ++channel) {
    const MicrophonePosition place = test::small_array().position_m(63 - channel);
    places.insert(places.end(), {place.x_m, place.y_m, 0.0});
    gains.push_back(std::polar(1.0F + 0.01F * static_cast<float>(channel), 0.02F * static_cast<float>(channel)));
  }
  gains.insert(gains.end(), gains.begin(), gains.end());
  const double frequencies_hz[] = {500.0, 1500.0};
  const std::string holography = "holography: {standoff_m: 0.03, extrapolation: {order: 4}}\n";
  Handle turned;
  ASSERT_EQ(nf_engine_give_positions(turned, places.data(), 64), NF_OK);
  nf_input input = input_of(NF_INPUT_SPECTRA, NF_ENGINE_REFERENCE);
  input.frequencies_hz = frequencies_hz;
  input.frequency_count = 2;
  EXPECT_EQ(nf_engine_start(turned, holography.c_str(), &input), NF_BAD_CONFIG);
  EXPECT_NE(turned.error().find("array.positions"), std::string::npos) << turned.error();
  input = input_of(NF_INPUT_SAMPLES, NF_ENGINE_REFERENCE);
  input.sample_rate_hz = 46875.0;
  std::vector<float> samples = test::monopole_samples(1024, 1007.08);
  const std::string rest = holography + "front_end: {frequencies_hz: [1007.08]}\n";
  Handle plain;
  for (Handle* const engine : {&plain, &turned}) {
    ASSERT_EQ(nf_engine_give_calibration(*engine, "gains", frequencies_hz, 2, values(gains), 64), NF_OK);
  }
  ASSERT_EQ(nf_engine_start(
                plain,
                ("array: {rows: 8, columns: 8, pitch_x_m: 0.02, pitch_y_m: 0.02, calibration: gains}\n" + rest).c_str(),
                &input),
            NF_OK)
      << plain.error();
  ASSERT_EQ(nf_engine_push_samples(plain, samples.data(), samples.size()), NF_OK);
  const std::vector<AnyFrame> expected = plain.frames();
  ASSERT_EQ(expected.size(), 1U);
  for (auto sample = samples.begin(); sample != samples.end(); sample += 64) {
    std::reverse(sample, sample + 64);
  }
  ASSERT_EQ(nf_engine_start(turned, ("array: {calibration: gains}\n" + rest).c_str(), &input), NF_OK) << turned.error();
  ASSERT_EQ(nf_engine_push_samples(turned, samples.data(), samples.size()), NF_OK);
  EXPECT_TRUE(turned.frames() == expected);
}

TEST(CEngine, SettingsThatContradictTheInputAreRefused) {
  Handle engine;
  const double frequencies_hz[] = {500.0, 1000.0};
  nf_input input = input_of(NF_INPUT_SPECTRA, NF_ENGINE_REFERENCE);
  input.frequencies_hz = frequencies_hz;
  input.frequency_count = 2;
  const std::string others = kArray + "front_end: {frequencies_hz: [1000]}\n";
  EXPECT_EQ(nf_engine_start(engine, others.c_str(), &input), NF_BAD_CONFIG);
  EXPECT_NE(engine.error().find("expected those of the spectra, 500, 1000 Hz"), std::string::npos) << engine.error();
  const std::string same = kArray + "front_end: {frequencies_hz: [500, 1000]}\n";
  EXPECT_EQ(nf_engine_start(engine, same.c_str(), &input), NF_OK) << engine.error();
  input = input_of(NF_INPUT_SAMPLES, NF_ENGINE_REFERENCE);
  input.sample_rate_hz = 46875.0;
  const std::string in_volts =
      "array: {rows: 8, columns: 8, pitch_x_m: 0.02, pitch_y_m: 0.02, pascal_per_unit: 2}\n"
      "holography: {standoff_m: 0.03}\n";
  EXPECT_EQ(nf_engine_start(engine, in_volts.c_str(), &input), NF_BAD_CONFIG);
  EXPECT_NE(engine.error().find("found 2, but nf_engine_push_samples says its own unit"), std::string::npos)
      << engine.error();
}

// Also where a file of this name lies in the working directory.
TEST(CEngine, GivenPointsComeBeforeFiles) {
  const test::TemporaryFolder folder;
  const std::string name = folder / "spots";
  std::ofstream(name) << "0,0,-1\n0,0,-2\n0,0,-3\n";
  const std::vector<double> spots = {0.0, 0.0, -1.0, 0.3, 0.2, -1.0};
  Handle engine;
  nf_input input = input_of(NF_INPUT_SAMPLES, NF_ENGINE_REFERENCE);
  input.sample_rate_hz = 46875.0;
  const std::string config = kArray +
                             "front_end: {frequencies_hz: [1007.08]}\n"
                             "processors: {far: {kind: beamform, grid: {kind: points, points: " +
                             name + "}}}\n";
  ASSERT_EQ(nf_engine_start(engine, config.c_str(), &input), NF_OK) << engine.error();
  EXPECT_EQ(nf_engine_get_layout(engine, 1)->axes[1].size, 3U);
  ASSERT_EQ(nf_engine_give_points(engine, name.c_str(), spots.data(), 2), NF_OK);
  ASSERT_EQ(nf_engine_start(engine, config.c_str(), &input), NF_OK) << engine.error();
  EXPECT_EQ(nf_engine_get_layout(engine, 1)->axes[1].size, 2U);
}

TEST(CEngine, GivenArraysAreFiniteAndHaveNames) {
  constexpr double kNotANumber = std::numeric_limits<double>::quiet_NaN();
  const Handle engine;
  const double places[] = {0.0, 0.0, -1.0};
  const double wrong[] = {0.0, kNotANumber, -1.0};
  const double frequency_hz = 1000.0;
  const std::vector<Complex> one = {{1.0F, 0.0F}};
  const std::vector<Complex> masked = {{std::numeric_limits<float>::quiet_NaN(), 0.0F}};
  const std::vector<Complex> infinite = {{0.0F, std::numeric_limits<float>::infinity()}};
  const auto templates = [&](const char* name, const double* positions_m, const std::vector<Complex>& a,
                             const float* coherence) {
    return nf_engine_give_templates(engine, name, &frequency_hz, 1, positions_m, 1, values(a), coherence, 1);
  };
  const float coherence = std::numeric_limits<float>::infinity();
  EXPECT_EQ(nf_engine_give_positions(engine, wrong, 1), NF_USAGE);
  EXPECT_NE(engine.error().find("finite positions"), std::string::npos) << engine.error();
  EXPECT_EQ(nf_engine_give_points(engine, "p", wrong, 1), NF_USAGE);
  EXPECT_EQ(nf_engine_give_points(engine, "", places, 1), NF_USAGE);
  EXPECT_NE(engine.error().find("a name"), std::string::npos) << engine.error();
  EXPECT_EQ(nf_engine_give_points(engine, "p", places, 1), NF_OK);
  EXPECT_EQ(nf_engine_give_calibration(engine, "", &frequency_hz, 1, values(one), 1), NF_USAGE);
  EXPECT_EQ(nf_engine_give_calibration(engine, "k", &frequency_hz, 1, values(infinite), 1), NF_USAGE);
  EXPECT_EQ(nf_engine_give_calibration(engine, "k", &frequency_hz, 1, values(masked), 1), NF_OK);
  EXPECT_EQ(templates("", places, one, nullptr), NF_USAGE);
  EXPECT_EQ(templates("t", wrong, one, nullptr), NF_USAGE);
  EXPECT_EQ(templates("t", places, masked, nullptr), NF_USAGE);
  EXPECT_EQ(templates("t", places, one, &coherence), NF_USAGE);
  EXPECT_EQ(templates("t", places, one, nullptr), NF_OK);
}

TEST(CEngine, SaysWhatIsWrong) {
  Handle engine;
  nf_input input = input_of(NF_INPUT_BITS, NF_ENGINE_REFERENCE);
  nf_engine_frame frame;
  EXPECT_EQ(nf_engine_next(engine, &frame), NF_USAGE);
  EXPECT_NE(engine.error().find("nf_engine_start"), std::string::npos);
  EXPECT_EQ(nf_engine_processors(engine), 0U);
  EXPECT_EQ(nf_engine_start(engine, "holografy: {}\n", &input), NF_BAD_CONFIG);
  EXPECT_NE(engine.error().find("configuration:1:1: holografy"), std::string::npos) << engine.error();
  EXPECT_NE(engine.error().find("holography"), std::string::npos) << engine.error();
  EXPECT_EQ(nf_engine_start(engine, "a: [", &input), NF_BAD_CONFIG);
  EXPECT_EQ(nf_engine_start(engine, nullptr, &input), NF_USAGE);
  EXPECT_EQ(nf_engine_start(engine, "device: {platform: none of this name}\n", &input), NF_OK)
      << "the reference needs no device: " << engine.error();
  input.engine = NF_ENGINE_OPENCL;
  EXPECT_EQ(nf_engine_start(engine, "device: {platform: none of this name}\n", &input), NF_NO_DEVICE);
  input = input_of(NF_INPUT_SAMPLES, NF_ENGINE_REFERENCE);
  EXPECT_EQ(nf_engine_start(engine, kArray.c_str(), &input), NF_USAGE) << "no sample rate";
  input.sample_rate_hz = 46875.0;
  EXPECT_EQ(nf_engine_start(engine, "", &input), NF_BAD_CONFIG);
  EXPECT_NE(engine.error().find("array.pitch_x_m"), std::string::npos) << engine.error();
  input.channels = 63;
  EXPECT_EQ(nf_engine_start(engine, kArray.c_str(), &input), NF_BAD_CONFIG);
  EXPECT_NE(engine.error().find("63 channels"), std::string::npos) << engine.error();
  EXPECT_EQ(nf_engine_open(nullptr), NF_USAGE);
  EXPECT_EQ(nf_engine_next(nullptr, &frame), NF_USAGE);
  nf_engine_close(nullptr);
}

/// Counts whose bytes are more than memory has, or wrap to few or none. What is left of them after a wrap would fit.
std::vector<std::uint64_t> impossible_counts(std::size_t value_bytes) {
  std::vector<std::uint64_t> counts;
  for (const unsigned bit : {48U, 57U, 59U, 60U, 61U, 62U, 63U}) {
    const std::uint64_t count = (std::uint64_t{1} << bit) / (bit < 57U ? value_bytes : 1U) + (bit < 57U ? 64U : 0U);
    counts.insert(counts.end(), {count, count + 64, count + 8192});
  }
  counts.insert(counts.end(), {std::numeric_limits<std::uint64_t>::max() - 63, ~std::uint64_t{8191}});
  return counts;
}

TEST(CEngine, CountsThatNoMemoryHoldsPushNothing) {
  const SpectraFile file = test::monopole_spectra(1, {1000.0});
  const std::vector<float> samples(8192, 1.0F);
  const std::vector<std::uint32_t> words(8192, 1U);
  for (const std::uint32_t form : {0U + NF_INPUT_BITS, 0U + NF_INPUT_SAMPLES, 0U + NF_INPUT_SPECTRA}) {
    Handle engine;
    nf_input input = input_of(form, NF_ENGINE_REFERENCE);
    input.sample_rate_hz = form == NF_INPUT_SAMPLES ? 46875.0 : 0.0;
    input.frequencies_hz = form == NF_INPUT_SPECTRA ? file.frequencies_hz.data() : nullptr;
    input.frequency_count = form == NF_INPUT_SPECTRA ? 1 : 0;
    ASSERT_EQ(nf_engine_start(engine, kArray.c_str(), &input), NF_OK) << engine.error();
    for (const std::uint64_t count : impossible_counts(form == NF_INPUT_SPECTRA ? 8 : 4)) {
      const nf_status status = form == NF_INPUT_BITS      ? nf_engine_push_bits(engine, words.data(), count)
                               : form == NF_INPUT_SAMPLES ? nf_engine_push_samples(engine, samples.data(), count)
                                                          : nf_engine_push_spectra(engine, values(file.spectra), count);
      EXPECT_EQ(status, NF_USAGE) << form << ", " << count << ": " << engine.error();
    }
    EXPECT_TRUE(engine.frames().empty());
  }
}

TEST(CEngine, ProductsOfCountsThatNoMemoryHoldsAreRefused) {
  Handle engine;
  const double numbers[] = {1000.0, 2000.0, 3000.0};
  const nf_complex gain = {1.0F, 0.0F};
  constexpr std::uint32_t kAll = std::numeric_limits<std::uint32_t>::max();
  EXPECT_EQ(nf_engine_give_positions(engine, numbers, kAll), NF_USAGE);
  for (const std::uint32_t channels : {kAll, 1U << 31U, 1U << 16U}) {
    EXPECT_EQ(nf_engine_give_calibration(engine, "a", numbers, kAll, &gain, channels), NF_USAGE);
    EXPECT_EQ(nf_engine_give_templates(engine, "a", numbers, 1U << 31U, numbers, 1U << 31U, &gain, nullptr, channels),
              NF_USAGE);
  }
  // 2^64 templates: as many as none.
  EXPECT_EQ(nf_engine_give_templates(engine, "a", numbers, 1U << 31U, numbers, 1U << 31U, &gain, nullptr, 4), NF_USAGE);
  EXPECT_NE(engine.error().find("that memory can hold"), std::string::npos) << engine.error();
}

TEST(CEngine, PushesThatDoNotFitAreRefusedAndLeaveTheStreamAsItWas) {
  Handle engine;
  const SpectraFile file = test::monopole_spectra(1, {1000.0});
  nf_input input = input_of(NF_INPUT_SPECTRA, NF_ENGINE_REFERENCE);
  input.frequencies_hz = file.frequencies_hz.data();
  input.frequency_count = 1;
  ASSERT_EQ(nf_engine_start(engine, kArray.c_str(), &input), NF_OK) << engine.error();
  const std::uint32_t word = 0;
  EXPECT_EQ(nf_engine_push_bits(engine, &word, 1), NF_USAGE);
  EXPECT_NE(engine.error().find("expected spectra"), std::string::npos) << engine.error();
  EXPECT_EQ(nf_engine_push_spectra(engine, values(file.spectra), 63), NF_USAGE);
  EXPECT_EQ(nf_engine_push_spectra(engine, nullptr, 64), NF_USAGE);
  EXPECT_TRUE(engine.frames().empty());
  // More than a tenth of the microphones are not finite: an error, and the next window goes on.
  std::vector<Complex> wrong = file.spectra;
  std::fill(wrong.begin(), wrong.begin() + 7, std::numeric_limits<float>::quiet_NaN());
  ASSERT_EQ(nf_engine_push_spectra(engine, values(wrong), 64), NF_OK);
  ASSERT_EQ(nf_engine_push_spectra(engine, values(file.spectra), 64), NF_OK);
  nf_engine_frame frame;
  EXPECT_EQ(nf_engine_next(engine, &frame), NF_DATA);
  EXPECT_NE(engine.error().find("window 0: 7 of 64"), std::string::npos) << engine.error();
  ASSERT_EQ(nf_engine_next(engine, &frame), NF_OK);
  EXPECT_EQ(frame.sequence, 1U);
}

// Part of a window may have been computed when memory ended, at any place.
TEST(CEngine, AStreamThatAnErrorEndedGoesOnAfterARestart) {
  Handle engine;
  const SpectraFile file = test::monopole_spectra(1, {1000.0});
  nf_input input = input_of(NF_INPUT_SPECTRA, NF_ENGINE_REFERENCE);
  input.frequencies_hz = file.frequencies_hz.data();
  input.frequency_count = 1;
  const std::string config =
      "array: {rows: 8, columns: 8, pitch_x_m: 0.02, pitch_y_m: 0.02}\n"
      "holography: {standoff_m: 0.03, extrapolation: {order: 4}, filter: {cutoff_rad_per_m: dynamic_range}}\n";
  ASSERT_EQ(nf_engine_start(engine, config.c_str(), &input), NF_OK) << engine.error();
  ASSERT_EQ(nf_engine_push_spectra(engine, values(file.spectra), 64), NF_OK);
  const std::vector<AnyFrame> expected = engine.frames();
  ASSERT_EQ(expected.size(), 1U);
  nf_engine_frame frame;
  nf_status status = NF_INTERNAL;
  for (int allocation = 1; status != NF_OK; allocation *= 2) {
    ASSERT_EQ(nf_engine_restart(engine), NF_OK) << engine.error();
    ASSERT_EQ(nf_engine_push_spectra(engine, values(file.spectra), 64), NF_OK);
    allocations_until_failure = allocation;
    status = nf_engine_next(engine, &frame);
    allocations_until_failure = 0;
    if (status != NF_OK) {
      EXPECT_EQ(status, NF_INTERNAL) << allocation << ": " << engine.error();
      EXPECT_EQ(nf_engine_next(engine, &frame), NF_USAGE);
      EXPECT_NE(engine.error().find("nf_engine_restart()"), std::string::npos) << engine.error();
    } else {
      EXPECT_GT(allocation, 1);
    }
  }
  ASSERT_EQ(nf_engine_restart(engine), NF_OK);
  ASSERT_EQ(nf_engine_push_spectra(engine, values(file.spectra), 64), NF_OK);
  EXPECT_TRUE(engine.frames() == expected);
}

TEST(CEngine, NamesItsVersionAndItsProcessors) {
  EXPECT_STRNE(nf_version(), "");
  Handle engine;
  const nf_input input = input_of(NF_INPUT_BITS, NF_ENGINE_REFERENCE);
  ASSERT_EQ(nf_engine_start(engine, (kArray + kTwoProcessors).c_str(), &input), NF_OK) << engine.error();
  ASSERT_EQ(nf_engine_processors(engine), 2U);
  EXPECT_EQ(nf_engine_find_processor(engine, "rows"), 1);
  EXPECT_EQ(nf_engine_find_processor(engine, "none"), -1);
  EXPECT_EQ(nf_engine_find_product(engine, 0, "none"), -1);
  EXPECT_EQ(nf_engine_get_layout(engine, 1)->every_hops, 3U);
  EXPECT_STREQ(nf_engine_get_layout(engine, 1)->kind, "row_power");
  EXPECT_EQ(nf_engine_get_layout(engine, 2), nullptr);
}

}  // namespace
}  // namespace nearfield
