#include "frontend/samples/decimated_samples.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <numbers>
#include <string_view>
#include <utility>

#include "core/frame.hpp"
#include "frontend/common/bit_ring.hpp"

namespace nearfield {
namespace {

constexpr std::string_view kDecimatedSamplesStage = "front_end/samples";

}  // namespace

DecimatedSamples::BitPath::BitPath(const ocl::Device& device, const FrontEndPlan& plan, SampleRing& samples,
                                   std::size_t max_words)
    : bits(device, plan.layout, plan.geometry, max_words + 1, max_words), decimator(device, bits, samples, max_words) {}

DecimatedSamples::DecimatedSamples(const ocl::Device& device, const FrontEndPlan& plan, std::size_t longest_window)
    : channels_(static_cast<std::size_t>(plan.geometry.channels())),
      max_append_(longest_window + (plan.input_is_bits ? kDecimatorHistoryWords : 0)),
      sample_rate_hz_(plan.sample_rate_hz),
      sensitivity_dbfs_(plan.sensitivity_dbfs),
      ring_(device, plan.geometry.channels(), longest_window + max_append_),
      bit_path_(plan.input_is_bits ? std::make_unique<BitPath>(device, plan, ring_, max_append_) : nullptr) {}

std::uint64_t DecimatedSamples::history_words() const { return bit_path_ != nullptr ? kDecimatorHistoryWords : 0; }

void DecimatedSamples::note_append(std::uint64_t first) {
  const RingSpan& span = ring_.span();
  breaks_ += span.begin() == span.end() || first != span.end() ? 1U : 0U;
}

void DecimatedSamples::enqueue_bits(std::uint64_t first_word, std::span<const std::uint32_t> wire) {
  if (bit_path_ == nullptr) {
    throw Error(ExitCode::kInternal,
                fmt::format("{}: fed with bits, expected samples as planned", kDecimatedSamplesStage));
  }
  const std::size_t word_size = kBitsPerWord * bit_path_->bits.wire_words_per_bit_time();
  while (!wire.empty()) {
    const std::span<const std::uint32_t> block = wire.first(std::min(wire.size(), max_append_ * word_size));
    note_append(first_word);
    const bool continues = bit_path_->bits.enqueue_append(first_word, block);
    const std::size_t words = block.size() / word_size;
    bit_path_->decimator.enqueue(first_word, words, continues);
    first_word += words;
    wire = wire.subspan(block.size());
  }
}

void DecimatedSamples::enqueue_samples(std::uint64_t first_sample, std::span<const float> values) {
  if (bit_path_ != nullptr) {
    throw Error(ExitCode::kInternal,
                fmt::format("{}: fed with samples, expected bits as planned", kDecimatedSamplesStage));
  }
  while (!values.empty()) {
    const std::span<const float> block = values.first(std::min(values.size(), max_append_ * channels_));
    note_append(first_sample);
    ring_.enqueue_append(first_sample, block);
    first_sample += block.size() / channels_;
    values = values.subspan(block.size());
  }
}

std::uint32_t DecimatedSamples::window_slot(std::uint64_t first_sample, std::size_t window_samples,
                                            std::string_view stage) const {
  const RingSpan& span = ring_.span();
  if (!span.holds(first_sample, window_samples)) {
    throw Error(ExitCode::kInternal, fmt::format("{}: window of {} samples at {} is not among the "
                                                 "samples {} to {} that the ring holds",
                                                 stage, window_samples, first_sample, span.begin(), span.end()));
  }
  return span.slot_of(first_sample);
}

std::complex<double> DecimatedSamples::scale_pa(double frequency_hz) const {
  if (bit_path_ == nullptr) {
    return 1.0;
  }
  // y[m] = H e^{jw(32m + 31)} for bits e^{jwn}.
  const double bit_rate_hz = sample_rate_hz_ * kDecimation;
  const double radians_to_newest = 2.0 * std::numbers::pi * frequency_hz / bit_rate_hz * (kDecimation - 1);
  const std::complex<double> response = bit_path_->decimator.design().response(frequency_hz, bit_rate_hz);
  return full_scale_pa(sensitivity_dbfs_) / (response * std::polar(1.0, radians_to_newest));
}

namespace {

ocl::Defines window_defines(const FrontEndPlan& plan) {
  return {{"CHANNELS", fmt::format("{}", plan.geometry.channels())},
          {"WINDOW", fmt::format("{}", plan.settings.window_samples)},
          {"CHECK_CLIPPING", plan.input_is_bits ? "1" : "0"},
          {"CLIP_LEVEL", fmt::format("{}f", kClipLevel)},
          {"FLAG_CLIPPED", fmt::format("{}u", static_cast<std::uint32_t>(kFlagClipped))}};
}

}  // namespace

SampleSource::SampleSource(const ocl::Device& device, const FrontEndPlan& plan, std::string stage)
    : stage_(std::move(stage)),
      channels_(static_cast<std::size_t>(plan.geometry.channels())),
      window_samples_(static_cast<std::size_t>(plan.settings.window_samples)),
      decimated_(plan.samples ? plan.samples : std::make_shared<DecimatedSamples>(device, plan, window_samples_)),
      is_alive_(device.upload<std::uint32_t>(alive_channels(plan), stage_)),
      defines_(window_defines(plan)) {}

void SampleSource::check_outputs(std::size_t frequencies, const ocl::Buffer<std::complex<float>>& spectra,
                                 const ocl::Buffer<std::uint32_t>& status) const {
  if (spectra.size() < channels_ * frequencies || status.size() < kStatusWords) {
    throw Error(ExitCode::kInternal,
                fmt::format("{}: expected room for {} spectra values and {} "
                            "status words, found {} and {}",
                            stage_, channels_ * frequencies, kStatusWords, spectra.size(), status.size()));
  }
}

namespace work {

WorkModel decimator(const FrontEndSizes& s) {
  return {corner_turn(s),
          // Four bytes of a word and five ages of each add a table's entry.
          {.stage = "front_end/decimator/cic",
           .bytes = s.hop_words() * s.microphones * (1.0 + kFirFactor) * kWord,
           .operations = 20.0 * s.hop_words() * s.microphones},
          {.stage = "front_end/decimator/fir",
           .bytes = s.hop_words() * s.microphones * (1.0 + kFirFactor) * kFloat,
           .operations = 2.0 * kFirTaps * s.hop_words() * s.microphones}};
}

}  // namespace work
}  // namespace nearfield
