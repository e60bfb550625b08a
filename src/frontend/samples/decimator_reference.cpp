#include "frontend/samples/decimator_reference.hpp"

#include <cmath>
#include <numbers>

namespace nearfield::reference {
namespace {

constexpr int kTaps = 80;
constexpr double kAttenuationDb = 105.0;
constexpr int kFirFactor = 4;
constexpr int kDecimation = 32;
constexpr double kFullScale = 32768.0;
constexpr std::size_t kMaxRecent = 4096;

/// Modified Bessel function of order 0 by its power series (Abramowitz and Stegun 9.6.12).
double bessel_i0(double x) {
  double term = 1.0;
  double sum = 1.0;
  for (int k = 1; term > 1e-17 * sum; ++k) {
    term *= (x / 2.0) * (x / 2.0) / (static_cast<double>(k) * k);
    sum += term;
  }
  return sum;
}

/// |CIC| at `omega` radians per CIC output: the fifth power of the mean of eight phasors.
double cic_magnitude(double omega) {
  std::complex<double> sum = 0.0;
  for (int bit = 0; bit < 8; ++bit) {
    sum += std::polar(1.0 / 8.0, omega / 8.0 * bit);
  }
  return std::pow(std::abs(sum), 5.0);
}

/// Integral from 0 to pi/4 of cos(w t) / |CIC(w)| dw by Gauss and Legendre's three points on each of 512 panels.
double ideal_tap(double t) {
  constexpr int kPanels = 512;
  const std::array<double, 3> nodes = {-std::sqrt(0.6), 0.0, std::sqrt(0.6)};
  const std::array<double, 3> weights = {5.0 / 18.0, 8.0 / 18.0, 5.0 / 18.0};
  const double width = std::numbers::pi / 4.0 / kPanels;
  double sum = 0.0;
  for (int panel = 0; panel < kPanels; ++panel) {
    for (std::size_t i = 0; i < nodes.size(); ++i) {
      const double omega = (panel + 0.5 + nodes[i] / 2.0) * width;
      sum += weights[i] * width * std::cos(omega * t) / cic_magnitude(omega);
    }
  }
  return sum;
}

}  // namespace

std::optional<std::int64_t> Cic::push(int value) {
  std::uint64_t carry = static_cast<std::uint64_t>(static_cast<std::int64_t>(value));
  for (std::uint64_t& integrator : integrators_) {
    integrator += carry;
    carry = integrator;
  }
  phase_ = (phase_ + 1) % kFactor;
  if (phase_ != 0) {
    return std::nullopt;
  }
  for (std::uint64_t& delay : comb_delays_) {
    const std::uint64_t difference = carry - delay;
    delay = carry;
    carry = difference;
  }
  return static_cast<std::int64_t>(carry);
}

std::vector<double> fir_taps() {
  const double beta = 0.1102 * (kAttenuationDb - 8.7);
  std::vector<double> taps;
  double sum = 0.0;
  for (int tap = 0; tap < kTaps; ++tap) {
    const double position = 2.0 * tap / (kTaps - 1) - 1.0;
    const double window = bessel_i0(beta * std::sqrt(std::max(0.0, 1.0 - position * position)));
    taps.push_back(window * ideal_tap(tap - (kTaps - 1) / 2.0));
    sum += taps.back();
  }
  for (double& tap : taps) {
    tap /= sum;
  }
  return taps;
}

void Decimator::start_from_silence() {
  *this = Decimator(std::move(taps_));
  constexpr int kSettledBits = 1024;  // longer than the impulse response, and whole words
  for (int bit = 0; bit < kSettledBits; ++bit) {
    (void)push(bit % 2 != 0 ? 1 : -1);
  }
}

std::optional<double> Decimator::push(int value) {
  const std::optional<std::int64_t> output = cic_.push(value);
  if (output) {
    recent_.push_back(static_cast<double>(*output) / kFullScale);
  }
  phase_ = (phase_ + 1) % kDecimation;
  if (phase_ != 0) {
    return std::nullopt;
  }
  double sum = 0.0;
  for (std::size_t tap = 0; tap < std::min(taps_.size(), recent_.size()); ++tap) {
    sum += taps_[tap] * recent_[recent_.size() - 1 - tap];
  }
  if (recent_.size() > kMaxRecent) {
    recent_.erase(recent_.begin(), recent_.end() - static_cast<std::ptrdiff_t>(taps_.size()));
  }
  return sum;
}

std::size_t history_words() { return kTaps / kFirFactor; }

std::vector<double> impulse_response() {
  const std::size_t words = history_words() + 1;
  std::vector<double> response(words * kDecimation, 0.0);
  const std::vector<double> taps = fir_taps();
  for (std::size_t time = 0; time < kDecimation; ++time) {
    Decimator decimator(taps);
    for (std::size_t bit = 0; bit < words * kDecimation; ++bit) {
      if (const std::optional<double> sample = decimator.push(bit == time ? 1 : 0)) {
        response[bit - time] = *sample;
      }
    }
  }
  return response;
}

std::complex<double> response(const std::vector<double>& impulse_response, double frequency_hz, double bit_rate_hz) {
  std::complex<double> sum = 0.0;
  for (std::size_t i = 0; i < impulse_response.size(); ++i) {
    const double turns = frequency_hz / bit_rate_hz * static_cast<double>(i);
    sum += impulse_response[i] * std::polar(1.0, -2.0 * std::numbers::pi * turns);
  }
  return sum;
}

}  // namespace nearfield::reference
