#pragma once
#include "frontend/front_end_reference.hpp"

namespace nearfield::reference {

/// RAD(r, i) = (-1)^(bit log2_length - r of i), r >= 1; 1 for r = 0 (thesis 5.1.2).
int rademacher(unsigned r, std::uint32_t i, unsigned log2_length);

/// WAL(m, i) in sequency order: the product of RAD(r, i) over the bits r - 1 that are set in the Gray code of m.
int walsh(std::uint32_t m, std::uint32_t i, unsigned log2_length);

/// Front end `walsh_fourier` by its definition: A(m) = (1/M) sum WAL(m, i) x(i) for each kept m, weights from direct
/// sums. In time WAL is separable, WAL(m, 32 w + p) = WAL(m, 32 w) WAL(m, p), which keeps the sums at M^2 / 32 terms.
class WalshFourierFrontEnd final : public FrontEnd {
 public:
  /// Throws ConfigError.
  explicit WalshFourierFrontEnd(const FrontEndPlan& plan);

  [[nodiscard]] std::uint64_t history_words() const override { return 0; }
  void push_bits(std::uint64_t first_word, std::span<const std::uint32_t> wire) override;
  void push_samples(std::uint64_t first_sample, std::span<const float> values) override;
  [[nodiscard]] std::vector<std::complex<double>> spectra(std::uint64_t first_sample_index) override;
  [[nodiscard]] bool clipped() const override { return clipped_; }
  [[nodiscard]] const std::vector<double>& actual_frequencies_hz() const override { return actual_frequencies_hz_; }

  /// The functions kept for a frequency, in rising order.
  [[nodiscard]] const std::vector<std::uint32_t>& kept(std::size_t frequency) const { return kept_.at(frequency); }

 private:
  using Complex = std::complex<double>;
  using Signs = std::vector<signed char>;
  /// WAL(number, 32 w + p) = sign_of_word[w] * sign_in_word[p].
  struct Function {
    std::uint32_t number;
    Signs sign_of_word;
    Signs sign_in_word;
  };
  [[nodiscard]] Function function(std::uint32_t number) const;
  [[nodiscard]] std::vector<Complex> analysis(double radians_per_bit) const;
  [[nodiscard]] std::vector<std::vector<Complex>> transform(const std::vector<std::vector<Complex>>& signals) const;
  [[nodiscard]] int in_word_factors(std::uint32_t m) const;
  [[nodiscard]] std::vector<std::uint32_t> select(const std::vector<Complex>& weights) const;
  void add_frequency(const std::vector<Complex>& weights, const std::vector<Complex>& tone);
  [[nodiscard]] std::vector<double> walsh_coefficients(const signed char* bits) const;
  [[nodiscard]] bool is_clipped(const signed char* bits) const;

  FrontEndPlan plan_;
  std::size_t channels_;
  std::size_t words_;
  std::size_t length_;  ///< bits of a window
  unsigned log2_length_ = 0;
  std::size_t wire_words_ = 0;
  std::vector<double> actual_frequencies_hz_;
  std::vector<std::vector<std::uint32_t>> kept_;  ///< [frequency][term], functions in rising order
  std::vector<std::vector<Complex>> weights_;     ///< [frequency][term], pascal per A(m)
  std::vector<Function> functions_;               ///< functions kept for any frequency, in rising order
  std::vector<Signs> bits_;                       ///< [channel][bit], +1 or -1, from word begin_ to end_
  std::uint64_t begin_ = 0;
  std::uint64_t end_ = 0;
  bool clipped_ = false;
};

}  // namespace nearfield::reference
