#pragma once
#include <complex>
#include <cstdint>
#include <span>
#include <vector>

#include "frontend/front_end_reference.hpp"
#include "frontend/samples/decimated_samples_reference.hpp"

namespace nearfield::reference {

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
