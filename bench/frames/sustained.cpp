#include "bench/frames/sustained.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstring>
#include <deque>
#include <future>
#include <limits>
#include <map>
#include <thread>

#include "core/error.hpp"
#include "core/microphones.hpp"
#include "core/numerics.hpp"
#include "core/system/memory.hpp"
#include "files/files.hpp"

namespace nearfield::bench {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::uint64_t kPoolHops = 256;
constexpr std::uint64_t kPoolWindows = 4;
constexpr std::uint64_t kKeptShare = 1000;
constexpr std::uint64_t kMostWindows = 64;
constexpr std::uint64_t kKeyStep = 0x9E3779B97F4A7C15U;
/// One core sums as fast as it reads, which is slower than a GPU writes: large launches take several.
constexpr std::size_t kPixelsOfAThread = std::size_t{1} << 17U;
constexpr std::size_t kMostThreads = 8;

std::uint64_t to_count(int value) { return static_cast<std::uint64_t>(value); }

double seconds_between(Clock::time_point start, Clock::time_point end) {
  return std::chrono::duration<double>(end - start).count();
}

/// Relative L2; infinite when it is not a number.
double difference(std::span<const std::complex<float>> found, std::span<const std::complex<float>> expected) {
  double error = 0.0;
  double power = 0.0;
  for (std::size_t i = 0; i < std::min(found.size(), expected.size()); ++i) {
    error += std::norm(std::complex<double>(found[i]) - std::complex<double>(expected[i]));
    power += std::norm(std::complex<double>(expected[i]));
  }
  const double relative = std::sqrt(error / power);
  const bool comparable = found.size() == expected.size() && std::isfinite(relative);
  return comparable ? relative : std::numeric_limits<double>::infinity();
}

/// Sum over the pixels [first, end).
std::uint64_t sum_part(std::span<const std::complex<float>> images, std::size_t first, std::size_t end) {
  std::uint64_t sum = 0;
  std::uint64_t key = first * kKeyStep;
  for (const std::complex<float>& pixel : images.subspan(first, end - first)) {
    std::uint64_t word = 0;
    static_assert(sizeof(word) == sizeof(pixel));
    std::memcpy(&word, &pixel, sizeof(word));
    sum += word ^ key;
    key += kKeyStep;
  }
  return sum;
}

/// Images of the first processor; empty where it makes none.
std::span<const std::complex<float>> images_in(Engine& engine, const Batch& batch, std::size_t window) {
  return values_in<std::complex<float>>(engine.header(0), engine.read(batch, 0, window).products, "images");
}

/// The stream of a pool, pushed into an engine piece by piece.
class PoolFeeder {
 public:
  PoolFeeder(Engine& engine, const BitPool& pool, std::uint64_t most, std::uint64_t first)
      : engine_(engine), pool_(pool), most_(most), next_(first) {}
  void feed(std::uint64_t samples) {
    while (samples > 0) {
      const std::uint64_t part = std::min(samples, most_);
      const std::span<std::uint32_t> room =
          engine_.room_for_bits(static_cast<std::size_t>(part) * pool_.words_per_sample());
      pool_.copy(next_, room, engine_.copying());
      engine_.push_bits(next_, room);
      next_ += part;
      samples -= part;
    }
  }

 private:
  Engine& engine_;
  const BitPool& pool_;
  std::uint64_t most_;
  std::uint64_t next_;
};

}  // namespace

EnginePlan bits_plan(const Settings& settings, std::size_t batches_in_flight) {
  return {.settings = settings,
          .input = InputForm::kBits,
          .sample_rate_hz = kBitRateHz / kBitsPerWord,
          .spectra_hz = {},
          .batches_in_flight = batches_in_flight,
          .files = array_files_on_disk()};
}

std::uint64_t most_pushed(const Engine& engine, const Settings& settings) {
  const std::uint64_t window = to_count(settings.front_end.window_samples) + engine.history_samples();
  const std::uint64_t hops = to_count(settings.device.batch) * to_count(settings.front_end.hop_samples);
  return settings.device.batch > 1 ? std::max(window, hops) : window;
}

BitPool::BitPool(const EnginePlan& plan)
    : words_per_sample_(static_cast<std::size_t>(
          kBitsPerWord * words_per_bit_time(plan.settings.array.layout, plan.settings.array.geometry))) {
  const std::uint64_t hop = to_count(plan.settings.front_end.hop_samples);
  const std::uint64_t windows = kPoolWindows * to_count(plan.settings.front_end.window_samples);
  samples_ = hop * std::max(kPoolHops, (windows + hop - 1) / hop);
  bits_.resize(static_cast<std::size_t>(samples_) * words_per_sample_);
  RandomStream random(2, 0);
  for (std::uint32_t& word : bits_) {
    word = static_cast<std::uint32_t>(random.next() >> 32U);
  }
}

void BitPool::copy(std::uint64_t first, std::span<std::uint32_t> wire, Copying copying) const {
  std::size_t from = static_cast<std::size_t>(first % samples_) * words_per_sample_;
  while (!wire.empty()) {
    const std::size_t part = std::min(wire.size(), bits_.size() - from);
    copy_words(std::span(bits_).subspan(from, part), wire.first(part), copying);
    wire = wire.subspan(part);
    from = 0;
  }
}

std::uint64_t keep_every(std::uint64_t pool_hops) {
  const std::uint64_t step = std::clamp<std::uint64_t>(pool_hops / kMostWindows, 1, kKeptShare);
  return kKeptShare / step * step;
}

std::uint64_t checksum_of(std::span<const std::complex<float>> images) {
  const std::size_t most = std::max<std::size_t>(std::thread::hardware_concurrency() / 2, 1);
  const std::size_t parts = std::clamp<std::size_t>(images.size() / kPixelsOfAThread, 1, std::min(most, kMostThreads));
  std::vector<std::future<std::uint64_t>> others;
  for (std::size_t i = 1; i < parts; ++i) {
    others.push_back(
        std::async(std::launch::async, sum_part, images, i * images.size() / parts, (i + 1) * images.size() / parts));
  }
  std::uint64_t sum = sum_part(images, 0, images.size() / parts);
  for (std::future<std::uint64_t>& other : others) {
    sum += other.get();
  }
  return sum;
}

namespace {

/// A stream, from the bits of its launches to the sums over their images.
class StreamRun {
 public:
  StreamRun(Engine& engine, const EnginePlan& plan, const BitPool& pool, const StreamOptions& options)
      : engine_(engine),
        options_(options),
        batch_(to_count(plan.settings.device.batch)),
        hop_(to_count(plan.settings.front_end.hop_samples)),
        next_((engine.history_samples() + hop_ - 1) / hop_ * hop_),  // a sliding DFT needs whole hops
        feeder_(engine, pool, most_pushed(engine, plan.settings), 0) {
    run_.batch = plan.settings.device.batch;
    run_.in_flight = engine.batches_in_flight();
    feeder_.feed(next_ + to_count(plan.settings.front_end.window_samples) + (batch_ - 1) * hop_);
    (void)engine_.compute(range());  // the first window is not a hop's work
    next_ += batch_ * hop_;
  }
  SustainedRun take() {
    const Clock::time_point start = Clock::now();
    begin();
    while (!begun_.empty()) {
      while (run_.seconds < options_.seconds && begun_.size() < engine_.batches_in_flight()) {
        begin();
      }
      finish();
      run_.seconds = seconds_between(start, Clock::now());
      if (begun_.empty() && run_.seconds < options_.seconds) {
        begin();
      }
    }
    return run_;
  }

 private:
  /// A launch in flight.
  struct Begun {
    Batch batch;
    Clock::time_point start;
  };
  [[nodiscard]] WindowRange range() const {
    return {.first_sample = next_, .windows = static_cast<std::size_t>(batch_)};
  }
  void begin() {
    const Clock::time_point start = Clock::now();
    feeder_.feed(batch_ * hop_);
    begun_.push_back({.batch = engine_.begin(range()), .start = start});
    next_ += batch_ * hop_;
  }
  void finish() {
    const Begun begun = begun_.front();
    begun_.pop_front();
    const FinishedBatch finished = engine_.finish(begun.batch);
    const std::span<const std::complex<float>> images = images_of(finished);
    const std::uint64_t sum = checksum_of(images);
    run_.slowest_s = std::max(run_.slowest_s, seconds_between(begun.start, Clock::now()));
    run_.repeated += run_.frames > 0 && sum == last_sum_ ? 1U : 0U;
    run_.checksum = run_.checksum * kKeyStep + sum;
    last_sum_ = sum;
    const std::size_t size = images.size() / static_cast<std::size_t>(batch_);
    for (; kept_at_ < run_.frames + batch_; kept_at_ += options_.every) {
      const std::uint64_t index = kept_at_ - run_.frames;
      const auto image = images.subspan(static_cast<std::size_t>(index) * size, size);
      options_.keep({.first_sample = finished.first_sample() + index * hop_, .images = {image.begin(), image.end()}});
    }
    run_.frames += batch_;
  }
  /// Images of a launch's windows one after another, without a copy where they lie so in the memory of the batch.
  [[nodiscard]] std::span<const std::complex<float>> images_of(const FinishedBatch& batch) {
    const auto first = images_in(engine_, batch, 0);
    const auto last = images_in(engine_, batch, batch.windows() - 1);
    if (last.data() == first.data() + (batch.windows() - 1) * first.size()) {
      return {first.data(), batch.windows() * first.size()};
    }
    copied_.clear();
    for (std::size_t window = 0; window < batch.windows(); ++window) {
      const auto images = images_in(engine_, batch, window);
      copied_.insert(copied_.end(), images.begin(), images.end());
    }
    return copied_;
  }
  Engine& engine_;
  const StreamOptions& options_;
  std::uint64_t batch_;
  std::uint64_t hop_;
  std::uint64_t next_;  ///< first sample of the next launch
  PoolFeeder feeder_;
  std::deque<Begun> begun_;
  std::vector<std::complex<float>> copied_;
  SustainedRun run_;
  std::uint64_t last_sum_ = 0;
  std::uint64_t kept_at_ = 0;
};

}  // namespace

SustainedRun run_stream(Engine& engine, const EnginePlan& plan, const BitPool& pool, const StreamOptions& options) {
  SustainedRun run = StreamRun(engine, plan, pool, options).take();
  run.frames_per_s = static_cast<double>(run.frames) / run.seconds;
  run.holograms_per_s = run.frames_per_s * static_cast<double>(plan.settings.front_end.frequencies_hz.size() *
                                                               plan.settings.holography.planes_m.size());
  run.times_real_time =
      run.frames_per_s * static_cast<double>(plan.settings.front_end.hop_samples) / plan.sample_rate_hz;
  return run;
}

ImageCheck check_frames(const EnginePlan& plan, const BitPool& pool, const std::vector<KeptFrame>& kept) {
  EnginePlan one_by_one = plan;
  one_by_one.settings.device.batch = 1;
  const std::unique_ptr<Engine> engine = make_engine(EngineKind::kReference, one_by_one);
  const std::uint64_t history = engine->history_samples();
  const std::uint64_t window = to_count(plan.settings.front_end.window_samples);
  std::map<std::uint64_t, std::vector<std::complex<float>>> expected;  // by the place in the pool
  ImageCheck check;
  for (const KeptFrame& frame : kept) {
    std::vector<std::complex<float>>& images = expected[frame.first_sample % pool.samples()];
    if (images.empty()) {
      PoolFeeder(*engine, pool, history + window, frame.first_sample - history).feed(history + window);
      const auto computed = images_in(*engine, engine->compute({.first_sample = frame.first_sample}), 0);
      images.assign(computed.begin(), computed.end());
    }
    const double relative = difference(frame.images, images);
    if (check.frames == 0 || relative > check.worst) {
      check.worst = relative;
      check.worst_at = frame.first_sample;
    }
    ++check.frames;
  }
  check.windows = expected.size();
  return check;
}

std::string SustainedRun::problem() const {
  if (check.frames == 0) {
    return "no frame of the stream was checked";
  }
  if (!(check.worst <= kMostDifference)) {
    return fmt::format(
        "images of the window at sample {} are off by {:.2g} (relative L2) from the reference engine's; expected at "
        "most {:g}",
        check.worst_at, check.worst, kMostDifference);
  }
  if (repeated > 0) {
    return fmt::format("{} launches gave the images of the launch before; expected new ones from new bits", repeated);
  }
  return "";
}

}  // namespace nearfield::bench
