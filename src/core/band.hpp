#pragma once
#include <cstddef>
#include <vector>

namespace nearfield {

struct FrontEndSettings;

/// Frequencies from `low_hz` to below `high_hz`.
struct Band {
  double low_hz = 0.0;
  double high_hz = 0.0;
  friend bool operator==(const Band&, const Band&) = default;
};

/// Share of a bin that a band covers; bin b extends from half a bin below b to half a bin above it.
struct BinShare {
  std::size_t bin = 0;
  double share = 1.0;  ///< above 0, at most 1
};
/// The bins whose powers add up to a band, excluding 0 and half the sample rate and above, ascending. The shares of
/// adjacent bands add up to 1, and those of one band to its width in bins, so that white noise has its level.
std::vector<BinShare> bin_shares(const Band& band, const FrontEndSettings& front_end, double sample_rate_hz);

}  // namespace nearfield
