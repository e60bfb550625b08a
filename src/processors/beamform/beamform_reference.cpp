#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <numbers>

#include "processors/beamform/plan.hpp"

/// Delay and sum by its definition: a steering vector h for each pixel and frequency, and B = sum_m conj(h_m) P_m.
namespace nearfield::reference {
namespace {

using far_field::Formulation;
using far_field::Position;

/// What is computed of a pixel.
struct Value {
  Complex beam;        ///< h^H P, Pa
  double power = 0.0;  ///< of one snapshot, its diagonal removed where that is asked for, Pa^2
};

class Beamform : public Processor {
 public:
  explicit Beamform(const ProcessorPlan& plan)
      : plan_(plan),
        header_(header_of(plan_)),
        masked_(plan_.channels()),
        sums_(plan_.is_averaged() ? plan_.frequencies() * plan_.pixels() : 0),
        weights_(sums_.size()),
        published_(sums_.size(), std::numeric_limits<float>::quiet_NaN()) {
    use(make_mask(plan_.array, {}));
  }
  [[nodiscard]] ResultHeader header() const override { return header_; }
  void forget() override {
    plan_.snapshots.forget();
    std::fill(published_.begin(), published_.end(), std::numeric_limits<float>::quiet_NaN());
  }
  void clear() override {
    maps_.clear();
    powers_.clear();
    figures_.clear();
  }
  Outcome add(std::span<const Complex> spectra) override {
    const Outcome outcome = choose_microphones(spectra);
    if (!plan_.is_averaged()) {
      add_map(spectra);
      return outcome;
    }
    const Snapshots::Step step = plan_.snapshots.next();
    if (step.is_snapshot) {
      add_snapshot(spectra, step);
    }
    powers_.insert(powers_.end(), published_.begin(), published_.end());
    figures_.insert(figures_.end(), plan_.frequencies(), static_cast<float>(plan_.snapshots.effective()));
    return outcome;
  }
  Products products(std::size_t window) override {
    const std::size_t values = plan_.frequencies() * plan_.pixels();
    if (!plan_.is_averaged()) {
      products_[0] = std::as_bytes(std::span(maps_).subspan(window * values, values));
      return std::span(products_).first(1);
    }
    products_[0] = std::as_bytes(std::span(figures_).subspan(window * plan_.frequencies(), plan_.frequencies()));
    products_[1] = std::as_bytes(std::span(powers_).subspan(window * values, values));
    return products_;
  }
  void use(const MicrophoneMask& mask) final {
    std::fill(masked_.begin(), masked_.end(), false);
    for (const std::int32_t channel : mask.channels) {
      masked_[static_cast<std::size_t>(channel)] = true;
    }
  }

 private:
  [[nodiscard]] Complex gain(std::size_t frequency, std::size_t channel) const {
    return plan_.array.gains.empty() ? Complex(1.0)
                                     : Complex(plan_.array.gains[frequency * plan_.channels() + channel]);
  }
  /// Fills used_.
  Outcome choose_microphones(std::span<const Complex> spectra) {
    Outcome outcome;
    used_.clear();
    for (std::size_t m = 0; m < plan_.channels(); ++m) {
      bool is_finite = true;
      for (std::size_t f = 0; f < plan_.frequencies(); ++f) {
        const Complex value = spectra[f * plan_.channels() + m];
        is_finite =
            is_finite && std::abs(value.real()) < kLargestPressure_pa && std::abs(value.imag()) < kLargestPressure_pa;
      }
      if (masked_[m]) {
        outcome.flags |= kFlagMaskedMicrophones;
      } else if (!is_finite) {
        outcome.flags |= kFlagNonFiniteInput;
        ++outcome.non_finite_microphones;
      } else {
        used_.push_back(m);
      }
    }
    if (used_.size() < static_cast<std::size_t>(kFewestMicrophones)) {
      outcome.flags |= kFlagMaskedMicrophones;
      used_.clear();
    }
    return outcome;
  }
  /// a_m, the pressure at each used microphone of a source at a pixel that makes the pressure 1 at the reference.
  void steer(const Position& pixel, double k) {
    steering_.clear();
    const double reference_m = plan_.settings.steering.reference_m;
    for (const std::size_t m : used_) {
      const Position& microphone = plan_.microphones[m];
      if (plan_.is_plane_wave) {
        steering_.push_back(std::polar(1.0, k * dot(pixel, microphone)));
        continue;
      }
      const double r = distance(pixel, microphone);
      const double r_0 = reference_m > 0.0 ? reference_m : norm(pixel);
      const double magnitude = r < kNearest_m ? std::numeric_limits<double>::quiet_NaN() : r_0 / r;
      steering_.push_back(magnitude * Complex(std::cos(k * (r - r_0)), -std::sin(k * (r - r_0))));
    }
  }
  /// h_m of the formulation, from a_m.
  void weigh() {
    double sum_g = 0.0;
    double sum_g_a2 = 0.0;
    const auto microphones = static_cast<double>(used_.size());
    for (std::size_t i = 0; i < used_.size(); ++i) {
      sum_g += plan_.shading[used_[i]];
    }
    for (std::size_t i = 0; i < used_.size(); ++i) {
      sum_g_a2 += plan_.shading[used_[i]] * microphones / sum_g * std::norm(steering_[i]);
    }
    weights_of_.resize(used_.size());
    for (std::size_t i = 0; i < used_.size(); ++i) {
      const double g = plan_.shading[used_[i]] * microphones / sum_g;  // their sum is the number of microphones
      const Complex a = steering_[i];
      switch (plan_.settings.steering.formulation) {
        case Formulation::kClassic:
          weights_of_[i] = g * a / (microphones * std::abs(a));
          break;
        case Formulation::kInverse:
          weights_of_[i] = g * a / (microphones * std::norm(a));
          break;
        case Formulation::kTrueLevel:
          weights_of_[i] = g * a / sum_g_a2;
          break;
        case Formulation::kTrueLocation:
          weights_of_[i] = g * a / std::sqrt(microphones * sum_g_a2);
          break;
      }
    }
  }
  Value value_of(std::span<const Complex> spectra, std::size_t frequency, const Position& pixel) {
    constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
    if (used_.empty() || std::isnan(pixel.x)) {
      return {.beam = {kNan, kNan}, .power = kNan};
    }
    steer(pixel, 2.0 * std::numbers::pi * plan_.waves_per_m(frequency));
    weigh();
    Value value;
    Complex of_source = 0.0;       // h^H a
    double diagonal = 0.0;         // sum |h|^2 |P|^2
    double diagonal_source = 0.0;  // sum |h|^2 |a|^2
    for (std::size_t i = 0; i < used_.size(); ++i) {
      const Complex pressure = gain(frequency, used_[i]) * spectra[frequency * plan_.channels() + used_[i]];
      value.beam += std::conj(weights_of_[i]) * pressure;
      of_source += std::conj(weights_of_[i]) * steering_[i];
      diagonal += std::norm(weights_of_[i]) * std::norm(pressure);
      diagonal_source += std::norm(weights_of_[i]) * std::norm(steering_[i]);
    }
    value.power = 0.5 * std::norm(value.beam);
    if (plan_.settings.diagonal_removal) {
      const double s = std::norm(of_source);
      value.power = s / (s - diagonal_source) * (value.power - 0.5 * diagonal);
    }
    return value;
  }
  void add_map(std::span<const Complex> spectra) {
    for (std::size_t f = 0; f < plan_.frequencies(); ++f) {
      for (const Position& pixel : plan_.grid.pixels) {
        const Complex beam = value_of(spectra, f, pixel).beam;
        maps_.emplace_back(static_cast<float>(beam.real()), static_cast<float>(beam.imag()));
      }
    }
  }
  void add_snapshot(std::span<const Complex> spectra, const Snapshots::Step& step) {
    for (std::size_t i = 0; i < sums_.size(); ++i) {
      const Value value = value_of(spectra, i / plan_.pixels(), plan_.grid.pixels[i % plan_.pixels()]);
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
  ResultHeader header_;
  std::vector<bool> masked_;               ///< [channel]
  std::vector<std::size_t> used_;          ///< channels of the present window; empty where there are too few
  std::vector<Complex> steering_;          ///< a_m, [index of used_]
  std::vector<Complex> weights_of_;        ///< h_m, [index of used_]
  std::vector<double> sums_;               ///< of an average, [frequency][pixel]
  std::vector<double> weights_;            ///< likewise
  std::vector<float> published_;           ///< likewise
  std::vector<std::complex<float>> maps_;  ///< [window][frequency][pixel]
  std::vector<float> powers_;              ///< likewise, of an average
  std::vector<float> figures_;             ///< [window][frequency]
  std::array<std::span<const std::byte>, 2> products_;
};

}  // namespace
}  // namespace nearfield::reference

namespace nearfield {

std::unique_ptr<reference::Processor> make_beamform_reference(const ProcessorPlan& plan) {
  return std::make_unique<reference::Beamform>(plan);
}

}  // namespace nearfield
