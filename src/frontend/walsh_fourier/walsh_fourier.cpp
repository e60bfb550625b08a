#include "frontend/walsh_fourier/walsh_fourier.hpp"

#include <fmt/format.h>

#include <bit>
#include <numbers>

#include "config/schema/front_end_kinds.hpp"
#include "core/frame.hpp"
#include "frontend/common/analysis.hpp"
#include "frontend/common/work.hpp"
#include "frontend/walsh_fourier/settings.hpp"
#include "frontend/walsh_fourier/walsh_fourier_reference.hpp"
#include "frontend/walsh_fourier/walsh_summation.hpp"

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

namespace {

constexpr int kThesisCoefficients = 40;
/// All Walsh functions with six and with sixteen in-word patterns in a window of 1024 words; fewer of them cost the
/// same.
constexpr int kSixPatterns = 6144;
constexpr int kSixteenPatterns = 16384;

std::string obstacle_of_walsh_fourier(const FrontEndPlan& plan) {
  if (!plan.input_is_bits) {
    return fmt::format(
        "front_end.kind: walsh_fourier takes the microphones' bits, found time data; expected {}",
        schema::names_of_front_ends([](const schema::FrontEndKind& kind) { return kind.takes_samples; }, " or "));
  }
  const auto window = static_cast<unsigned>(plan.settings.window_samples);
  return std::has_single_bit(window)
             ? ""
             : fmt::format(
                   "front_end.window_samples: expected a power of two for walsh_fourier, found {}; the next "
                   "one is {}",
                   window, std::bit_ceil(window));
}

/// Only the corner turn: the least work of its own kernels is not known.
WorkModel work_of_walsh_fourier(const FrontEndPlan& plan) { return {work::corner_turn(work::FrontEndSizes(plan))}; }

using enum WalshVariant;

template <WalshVariant variant, int coefficients>
void walsh_fourier_with(FrontEndSettings& settings) {
  settings.own.edit<WalshFourierSettings>() = {.variant = variant, .coefficients = coefficients, .threshold = 0.0};
}

/// The thesis transforms the bits without a window (section 7.3.3).
template <WalshVariant variant, int coefficients>
void bare(FrontEndSettings& settings) {
  walsh_fourier_with<variant, coefficients>(settings);
  settings.window = WindowKind::kNone;
}

constexpr FrontEndVariant kWalshFourierVariants[] = {
    {.name = "walsh fast 40, no window", .apply = bare<kFast, kThesisCoefficients>, .thesis = "Walsh-Fourier"},
    {.name = "walsh fast 40", .apply = walsh_fourier_with<kFast, kThesisCoefficients>},
    {.name = "walsh fast 6144", .apply = walsh_fourier_with<kFast, kSixPatterns>},
    {.name = "walsh fast 16384", .apply = walsh_fourier_with<kFast, kSixteenPatterns>},
    {.name = "walsh fast all", .apply = walsh_fourier_with<kFast, 0>},
    {.name = "walsh fast all, no window", .apply = bare<kFast, 0>, .thesis = "exact Walsh-Fourier"},
    {.name = "walsh precomputed 40",
     .use = VariantUse::kSlow,
     .apply = bare<kPrecomputed, kThesisCoefficients>,
     .thesis = "Walsh-Fourier, precomputed"},
    {.name = "walsh computed 40",
     .use = VariantUse::kSlow,
     .apply = bare<kComputed, kThesisCoefficients>,
     .thesis = "Walsh-Fourier, computed"},
};

}  // namespace

FrontEndEntry walsh_fourier_entry() {
  return {.kind = "walsh_fourier",
          .make = make_walsh_fourier,
          .make_reference = reference::make<reference::WalshFourierFrontEnd>,
          .obstacle = obstacle_of_walsh_fourier,
          .work = work_of_walsh_fourier,
          .variants = kWalshFourierVariants};
}

}  // namespace nearfield
