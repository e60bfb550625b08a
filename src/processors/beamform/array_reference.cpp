#include "processors/beamform/array_reference.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>

namespace nearfield::reference {

void Array::use(const MicrophoneMask& mask) {
  std::fill(masked_.begin(), masked_.end(), false);
  for (const std::int32_t channel : mask.channels) {
    masked_[static_cast<std::size_t>(channel)] = true;
  }
}

Outcome Array::choose(std::span<const Complex> spectra) {
  Outcome outcome;
  used_.clear();
  for (std::size_t m = 0; m < plan_->channels(); ++m) {
    bool is_finite = true;
    for (std::size_t f = 0; f < plan_->frequencies(); ++f) {
      const Complex value = spectra[f * plan_->channels() + m];
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

std::vector<std::size_t> Array::unmasked() const {
  std::vector<std::size_t> channels;
  for (std::size_t m = 0; m < masked_.size(); ++m) {
    if (!masked_[m]) {
      channels.push_back(m);
    }
  }
  return channels.size() < static_cast<std::size_t>(kFewestMicrophones) ? std::vector<std::size_t>() : channels;
}

Complex Array::pressure(std::span<const Complex> spectra, std::size_t frequency, std::size_t channel) const {
  const std::size_t i = frequency * plan_->channels() + channel;
  return plan_->array.gains.empty() ? spectra[i] : Complex(plan_->array.gains[i]) * spectra[i];
}

std::vector<Complex> Array::steer(const std::vector<std::size_t>& channels, std::size_t pixel_index,
                                  std::size_t frequency) const {
  std::vector<Complex> steering;
  if (plan_->is_measured()) {
    const std::size_t first = (frequency * plan_->pixels() + pixel_index) * plan_->channels();
    for (const std::size_t m : channels) {
      steering.push_back(Complex(plan_->templates[first + m]));
    }
    return steering;
  }
  const far_field::Position& pixel = plan_->grid.pixels[pixel_index];
  const double k = 2.0 * std::numbers::pi * plan_->waves_per_m(frequency);
  const double reference_m = plan_->settings.steering.reference_m;
  for (const std::size_t m : channels) {
    const far_field::Position& microphone = plan_->microphones[m];
    if (plan_->is_plane_wave) {
      steering.push_back(std::polar(1.0, k * dot(pixel, microphone)));
      continue;
    }
    const double r = distance(pixel, microphone);
    const double r_0 = reference_m > 0.0 ? reference_m : norm(pixel);
    const double magnitude = r < kNearest_m ? std::numeric_limits<double>::quiet_NaN() : r_0 / r;
    steering.push_back(magnitude * Complex(std::cos(k * (r - r_0)), -std::sin(k * (r - r_0))));
  }
  return steering;
}

}  // namespace nearfield::reference
