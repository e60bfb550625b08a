#pragma once
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "nearfield/settings.hpp"

/// The front ends that the benchmarks walk, with their settings' variants.
namespace nearfield::bench {

/// What a variant is for; a benchmark walks those it needs.
enum class VariantUse {
  kAlways,
  kSlow,    ///< the thesis's own slow ways: full runs only
  kKernels  ///< kernels of dot_product, which all give the same spectra: timing only
};

std::string_view name_of(VariantUse use);

/// One front end with one choice of settings.
struct Variant {
  std::string_view name;
  FrontEndKind kind;
  VariantUse use;
  void (*apply)(FrontEndSettings& settings);
  std::string_view thesis;  ///< which of the thesis's approaches it is; empty when it has none
};

/// Every variant of the front ends that front_end_table() holds.
std::vector<Variant> variants();

/// Those whose spectra differ from each other's; the thesis's own slow ways too when asked for.
std::vector<Variant> error_variants(bool with_slow);

/// `base` with the variant's kind and choices.
FrontEndSettings settings_of(const Variant& variant, FrontEndSettings base);

/// True when this build has the kind.
bool has_front_end(FrontEndKind kind);

/// `count` frequencies on different bins of `window_samples` samples, spread over 0 to 10 kHz, or over all bins when
/// 10 kHz has too few. Throws UsageError when there are fewer bins than that.
std::vector<double> bin_frequencies(int count, int window_samples, double sample_rate_hz);

}  // namespace nearfield::bench
