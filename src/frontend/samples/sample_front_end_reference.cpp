#include "frontend/samples/sample_front_end_reference.hpp"

#include <algorithm>
#include <cmath>
#include <numbers>

#include "config/schema/front_end_kinds.hpp"
#include "frontend/common/analysis_reference.hpp"

namespace nearfield::reference {
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
