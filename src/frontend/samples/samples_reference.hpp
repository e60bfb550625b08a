#pragma once
#include <array>
#include <complex>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "frontend/front_end.hpp"
#include "frontend/front_end_reference.hpp"

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

/// The newest decimated samples in double precision: bits through Decimator, or samples unchanged.
class DecimatedSamples {
 public:
  /// Uses the plan's array and input. Keeps at least two windows.
  DecimatedSamples(const FrontEndPlan& plan, std::size_t longest_window);

  /// Wire words [bit-time][word].
  void push_bits(std::uint64_t first_word, std::span<const std::uint32_t> wire);
  /// Samples [sample][channel] in pascal.
  void push_samples(std::uint64_t first_sample, std::span<const float> values);
  /// [sample][channel], full scale 1 for bits, else pascal; valid until the next push. Throws Error if samples are
  /// missing.
  [[nodiscard]] std::span<const double> window(std::uint64_t first_sample, std::size_t samples) const;

 private:
  void make_room(std::uint64_t first_sample, std::size_t count);

  FrontEndPlan plan_;
  std::size_t channels_;
  std::size_t keep_samples_;
  std::size_t wire_words_ = 0;
  std::vector<Decimator> decimators_;  ///< [channel], empty when fed with samples
  std::vector<double> samples_;        ///< [sample][channel], newest samples only
  std::uint64_t begin_ = 0;            ///< index of the first entry of samples_
  std::uint64_t end_ = 0;
};

/// The front ends that work on decimated samples, `decimated_fft` and `dot_product`: the decimator, then the sum of the
/// windowed DFT, or the fit of tone and offset where an offset is to be removed.
class SampleFrontEnd : public FrontEnd {
 public:
  /// Throws ConfigError.
  explicit SampleFrontEnd(const FrontEndPlan& plan);

  [[nodiscard]] std::uint64_t history_words() const override;
  void push_bits(std::uint64_t first_word, std::span<const std::uint32_t> wire) override {
    samples_.push_bits(first_word, wire);
  }
  void push_samples(std::uint64_t first_sample, std::span<const float> values) override {
    samples_.push_samples(first_sample, values);
  }
  [[nodiscard]] std::vector<std::complex<double>> spectra(std::uint64_t first_sample_index) override;
  [[nodiscard]] bool clipped() const override { return clipped_; }
  [[nodiscard]] const std::vector<double>& actual_frequencies_hz() const override { return actual_frequencies_hz_; }
  /// For tests: one of the kept samples.
  [[nodiscard]] double sample(std::uint64_t index, std::size_t channel) const;

 private:
  void find_clipping(const double* window);

  FrontEndPlan plan_;
  std::size_t channels_;
  std::vector<double> actual_frequencies_hz_;
  std::vector<std::complex<double>> scales_pa_;  ///< [frequency], per unit of the windowed mean
  DecimatedSamples samples_;
  bool clipped_ = false;
};

}  // namespace nearfield::reference
