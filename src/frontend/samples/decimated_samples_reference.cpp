#include "frontend/samples/decimated_samples_reference.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include "core/error.hpp"

namespace nearfield::reference {

DecimatedSamples::DecimatedSamples(const FrontEndPlan& plan, std::size_t longest_window)
    : plan_(plan), channels_(static_cast<std::size_t>(plan.geometry.channels())), keep_samples_(2 * longest_window) {
  if (plan.input_is_bits) {
    wire_words_ = static_cast<std::size_t>(words_per_bit_time(plan.layout, plan.geometry));
    decimators_.assign(channels_, Decimator(fir_taps()));
  }
}

void DecimatedSamples::push_bits(std::uint64_t first_word, std::span<const std::uint32_t> wire) {
  const std::size_t word_size = kBitsPerWord * wire_words_;
  if (!plan_.input_is_bits || wire.size() % word_size != 0) {
    throw Error(ExitCode::kInternal,
                fmt::format("reference front end: {} wire words do not fit the plan", wire.size()));
  }
  const bool continues = begin_ != end_ && first_word == end_;
  const std::vector<int> wire_bits = wire_bit_of_channel(plan_.layout, plan_.geometry);
  const std::size_t words = wire.size() / word_size;
  make_room(first_word, words);
  double* output = samples_.data() + (first_word - begin_) * channels_;
  for (std::size_t channel = 0; channel < channels_; ++channel) {
    Decimator& decimator = decimators_[channel];
    if (!continues) {
      decimator.start_from_silence();
    }
    const auto wire_bit = static_cast<std::size_t>(wire_bits[channel]);
    const std::size_t word = wire_bit / kBitsPerWord;
    const std::size_t bit = wire_bit % kBitsPerWord;
    std::size_t sample = 0;
    for (std::size_t time = 0; time < words * kBitsPerWord; ++time) {
      const int value = ((wire[time * wire_words_ + word] >> bit) & 1U) != 0 ? 1 : -1;
      if (const std::optional<double> decimated = decimator.push(value)) {
        output[sample * channels_ + channel] = *decimated;
        ++sample;
      }
    }
  }
}

void DecimatedSamples::push_samples(std::uint64_t first_sample, std::span<const float> values) {
  if (plan_.input_is_bits || values.size() % channels_ != 0) {
    throw Error(ExitCode::kInternal, fmt::format("reference front end: {} values do not fit the plan", values.size()));
  }
  make_room(first_sample, values.size() / channels_);
  std::copy(values.begin(), values.end(),
            samples_.begin() + static_cast<std::ptrdiff_t>((first_sample - begin_) * channels_));
}

/// Appends room for `count` new samples to samples_, and removes samples that are too old or lie before a gap.
void DecimatedSamples::make_room(std::uint64_t first_sample, std::size_t count) {
  if (begin_ == end_ || first_sample != end_) {
    samples_.clear();
    begin_ = first_sample;
  } else if (const std::size_t held = samples_.size() / channels_; held > 2 * keep_samples_) {
    samples_.erase(samples_.begin(), samples_.end() - static_cast<std::ptrdiff_t>(keep_samples_ * channels_));
    begin_ += held - keep_samples_;
  }
  end_ = first_sample + count;
  samples_.resize((end_ - begin_) * channels_);
}

std::span<const double> DecimatedSamples::window(std::uint64_t first_sample, std::size_t samples) const {
  if (first_sample < begin_ || first_sample + samples > end_) {
    throw Error(ExitCode::kInternal, fmt::format("reference front end: window at {} is not among "
                                                 "the samples {} to {} it holds",
                                                 first_sample, begin_, end_));
  }
  return std::span(samples_).subspan((first_sample - begin_) * channels_, samples * channels_);
}

}  // namespace nearfield::reference
