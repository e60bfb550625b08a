#include "bench/errors/errors_bits.hpp"

#include <fmt/format.h>

#include <cmath>
#include <numbers>

#include "nearfield/error.hpp"
#include "nearfield/frame.hpp"

namespace nearfield::bench {
namespace {

constexpr std::string_view kStage = "bench/spectra";

}  // namespace

FrontEndOnBits::FrontEndOnBits(const ocl::Device& device, const FrontEndPlan& plan)
    : device_(device),
      full_scale_pa_(full_scale_pa(plan.sensitivity_dbfs)),
      front_end_(make_front_end(device, plan)),
      spectra_(device.allocate<std::complex<float>>(
          plan.settings.frequencies_hz.size() * static_cast<std::size_t>(plan.geometry.channels()), kStage)),
      status_(device.allocate<std::uint32_t>(kStatusWords, kStage)) {
  if (front_end_->history_words() > kFirstWord) {
    throw Error(ExitCode::kInternal, fmt::format("bench: expected a front end with a history of at most {} words, "
                                                 "found {}",
                                                 kFirstWord, front_end_->history_words()));
  }
  device.enqueue_fill(status_, std::uint32_t{0}, kStage);
}

std::vector<std::complex<double>> FrontEndOnBits::spectra(const KnownBits& bits) {
  const std::span<const std::uint32_t> words(bits.words);
  const std::size_t history = kFirstWord * bits.group_words;
  if (front_end_->history_words() > 0) {
    front_end_->enqueue_bits(0, words.first(history));
  }
  front_end_->enqueue_bits(kFirstWord, words.subspan(history));
  front_end_->enqueue_spectra(kFirstWord, spectra_, status_);
  std::vector<std::complex<double>> values;
  for (const std::complex<float>& value : device_.download(spectra_, kStage)) {
    values.push_back(std::complex<double>(value) / full_scale_pa_);
  }
  return values;
}

KnownBits known_bits(const BitSynthesizerSettings& settings, const ArrayTone* tone, int window_samples) {
  BitSynthesizer synthesizer(settings);
  KnownBits bits;
  bits.group_words = static_cast<std::size_t>(synthesizer.words_per_bit_time() * kBitsPerWord);
  bits.words.resize((kFirstWord + static_cast<std::size_t>(window_samples)) * bits.group_words);
  synthesizer.generate(0, {tone, tone == nullptr ? 0U : 1U}, {}, bits.words);
  if (tone != nullptr) {
    const double turns = tone->frequency_hz * static_cast<double>(kFirstWord * kBitsPerWord) / kBitRateHz;
    for (const std::complex<double>& phasor : tone->phasors) {
      bits.truth.push_back(phasor * std::polar(1.0, 2.0 * std::numbers::pi * turns));
    }
  }
  return bits;
}

double relative_error(std::span<const std::complex<double>> found, std::span<const std::complex<double>> truth) {
  double error = 0.0;
  double power = 0.0;
  for (std::size_t i = 0; i < truth.size(); ++i) {
    error += std::norm(found[i] - truth[i]);
    power += std::norm(truth[i]);
  }
  return std::sqrt(error / power);
}

}  // namespace nearfield::bench
