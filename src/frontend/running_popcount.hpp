#pragma once
#include "frontend/front_end.hpp"
#include "frontend/running_sums.hpp"

namespace nearfield {

/// Front end `popcount`, incremental: the moments of a hop's words are summed once, and windows are running sums of
/// hops. Windows must start a whole number of blocks (RunningPlan::block_words) after the first word that was fed.
class RunningPopcount final : public FrontEnd {
 public:
  RunningPopcount(const ocl::Device& device, const FrontEndPlan& plan);
  [[nodiscard]] static RunningPlan running_plan(const FrontEndPlan& plan);

  [[nodiscard]] std::uint64_t history_words() const override { return 0; }
  void enqueue_bits(std::uint64_t first_word, std::span<const std::uint32_t> wire) override;
  void enqueue_spectra(std::uint64_t first_sample_index, const ocl::Buffer<std::complex<float>>& spectra,
                       const ocl::Buffer<std::uint32_t>& status) override {
    enqueue_batch(first_sample_index, 1, spectra, status);
  }
  void enqueue_batch(std::uint64_t first_sample_index, std::size_t windows,
                     const ocl::Buffer<std::complex<float>>& spectra,
                     const ocl::Buffer<std::uint32_t>& status) override;
  [[nodiscard]] const std::vector<double>& actual_frequencies_hz() const override { return frequencies_hz_; }
  [[nodiscard]] std::string description() const override;

 private:
  void enqueue_upload(std::span<const std::uint32_t> wire);
  /// Whole blocks that were uploaded and are not summed yet.
  [[nodiscard]] std::uint64_t waiting_blocks() const;
  [[nodiscard]] ocl::Launch launch(std::size_t blocks) const;
  void enqueue_blocks();
  void enqueue_advance(const WindowMove& move, std::uint64_t first_word,
                       const ocl::Buffer<std::complex<float>>& spectra, const ocl::Buffer<std::uint32_t>& status);

  ocl::Device device_;
  int order_;
  std::vector<double> frequencies_hz_;
  std::size_t wire_words_;
  std::size_t block_words_;
  std::size_t wire_blocks_;
  std::size_t vector_columns_;  ///< wire words that an item takes side by side; 0: one microphone an item
  std::size_t rows_;            ///< of a work-group, where an item takes one microphone
  std::size_t frequency_tiles_;
  ocl::Arena arena_;
  RunningSums sums_;
  ocl::Buffer<std::uint32_t> wire_;                ///< [bit-time][wire word], a ring of wire_blocks_ blocks
  ocl::Buffer<std::complex<float>> coefficients_;  ///< [term][word of a block][q]
  ocl::Kernel block_sums_;
  ocl::Kernel advance_;
  std::uint64_t origin_word_ = 0;  ///< first word since the stream started anew
  std::uint64_t end_word_ = 0;     ///< one beyond the last word fed
  bool has_started_ = false;
};

}  // namespace nearfield
