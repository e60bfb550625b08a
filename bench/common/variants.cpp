#include "bench/common/variants.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "bench/common/figures.hpp"
#include "config/schema/front_end_kinds.hpp"
#include "core/error.hpp"

namespace nearfield::bench {
bool has_front_end(std::string_view kind) {
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
  std::vector<Variant> all;
  for (const FrontEndEntry& entry : front_end_table()) {
    for (const FrontEndVariant& variant : entry.variants) {
      all.push_back({variant, entry.kind});
    }
    if (entry.variants.empty()) {
      all.push_back({{.name = entry.kind}, entry.kind});
    }
  }
  return all;
}

std::vector<std::string> kinds_from_the_default_on() {
  std::vector<schema::FrontEndKind> kinds = schema::front_end_kinds_default_first();
  std::stable_partition(kinds.begin() + 1, kinds.end(), [](const auto& kind) { return !kind.any_frequency.empty(); });
  std::vector<std::string> names;
  for (const schema::FrontEndKind& kind : kinds) {
    names.emplace_back(kind.name);
  }
  return names;
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
