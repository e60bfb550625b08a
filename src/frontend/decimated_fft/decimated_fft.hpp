#pragma once
#include <memory>

#include "cl/fft.hpp"
#include "frontend/front_end.hpp"
#include "frontend/samples/sample_source.hpp"

namespace nearfield {

/// Front end `decimated_fft`: the FFT of each channel's window of a SampleSource, of which the wanted bins are kept.
/// Frequencies snap to the nearest bin. With remove_dc, bin 0 and the bin's conjugate are weighted in by the
/// frequency's analysis vector. Spectra are divided by the decimator's complex response.
class DecimatedFft final : public FrontEnd {
 public:
  /// The plan must have passed validate(). Throws DeviceError.
  DecimatedFft(const ocl::Device& device, const FrontEndPlan& plan);

  [[nodiscard]] std::uint64_t history_words() const override { return source_.history_words(); }
  void enqueue_bits(std::uint64_t first_word, std::span<const std::uint32_t> wire) override {
    source_.enqueue_bits(first_word, wire);
  }
  void enqueue_samples(std::uint64_t first_sample, std::span<const float> values) override {
    source_.enqueue_samples(first_sample, values);
  }
  void enqueue_spectra(std::uint64_t first_sample_index, const ocl::Buffer<std::complex<float>>& spectra,
                       const ocl::Buffer<std::uint32_t>& status) override;
  [[nodiscard]] const std::vector<double>& actual_frequencies_hz() const override { return actual_frequencies_hz_; }

  /// For tests: input of the FFT.
  [[nodiscard]] const SampleRing& samples() const { return source_.samples(); }

 private:
  [[nodiscard]] std::vector<std::complex<float>> terms(const FrontEndPlan& plan) const;
  void build_kernels();

  ocl::Device device_;
  std::size_t channels_;
  std::size_t window_samples_;
  std::vector<std::uint32_t> bins_;
  std::vector<double> actual_frequencies_hz_;
  SampleSource source_;
  std::uint32_t frame_ = 0;  ///< number of the frame of the last enqueue_spectra()
  ocl::RealFft1d fft_;
  ocl::Buffer<float> window_;                   ///< [n]
  ocl::Buffer<float> lines_;                    ///< [channel][n]
  ocl::Buffer<std::complex<float>> line_bins_;  ///< [channel][bin]
  ocl::Buffer<std::uint32_t> bad_in_;           ///< [channel], number of the last frame with a non-finite sample
  ocl::Buffer<std::uint32_t> wanted_;           ///< [frequency]
  ocl::Buffer<std::complex<float>> terms_;      ///< [frequency][3]
  ocl::Kernel window_lines_;
  ocl::Arguments<3> of_window_;  ///< arguments of window_lines_
  ocl::Kernel pick_bins_;
  ocl::Arguments<2> of_bins_;  ///< arguments of pick_bins_
};

std::unique_ptr<FrontEnd> make_decimated_fft(const ocl::Device& device, const FrontEndPlan& plan);

}  // namespace nearfield
