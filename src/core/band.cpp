#include "core/band.hpp"

#include <algorithm>
#include <cmath>

#include "core/settings.hpp"

namespace nearfield {

std::vector<BinShare> bin_shares(const Band& band, const FrontEndSettings& front_end, double sample_rate_hz) {
  constexpr double kRounding = 1e-9;  // a bin that a band only touches is excluded
  const double low = band.low_hz * front_end.window_samples / sample_rate_hz;
  const double high = band.high_hz * front_end.window_samples / sample_rate_hz;
  const double last = std::ceil(front_end.window_samples / 2.0) - 1.0;
  std::vector<BinShare> shares;
  for (double bin = std::max(1.0, std::floor(low)); bin <= std::min(last, std::ceil(high)); ++bin) {
    const double share = std::min(high, bin + 0.5) - std::max(low, bin - 0.5);
    if (share > kRounding * bin) {
      shares.push_back({.bin = static_cast<std::size_t>(bin), .share = share > 1.0 - kRounding * bin ? 1.0 : share});
    }
  }
  return shares;
}

}  // namespace nearfield
