#pragma once
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "frontend/front_end.hpp"

/// The front ends that the benchmarks walk, with their settings' variants.
namespace nearfield::bench {

std::string_view name_of(VariantUse use);

/// One front end with one choice of settings.
struct Variant : FrontEndVariant {
  std::string_view kind = {};
};

/// Every variant of the front ends that front_end_table() holds.
std::vector<Variant> variants();

/// `base` with the variant's kind and choices.
FrontEndSettings settings_of(const Variant& variant, FrontEndSettings base);

/// Every kind: the default, then those that take any frequency, then the others.
std::vector<std::string> kinds_from_the_default_on();

/// True when this build has the kind.
bool has_front_end(std::string_view kind);

/// `count` frequencies on different bins of `window_samples` samples, spread over 0 to 10 kHz, or over all bins when
/// 10 kHz has too few. Throws UsageError when there are fewer bins than that.
std::vector<double> bin_frequencies(int count, int window_samples, double sample_rate_hz);

}  // namespace nearfield::bench
