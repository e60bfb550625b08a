#include "bench/common/variants.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <iterator>

#include "frontend/front_end.hpp"
#include "nearfield/error.hpp"

namespace nearfield::bench {
namespace {

constexpr double kTopFrequency_hz = 10000.0;
constexpr int kThesisCoefficients = 40;
/// All that six and sixteen in-word patterns hold in a window of 1024 words; fewer of them cost the same.
constexpr int kSixPatterns = 6144;
constexpr int kSixteenPatterns = 16384;

template <DotKernel kernel>
void dot_kernel(FrontEndSettings& s) {
  s.dot_kernel = kernel;
}

template <int order, WordTransform transform>
void popcount(FrontEndSettings& s) {
  s.popcount = {.order = order, .transform = transform};
}

/// The thesis's way: every frame sums its whole window.
template <DotKernel kernel>
void whole_windows(FrontEndSettings& s) {
  s.dot_kernel = kernel;
  s.incremental = Incremental::kNever;
}

void popcount_of_whole_windows(FrontEndSettings& s) {
  popcount<1, WordTransform::kDot>(s);
  s.incremental = Incremental::kNever;
}

/// The thesis averages without a window (section 7.3.2).
void basic_averaging(FrontEndSettings& s) {
  popcount<0, WordTransform::kDot>(s);
  s.window = WindowKind::kNone;
}

template <WalshVariant variant, int coefficients>
void walsh(FrontEndSettings& s) {
  s.walsh_fourier = {.variant = variant, .coefficients = coefficients, .threshold = 0.0};
}

/// The thesis transforms the bits without a window (section 7.3.3).
template <WalshVariant variant, int coefficients>
void bare_walsh(FrontEndSettings& s) {
  walsh<variant, coefficients>(s);
  s.window = WindowKind::kNone;
}

using enum FrontEndKind;
using enum VariantUse;
using enum WalshVariant;

constexpr Variant kVariants[] = {
    {"decimated_fft", kDecimatedFft, kAlways, [](FrontEndSettings&) {}, "nominal"},
    {"dot_product", kDotProduct, kAlways, dot_kernel<DotKernel::kAuto>, ""},
    {"dot_product, whole windows", kDotProduct, kAlways, whole_windows<DotKernel::kAuto>, "n dot products"},
    {"dot_product plain", kDotProduct, kKernels, dot_kernel<DotKernel::kPlain>, "n dot products, odd n"},
    {"dot_product mirrored", kDotProduct, kKernels, dot_kernel<DotKernel::kMirrored>, "n dot products, even n"},
    {"dot_product four_output", kDotProduct, kKernels, dot_kernel<DotKernel::kFourOutput>,
     "n dot products, multiples of 4"},
    {"dot_product tiled", kDotProduct, kKernels, dot_kernel<DotKernel::kTiled>, ""},
    {"dot_product gemm", kDotProduct, kKernels, dot_kernel<DotKernel::kGemm>, "cBLAS"},
    {"popcount 0, no window", kPopcount, kAlways, basic_averaging, "basic averaging"},
    {"popcount 0", kPopcount, kAlways, popcount<0, WordTransform::kDot>, ""},
    {"popcount 1", kPopcount, kAlways, popcount<1, WordTransform::kDot>, ""},
    {"popcount 1, whole windows", kPopcount, kAlways, popcount_of_whole_windows, ""},
    {"popcount 2", kPopcount, kAlways, popcount<2, WordTransform::kDot>, ""},
    {"popcount 1 fft", kPopcount, kAlways, popcount<1, WordTransform::kFft>, ""},
    {"popcount 2 fft", kPopcount, kAlways, popcount<2, WordTransform::kFft>, ""},
    {"walsh fast 40, no window", kWalshFourier, kAlways, bare_walsh<kFast, kThesisCoefficients>, "Walsh-Fourier"},
    {"walsh fast 40", kWalshFourier, kAlways, walsh<kFast, kThesisCoefficients>, ""},
    {"walsh fast 6144", kWalshFourier, kAlways, walsh<kFast, kSixPatterns>, ""},
    {"walsh fast 16384", kWalshFourier, kAlways, walsh<kFast, kSixteenPatterns>, ""},
    {"walsh fast all", kWalshFourier, kAlways, walsh<kFast, 0>, ""},
    {"walsh fast all, no window", kWalshFourier, kAlways, bare_walsh<kFast, 0>, "exact Walsh-Fourier"},
    {"walsh precomputed 40", kWalshFourier, kSlow, bare_walsh<kPrecomputed, kThesisCoefficients>,
     "Walsh-Fourier, precomputed"},
    {"walsh computed 40", kWalshFourier, kSlow, bare_walsh<kComputed, kThesisCoefficients>, "Walsh-Fourier, computed"},
};

}  // namespace

bool has_front_end(FrontEndKind kind) {
  const std::span<const FrontEndEntry> table = front_end_table();
  return std::any_of(table.begin(), table.end(), [&](const FrontEndEntry& entry) { return entry.kind == kind; });
}

std::string_view name_of(VariantUse use) {
  switch (use) {
    case VariantUse::kAlways:
      return "always";
    case VariantUse::kSlow:
      return "slow";
    case VariantUse::kKernels:
      return "kernels";
  }
  return "unknown";
}

std::vector<Variant> variants() {
  std::vector<Variant> present;
  std::copy_if(std::begin(kVariants), std::end(kVariants), std::back_inserter(present),
               [](const Variant& variant) { return has_front_end(variant.kind); });
  return present;
}

std::vector<Variant> error_variants(bool with_slow) {
  std::vector<Variant> some = variants();
  std::erase_if(some, [&](const Variant& variant) {
    return variant.use == VariantUse::kKernels || (variant.use == VariantUse::kSlow && !with_slow);
  });
  return some;
}

FrontEndSettings settings_of(const Variant& variant, FrontEndSettings base) {
  base.kind = variant.kind;
  variant.apply(base);
  return base;
}

std::vector<double> bin_frequencies(int count, int window_samples, double sample_rate_hz) {
  const double bin_hz = sample_rate_hz / window_samples;
  const int all = (window_samples + 1) / 2 - 1;
  const int low = std::min(all, static_cast<int>(kTopFrequency_hz / bin_hz));
  const int bins = count <= low ? low : all;
  if (count < 1 || count > bins) {
    throw UsageError(fmt::format("--n: expected 1 to {} frequencies, found {}", all, count));
  }
  std::vector<double> frequencies_hz;
  for (int i = 0; i < count; ++i) {
    const int bin = 1 + static_cast<int>((i + 0.5) * bins / count);
    frequencies_hz.push_back(std::min(bin, bins) * bin_hz);
  }
  return frequencies_hz;
}

}  // namespace nearfield::bench
