#include "simulate/points/signal.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <complex>
#include <cstddef>
#include <numbers>

#include "core/numerics.hpp"

namespace nearfield {
namespace {

constexpr double kLongestPeriodS = 20.0;
constexpr double kLowestTableRateHz = 375e3;

using Complex = std::complex<double>;

/// In place: sum of x_k e^{+2 pi j k n/N}; N a power of two (J. W. Cooley, J. W. Tukey, Math. Comput. 19, 1965).
void transform_back(std::vector<Complex>& x) {
  const std::size_t size = x.size();
  for (std::size_t i = 1, mirrored = 0; i < size; ++i) {
    std::size_t bit = size >> 1U;
    for (; (mirrored & bit) != 0; bit >>= 1U) {
      mirrored ^= bit;
    }
    mirrored ^= bit;
    if (i < mirrored) {
      std::swap(x[i], x[mirrored]);
    }
  }
  std::vector<Complex> turns(size / 2);
  for (std::size_t k = 0; k < turns.size(); ++k) {
    turns[k] = std::polar(1.0, 2 * std::numbers::pi * static_cast<double>(k) / static_cast<double>(size));
  }
  for (std::size_t half = 1; half < size; half *= 2) {
    const std::size_t stride = size / (2 * half);
    for (std::size_t begin = 0; begin < size; begin += 2 * half) {
      for (std::size_t k = 0; k < half; ++k) {
        const Complex turned{x[begin + k + half].real() * turns[k * stride].real() -
                                 x[begin + k + half].imag() * turns[k * stride].imag(),
                             x[begin + k + half].real() * turns[k * stride].imag() +
                                 x[begin + k + half].imag() * turns[k * stride].real()};
        x[begin + k + half] = x[begin + k] - turned;
        x[begin + k] += turned;
      }
    }
  }
}

/// Number of the first line at or above a frequency. A frequency that is a multiple except for rounding counts as one.
std::uint64_t line_from(double frequency_hz, double period_s) {
  constexpr double kRounding = 1e-9;
  const double number = frequency_hz * period_s;
  return static_cast<std::uint64_t>(std::max(1.0, std::ceil(number * (1 - kRounding))));
}

}  // namespace

SignalTable::SignalTable(std::span<const float> values, double rate_hz, bool repeats)
    : length_(values.size()), rate_hz_(rate_hz), repeats_(repeats), values_(kBefore + length_ + kAfter, 0.0F) {
  std::copy(values.begin(), values.end(), values_.begin() + kBefore);
  if (repeats && length_ > 0) {
    for (std::size_t i = 0; i < kBefore; ++i) {
      values_[i] = values[(length_ * kBefore + i - kBefore) % length_];
    }
    for (std::size_t i = 0; i < kAfter; ++i) {
      values_[kBefore + length_ + i] = values[i % length_];
    }
  }
}

double SignalTable::at(double t_s) const {
  const double position = t_s * rate_hz_;
  const double whole = std::floor(position);
  double index = whole;
  if (repeats_) {
    index -= std::floor(whole / static_cast<double>(length_)) * static_cast<double>(length_);
  } else if (whole < 0 || whole >= static_cast<double>(length_)) {
    return 0.0;
  }
  const float* v = values_.data() + static_cast<std::size_t>(index);
  // Lagrange's weights at -2, -1, 0, 1, 2, 3.
  const double x = position - whole;
  const double a = x + 2;
  const double b = x + 1;
  const double d = x - 1;
  const double e = x - 2;
  const double f = x - 3;
  const double left = a * b;
  const double right = e * f;
  const double middle = x * d;
  return (static_cast<double>(v[0]) * b * middle * right) * (-1.0 / 120) +
         (static_cast<double>(v[1]) * a * middle * right) * (1.0 / 24) +
         (static_cast<double>(v[2]) * left * d * right) * (-1.0 / 12) +
         (static_cast<double>(v[3]) * left * x * right) * (1.0 / 12) +
         (static_cast<double>(v[4]) * left * middle * f) * (-1.0 / 24) +
         (static_cast<double>(v[5]) * left * middle * e) * (1.0 / 120);
}

double NoiseLines::share(const Band& band) const {
  const std::uint64_t begin = std::max(first, line_from(band.low_hz, period_s));
  const std::uint64_t end = std::min(first + count, line_from(band.high_hz, period_s));
  return end > begin ? static_cast<double>(end - begin) / static_cast<double>(count) : 0.0;
}

NoiseLines noise_lines(const Band& band, double period_s) {
  const std::uint64_t first = line_from(band.low_hz, period_s);
  const std::uint64_t end = line_from(band.high_hz, period_s);
  return {.period_s = period_s, .first = first, .count = end > first ? end - first : 0};
}

double noise_period_s(double duration_s) { return duration_s / std::ceil(duration_s / kLongestPeriodS); }

SignalTable make_noise(const NoiseLines& lines, std::uint64_t seed, std::uint64_t stream) {
  const auto points = static_cast<std::uint64_t>(std::ceil(kLowestTableRateHz * lines.period_s));
  const std::size_t size = std::bit_ceil(std::max<std::uint64_t>(points, 64));
  std::vector<Complex> spectrum(size);
  RandomStream random(seed, stream);
  const double amplitude = std::sqrt(2.0 / static_cast<double>(lines.count));
  for (std::uint64_t line = lines.first; line < lines.first + lines.count; ++line) {
    spectrum[line] = std::polar(amplitude, std::numbers::pi * random.uniform());
  }
  transform_back(spectrum);
  std::vector<float> values(size);
  std::transform(spectrum.begin(), spectrum.end(), values.begin(),
                 [](const Complex& value) { return static_cast<float>(value.real()); });
  return SignalTable(values, static_cast<double>(size) / lines.period_s, true);
}

namespace {

constexpr std::size_t kReach = 17;                                   // inputs per output
constexpr std::size_t kDelayInputs = kReach / 2;                     // delay of the filter
constexpr std::size_t kHalf = kDelayInputs * Interpolator::kFactor;  // the filter has 2 kHalf + 1 coefficients

/// Kaiser's window for 120 dB (J. Kaiser, 1974): beta = 0.1102 (120 - 8.7).
constexpr double kBeta = 12.265;

/// Low-pass with its cut-off at half the input rate, sum 8.
double coefficient(double offset) {
  const double x = std::numbers::pi * offset / static_cast<double>(Interpolator::kFactor);
  const double sinc = offset == 0.0 ? 1.0 : std::sin(x) / x;
  const double share = offset / static_cast<double>(kHalf + 1);
  return sinc * std::cyl_bessel_i(0.0, kBeta * std::sqrt(1 - share * share)) / std::cyl_bessel_i(0.0, kBeta);
}

std::vector<float> make_taps() {
  std::vector<float> taps(Interpolator::kFactor * kReach, 0.0F);
  for (std::size_t phase = 0; phase < Interpolator::kFactor; ++phase) {
    for (std::size_t age = 0; age < kReach; ++age) {
      const std::size_t index = age * Interpolator::kFactor + phase;
      if (index <= 2 * kHalf) {
        taps[phase * kReach + age] =
            static_cast<float>(coefficient(static_cast<double>(index) - static_cast<double>(kHalf)));
      }
    }
  }
  return taps;
}

}  // namespace

Interpolator::Interpolator(std::size_t channels)
    : channels_(channels), taps_(make_taps()), recent_((kReach - 1) * channels, 0.0F), samples_to_drop_(kHalf) {}

void Interpolator::process(std::span<const float> input, std::vector<float>& output) {
  recent_.insert(recent_.end(), input.begin(), input.end());
  const std::size_t samples = input.size() / channels_;
  std::vector<float> made(samples * kFactor * channels_, 0.0F);
  for (std::size_t i = 0; i < samples; ++i) {
    for (std::size_t phase = 0; phase < kFactor; ++phase) {
      float* result = made.data() + (i * kFactor + phase) * channels_;
      for (std::size_t age = 0; age < kReach; ++age) {
        const float tap = taps_[phase * kReach + age];
        const float* source = recent_.data() + (i + kReach - 1 - age) * channels_;
        for (std::size_t channel = 0; channel < channels_; ++channel) {
          result[channel] += tap * source[channel];
        }
      }
    }
  }
  recent_.erase(recent_.begin(), recent_.begin() + static_cast<std::ptrdiff_t>(input.size()));
  const std::size_t drop = std::min(samples_to_drop_, samples * kFactor);
  samples_to_drop_ -= drop;
  output.insert(output.end(), made.begin() + static_cast<std::ptrdiff_t>(drop * channels_), made.end());
}

void Interpolator::finish(std::vector<float>& output) {
  process(std::vector<float>(kDelayInputs * channels_, 0.0F), output);
}

}  // namespace nearfield
