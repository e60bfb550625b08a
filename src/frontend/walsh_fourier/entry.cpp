#include <fmt/format.h>

#include <bit>

#include "config/schema/front_end_kinds.hpp"
#include "frontend/common/work.hpp"
#include "frontend/walsh_fourier/settings.hpp"
#include "frontend/walsh_fourier/walsh_fourier.hpp"
#include "frontend/walsh_fourier/walsh_fourier_reference.hpp"

namespace nearfield {
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
