#pragma once
#include "frontend/common/sliding_dft.hpp"
#include "frontend/front_end.hpp"

namespace nearfield {

/// Front end `popcount`, incremental: the moments of a hop's words are summed once, and windows follow by a sliding DFT
/// over blocks (BlockGrid). Windows must start a whole number of hops after the first word that was fed.
class SlidingPopcount final : public FrontEnd {
 public:
  SlidingPopcount(const ocl::Device& device, const FrontEndPlan& plan);
  [[nodiscard]] static SlidingPlan sliding_plan(const FrontEndPlan& plan);

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
  /// Whole blocks that are uploaded but not yet summed.
  [[nodiscard]] std::uint64_t waiting_blocks() const;
  /// Uploaded words that do not belong to a summed block.
  [[nodiscard]] std::uint64_t waiting_words() const;
  [[nodiscard]] std::uint64_t kept_words(std::uint64_t word) const;
  /// Position of a block's first word in the ring of wire words.
  [[nodiscard]] std::uint32_t wire_word_of(std::uint64_t block) const;
  [[nodiscard]] bool moves_in_one_launch(const WindowMove& move) const;
  [[nodiscard]] ocl::Launch launch(std::size_t blocks) const;
  void enqueue_blocks();
  void enqueue_advance(const WindowMove& move, std::uint64_t first_word,
                       const ocl::Buffer<std::complex<float>>& spectra, const ocl::Buffer<std::uint32_t>& status);

  ocl::Device device_;
  int order_;
  std::vector<double> frequencies_hz_;
  std::size_t wire_words_;
  std::size_t vector_columns_;  ///< wire words that an item processes as one vector; 0: one microphone per item
  BlockGrid grid_;
  std::size_t ring_words_;  ///< capacity of the ring of wire words: whole hops of the words that belong to windows
  std::size_t rows_;        ///< rows per work-group if an item processes one microphone
  std::size_t frequency_tiles_;
  ocl::Arena arena_;
  SlidingDft sums_;
  ocl::Buffer<std::uint32_t> wire_;                ///< [bit-time][wire word], a ring of ring_words_ words
  ocl::Buffer<std::complex<float>> coefficients_;  ///< [term][word of a block][q]
  ocl::Kernel block_sums_;
  ocl::Arguments<5> new_blocks_;  ///< arguments of block_sums_
  ocl::Kernel advance_;
  ocl::Arguments<5> advance_buffers_;
  ocl::Arguments<4> advance_move_;
  ocl::Arguments<2> advance_moves_;  ///< used if an item processes several wire words
  std::uint64_t origin_word_ = 0;    ///< first word since the last restart of the stream
  std::uint64_t end_word_ = 0;       ///< one beyond the last word fed
  bool has_started_ = false;
};

}  // namespace nearfield
