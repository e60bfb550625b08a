#include "processors/images/bands.hpp"

#include <algorithm>
#include <cmath>

#include "config/schema/front_end_kinds.hpp"
#include "core/band.hpp"

namespace nearfield {
namespace {

/// Distance in bins within which a line stands for a bin.
constexpr double kSameBin = 1e-4;

/// Sum of w^2 over the mean of w squared, of a periodic window (Harris 1978, table 1).
double noise_bandwidth_bins(WindowKind window) { return window == WindowKind::kHann ? 1.5 : 1.0; }

/// Index of the bin among the plan's frequencies; adds it if missing.
std::size_t index_of(std::size_t bin, double bin_hz, bool lines_snap, std::vector<double>& frequencies_hz) {
  const auto found = std::find_if(frequencies_hz.begin(), frequencies_hz.end(), [&](double frequency_hz) {
    const double place = frequency_hz / bin_hz;
    return std::abs((lines_snap ? std::round(place) : place) - static_cast<double>(bin)) < kSameBin;
  });
  const auto index = static_cast<std::size_t>(found - frequencies_hz.begin());
  if (found == frequencies_hz.end()) {
    frequencies_hz.push_back(static_cast<double>(bin) * bin_hz);
  }
  return index;
}

}  // namespace

BandPlan plan_bands(const FrontEndSettings& front_end, Quantity quantity, double sample_rate_hz) {
  BandPlan plan;
  plan.frequencies_hz = front_end.frequencies_hz;
  plan.lines = front_end.frequencies_hz.size();
  plan.sums_squares = quantity != Quantity::kActiveIntensity;
  const bool on_bins = schema::front_end_kind(front_end.kind).is_on_bins(front_end);
  for (const Band& band : bands_of(front_end)) {
    std::vector<BandBin>& bins = plan.bands.emplace_back();
    for (const BinShare& one : bin_shares(band, front_end, sample_rate_hz)) {
      const double bin_hz = sample_rate_hz / front_end.window_samples;
      bins.push_back(
          {.frequency = index_of(one.bin, bin_hz, on_bins, plan.frequencies_hz),
           .weight = std::pow(10.0, weighting_db(front_end.weighting, static_cast<double>(one.bin) * bin_hz) / 10.0) *
                     one.share / noise_bandwidth_bins(front_end.window)});
    }
  }
  return plan;
}

void sum_bands(const BandPlan& plan, std::span<const std::complex<float>> images, std::size_t pixels,
               std::span<float> bands) {
  const std::size_t frequencies = plan.frequencies_hz.size();
  std::vector<double> sums(pixels);
  auto to = bands.begin();
  for (std::size_t first = 0; first + frequencies * pixels <= images.size(); first += frequencies * pixels) {
    for (const std::vector<BandBin>& bins : plan.bands) {
      std::fill(sums.begin(), sums.end(), 0.0);
      for (const BandBin& bin : bins) {
        const auto image = images.subspan(first + bin.frequency * pixels, pixels);
        for (std::size_t i = 0; i < pixels; ++i) {
          const std::complex<double> value(image[i]);
          sums[i] += bin.weight * (plan.sums_squares ? 0.5 * std::norm(value) : value.real());
        }
      }
      to = std::transform(sums.begin(), sums.end(), to, [](double sum) { return static_cast<float>(sum); });
    }
  }
}

}  // namespace nearfield
