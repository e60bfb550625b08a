#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <numeric>

#include "engine/microphone_watch.hpp"
#include "health/array_simulation.hpp"
#include "health/bit_statistics.hpp"
#include "simulate/bit_synthesizer.hpp"

/// Bad microphones found from bits, through a front end, as nearfieldd finds them.
namespace nearfield {
namespace {

using test::Fault;

constexpr std::size_t kWindowSamples = 256;
constexpr std::size_t kWindowBits = kWindowSamples * kBitsPerWord;
constexpr std::size_t kChannels = 1024;
/// Of full scale, of the aperture's rms.
constexpr double kLevel = 0.005;

EnginePlan engine_plan() {
  EnginePlan plan;
  plan.input = InputForm::kBits;
  plan.sample_rate_hz = kBitRateHz / kBitsPerWord;
  FrontEndSettings& front_end = plan.settings.front_end;
  front_end.window_samples = static_cast<int>(kWindowSamples);
  front_end.hop_samples = static_cast<int>(kWindowSamples);
  const double bin_hz = plan.sample_rate_hz / static_cast<double>(kWindowSamples);
  front_end.frequencies_hz = {3.0 * bin_hz, 11.0 * bin_hz, 22.0 * bin_hz};
  return plan;
}

/// Bits of an array 51 of whose microphones are bad.
class BadBits {
 public:
  explicit BadBits(const EnginePlan& plan, unsigned seed) : random_(seed), synthesizer_(settings(seed)) {
    std::vector<int> channels(kChannels);
    std::iota(channels.begin(), channels.end(), 0);
    std::shuffle(channels.begin(), channels.end(), random_);
    for (std::size_t i = 0; i < 51; ++i) {
      faults_[channels[i]] = static_cast<Fault>(random_() % 4);
    }
    for (const double frequency_hz : plan.settings.front_end.frequencies_hz) {
      const auto field =
          test::case_field(frequency_hz, static_cast<int>(random_() % (frequency_hz > 3000.0 ? 2 : 3)), {});
      const double scale = kLevel / std::sqrt(test::mean_power(field));
      ArrayTone tone{frequency_hz, {}};
      for (std::size_t i = 0; i < kChannels; ++i) {
        const auto fault = faults_.find(static_cast<int>(i));
        const bool is_dead = fault != faults_.end() && fault->second == Fault::kDead;
        const bool is_weak = fault != faults_.end() && fault->second == Fault::kWeak;
        tone.phasors.push_back(field[i] * scale * (is_dead ? 0.0 : (is_weak ? 0.3 : 1.0)));
      }
      tones_.push_back(std::move(tone));
    }
  }
  [[nodiscard]] const std::map<int, Fault>& faults() const { return faults_; }

  std::vector<std::uint32_t> next() {
    samples_.assign(kWindowBits * kChannels, 0.0F);
    // White over half the bit rate, so that a window's spectrum has about the tone's level of it.
    const double sigma = kLevel * std::sqrt(static_cast<double>(kWindowBits) / 6.0);
    std::normal_distribution<float> normal(0.0F, static_cast<float>(sigma));
    for (const auto& [channel, fault] : faults_) {
      for (std::size_t t = 0; fault == Fault::kNoisy && t < kWindowBits; ++t) {
        samples_[t * kChannels + static_cast<std::size_t>(channel)] = normal(random_);
      }
    }
    std::vector<std::uint32_t> words(kWindowBits * 32);
    synthesizer_.generate(first_, tones_, samples_, words);
    first_ += kWindowBits;
    const std::vector<int> places = wire_bit_of_channel(WireLayout::kSoramaCam, {});
    for (const auto& [channel, fault] : faults_) {
      const auto place = static_cast<std::size_t>(places[static_cast<std::size_t>(channel)]);
      for (std::size_t t = 0; fault == Fault::kStuck && t < kWindowBits; ++t) {
        words[t * 32 + place / 32] |= 1U << place % 32;
      }
    }
    return words;
  }

 private:
  static BitSynthesizerSettings settings(unsigned seed) {
    BitSynthesizerSettings settings;
    settings.seed = seed;
    settings.noise_rms = 1e-4;
    settings.dc_offset_range = 0.002;
    return settings;
  }
  std::mt19937 random_;
  BitSynthesizer synthesizer_;
  std::map<int, Fault> faults_;
  std::vector<ArrayTone> tones_;
  std::vector<float> samples_;
  std::uint64_t first_ = 0;
};

// NEARFIELD_BIT_DRAWS sets more than the suite's one.
TEST(BadMicrophones, AreFoundFromBitsThroughAFrontEnd) {
  const char* asked = std::getenv("NEARFIELD_BIT_DRAWS");
  const int draws = asked == nullptr ? 1 : std::atoi(asked);
  const EnginePlan plan = engine_plan();
  const std::unique_ptr<Engine> engine = make_engine(EngineKind::kOpencl, plan);
  const health::BitCounter counter(plan.settings.array.layout, plan.settings.array.geometry);
  std::uint64_t position = 0;
  for (int draw = 0; draw < draws; ++draw) {
    BadBits array(plan, static_cast<unsigned>(draw) + 1U);
    health::Monitor monitor(*monitor_plan(*engine, plan.settings));
    std::vector<std::complex<float>> spectra(3 * kChannels);
    health::BitStatistics bits;
    position += 100 * kWindowSamples;
    for (std::size_t window = 0; window < 2 * health::Monitor::kSpan; ++window) {
      const std::vector<std::uint32_t> words = array.next();
      engine->push_bits(position, words);
      engine->read_spectra(engine->compute({.first_sample = position}), 0, spectra);
      counter.count(std::span(words).first(512 * counter.words_per_bit_time()), bits);
      monitor.add_bits(bits);
      monitor.add_spectra(spectra);
      position += kWindowSamples;
    }
    int missed = 0;
    for (const auto& [channel, fault] : array.faults()) {
      const health::Condition found = monitor.conditions()[static_cast<std::size_t>(channel)];
      missed += health::is_bad(found) ? 0 : 1;
      EXPECT_EQ(fault == Fault::kStuck, found == health::Condition::kStuck) << channel << ", draw " << draw;
    }
    EXPECT_EQ(missed, 0) << "draw " << draw;
    // Healthy ones beside bad ones are predicted from fewer: one at most.
    EXPECT_LE(monitor.bad().size(), 52U) << "draw " << draw;
    std::printf("draw %d: %d missed, %zu bad in all\n", draw, missed, monitor.bad().size());
  }
}

}  // namespace
}  // namespace nearfield
