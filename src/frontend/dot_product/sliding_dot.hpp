#pragma once
#include <optional>

#include "frontend/common/sliding_dft.hpp"
#include "frontend/front_end.hpp"
#include "frontend/samples/decimated_samples.hpp"

namespace nearfield {

/// Front end `dot_product` of bits, incremental: the decimated samples of a hop are summed once, and windows follow by
/// a sliding DFT over hops. A window that does not fit the blocks so far is summed from its first sample.
class SlidingDot final : public FrontEnd {
 public:
  SlidingDot(const ocl::Device& device, const FrontEndPlan& plan);
  /// Plan without scales_pa, which need a decimator; for is_worth_sliding().
  [[nodiscard]] static SlidingPlan sliding_plan(const FrontEndPlan& plan);

  [[nodiscard]] std::uint64_t history_words() const override { return source_.history_words(); }
  void enqueue_bits(std::uint64_t first_word, std::span<const std::uint32_t> wire) override {
    source_.enqueue_bits(first_word, wire);
  }
  void enqueue_spectra(std::uint64_t first_sample_index, const ocl::Buffer<std::complex<float>>& spectra,
                       const ocl::Buffer<std::uint32_t>& status) override;
  [[nodiscard]] const std::vector<double>& actual_frequencies_hz() const override { return frequencies_hz_; }
  [[nodiscard]] std::string description() const override;

 private:
  [[nodiscard]] std::uint64_t first_block_of(std::uint64_t first_sample) const;
  [[nodiscard]] bool is_on_blocks(std::uint64_t first_sample) const;
  void enqueue_blocks(std::uint64_t first_block, std::uint64_t blocks);

  std::vector<double> frequencies_hz_;
  BlockGrid grid_;
  std::size_t terms_;
  SampleSource source_;
  ocl::Arena arena_;
  SlidingDft sums_;
  ocl::Buffer<std::complex<float>> coefficients_;  ///< [sample of a block][term]
  ocl::Kernel block_sums_;
  ocl::Arguments<4> new_blocks_;         ///< arguments of block_sums_
  std::optional<std::uint64_t> origin_;  ///< first sample of block 0
  std::uint64_t breaks_ = 0;             ///< breaks of the source when the blocks so far were summed
};

}  // namespace nearfield
