#pragma once
#include <complex>
#include <cstdint>
#include <span>
#include <vector>

#include "frontend/front_end_reference.hpp"
#include "frontend/samples/decimator_reference.hpp"

namespace nearfield::reference {

/// The front ends that work on decimated samples, `decimated_fft` and `dot_product`: the decimator, then the sum of the
/// windowed DFT, or the fit of tone and offset where an offset is to be removed.
class SampleFrontEnd : public FrontEnd {
 public:
  /// Throws ConfigError.
  explicit SampleFrontEnd(const FrontEndPlan& plan);

  [[nodiscard]] std::uint64_t history_words() const override;
  void push_bits(std::uint64_t first_word, std::span<const std::uint32_t> wire) override;
  void push_samples(std::uint64_t first_sample, std::span<const float> values) override;
  [[nodiscard]] std::vector<std::complex<double>> spectra(std::uint64_t first_sample_index) override;
  [[nodiscard]] bool clipped() const override { return clipped_; }
  [[nodiscard]] const std::vector<double>& actual_frequencies_hz() const override { return actual_frequencies_hz_; }
  /// For tests: sample [channel] of those kept.
  [[nodiscard]] double sample(std::uint64_t index, std::size_t channel) const;

 private:
  void make_room(std::uint64_t first_sample, std::size_t count);
  void find_clipping(const double* window);

  FrontEndPlan plan_;
  std::size_t channels_;
  std::size_t wire_words_ = 0;
  std::vector<double> actual_frequencies_hz_;
  std::vector<std::complex<double>> scales_pa_;  ///< [frequency], per unit of the windowed mean
  std::vector<Decimator> decimators_;            ///< [channel], none when fed with samples
  std::vector<double> samples_;                  ///< [sample][channel], the newest ones
  std::uint64_t begin_ = 0;                      ///< index of the first of samples_
  std::uint64_t end_ = 0;
  bool clipped_ = false;
};

}  // namespace nearfield::reference
