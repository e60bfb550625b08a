#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <numbers>

#include "core/frame.hpp"
#include "frontend/common/bit_ring.hpp"
#include "imaging/priors/make_mask.hpp"
#include "processors/far_field/array.hpp"
#include "processors/listen/listen.hpp"

namespace nearfield {
namespace {

/// sinc(t) times a Kaiser window of 16 samples.
double kernel_at(double t) {
  constexpr double kHalf = kListenTaps / 2.0;
  const double share = t / kHalf;
  const double window = std::cyl_bessel_i(0.0, kListenKaiserBeta * std::sqrt(std::max(0.0, 1.0 - share * share))) /
                        std::cyl_bessel_i(0.0, kListenKaiserBeta);
  return (t == 0.0 ? 1.0 : std::sin(std::numbers::pi * t) / (std::numbers::pi * t)) * window;
}

/// y(t) = sum_m g_m (r_m / r_0) p_m(t + (r_m - r_min) / c) / sum_m g_m, m over the used microphones with finite samples
/// there; p(t) = sum_n p[n] kernel(t - n).
class ListenReference : public reference::Processor {
 public:
  ListenReference(const ListenPlan& plan, const MicrophoneMask& mask)
      : reference::Processor(plan.header()), plan_(plan), microphones_(far_field::microphones_of(plan.geometry)) {
    use(mask);
  }
  void use(const MicrophoneMask& mask) final {
    used_ = plan_.used(mask);
    is_masked_ = plan_.is_masked(mask);
  }
  reference::WindowResult compute(const reference::WindowInput& window) override {
    samples_ = window.samples;
    samples_of_beams_.clear();
    for (const ListenBeam& beam : plan_.beams) {
      add_beam(beam);
    }
    return {.products = {reference::to_bytes(samples_of_beams_)}, .outcome = outcome()};
  }

 private:
  [[nodiscard]] std::size_t new_samples() const { return static_cast<std::size_t>(plan_.sizes.new_samples); }
  [[nodiscard]] double sample(std::size_t n, int channel) const {
    return samples_[n * microphones_.size() + static_cast<std::size_t>(channel)];
  }
  void add_beam(const ListenBeam& beam) {
    double nearest_m = std::numeric_limits<double>::infinity();
    for (const far_field::Position& one : microphones_) {
      nearest_m = std::min(nearest_m, listen_path_m(beam, one));
    }
    std::vector<double> sums(new_samples());
    std::vector<double> weights(new_samples());
    std::vector<int> heard(new_samples());
    for (const int channel : used_) {
      const auto m = static_cast<std::size_t>(channel);
      const double path_m = listen_path_m(beam, microphones_[m]);
      const double reference_m = plan_.reference_m > 0.0 ? plan_.reference_m : norm(beam.focus());
      const double level = beam.is_infinitely_far() ? 1.0 : path_m / reference_m;
      const double delay = (path_m - nearest_m) / plan_.sound_speed_m_s * plan_.sample_rate_hz;
      const double whole = std::min(std::floor(delay), static_cast<double>(plan_.sizes.delay_samples));
      std::array<double, kListenTaps> coefficients{};
      for (std::size_t tap = 0; tap < coefficients.size(); ++tap) {
        coefficients[tap] = kernel_at(delay - whole - (static_cast<double>(tap) - kListenTapsBefore));
      }
      for (std::size_t n = 0; n < sums.size(); ++n) {
        double pressure = 0.0;
        bool is_finite = true;
        for (std::size_t tap = 0; tap < coefficients.size(); ++tap) {
          const double value = sample(n + static_cast<std::size_t>(whole) + tap, channel);
          is_finite = is_finite && std::isfinite(value);
          pressure += coefficients[tap] * value;
        }
        if (is_finite) {
          sums[n] += plan_.shading[m] * level * pressure * plan_.pascal;
          weights[n] += plan_.shading[m];
          ++heard[n];
        }
      }
    }
    for (std::size_t n = 0; n < sums.size(); ++n) {
      const double value = heard[n] < far_field::kFewestMicrophones ? std::nan("") : sums[n] / weights[n];
      samples_of_beams_.push_back(static_cast<float>(value));
    }
  }
  [[nodiscard]] reference::Outcome outcome() const {
    reference::Outcome outcome;
    outcome.flags = is_masked_ ? std::uint32_t{kFlagMaskedMicrophones} : 0U;
    for (const int channel : used_) {
      bool is_finite = true;
      for (std::size_t n = 0; n < static_cast<std::size_t>(plan_.sizes.window_samples); ++n) {
        const double value = sample(n, channel);
        is_finite = is_finite && std::isfinite(value);
        outcome.flags |= plan_.is_full_scale && std::abs(value) >= kClipLevel ? kFlagClipped : 0U;
      }
      outcome.non_finite_microphones += is_finite ? 0 : 1;
    }
    outcome.flags |= outcome.non_finite_microphones > 0 ? kFlagNonFiniteInput : 0U;
    return outcome;
  }

  ListenPlan plan_;
  std::vector<far_field::Position> microphones_;  ///< [channel]
  std::vector<int> used_;
  bool is_masked_ = false;
  std::span<const double> samples_;
  std::vector<float> samples_of_beams_;  ///< [beam][sample] of the present window
};

}  // namespace

std::unique_ptr<reference::Processor> make_listen_reference(const ProcessorPlan& plan) {
  return std::make_unique<ListenReference>(ListenPlan(plan), make_mask(plan.array, {}));
}

}  // namespace nearfield
