#include "frontend/samples/samples_reference.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numbers>

#include "config/schema/front_end_kinds.hpp"
#include "core/error.hpp"
#include "frontend/common/analysis_reference.hpp"

namespace nearfield::reference {
namespace {

constexpr int kTaps = 80;
constexpr double kAttenuationDb = 105.0;
constexpr int kFirFactor = 4;
constexpr int kDecimation = 32;
constexpr double kFullScale = 32768.0;
constexpr std::size_t kMaxRecent = 4096;

/// Modified Bessel function of order 0 by its power series (Abramowitz and Stegun 9.6.12).
double bessel_i0(double x) {
  double term = 1.0;
  double sum = 1.0;
  for (int k = 1; term > 1e-17 * sum; ++k) {
    term *= (x / 2.0) * (x / 2.0) / (static_cast<double>(k) * k);
    sum += term;
  }
  return sum;
}

/// |CIC| at `omega` radians per CIC output: the fifth power of the mean of eight phasors.
double cic_magnitude(double omega) {
  std::complex<double> sum = 0.0;
  for (int bit = 0; bit < 8; ++bit) {
    sum += std::polar(1.0 / 8.0, omega / 8.0 * bit);
  }
  return std::pow(std::abs(sum), 5.0);
}

/// Integral from 0 to pi/4 of cos(w t) / |CIC(w)| dw by Gauss and Legendre's three points on each of 512 panels.
double ideal_tap(double t) {
  constexpr int kPanels = 512;
  const std::array<double, 3> nodes = {-std::sqrt(0.6), 0.0, std::sqrt(0.6)};
  const std::array<double, 3> weights = {5.0 / 18.0, 8.0 / 18.0, 5.0 / 18.0};
  const double width = std::numbers::pi / 4.0 / kPanels;
  double sum = 0.0;
  for (int panel = 0; panel < kPanels; ++panel) {
    for (std::size_t i = 0; i < nodes.size(); ++i) {
      const double omega = (panel + 0.5 + nodes[i] / 2.0) * width;
      sum += weights[i] * width * std::cos(omega * t) / cic_magnitude(omega);
    }
  }
  return sum;
}

}  // namespace

std::optional<std::int64_t> Cic::push(int value) {
  std::uint64_t carry = static_cast<std::uint64_t>(static_cast<std::int64_t>(value));
  for (std::uint64_t& integrator : integrators_) {
    integrator += carry;
    carry = integrator;
  }
  phase_ = (phase_ + 1) % kFactor;
  if (phase_ != 0) {
    return std::nullopt;
  }
  for (std::uint64_t& delay : comb_delays_) {
    const std::uint64_t difference = carry - delay;
    delay = carry;
    carry = difference;
  }
  return static_cast<std::int64_t>(carry);
}

std::vector<double> fir_taps() {
  const double beta = 0.1102 * (kAttenuationDb - 8.7);
  std::vector<double> taps;
  double sum = 0.0;
  for (int tap = 0; tap < kTaps; ++tap) {
    const double position = 2.0 * tap / (kTaps - 1) - 1.0;
    const double window = bessel_i0(beta * std::sqrt(std::max(0.0, 1.0 - position * position)));
    taps.push_back(window * ideal_tap(tap - (kTaps - 1) / 2.0));
    sum += taps.back();
  }
  for (double& tap : taps) {
    tap /= sum;
  }
  return taps;
}

void Decimator::start_from_silence() {
  *this = Decimator(std::move(taps_));
  constexpr int kSettledBits = 1024;  // longer than the impulse response, and whole words
  for (int bit = 0; bit < kSettledBits; ++bit) {
    (void)push(bit % 2 != 0 ? 1 : -1);
  }
}

std::optional<double> Decimator::push(int value) {
  const std::optional<std::int64_t> output = cic_.push(value);
  if (output) {
    recent_.push_back(static_cast<double>(*output) / kFullScale);
  }
  phase_ = (phase_ + 1) % kDecimation;
  if (phase_ != 0) {
    return std::nullopt;
  }
  double sum = 0.0;
  for (std::size_t tap = 0; tap < std::min(taps_.size(), recent_.size()); ++tap) {
    sum += taps_[tap] * recent_[recent_.size() - 1 - tap];
  }
  if (recent_.size() > kMaxRecent) {
    recent_.erase(recent_.begin(), recent_.end() - static_cast<std::ptrdiff_t>(taps_.size()));
  }
  return sum;
}

std::size_t history_words() { return kTaps / kFirFactor; }

std::vector<double> impulse_response() {
  const std::size_t words = history_words() + 1;
  std::vector<double> response(words * kDecimation, 0.0);
  const std::vector<double> taps = fir_taps();
  for (std::size_t time = 0; time < kDecimation; ++time) {
    Decimator decimator(taps);
    for (std::size_t bit = 0; bit < words * kDecimation; ++bit) {
      if (const std::optional<double> sample = decimator.push(bit == time ? 1 : 0)) {
        response[bit - time] = *sample;
      }
    }
  }
  return response;
}

std::complex<double> response(const std::vector<double>& impulse_response, double frequency_hz, double bit_rate_hz) {
  std::complex<double> sum = 0.0;
  for (std::size_t i = 0; i < impulse_response.size(); ++i) {
    const double turns = frequency_hz / bit_rate_hz * static_cast<double>(i);
    sum += impulse_response[i] * std::polar(1.0, -2.0 * std::numbers::pi * turns);
  }
  return sum;
}

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

namespace {

/// Factor from a spectrum of decimated full-scale samples to pascal, with the phase at the window's first bit: that bit
/// is 31 bit-times older than the newest bit of the window's first sample.
std::complex<double> bits_scale_pa(const FrontEndPlan& plan, const std::vector<double>& impulse, double frequency_hz) {
  const double bit_rate_hz = plan.sample_rate_hz * kBitsPerWord;
  const double turns = frequency_hz / bit_rate_hz * (kBitsPerWord - 1);
  const std::complex<double> chain =
      response(impulse, frequency_hz, bit_rate_hz) * std::polar(1.0, 2.0 * std::numbers::pi * turns);
  return std::sqrt(2.0) / std::pow(10.0, plan.sensitivity_dbfs / 20.0) / chain;
}

const FrontEndPlan& valid_plan(const FrontEndPlan& plan) {
  validate(plan);
  return plan;
}

}  // namespace

SampleFrontEnd::SampleFrontEnd(const FrontEndPlan& plan)
    : plan_(valid_plan(plan)),
      channels_(static_cast<std::size_t>(plan.geometry.channels())),
      samples_(plan, static_cast<std::size_t>(plan.settings.window_samples)) {
  const std::vector<double> impulse = impulse_response();
  const bool on_bins = schema::front_end_kind(plan.settings.kind).is_on_bins(plan.settings);
  for (const double frequency_hz : plan.settings.frequencies_hz) {
    const double actual_hz =
        on_bins ? snapped_frequency_hz(frequency_hz, plan.sample_rate_hz, plan.settings.window_samples) : frequency_hz;
    actual_frequencies_hz_.push_back(actual_hz);
    scales_pa_.push_back(plan.input_is_bits ? bits_scale_pa(plan, impulse, actual_hz) : 1.0);
  }
}

std::uint64_t SampleFrontEnd::history_words() const { return plan_.input_is_bits ? reference::history_words() : 0; }

std::vector<std::complex<double>> SampleFrontEnd::spectra(std::uint64_t first_sample_index) {
  const int window = plan_.settings.window_samples;
  const double* samples = samples_.window(first_sample_index, static_cast<std::size_t>(window)).data();
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
  return samples_.window(index, 1)[channel];
}

}  // namespace nearfield::reference
