#include "frontend/samples/decimator.hpp"

#include <fmt/format.h>

namespace nearfield {
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
