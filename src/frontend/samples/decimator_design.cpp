#include "frontend/samples/decimator_design.hpp"

#include <cmath>
#include <numbers>
#include <numeric>

namespace nearfield {
namespace {

constexpr double kPi = std::numbers::pi;
/// Stop-band attenuation of the Kaiser window. With 80 taps the transition then spans 15.4 to 31.5 kHz at 1.5 MHz:
/// frequencies that alias to 0 to 15 kHz start at 31.9 kHz.
constexpr double kAttenuationDb = 105.0;
constexpr int kQuadratureIntervals = 2048;

/// boxcar(8) convolved with itself: [tap], sum 8^5.
std::vector<std::int32_t> cic_taps() {
  std::vector<std::int32_t> taps = {1};
  for (int stage = 0; stage < kCicOrder; ++stage) {
    std::vector<std::int32_t> longer(taps.size() + kCicFactor - 1, 0);
    for (std::size_t i = 0; i < taps.size(); ++i) {
      for (std::size_t j = 0; j < kCicFactor; ++j) {
        longer[i + j] += taps[i];
      }
    }
    taps = std::move(longer);
  }
  return taps;
}

std::vector<std::int32_t> make_byte_table() {
  std::vector<std::int32_t> taps = cic_taps();
  constexpr std::size_t kAges = 5, kBytes = 256, kBits = 8;
  taps.resize(kAges * kBits, 0);
  std::vector<std::int32_t> table(kAges * kBytes, 0);
  for (std::size_t age = 0; age < kAges; ++age) {
    for (std::size_t byte = 0; byte < kBytes; ++byte) {
      for (std::size_t bit = 0; bit < kBits; ++bit) {
        const std::int32_t tap = taps[kBits * age + (kBits - 1) - bit];
        table[age * kBytes + byte] += ((byte >> bit) & 1U) != 0 ? tap : -tap;
      }
    }
  }
  return table;
}

/// Zero-phase response of the CIC at `omega` radians per bit, 1 at 0 (Hogenauer 1981, eq. 5, normalised).
double cic_amplitude(double omega) {
  const double denominator = kCicFactor * std::sin(omega / 2.0);
  return std::abs(omega) < 1e-9 ? 1.0 : std::pow(std::sin(kCicFactor * omega / 2.0) / denominator, kCicOrder);
}

/// (1/pi) integral from 0 to pi/4 of cos(w t) / |CIC(w)| dw, w in radians per CIC output, by Simpson's rule.
double ideal_tap(double t) {
  const double step = kPi / kFirFactor / kQuadratureIntervals;
  double sum = 0.0;
  for (int i = 0; i <= kQuadratureIntervals; ++i) {
    const bool at_end = i == 0 || i == kQuadratureIntervals;
    const double weight = at_end ? 1.0 : (i % 2 == 1 ? 4.0 : 2.0);
    sum += weight * std::cos(i * step * t) / cic_amplitude(i * step / kCicFactor);
  }
  return sum * step / 3.0 / kPi;
}

std::vector<float> make_fir_taps() {
  const double beta = 0.1102 * (kAttenuationDb - 8.7);
  const double centre = (kFirTaps - 1) / 2.0;
  std::vector<double> taps(kFirTaps);
  for (int tap = 0; tap < kFirTaps; ++tap) {
    const double offset = tap - centre;
    const double position = offset / centre;
    const double window = std::cyl_bessel_i(0.0, beta * std::sqrt(std::max(0.0, 1.0 - position * position)));
    taps[static_cast<std::size_t>(tap)] = window * ideal_tap(offset);
  }
  const double sum = std::accumulate(taps.begin(), taps.end(), 0.0);
  std::vector<float> rounded;
  for (const double tap : taps) {
    rounded.push_back(static_cast<float>(tap / sum));
  }
  return rounded;
}

}  // namespace

std::complex<double> DecimatorDesign::response(double frequency_hz, double bit_rate_hz) const {
  const double omega = 2.0 * kPi * frequency_hz / bit_rate_hz;
  const double cic_delay_bits = kCicOrder * (kCicFactor - 1) / 2.0;
  std::complex<double> fir = 0.0;
  for (std::size_t tap = 0; tap < fir_taps.size(); ++tap) {
    fir += static_cast<double>(fir_taps[tap]) * std::polar(1.0, -omega * kCicFactor * static_cast<double>(tap));
  }
  return cic_amplitude(omega) * std::polar(1.0, -omega * cic_delay_bits) * fir;
}

DecimatorDesign design_decimator() { return {.cic_byte_table = make_byte_table(), .fir_taps = make_fir_taps()}; }

}  // namespace nearfield
