#pragma once
#include <complex>
#include <cstdint>
#include <span>
#include <vector>

#include "frontend/decimator_reference.hpp"
#include "frontend/front_end.hpp"

namespace nearfield::reference {

/// The front end on the host, in double precision, from the formulas; shares no table with the OpenCL one. Contracts of
/// its members are those of nearfield::FrontEnd.
class ReferenceFrontEnd {
 public:
  /// Throws ConfigError.
  explicit ReferenceFrontEnd(const FrontEndPlan& plan);

  [[nodiscard]] std::uint64_t history_words() const;
  /// Wire words [bit-time][word].
  void push_bits(std::uint64_t first_word, std::span<const std::uint32_t> wire);
  /// Samples [sample][channel] in pascal.
  void push_samples(std::uint64_t first_sample, std::span<const float> values);
  /// [frequency][channel] of the window that starts at this decimated sample.
  [[nodiscard]] std::vector<std::complex<double>> spectra(std::uint64_t first_sample_index);
  /// True when a live channel of the last window was at 0.95 of full scale or above; bits only.
  [[nodiscard]] bool clipped() const { return clipped_; }
  [[nodiscard]] const std::vector<double>& actual_frequencies_hz() const { return actual_frequencies_hz_; }
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
