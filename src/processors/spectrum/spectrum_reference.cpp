#include <algorithm>
#include <cmath>
#include <numbers>

#include "core/frame.hpp"
#include "frontend/common/bit_ring.hpp"
#include "frontend/samples/samples_reference.hpp"
#include "imaging/priors/make_mask.hpp"
#include "processors/spectrum/spectrum.hpp"

namespace nearfield {
namespace {

/// |X(k)| = g_k |sum_n w[n] y[n] e^{-j 2 pi k n / N}| / (sum_n w[n] |H(k)|), g_k = 2, and 1 for bins without a
/// counterpart.
class SpectrumReference : public reference::Processor {
 public:
  explicit SpectrumReference(const SpectrumPlan& plan)
      : reference::Processor(plan.header()), plan_(plan), microphones_(plan.nearest(make_mask(plan.array, {}))) {
    const auto count = static_cast<double>(plan_.window_samples);
    for (std::size_t n = 0; n < plan_.window_samples; ++n) {
      roots_.push_back(std::polar(1.0, -2.0 * std::numbers::pi * static_cast<double>(n) / count));
    }
    for (std::size_t n = 0; n < plan_.window_samples; ++n) {
      const std::span<const double> terms = cosine_terms(plan_.taper);
      double value = 0.0;
      for (std::size_t k = 0; k < terms.size(); ++k) {
        value += terms[k] * roots_[k * n % roots_.size()].real();
      }
      taper_.push_back(value);
      taper_sum_ += value;
    }
    if (plan_.is_full_scale) {
      impulse_ = reference::impulse_response();
    }
  }
  void use(const MicrophoneMask& mask) override { microphones_ = plan_.nearest(mask); }
  reference::WindowResult compute(const reference::WindowInput& window) override {
    reference::Outcome outcome;
    levels_.clear();
    for (const std::uint32_t channel : microphones_) {
      add_point(channel, window.samples, outcome);
    }
    return {.products = {reference::to_bytes(levels_), reference::to_bytes(microphones_)}, .outcome = outcome};
  }

 private:
  void add_point(std::uint32_t channel, std::span<const double> samples, reference::Outcome& outcome) {
    const auto channels = static_cast<std::size_t>(plan_.array.geometry.channels());
    if (channel == kNoMicrophone) {
      levels_.insert(levels_.end(), plan_.bins(), std::nanf(""));
      return;
    }
    std::vector<double> line;
    for (std::size_t n = 0; n < plan_.window_samples; ++n) {
      const double sample = samples[n * channels + channel];
      line.push_back(taper_[n] * sample);
      outcome.flags |= plan_.is_full_scale && std::abs(sample) >= kClipLevel ? kFlagClipped : 0U;
    }
    for (std::size_t bin = 0; bin < plan_.bins(); ++bin) {
      reference::Complex sum = 0.0;
      for (std::size_t n = 0; n < line.size(); ++n) {
        sum += line[n] * roots_[bin * n % roots_.size()];
      }
      const double amplitude = (plan_.is_single(bin) ? 1.0 : 2.0) * std::abs(sum) / taper_sum_ * pascal(bin);
      levels_.push_back(static_cast<float>(std::isfinite(amplitude) ? amplitude : std::nan("")));
    }
  }
  /// Pascal per unit of a sample's amplitude.
  [[nodiscard]] double pascal(std::size_t bin) const {
    if (!plan_.is_full_scale) {
      return 1.0;
    }
    const double bit_rate_hz = plan_.sample_rate_hz * kBitsPerWord;
    const double gain = std::abs(reference::response(impulse_, plan_.frequency_hz(bin), bit_rate_hz));
    return std::sqrt(2.0) / std::pow(10.0, plan_.sensitivity_dbfs / 20.0) / gain;
  }

  SpectrumPlan plan_;
  std::vector<std::uint32_t> microphones_;  ///< [point]
  std::vector<reference::Complex> roots_;   ///< [n], e^{-j 2 pi n / N}
  std::vector<double> taper_;               ///< [n]
  double taper_sum_ = 0.0;
  std::vector<double> impulse_;  ///< impulse response of the decimator; empty for pascal
  std::vector<float> levels_;    ///< [point][bin] of the present window
};

}  // namespace

std::unique_ptr<reference::Processor> make_spectrum_reference(const ProcessorPlan& plan) {
  return std::make_unique<SpectrumReference>(SpectrumPlan(plan));
}

}  // namespace nearfield
