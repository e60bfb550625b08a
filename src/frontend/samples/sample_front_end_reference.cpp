#include "frontend/samples/sample_front_end_reference.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numbers>

#include "config/schema/front_end_kinds.hpp"
#include "frontend/common/analysis_reference.hpp"
#include "nearfield/error.hpp"

namespace nearfield::reference {
namespace {

/// What turns a spectrum of decimated full-scale samples into pascal, with the phase at the window's first bit: that
/// bit is 31 bit-times older than the newest bit of the window's first sample.
std::complex<double> bits_scale_pa(const FrontEndPlan& plan, const std::vector<double>& impulse, double frequency_hz) {
  const double bit_rate_hz = plan.sample_rate_hz * kBitsPerWord;
  const double turns = frequency_hz / bit_rate_hz * (kBitsPerWord - 1);
  const std::complex<double> chain =
      response(impulse, frequency_hz, bit_rate_hz) * std::polar(1.0, 2.0 * std::numbers::pi * turns);
  return std::sqrt(2.0) / std::pow(10.0, plan.sensitivity_dbfs / 20.0) / chain;
}

}  // namespace

SampleFrontEnd::SampleFrontEnd(const FrontEndPlan& plan)
    : plan_(plan), channels_(static_cast<std::size_t>(plan.geometry.channels())) {
  validate(plan);
  const std::vector<double> impulse = impulse_response();
  const bool on_bins = schema::front_end_kind(plan.settings.kind).is_on_bins(plan.settings);
  for (const double frequency_hz : plan.settings.frequencies_hz) {
    const double actual_hz =
        on_bins ? snapped_frequency_hz(frequency_hz, plan.sample_rate_hz, plan.settings.window_samples) : frequency_hz;
    actual_frequencies_hz_.push_back(actual_hz);
    scales_pa_.push_back(plan.input_is_bits ? bits_scale_pa(plan, impulse, actual_hz) : 1.0);
  }
  if (plan.input_is_bits) {
    wire_words_ = static_cast<std::size_t>(words_per_bit_time(plan.layout, plan.geometry));
    decimators_.assign(channels_, Decimator(fir_taps()));
  }
}

std::uint64_t SampleFrontEnd::history_words() const { return plan_.input_is_bits ? reference::history_words() : 0; }

void SampleFrontEnd::push_bits(std::uint64_t first_word, std::span<const std::uint32_t> wire) {
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

void SampleFrontEnd::push_samples(std::uint64_t first_sample, std::span<const float> values) {
  if (plan_.input_is_bits || values.size() % channels_ != 0) {
    throw Error(ExitCode::kInternal, fmt::format("reference front end: {} values do not fit the plan", values.size()));
  }
  make_room(first_sample, values.size() / channels_);
  std::copy(values.begin(), values.end(),
            samples_.begin() + static_cast<std::ptrdiff_t>((first_sample - begin_) * channels_));
}

/// Makes samples_ end with `count` new ones, forgetting what is too old or does not join on.
void SampleFrontEnd::make_room(std::uint64_t first_sample, std::size_t count) {
  const auto keep = 2 * static_cast<std::size_t>(plan_.settings.window_samples);
  if (begin_ == end_ || first_sample != end_) {
    samples_.clear();
    begin_ = first_sample;
  } else if (const std::size_t held = samples_.size() / channels_; held > 2 * keep) {
    samples_.erase(samples_.begin(), samples_.end() - static_cast<std::ptrdiff_t>(keep * channels_));
    begin_ += held - keep;
  }
  end_ = first_sample + count;
  samples_.resize((end_ - begin_) * channels_);
}

std::vector<std::complex<double>> SampleFrontEnd::spectra(std::uint64_t first_sample_index) {
  const int window = plan_.settings.window_samples;
  if (first_sample_index < begin_ || first_sample_index + static_cast<std::uint64_t>(window) > end_) {
    throw Error(ExitCode::kInternal,
                fmt::format("reference front end: window at {} is not among the samples {} to {} it holds",
                            first_sample_index, begin_, end_));
  }
  const double* samples = samples_.data() + (first_sample_index - begin_) * channels_;
  find_clipping(samples);
  const auto estimate = plan_.settings.remove_dc ? fitted_phasors : windowed_dft;
  std::vector<std::complex<double>> values;
  for (std::size_t i = 0; i < actual_frequencies_hz_.size(); ++i) {
    for (const std::complex<double>& value :
         estimate(samples, channels_, plan_.settings.window, window, actual_frequencies_hz_[i], plan_.sample_rate_hz)) {
      values.push_back(scales_pa_[i] * value);
    }
  }
  return values;
}

void SampleFrontEnd::find_clipping(const double* window) {
  clipped_ = false;
  if (!plan_.input_is_bits) {
    return;
  }
  for (std::size_t channel = 0; channel < channels_; ++channel) {
    const bool dead = std::count(plan_.dead_channels.begin(), plan_.dead_channels.end(), static_cast<int>(channel)) > 0;
    for (std::size_t n = 0; !dead && n < static_cast<std::size_t>(plan_.settings.window_samples); ++n) {
      clipped_ = clipped_ || std::abs(window[n * channels_ + channel]) >= kClipLevel;
    }
  }
}

double SampleFrontEnd::sample(std::uint64_t index, std::size_t channel) const {
  return samples_.at((index - begin_) * channels_ + channel);
}

}  // namespace nearfield::reference
