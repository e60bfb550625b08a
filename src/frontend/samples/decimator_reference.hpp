#pragma once
#include <array>
#include <complex>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

namespace nearfield::reference {

/// A CIC of order 5 by 8 for one microphone, by its definition: five integrators at the bit rate, decimation, five
/// combs (Hogenauer 1981, figure 1). The integrators overflow modulo 2^64, which the combs undo exactly.
class Cic {
 public:
  /// Accepts one value; returns an output, full scale 32768, with every eighth.
  std::optional<std::int64_t> push(int value);

 private:
  static constexpr std::size_t kOrder = 5;
  static constexpr int kFactor = 8;
  std::array<std::uint64_t, kOrder> integrators_{};
  std::array<std::uint64_t, kOrder> comb_delays_{};
  int phase_ = 0;
};

/// The compensation filter, [tap], newest input first, sum 1: ideal 1/|CIC| up to half the output rate times a Kaiser
/// window for 105 dB.
std::vector<double> fir_taps();

/// CIC and compensation filter of one microphone, bit by bit.
class Decimator {
 public:
  /// Starts after endless zeros.
  explicit Decimator(std::vector<double> taps) : taps_(std::move(taps)) {}
  /// Sets the state that an endless silence pattern leaves.
  void start_from_silence();
  /// Accepts +1 or -1; returns a sample, full scale 1, with every 32nd.
  std::optional<double> push(int value);

 private:
  std::vector<double> taps_;
  Cic cic_;
  std::vector<double> recent_;  ///< CIC outputs, newest last
  int phase_ = 0;
};

/// Packed words before a sample's own that it depends on.
std::size_t history_words();

/// y[m] = sum_i g[i] x[32m + 31 - i], found by sending an impulse at each of 32 phases through Decimator.
std::vector<double> impulse_response();

/// H = sum_i g[i] e^{-jwi}.
std::complex<double> response(const std::vector<double>& impulse_response, double frequency_hz, double bit_rate_hz);

}  // namespace nearfield::reference
