#pragma once
#include <memory>
#include <optional>

#include "cl/fft.hpp"
#include "frontend/bit_ring.hpp"
#include "frontend/decimator.hpp"
#include "frontend/front_end.hpp"
#include "frontend/sample_ring.hpp"

namespace nearfield {

/// Front end `decimated_fft`: bits through a BitRing and a Decimator, or samples as they come, into a SampleRing; then
/// the FFT of each channel's window, of which the wanted bins are kept. Frequencies snap to the nearest bin. Spectra
/// are divided by the decimator's complex response.
class DecimatedFft final : public FrontEnd {
 public:
  /// The plan must have passed validate(). Throws DeviceError.
  DecimatedFft(const ocl::Device& device, const FrontEndPlan& plan);

  [[nodiscard]] std::uint64_t history_words() const override;
  void enqueue_bits(std::uint64_t first_word, std::span<const std::uint32_t> wire) override;
  void enqueue_samples(std::uint64_t first_sample, std::span<const float> values) override;
  void enqueue_spectra(std::uint64_t first_sample_index, const ocl::Buffer<std::complex<float>>& spectra,
                       const ocl::Buffer<std::uint32_t>& status) override;
  [[nodiscard]] const std::vector<double>& actual_frequencies_hz() const override { return actual_frequencies_hz_; }

  /// For tests: what the stages before the FFT made.
  [[nodiscard]] const SampleRing& samples() const { return samples_; }

 private:
  /// What turns bits into samples.
  struct BitPath {
    BitPath(const ocl::Device& device, const FrontEndPlan& plan, SampleRing& samples, std::size_t max_words);
    BitRing bits;
    Decimator decimator;
  };

  [[nodiscard]] std::vector<std::complex<float>> scales(const FrontEndPlan& plan, double window_sum) const;
  void build_kernels(const FrontEndPlan& plan);

  ocl::Device device_;
  std::size_t channels_;
  std::size_t window_samples_;
  std::size_t max_append_;
  std::vector<std::uint32_t> bins_;
  std::vector<double> actual_frequencies_hz_;
  SampleRing samples_;
  std::unique_ptr<BitPath> bit_path_;  ///< none when fed with samples
  std::uint32_t frame_ = 0;            ///< of the last enqueue_spectra()
  ocl::RealFft1d fft_;
  ocl::Buffer<float> window_;                   ///< [n]
  ocl::Buffer<std::uint32_t> is_alive_;         ///< [channel]
  ocl::Buffer<float> lines_;                    ///< [channel][n]
  ocl::Buffer<std::complex<float>> line_bins_;  ///< [channel][bin]
  ocl::Buffer<std::uint32_t> bad_in_;           ///< [channel], number of the last frame with a non-finite sample
  ocl::Buffer<std::uint32_t> wanted_;           ///< [frequency]
  ocl::Buffer<std::complex<float>> scale_;      ///< [frequency]
  ocl::Kernel window_lines_;
  ocl::Kernel pick_bins_;
};

std::unique_ptr<FrontEnd> make_decimated_fft(const ocl::Device& device, const FrontEndPlan& plan);

}  // namespace nearfield
