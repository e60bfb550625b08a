#include <algorithm>
#include <cmath>
#include <limits>

#include "imaging/priors/make_mask.hpp"
#include "processors/beamform/history/history.hpp"
#include "processors/beamform/plan.hpp"
#include "processors/beamform/published_reference.hpp"
#include "processors/beamform/snapshots.hpp"

/// Delay and sum by its definition: a steering vector h for each pixel and frequency, and B = sum_m conj(h_m) P_m.
namespace nearfield::reference {
namespace {

using far_field::Position;

/// Results at a pixel.
struct Value {
  Complex beam;        ///< h^H P, Pa
  double power = 0.0;  ///< for one snapshot, with its diagonal removed if set, Pa^2
};

class Beamform : public Processor {
 public:
  explicit Beamform(const BeamformPlan& plan)
      : Processor(header_of(plan)),
        plan_(plan),
        array_(plan_),
        sums_(plan_.is_averaged() ? plan_.frequencies() * plan_.pixels() : 0),
        weights_(sums_.size()),
        published_(sums_.size(), std::numeric_limits<float>::quiet_NaN()),
        losses_(LossesOfAverage()),
        of_powers_(plan_),
        of_pressures_(plan_) {
    use(make_mask(plan_.array, {}));
  }
  void forget() override {
    plan_.snapshots.forget();
    losses_.held().forget();
    std::fill(published_.begin(), published_.end(), std::numeric_limits<float>::quiet_NaN());
  }
  std::uint64_t complete(const WindowToRead& of, OwnedProducts& /*products*/) override {
    if (!plan_.is_averaged()) {
      return 0;
    }
    losses_.stamp(of);
    return losses_.missing_bit_times(of.window);
  }
  void use(const MicrophoneMask& mask) final {
    array_.use(mask);
    if (plan_.is_averaged()) {
      of_powers_.use(array_, mask);
    } else {
      of_pressures_.use(array_, mask);
    }
  }
  WindowResult compute(const WindowInput& window) override {
    const Outcome outcome = array_.choose(window.spectra);
    if (!plan_.is_averaged()) {
      return {.products = of_pressures_.products(map_of(window.spectra), 1.0F), .outcome = outcome};
    }
    if (window.window == 0) {
      losses_.begin();
    }
    const Snapshots::Step step = plan_.snapshots.next();
    losses_.next(step);
    if (step.is_snapshot) {
      add_snapshot(window.spectra, step);
    }
    return {.products = of_powers_.products(published_, static_cast<float>(plan_.snapshots.effective())),
            .outcome = outcome};
  }

 private:
  Value value_of(std::span<const Complex> spectra, std::size_t frequency, std::size_t pixel) {
    constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
    if (array_.used().empty() || std::isnan(plan_.grid.pixels[pixel].x)) {
      return {.beam = {kNan, kNan}, .power = kNan};
    }
    steering_ = array_.steer(array_.used(), pixel, frequency);
    weights_of_ = weights_of(plan_, array_.used(), steering_);
    const std::vector<std::size_t>& used = array_.used();
    Value value;
    Complex of_source = 0.0;       // h^H a
    double diagonal = 0.0;         // sum |h|^2 |P|^2
    double diagonal_source = 0.0;  // sum |h|^2 |a|^2
    for (std::size_t i = 0; i < used.size(); ++i) {
      const Complex pressure = array_.pressure(spectra, frequency, used[i]);
      value.beam += std::conj(weights_of_[i]) * pressure;
      of_source += std::conj(weights_of_[i]) * steering_[i];
      diagonal += std::norm(weights_of_[i]) * std::norm(pressure);
      diagonal_source += std::norm(weights_of_[i]) * std::norm(steering_[i]);
    }
    value.power = 0.5 * std::norm(value.beam);
    if (plan_.settings.removes_diagonal()) {
      const double s = std::norm(of_source);
      value.power = s / (s - diagonal_source) * (value.power - 0.5 * diagonal);
    }
    return value;
  }
  std::vector<std::complex<float>> map_of(std::span<const Complex> spectra) {
    std::vector<std::complex<float>> map;
    for (std::size_t f = 0; f < plan_.frequencies(); ++f) {
      for (std::size_t pixel = 0; pixel < plan_.pixels(); ++pixel) {
        const Complex beam = value_of(spectra, f, pixel).beam;
        map.emplace_back(static_cast<float>(beam.real()), static_cast<float>(beam.imag()));
      }
    }
    return map;
  }
  void add_snapshot(std::span<const Complex> spectra, const Snapshots::Step& step) {
    for (std::size_t i = 0; i < sums_.size(); ++i) {
      const Value value = value_of(spectra, i / plan_.pixels(), i % plan_.pixels());
      const bool counts = !std::isnan(value.power);
      sums_[i] = step.keep * sums_[i] + (counts ? value.power : 0.0);
      weights_[i] = step.keep * weights_[i] + (counts ? 1.0 : 0.0);
      if (step.publishes) {
        published_[i] = weights_[i] > 0.0 ? static_cast<float>(std::max(sums_[i] / weights_[i], 0.0))
                                          : std::numeric_limits<float>::quiet_NaN();
      }
    }
  }

  BeamformPlan plan_;
  Array array_;
  std::vector<Complex> steering_;    ///< a_m, [index of array_.used()]
  std::vector<Complex> weights_of_;  ///< h_m, [index of array_.used()]
  std::vector<double> sums_;         ///< for an average, [frequency][pixel]
  std::vector<double> weights_;      ///< likewise
  std::vector<float> published_;     ///< likewise
  StampedLosses<LossesOfAverage> losses_;
  Published<float> of_powers_;                   ///< used with an average
  Published<std::complex<float>> of_pressures_;  ///< used without one
};

}  // namespace
}  // namespace nearfield::reference

namespace nearfield {

std::unique_ptr<reference::Processor> make_beamform_reference(const ProcessorPlan& plan) {
  const BeamformPlan own(plan);
  if (own.is_history()) {
    return history::make_reference(own);
  }
  return std::make_unique<reference::Beamform>(own);
}

}  // namespace nearfield
