#include "frontend/walsh_fourier/walsh_fourier.hpp"

#include <fmt/format.h>

#include <bit>
#include <numbers>

#include "core/frame.hpp"
#include "frontend/common/spectral_bins.hpp"
#include "frontend/walsh_fourier/settings.hpp"
#include "frontend/walsh_fourier/thesis/direct_summation.hpp"

namespace nearfield {
namespace {

std::vector<double> bin_frequencies(const FrontEndPlan& plan) {
  const int window = plan.settings.window_samples;
  std::vector<double> frequencies_hz;
  for (const std::uint32_t bin : nearest_bins(plan.settings.frequencies_hz, plan.sample_rate_hz, window)) {
    frequencies_hz.push_back(bin * plan.sample_rate_hz / window);
  }
  return frequencies_hz;
}

/// Terms that give the phasor in pascal.
WalshSum plan_sum(const FrontEndPlan& plan, const std::vector<double>& frequencies_hz) {
  const auto bits = static_cast<std::size_t>(plan.settings.window_samples) * kBitsPerWord;
  WalshSum sum{.channels = static_cast<std::size_t>(plan.geometry.channels()), .bits = bits, .terms = {}};
  for (const double frequency_hz : frequencies_hz) {
    const double radians = 2.0 * std::numbers::pi * frequency_hz / (plan.sample_rate_hz * kBitsPerWord);
    sum.terms.push_back(walsh_terms(plan.settings.own.get<WalshFourierSettings>(), plan.settings.window,
                                    plan.settings.remove_dc, bits, radians));
    for (WalshTerm& term : sum.terms.back()) {
      term.weight *= full_scale_pa(plan.sensitivity_dbfs);
    }
  }
  return sum;
}

}  // namespace

WalshFourier::WalshFourier(const ocl::Device& device, const FrontEndPlan& plan)
    : channels_(static_cast<std::size_t>(plan.geometry.channels())),
      words_(static_cast<std::size_t>(plan.settings.window_samples)),
      actual_frequencies_hz_(bin_frequencies(plan)),
      bits_(device, plan.layout, plan.geometry, 2 * words_, words_),
      clipping_(device, plan, bits_, words_) {
  const WalshSum sum = plan_sum(plan, actual_frequencies_hz_);
  const WalshVariant variant = plan.settings.own.get<WalshFourierSettings>().variant;
  summation_ = variant == WalshVariant::kFast
                   ? make_folded_summation(device, bits_, sum)
                   : thesis::make_direct_summation(device, bits_, sum, variant == WalshVariant::kPrecomputed);
}

void WalshFourier::enqueue_bits(std::uint64_t first_word, std::span<const std::uint32_t> wire) {
  const std::size_t word_size = kBitsPerWord * bits_.wire_words_per_bit_time();
  while (!wire.empty()) {
    const std::span<const std::uint32_t> block = wire.first(std::min(wire.size(), words_ * word_size));
    bits_.enqueue_append(first_word, block);
    first_word += block.size() / word_size;
    wire = wire.subspan(block.size());
  }
}

void WalshFourier::enqueue_spectra(std::uint64_t first_sample_index, const ocl::Buffer<std::complex<float>>& spectra,
                                   const ocl::Buffer<std::uint32_t>& status) {
  const RingSpan& span = bits_.span();
  if (!span.holds(first_sample_index, words_)) {
    throw Error(ExitCode::kInternal,
                fmt::format("{}: window of {} words at {} is not among the words {} to {} that the ring holds",
                            kWalshStage, words_, first_sample_index, span.begin(), span.end()));
  }
  const std::size_t values = channels_ * actual_frequencies_hz_.size();
  if (spectra.size() < values || status.size() < kStatusWords) {
    throw Error(ExitCode::kInternal,
                fmt::format("{}: expected room for {} spectra values and {} status words, found {} and {}", kWalshStage,
                            values, kStatusWords, spectra.size(), status.size()));
  }
  const std::uint32_t first_slot = span.slot_of(first_sample_index);
  summation_->enqueue(first_slot, spectra);
  clipping_.enqueue(first_slot, status);
}

std::unique_ptr<FrontEnd> make_walsh_fourier(const ocl::Device& device, const FrontEndPlan& plan) {
  return std::make_unique<WalshFourier>(device, plan);
}

}  // namespace nearfield
