#pragma once
#include <complex>
#include <cstdint>
#include <span>
#include <vector>

#include "frontend/front_end_reference.hpp"

namespace nearfield::reference {

/// d [t] for which sum_t d(t) x(t) is the phasor of one frequency in a window of `bits` steps: the windowed DFT, or
/// with `remove_dc` the weighted least-squares fit of a cosine, a sine and a constant, from its normal equations.
std::vector<std::complex<double>> analysis_of_bits(WindowKind window, std::size_t bits, double radians_per_bit,
                                                   bool remove_dc);

/// Front end `popcount`: every word's signs as moments of powers of the position, every word's piece of the analysis
/// vector fitted by a polynomial through its normal equations. Both transforms equal this one sum.
class PopcountFrontEnd : public FrontEnd {
 public:
  /// Throws ConfigError.
  explicit PopcountFrontEnd(const FrontEndPlan& plan);

  [[nodiscard]] std::uint64_t history_words() const override { return 0; }
  void push_bits(std::uint64_t first_word, std::span<const std::uint32_t> wire) override;
  void push_samples(std::uint64_t first_sample, std::span<const float> values) override;
  [[nodiscard]] std::vector<std::complex<double>> spectra(std::uint64_t first_sample_index) override;
  [[nodiscard]] bool clipped() const override { return clipped_; }
  [[nodiscard]] const std::vector<double>& actual_frequencies_hz() const override { return actual_frequencies_hz_; }

 private:
  void make_room(std::uint64_t first_word, std::size_t words);
  void find_clipping(std::size_t first_bit);
  [[nodiscard]] std::vector<double> moments(std::size_t first_bit) const;

  FrontEndPlan plan_;
  std::size_t channels_;
  std::size_t wire_words_;
  std::size_t powers_;
  std::vector<double> actual_frequencies_hz_;
  std::vector<std::vector<std::complex<double>>> coefficients_;  ///< [frequency][word * powers + power], full scale 1
  std::vector<std::int8_t> signs_;                               ///< [bit][channel], newest bits only
  std::uint64_t begin_ = 0;                                      ///< word of the first entry of signs_
  std::uint64_t end_ = 0;
  bool clipped_ = false;
};

}  // namespace nearfield::reference
