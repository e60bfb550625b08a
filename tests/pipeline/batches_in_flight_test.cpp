#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <deque>
#include <fstream>
#include <limits>
#include <random>

#include "config/config.hpp"
#include "core/error.hpp"
#include "engine/engine.hpp"
#include "engine/feeder.hpp"
#include "files/files.hpp"
#include "pipeline/masks.hpp"
#include "pipeline/replay.hpp"
#include "support/command.hpp"
#include "support/recordings.hpp"

/// Two batches in flight give the frames of one, in their order, to the last bit.
namespace nearfield {
namespace {

using testing::HasSubstr;

constexpr std::uint64_t kHop = 16;
constexpr std::uint64_t kWindow = 64;
constexpr std::uint64_t kBatch = 4;
constexpr std::uint64_t kWindows = 27;  // six batches and three windows more
constexpr std::uint64_t kSamples = kWindow + (kWindows - 1) * kHop;
constexpr std::size_t kWordsPerSample = 2 * kBitsPerWord;  // 8 x 8 microphones

Settings settings_of(const std::vector<std::string>& overrides) {
  std::vector<std::string> all = {"holography.search_every_frames=0",
                                  "array.health.mask=false",
                                  "front_end.frequencies_hz=[1464.84375, 2929.6875]",
                                  "array.rows=8",
                                  "array.columns=8",
                                  "array.pitch_x_m=0.02",
                                  "array.pitch_y_m=0.02",
                                  "array.layout=row-major",
                                  "holography.standoff_m=0.03"};
  all.insert(all.end(), overrides.begin(), overrides.end());
  Settings settings = load_settings("", all);
  settings.front_end.window_samples = static_cast<int>(kWindow);
  settings.front_end.hop_samples = static_cast<int>(kHop);
  settings.device.batch = static_cast<int>(kBatch);
  return settings;
}

EnginePlan plan_of(const std::vector<std::string>& overrides, std::size_t batches, InputForm input = InputForm::kBits) {
  EnginePlan plan;
  plan.settings = settings_of(overrides);
  plan.input = input;
  plan.sample_rate_hz = kBitRateHz / kBitsPerWord;
  plan.batches_in_flight = batches;
  return plan;
}

const std::vector<std::uint32_t>& wire_bits() {
  static const std::vector<std::uint32_t> kBits = test::unsteady_bits(kSamples * kBitsPerWord, kHop * kBitsPerWord);
  return kBits;
}

/// A tone whose microphone 5 is not finite from some sample on, and comes back.
std::vector<float> unsteady_samples() {
  std::vector<float> samples = test::monopole_samples(kSamples, 1464.84375);
  for (std::size_t n = 200; n < 230; ++n) {
    samples[n * 64 + 5] = std::numeric_limits<float>::quiet_NaN();
  }
  return samples;
}

/// What readers of an engine get of a window and a processor.
struct Seen {
  std::size_t processor = 0;
  std::uint64_t window = 0;
  std::uint32_t status_flags = 0;
  int non_finite_microphones = 0;
  std::uint32_t flags = 0;
  std::uint32_t valid_microphones = 0;
  std::vector<std::vector<std::byte>> products;
  friend bool operator==(const Seen&, const Seen&) = default;
};

/// Every second batch lacks bits of its second window, by what the caller says: an imager does not remember it.
WindowRange range_of(std::uint64_t first, std::size_t windows) {
  WindowRange range{.first_sample = first * kHop, .windows = windows};
  if (first / kBatch % 2 == 1 && windows > 1) {
    range.missing_bits.assign(windows, 0);
    range.missing_bits[1] = 32;
  }
  return range;
}

/// Feeds an engine with as many batches in flight as it allows, and reads each once it is finished.
class Stream {
 public:
  Stream(const EnginePlan& plan, std::span<const float> samples = {})
      : engine_(make_engine(EngineKind::kOpencl, plan)), samples_(samples), feeder_(plan.settings.front_end) {
    feeder_.begin(0);
  }
  [[nodiscard]] Engine& engine() { return *engine_; }
  std::vector<Seen> all() {
    while (next_ < kWindows || !begun_.empty()) {
      while (next_ < kWindows && begun_.size() < engine_->batches_in_flight()) {
        begin();
      }
      finish();
    }
    return seen_;
  }
  void begin() {
    const std::size_t windows = std::min(kBatch, kWindows - next_);
    const SampleSpan span = feeder_.next(next_ * kHop, windows, *engine_);
    const std::size_t count = span.end - span.first;
    if (samples_.empty()) {
      const std::span<std::uint32_t> room = engine_->room_for_bits(count * kWordsPerSample);
      std::copy_n(wire_bits().begin() + static_cast<std::ptrdiff_t>(span.first * kWordsPerSample), room.size(),
                  room.begin());
      engine_->push_bits(span.first, room);
    } else {
      engine_->push_samples(span.first, samples_.subspan(span.first * 64, count * 64));
    }
    begun_.push_back(engine_->begin(range_of(next_, windows)));
    next_ += windows;
  }
  FinishedBatch finish() {
    FinishedBatch batch = engine_->finish(begun_.front());
    begun_.pop_front();
    for (std::size_t i = 0; i < batch.windows(); ++i) {
      for (std::size_t p = 0; p < engine_->processors(); ++p) {
        if (engine_->has_products(batch, p, i)) {
          seen_.push_back(seen_of(batch, p, i));
        }
      }
    }
    return batch;
  }
  [[nodiscard]] const std::vector<Seen>& seen() const { return seen_; }

 private:
  Seen seen_of(const FinishedBatch& batch, std::size_t processor, std::size_t place) {
    const std::uint64_t window = batch.first_hop() + place;
    const FrameProducts read = engine_->read(batch, processor, place, FrameStamp{.sequence = window});
    Seen seen{.processor = processor,
              .window = window,
              .status_flags = batch.statuses()[place].flags,
              .non_finite_microphones = batch.statuses()[place].non_finite_microphones,
              .flags = read.flags,
              .valid_microphones = read.valid_microphones,
              .products = {}};
    for (const std::span<const std::byte> product : read.products) {
      seen.products.emplace_back(product.begin(), product.end());
    }
    return seen;
  }
  std::unique_ptr<Engine> engine_;
  std::span<const float> samples_;
  Feeder feeder_;
  std::uint64_t next_ = 0;
  std::deque<Batch> begun_;
  std::vector<Seen> seen_;
};

void expect_same(const std::vector<Seen>& found, const std::vector<Seen>& expected) {
  ASSERT_EQ(found.size(), expected.size());
  for (std::size_t i = 0; i < found.size(); ++i) {
    EXPECT_TRUE(found[i] == expected[i]) << "frame " << i << ", window " << expected[i].window << ", processor "
                                         << expected[i].processor;
  }
}

void expect_products_of_one(const std::vector<std::string>& overrides) {
  Stream one(plan_of(overrides, 1));
  Stream two(plan_of(overrides, 2));
  ASSERT_EQ(one.engine().batches_in_flight(), 1U);
  ASSERT_EQ(two.engine().batches_in_flight(), 2U);
  const std::vector<Seen> expected = one.all();
  expect_same(two.all(), expected);
  EXPECT_FALSE(expected.front().products == expected.back().products) << "windows that are all alike show nothing";
}

class FrontEndsInFlight : public testing::TestWithParam<std::string> {};

TEST_P(FrontEndsInFlight, GiveTheProductsOfOne) { expect_products_of_one({"front_end.kind=" + GetParam()}); }

INSTANTIATE_TEST_SUITE_P(BatchesInFlight, FrontEndsInFlight,
                         testing::Values("popcount", "dot_product", "decimated_fft", "walsh_fourier"),
                         [](const auto& of) { return of.param; });

struct ImagerCase {
  std::string name;
  std::vector<std::string> overrides;
};

class ImagersInFlight : public testing::TestWithParam<ImagerCase> {};

TEST_P(ImagersInFlight, GiveTheProductsOfOne) { expect_products_of_one(GetParam().overrides); }

INSTANTIATE_TEST_SUITE_P(
    BatchesInFlight, ImagersInFlight,
    testing::Values(ImagerCase{"fixed_cutoff", {"holography.imager=pnah", "holography.filter.cutoff_rad_per_m=80"}},
                    ImagerCase{"staged", {"holography.imager=pnah", "device.fft=clfft"}},
                    ImagerCase{"intensity", {"holography.imager=pnah", "holography.quantity=active_intensity"}},
                    ImagerCase{"sonah", {"holography.imager=sonah"}},
                    ImagerCase{"operators", {"holography.imager=operators"}}),
    [](const auto& of) { return of.param.name; });

// The second processor has windows twice as long: of the first batch it has none, or not all.
TEST(BatchesInFlight, KeepApartWhatEachProcessorHas) {
  expect_products_of_one({"processors.long.kind=sonah", "processors.long.front_end.window_samples=128"});
}

TEST(BatchesInFlight, OfSamplesCountWhatIsNotFiniteOfEachWindow) {
  const std::vector<float> samples = unsteady_samples();
  const std::vector<std::string> overrides = {"front_end.kind=dot_product"};
  Stream one(plan_of(overrides, 1, InputForm::kSamples), samples);
  Stream two(plan_of(overrides, 2, InputForm::kSamples), samples);
  ASSERT_EQ(two.engine().batches_in_flight(), 2U);
  const std::vector<Seen> expected = one.all();
  EXPECT_EQ(expected.front().valid_microphones, 64U);
  EXPECT_EQ(expected.at(10).valid_microphones, 63U);  // samples 160 to 223
  EXPECT_EQ(expected.back().valid_microphones, 64U);
  expect_same(two.all(), expected);
}

TEST(BatchesInFlight, AreOneWhereNotAllProcessorsTakeTurns) {
  const auto allowed = [](const std::vector<std::string>& overrides) {
    return make_engine(EngineKind::kOpencl, plan_of(overrides, 2))->batches_in_flight();
  };
  EXPECT_EQ(allowed({}), 2U);
  EXPECT_EQ(allowed({"processors.far.kind=beamform", "processors.far.grid.kind=angles"}), 1U);
  EXPECT_EQ(allowed({"processors.slow.kind=sonah", "processors.slow.every_hops=2"}), 1U);
  EXPECT_EQ(make_engine(EngineKind::kReference, plan_of({}, 2))->batches_in_flight(), 1U);
  EnginePlan spectra = plan_of({}, 2, InputForm::kSpectra);
  spectra.spectra_hz = spectra.settings.front_end.frequencies_hz;
  EXPECT_EQ(make_engine(EngineKind::kOpencl, spectra)->batches_in_flight(), 1U);
  EnginePlan alone = plan_of({}, 2);
  alone.has_processor = false;
  EXPECT_EQ(make_engine(EngineKind::kOpencl, alone)->batches_in_flight(), 1U);
}

template <class Call>
std::string error_of(Call call) {
  try {
    call();
  } catch (const Error& error) {
    return error.what();
  }
  return "";
}

// Each call that cannot be right while something is in flight is refused, and changes nothing of what is in flight.
TEST(BatchesInFlight, RefuseCallsThatWouldChangeThem) {
  Stream one(plan_of({}, 1));
  const std::vector<Seen> expected = one.all();
  EXPECT_THAT(error_of([&] { one.engine().finish({}); }),
              HasSubstr("expected the oldest batch in flight, found none in flight"));
  Stream run(plan_of({}, 2));
  Engine& engine = run.engine();
  run.begin();
  const FinishedBatch before = run.finish();
  run.begin();
  const std::string busy = "expected no batch in flight, found 1";
  std::vector<std::complex<float>> spectra(engine.spectra_values());
  EXPECT_THAT(error_of([&] { engine.use(make_masks(engine.array_plans(), {3})); }), HasSubstr(busy));
  EXPECT_THAT(error_of([&] { engine.read_spectra(before, 0, spectra); }), HasSubstr(busy));
  EXPECT_THAT(error_of([&] { engine.compute_again(before, 0); }), HasSubstr(busy));
  EXPECT_THAT(error_of([&] { engine.adopt(nullptr); }), HasSubstr(busy));
  EXPECT_THAT(error_of([&] { engine.compute(range_of(4, 1)); }), HasSubstr(busy));
  run.begin();
  const std::string full = "expected at most 1 batches in flight before it, found 2";
  EXPECT_THAT(error_of([&] { run.begin(); }), HasSubstr(full));
  EXPECT_THAT(error_of([&] { engine.push_bits(0, wire_bits()); }), HasSubstr(full));
  EXPECT_EQ(engine.in_flight(), 2U);
  EXPECT_THAT(error_of([&] { engine.finish(before); }), HasSubstr("found another one"));
  run.finish();
  run.finish();
  expect_same(run.seen(), {expected.begin(), expected.begin() + 12});
}

// --- replays ---------------------------------------------------------------------------------------------------------

/// Everything that outputs get, in its order.
class AllFrames : public Output {
 public:
  struct Kept {
    std::uint64_t sequence = 0;
    std::uint64_t first_bit_time = 0;
    std::uint64_t missing_bit_times = 0;
    std::uint32_t flags = 0;
    std::uint32_t valid_microphones = 0;
    std::vector<std::vector<std::byte>> products;
    friend bool operator==(const Kept&, const Kept&) = default;
  };
  AllFrames(std::vector<Kept>& kept, std::uint64_t full_at) : kept_(kept), full_at_(full_at) {}
  void begin(const ResultHeader& /*header*/, const Beginning& /*beginning*/) override {}
  void write(const Frame& frame) override {
    if (kept_.size() == full_at_) {
      throw IoError("out.h5: no space left");
    }
    Kept& kept = kept_.emplace_back();
    kept.sequence = frame.sequence;
    kept.first_bit_time = frame.first_bit_time;
    kept.missing_bit_times = frame.missing_bit_times;
    kept.flags = frame.flags;
    kept.valid_microphones = frame.valid_microphones;
    for (const std::span<const std::byte> product : frame.products) {
      kept.products.emplace_back(product.begin(), product.end());
    }
  }

 private:
  std::vector<Kept>& kept_;
  std::uint64_t full_at_;
};

struct Outcome {
  std::vector<AllFrames::Kept> frames;
  std::string error;
  std::uint64_t written = 0;
};

ReplayOptions options_of(const std::string& path, const std::vector<std::string>& overrides = {}) {
  ReplayOptions options;
  options.input = path;
  options.settings = settings_of(overrides);
  return options;
}

constexpr std::uint64_t kNever = std::numeric_limits<std::uint64_t>::max();

Outcome replayed(const ReplayOptions& options, std::size_t batches, std::uint64_t full_at = kNever) {
  const auto open = [&options] { return open_recording(options.input, options.settings); };
  std::vector<ReplayPart> parts;
  parts.push_back({.recording = open(), .engine = nullptr, .reopen = open});
  EnginePlan plan = parts.front().recording->plan();
  plan.batches_in_flight = batches;
  parts.front().engine = make_engine(options.engine, plan);
  EXPECT_EQ(parts.front().engine->batches_in_flight(), batches);
  Outcome run;
  std::vector<std::unique_ptr<Output>> outputs;
  outputs.push_back(std::make_unique<AllFrames>(run.frames, full_at));
  try {
    run.written = replay(std::move(parts), options, outputs).frames;
  } catch (const Error& error) {
    run.error = error.what();
  }
  return run;
}

void expect_same(const Outcome& found, const Outcome& expected) {
  EXPECT_EQ(found.error, expected.error);
  EXPECT_EQ(found.written, expected.written);
  ASSERT_EQ(found.frames.size(), expected.frames.size());
  for (std::size_t i = 0; i < found.frames.size(); ++i) {
    EXPECT_TRUE(found.frames[i] == expected.frames[i]) << "frame " << i;
  }
}

TEST(BatchesInFlight, OfAReplayKeepMasksAndLostBitsToTheirWindows) {
  const test::TemporaryFolder folder;
  const std::string path = folder / "capture.h5";
  const std::vector<MissingRun> missing = {{.first_bit_time = 170 * kBitsPerWord, .bit_times = 64}};
  test::write_random_capture(path, kSamples * kBitsPerWord, 3U, missing);
  ReplayOptions options = options_of(path, {"holography.imager=sonah", "array.health.mask=all"});
  const MaskChanges masks = {{.first_bit_time = 6 * kHop * kBitsPerWord, .channels = {9}},
                             {.first_bit_time = 16 * kHop * kBitsPerWord, .channels = {9, 30}}};
  std::ofstream(folder / "masks.json") << to_json(masks, 64);
  options.masks_file = folder / "masks.json";
  const Outcome expected = replayed(options, 1);
  ASSERT_EQ(expected.error, "");
  ASSERT_EQ(expected.frames.size(), kWindows);
  EXPECT_EQ(expected.frames[5].valid_microphones, 64U);
  EXPECT_EQ(expected.frames[6].valid_microphones, 63U);
  EXPECT_EQ(expected.frames[16].valid_microphones, 62U);
  EXPECT_EQ(expected.frames[6].missing_bit_times, 0U);
  EXPECT_EQ(expected.frames[7].missing_bit_times, 64U);
  EXPECT_EQ(expected.frames[11].missing_bit_times, 0U);
  expect_same(replayed(options, 2), expected);
}

// Searches look at spectra and change what is imaged; the watch of microphones looks at them, too.
TEST(BatchesInFlight, OfAReplaySearchAndWatchTheSameWindows) {
  const test::TemporaryFolder folder;
  const std::string path = folder / "capture.h5";
  test::write_random_capture(path, kSamples * kBitsPerWord, 4U);
  for (const std::string imager : {"sonah", "pnah"}) {
    const ReplayOptions options =
        options_of(path, {"holography.imager=" + imager, "holography.search_every_frames=5", "array.health.mask=all"});
    const Outcome expected = replayed(options, 1);
    ASSERT_EQ(expected.error, "");
    expect_same(replayed(options, 2), expected);
  }
}

TEST(BatchesInFlight, OfAReplayEndWithTheErrorOfTheSameFrame) {
  const test::TemporaryFolder folder;
  std::vector<float> samples = test::monopole_samples(kSamples, 1464.84375);
  for (std::size_t channel = 0; channel < 20; ++channel) {
    samples[250 * 64 + channel] = std::numeric_limits<float>::infinity();
  }
  write_time_data(folder / "samples.h5", kBitRateHz / kBitsPerWord, 64, samples);
  const ReplayOptions options = options_of(folder / "samples.h5", {"front_end.kind=dot_product"});
  const Outcome expected = replayed(options, 1);
  EXPECT_THAT(expected.error, HasSubstr("frame 12: 20 of 64 microphones are not finite"));
  EXPECT_EQ(expected.frames.size(), 12U);
  expect_same(replayed(options, 2), expected);
}

TEST(BatchesInFlight, OfAReplayEndWithOutputsAndWhenStopped) {
  const test::TemporaryFolder folder;
  const std::string path = folder / "capture.h5";
  test::write_random_capture(path, kSamples * kBitsPerWord, 5U);
  ReplayOptions options = options_of(path);
  const Outcome full = replayed(options, 1, 6);
  EXPECT_THAT(full.error, HasSubstr("no space left"));
  expect_same(replayed(options, 2, 6), full);
  const auto stopped = [&](std::size_t batches) {
    std::uint64_t asked = 0;
    options.stop = [&] { return ++asked > 3; };
    return replayed(options, batches);
  };
  const Outcome expected = stopped(1);
  EXPECT_EQ(expected.written, 3 * kBatch);
  expect_same(stopped(2), expected);
}

}  // namespace
}  // namespace nearfield
