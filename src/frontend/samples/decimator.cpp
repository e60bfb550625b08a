#include "frontend/samples/decimator.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numbers>
#include <numeric>

namespace nearfield {
namespace {

constexpr double kPi = std::numbers::pi;
/// Stop-band attenuation of the Kaiser window. With 80 taps the transition then spans 15.4 to 31.5 kHz at 1.5 MHz:
/// frequencies that alias to 0 to 15 kHz start at 31.9 kHz.
constexpr double kAttenuationDb = 105.0;
constexpr int kQuadratureIntervals = 2048;

/// boxcar(8) convolved with itself: [tap], sum 8^5.
std::vector<std::int32_t> cic_taps() {
  std::vector<std::int32_t> taps = {1};
  for (int stage = 0; stage < kCicOrder; ++stage) {
    std::vector<std::int32_t> longer(taps.size() + kCicFactor - 1, 0);
    for (std::size_t i = 0; i < taps.size(); ++i) {
      for (std::size_t j = 0; j < kCicFactor; ++j) {
        longer[i + j] += taps[i];
      }
    }
    taps = std::move(longer);
  }
  return taps;
}

std::vector<std::int32_t> make_byte_table() {
  std::vector<std::int32_t> taps = cic_taps();
  constexpr std::size_t kAges = 5, kBytes = 256, kBits = 8;
  taps.resize(kAges * kBits, 0);
  std::vector<std::int32_t> table(kAges * kBytes, 0);
  for (std::size_t age = 0; age < kAges; ++age) {
    for (std::size_t byte = 0; byte < kBytes; ++byte) {
      for (std::size_t bit = 0; bit < kBits; ++bit) {
        const std::int32_t tap = taps[kBits * age + (kBits - 1) - bit];
        table[age * kBytes + byte] += ((byte >> bit) & 1U) != 0 ? tap : -tap;
      }
    }
  }
  return table;
}

/// Zero-phase response of the CIC at `omega` radians per bit, 1 at 0 (Hogenauer 1981, eq. 5, normalised).
double cic_amplitude(double omega) {
  const double denominator = kCicFactor * std::sin(omega / 2.0);
  return std::abs(omega) < 1e-9 ? 1.0 : std::pow(std::sin(kCicFactor * omega / 2.0) / denominator, kCicOrder);
}

/// (1/pi) integral from 0 to pi/4 of cos(w t) / |CIC(w)| dw, w in radians per CIC output, by Simpson's rule.
double ideal_tap(double t) {
  const double step = kPi / kFirFactor / kQuadratureIntervals;
  double sum = 0.0;
  for (int i = 0; i <= kQuadratureIntervals; ++i) {
    const bool at_end = i == 0 || i == kQuadratureIntervals;
    const double weight = at_end ? 1.0 : (i % 2 == 1 ? 4.0 : 2.0);
    sum += weight * std::cos(i * step * t) / cic_amplitude(i * step / kCicFactor);
  }
  return sum * step / 3.0 / kPi;
}

std::vector<float> make_fir_taps() {
  const double beta = 0.1102 * (kAttenuationDb - 8.7);
  const double centre = (kFirTaps - 1) / 2.0;
  std::vector<double> taps(kFirTaps);
  for (int tap = 0; tap < kFirTaps; ++tap) {
    const double offset = tap - centre;
    const double position = offset / centre;
    const double window = std::cyl_bessel_i(0.0, beta * std::sqrt(std::max(0.0, 1.0 - position * position)));
    taps[static_cast<std::size_t>(tap)] = window * ideal_tap(offset);
  }
  const double sum = std::accumulate(taps.begin(), taps.end(), 0.0);
  std::vector<float> rounded;
  for (const double tap : taps) {
    rounded.push_back(static_cast<float>(tap / sum));
  }
  return rounded;
}

}  // namespace

std::complex<double> DecimatorDesign::response(double frequency_hz, double bit_rate_hz) const {
  const double omega = 2.0 * kPi * frequency_hz / bit_rate_hz;
  const double cic_delay_bits = kCicOrder * (kCicFactor - 1) / 2.0;
  std::complex<double> fir = 0.0;
  for (std::size_t tap = 0; tap < fir_taps.size(); ++tap) {
    fir += static_cast<double>(fir_taps[tap]) * std::polar(1.0, -omega * kCicFactor * static_cast<double>(tap));
  }
  return cic_amplitude(omega) * std::polar(1.0, -omega * cic_delay_bits) * fir;
}

DecimatorDesign design_decimator() { return {.cic_byte_table = make_byte_table(), .fir_taps = make_fir_taps()}; }

namespace {

constexpr std::string_view kSampleRingStage = "front_end/sample_ring";

}  // namespace

SampleRing::SampleRing(const ocl::Device& device, int channels, std::size_t capacity_samples)
    : device_(device),
      channels_(channels),
      span_(capacity_samples),
      samples_(device.allocate<float>(capacity_samples * static_cast<std::size_t>(channels), kSampleRingStage)) {
  device.enqueue_fill(samples_, 0.0F, kSampleRingStage);
}

void SampleRing::enqueue_append(std::uint64_t first_sample, std::span<const float> samples) {
  const auto channels = static_cast<std::size_t>(channels_);
  const std::size_t count = samples.size() / channels;
  if (count == 0 || samples.size() % channels != 0 || count > span_.capacity()) {
    throw Error(ExitCode::kInternal, fmt::format("{}: expected 1 to {} samples of {} channels, found {} values",
                                                 kSampleRingStage, span_.capacity(), channels_, samples.size()));
  }
  span_.append(first_sample, count);
  const std::size_t slot = span_.slot_of(first_sample);
  const std::size_t before_wrap = std::min(count, span_.capacity() - slot) * channels;
  device_.enqueue_write(samples_, slot * channels, samples.first(before_wrap), kSampleRingStage);
  device_.enqueue_write(samples_, 0, samples.subspan(before_wrap), kSampleRingStage);
}

namespace {

constexpr std::string_view kDecimatorStage = "front_end/decimator";
constexpr std::size_t kDecimatorGroupChannels = 64;
constexpr std::size_t kGroupWords = 4;
/// Samples per work-item of the FIR.
constexpr std::size_t kFirOutputs = 4;
constexpr int kCicPerWord = kFirFactor;
constexpr double kCicFullScale = 32768.0;

std::vector<float> padded(const std::vector<float>& taps) {
  const std::size_t padding = kFirFactor * (kFirOutputs - 1);
  std::vector<float> values(taps.size() + 2 * padding, 0.0F);
  for (std::size_t tap = 0; tap < taps.size(); ++tap) {
    values[padding + tap] = taps[tap] / static_cast<float>(kCicFullScale);
  }
  return values;
}

}  // namespace

Decimator::Decimator(const ocl::Device& device, const BitRing& bits, SampleRing& samples, std::size_t max_words)
    : bits_(&bits),
      samples_(&samples),
      max_words_(max_words),
      design_(design_decimator()),
      cic_slots_(static_cast<std::uint32_t>(kCicPerWord * (max_words + kDecimatorHistoryWords))),
      byte_table_(device.upload<std::int32_t>(design_.cic_byte_table, kDecimatorStage)),
      padded_taps_(device.upload<float>(padded(design_.fir_taps), kDecimatorStage)),
      cic_outputs_(device.allocate<std::int32_t>(std::size_t{cic_slots_} * static_cast<std::size_t>(bits.channels()),
                                                 kDecimatorStage)) {
  const ocl::Program program = device.build(kDecimatorStage, "frontend/decimator.cl",
                                            {{"CHANNELS", fmt::format("{}", bits.channels())},
                                             {"TAPS", fmt::format("{}", kFirTaps)},
                                             {"OUTPUTS", fmt::format("{}", kFirOutputs)},
                                             {"PACKED_SILENCE", fmt::format("{}u", kPackedSilence)}});
  cic_ = program.kernel("cic");
  cic_.set("packed", bits.packed())
      .set("byte_table", byte_table_)
      .set("cic_ring", cic_outputs_)
      .set("slots", bits.span().slots())
      .set("cic_slots", cic_slots_);
  cic_words_ = cic_.arguments("first_slot", "first_cic_slot", "words", "continues");
  silence_ = program.kernel("silence");
  silence_.set("cic_ring", cic_outputs_).set("cic_slots", cic_slots_).set("count", std::uint32_t{kFirTaps});
  silent_slot_ = silence_.arguments("first_cic_slot");
  fir_ = program.kernel("fir");
  fir_.set("cic_ring", cic_outputs_)
      .set("padded_taps", padded_taps_)
      .set("samples", samples.samples())
      .set("cic_slots", cic_slots_)
      .set("slots", samples.span().slots());
  fir_words_ = fir_.arguments("first_cic_slot", "first_slot", "count");
  device.enqueue_fill(cic_outputs_, std::int32_t{0}, kDecimatorStage);
}

void Decimator::enqueue(std::uint64_t first_word, std::size_t words, bool continues) {
  if (words == 0 || words > max_words_ || words > samples_->span().capacity() ||
      !bits_->span().holds(first_word, words)) {
    throw Error(ExitCode::kInternal, fmt::format("{}: expected up to {} words that the bit ring holds, found {} to {}",
                                                 kDecimatorStage, max_words_, first_word, first_word + words));
  }
  if (!continues) {
    enqueue_silence(first_word);
  }
  const std::size_t channels = ocl::round_up(static_cast<std::size_t>(bits_->channels()), kDecimatorGroupChannels);
  cic_.set(cic_words_, bits_->span().slot_of(first_word), cic_slot_of(first_word, 0), static_cast<std::uint32_t>(words),
           std::int32_t{continues ? 1 : 0});
  cic_.enqueue({.global_0 = channels,
                .local_0 = kDecimatorGroupChannels,
                .global_1 = ocl::round_up(words, kGroupWords),
                .local_1 = kGroupWords});
  samples_->append(first_word, words);
  fir_.set(fir_words_, cic_slot_of(first_word, kFirFactor - kFirTaps), samples_->span().slot_of(first_word),
           static_cast<std::uint32_t>(words));
  fir_.enqueue({.global_0 = channels,
                .local_0 = kDecimatorGroupChannels,
                .global_1 = ocl::round_up(words, kFirOutputs) / kFirOutputs,
                .local_1 = 1});
}

/// Slot of the CIC output at `offset` from the first one of a word.
std::uint32_t Decimator::cic_slot_of(std::uint64_t first_word, int offset) const {
  const std::uint64_t slot = first_word * kCicPerWord % cic_slots_ + cic_slots_;
  return static_cast<std::uint32_t>((slot - static_cast<std::uint64_t>(-offset)) % cic_slots_);
}

void Decimator::enqueue_silence(std::uint64_t first_word) {
  silence_.set(silent_slot_, cic_slot_of(first_word, -kFirTaps));
  silence_.enqueue({.global_0 = ocl::round_up(static_cast<std::size_t>(bits_->channels()), kDecimatorGroupChannels),
                    .local_0 = kDecimatorGroupChannels,
                    .global_1 = ocl::round_up(kFirTaps, kGroupWords),
                    .local_1 = kGroupWords});
}

}  // namespace nearfield
