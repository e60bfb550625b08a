#include <algorithm>
#include <cmath>
#include <numbers>

#include "frontend/common/bit_ring.hpp"
#include "frontend/samples/samples_reference.hpp"
#include "processors/levels/levels.hpp"

namespace nearfield {
namespace {

/// sum_k s_k A(f_k)^2 2 |X(k) / H(f_k)|^2 / (N sum_n w[n]^2), with X(k) = sum_n w[n] (y[n] - mean) e^{-j 2 pi k n / N}.
class LevelsReference : public reference::Processor {
 public:
  explicit LevelsReference(const LevelsPlan& plan) : reference::Processor(plan.header()), plan_(plan) {
    const auto count = static_cast<double>(plan_.window_samples);
    for (std::size_t n = 0; n < plan_.window_samples; ++n) {
      roots_.push_back(std::polar(1.0, -2.0 * std::numbers::pi * static_cast<double>(n) / count));
      taper_.push_back(0.5 - 0.5 * roots_.back().real());
      squares_ += taper_.back() * taper_.back();
    }
    if (plan_.is_full_scale) {
      impulse_ = reference::impulse_response();
      full_scale_pa_ = std::sqrt(2.0) / std::pow(10.0, plan_.sensitivity_dbfs / 20.0);
    }
  }
  void use(const MicrophoneMask& /*mask*/) override {}
  reference::WindowResult compute(const reference::WindowInput& window) override {
    levels_.assign(plan_.sums.size() * plan_.channels(), 0.0F);
    peaks_.clear();
    offsets_.clear();
    for (std::size_t channel = 0; channel < plan_.channels(); ++channel) {
      add_microphone(channel, window.samples);
    }
    const auto bytes = [](const std::vector<float>& values) { return reference::to_bytes(values); };
    const auto bands = levels_.begin() + static_cast<std::ptrdiff_t>(plan_.channels());
    reference::WindowResult result;
    result.products.push_back(bytes({levels_.begin(), bands}));
    if (plan_.sums.size() > 1) {
      result.products.push_back(bytes({bands, levels_.end()}));
    }
    result.products.push_back(bytes(peaks_));
    result.products.push_back(bytes(offsets_));
    return result;
  }

 private:
  void add_microphone(std::size_t channel, std::span<const double> samples) {
    std::vector<double> line;
    double sum = 0.0;
    double largest = 0.0;
    for (std::size_t n = 0; n < plan_.window_samples; ++n) {
      line.push_back(samples[n * plan_.channels() + channel]);
      sum += line.back();
      largest = std::max(largest, std::abs(line.back()));
    }
    const double mean = sum / static_cast<double>(line.size());
    const bool is_finite = std::isfinite(sum);
    offsets_.push_back(is_finite ? static_cast<float>(full_scale_pa_ * mean) : std::nanf(""));
    peaks_.push_back(is_finite ? static_cast<float>(full_scale_pa_ * largest) : std::nanf(""));
    for (std::size_t s = 0; s < plan_.sums.size(); ++s) {
      double level = 0.0;
      for (const BinShare& one : plan_.sums[s]) {
        reference::Complex value = 0.0;
        for (std::size_t n = 0; n < line.size(); ++n) {
          value += taper_[n] * (line[n] - mean) * roots_[one.bin * n % roots_.size()];
        }
        const double weighting = std::pow(10.0, weighting_db(plan_.weighting, plan_.frequency_hz(one.bin)) / 10.0);
        level += one.share * weighting * 2.0 * std::norm(value * pascal(one.bin)) /
                 (static_cast<double>(line.size()) * squares_);
      }
      levels_[s * plan_.channels() + channel] = static_cast<float>(std::isfinite(level) ? level : std::nan(""));
    }
  }
  /// Pascal per unit of a sample's amplitude.
  [[nodiscard]] double pascal(std::size_t bin) const {
    if (!plan_.is_full_scale) {
      return 1.0;
    }
    const double bit_rate_hz = plan_.sample_rate_hz * kBitsPerWord;
    return full_scale_pa_ / std::abs(reference::response(impulse_, plan_.frequency_hz(bin), bit_rate_hz));
  }

  LevelsPlan plan_;
  std::vector<reference::Complex> roots_;  ///< [n], e^{-j 2 pi n / N}
  std::vector<double> taper_;              ///< [n]
  double squares_ = 0.0;                   ///< sum of the taper's
  std::vector<double> impulse_;            ///< impulse response of the decimator; empty for pascal
  double full_scale_pa_ = 1.0;             ///< peak
  std::vector<float> levels_;              ///< [sum][microphone] of the present window
  std::vector<float> peaks_;               ///< [microphone], like the next
  std::vector<float> offsets_;
};

}  // namespace

std::unique_ptr<reference::Processor> make_levels_reference(const ProcessorPlan& plan) {
  return std::make_unique<LevelsReference>(LevelsPlan(plan));
}

}  // namespace nearfield
