#include "simulate/sigma_delta.hpp"

#include <algorithm>
#include <cmath>
#include <complex>
#include <numbers>

#include "simulate/random.hpp"

namespace nearfield {
namespace {

constexpr double kOutOfBandGain = 1.5;

/// A stable modulator's quantiser input stays below 1.3 (order 4, peaks up to 0.5), 3.3 (order 2, 0.316) or 18 (order
/// 2, 0.95); an unstable loop passes any bound.
constexpr double kRunaway = 64.0;

/// Bit-times between checks for a runaway. An unstable loop grows by less than a factor of 3 per bit, so nothing
/// overflows.
constexpr std::size_t kBitsPerCheck = 64;

/// |B(w)| of the fourth-order Butterworth polynomial, which is the noise transfer function's gain at half the bit rate
/// when w is the pre-warped cut-off: a pole s of the analogue filter maps to (1 + s)/(1 - s), and 2/(1 + z) = 1 - s.
double butterworth_polynomial(double w) {
  using std::numbers::pi;
  return (w * w + 2 * std::sin(pi / 8) * w + 1) * (w * w + 2 * std::sin(3 * pi / 8) * w + 1);
}

double solve_cutoff() {
  double low = 0.0;
  double high = 1.0;
  for (int step = 0; step < 100; ++step) {
    const double middle = (low + high) / 2;
    (butterworth_polynomial(middle) < kOutOfBandGain ? low : high) = middle;
  }
  return low;
}

std::array<double, 5> butterworth_denominator(double cutoff) {
  std::array<std::complex<double>, 5> product{1.0};
  for (int pole = 0; pole < 4; ++pole) {
    const std::complex<double> s = std::polar(cutoff, std::numbers::pi * (2 * pole + 5) / 8);
    const std::complex<double> z = (1.0 + s) / (1.0 - s);
    for (std::size_t i = 4; i > 0; --i) {
      product[i] -= z * product[i - 1];
    }
  }
  std::array<double, 5> denominator{};
  std::transform(product.begin(), product.end(), denominator.begin(), [](auto value) { return value.real(); });
  return denominator;
}

}  // namespace

NoiseTransfer noise_transfer(SigmaDeltaOrder order) {
  if (order == SigmaDeltaOrder::kSecond) {
    return {{1, -2, 1, 0, 0}, {1, 0, 0, 0, 0}};
  }
  return {{1, -4, 6, -4, 1}, butterworth_denominator(solve_cutoff())};
}

double stable_peak(SigmaDeltaOrder order) { return order == SigmaDeltaOrder::kSecond ? 0.9 : 0.5; }

SigmaDelta32::SigmaDelta32(SigmaDeltaOrder order, std::uint64_t seed, std::uint64_t first_lane) : order_(order) {
  constexpr std::size_t kWarmUpBits = 512;
  constexpr double kWarmUpPeak = 0.25;
  const NoiseTransfer transfer = noise_transfer(order);
  for (std::size_t i = 0; i < 4; ++i) {
    forward_[i] = transfer.numerator[i + 1] - transfer.denominator[i + 1];
    backward_[i] = transfer.denominator[i + 1];
  }
  std::array<double, kWarmUpBits * kLanes> past;
  for (std::size_t lane = 0; lane < kLanes; ++lane) {
    RandomStream random(seed, first_lane + lane);
    for (std::size_t bit = 0; bit < kWarmUpBits; ++bit) {
      past[bit * kLanes + lane] = kWarmUpPeak * random.uniform();
    }
  }
  std::array<std::uint32_t, kWarmUpBits> words;
  modulate(past, words);
}

std::uint32_t SigmaDelta32::step(const double* input, Lanes& largest) {
  std::array<std::uint64_t, kLanes> bits;
  if (order_ == SigmaDeltaOrder::kSecond) {
    for (std::size_t lane = 0; lane < kLanes; ++lane) {
      const double y = input[lane] + state_[0][lane];
      const double error = std::copysign(1.0, y) - y;
      state_[0][lane] = state_[1][lane] - 2 * error;
      state_[1][lane] = error;
      largest[lane] = std::max(largest[lane], std::abs(y));
      bits[lane] = y >= 0 ? std::uint64_t{1} << lane : 0U;
    }
  } else {
    for (std::size_t lane = 0; lane < kLanes; ++lane) {
      const double shaped = state_[0][lane];
      const double y = input[lane] + shaped;
      const double error = std::copysign(1.0, y) - y;
      state_[0][lane] = state_[1][lane] + forward_[0] * error - backward_[0] * shaped;
      state_[1][lane] = state_[2][lane] + forward_[1] * error - backward_[1] * shaped;
      state_[2][lane] = state_[3][lane] + forward_[2] * error - backward_[2] * shaped;
      state_[3][lane] = forward_[3] * error - backward_[3] * shaped;
      largest[lane] = std::max(largest[lane], std::abs(y));
      bits[lane] = y >= 0 ? std::uint64_t{1} << lane : 0U;
    }
  }
  std::uint64_t word = 0;
  for (const std::uint64_t bit : bits) {
    word |= bit;
  }
  return static_cast<std::uint32_t>(word);
}

void SigmaDelta32::clear_runaways(const Lanes& largest) {
  for (std::size_t lane = 0; lane < kLanes; ++lane) {
    if (!(largest[lane] < kRunaway)) {
      ++resets_[lane];
      for (Lanes& state : state_) {
        state[lane] = 0.0;
      }
    }
  }
}

void SigmaDelta32::modulate(std::span<const double> input, std::span<std::uint32_t> words) {
  for (std::size_t begin = 0; begin < words.size(); begin += kBitsPerCheck) {
    const std::size_t end = std::min(begin + kBitsPerCheck, words.size());
    alignas(64) Lanes largest{};
    for (std::size_t bit_time = begin; bit_time < end; ++bit_time) {
      words[bit_time] = step(input.data() + bit_time * kLanes, largest);
    }
    clear_runaways(largest);
  }
}

}  // namespace nearfield
