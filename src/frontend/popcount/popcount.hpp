#pragma once
#include <memory>

#include "cl/fft.hpp"
#include "frontend/common/bit_ring.hpp"
#include "frontend/front_end.hpp"

namespace nearfield {

/// Words per block in which clipping is detected by the sum of signs; blocks are counted from the window's first word,
/// and only whole ones.
inline constexpr int kClipBlockWords = 8;

/// FrontEndEntry::obstacle of `popcount`.
std::string popcount_obstacle(const FrontEndPlan& plan);

/// Front end `popcount`: for each packed word the moments of its 32 bits by population counts; spectra are sums of the
/// moments with coefficients that hold window, DFT vector and offset removal at bit resolution. `transform: dot` takes
/// any frequency; `fft` snaps to bins and takes them from the FFT of the moments' sequences. Needs no history.
/// kFlagClipped: 256 bits of a live channel whose sum is at 0.95 of full scale or above.
class Popcount final : public FrontEnd {
 public:
  /// The plan must have passed validate() and popcount_obstacle(). Throws ConfigError, DeviceError.
  Popcount(const ocl::Device& device, const FrontEndPlan& plan);

  [[nodiscard]] std::uint64_t history_words() const override { return 0; }
  void enqueue_bits(std::uint64_t first_word, std::span<const std::uint32_t> wire) override;
  void enqueue_spectra(std::uint64_t first_sample_index, const ocl::Buffer<std::complex<float>>& spectra,
                       const ocl::Buffer<std::uint32_t>& status) override;
  [[nodiscard]] const std::vector<double>& actual_frequencies_hz() const override { return actual_frequencies_hz_; }
  [[nodiscard]] std::string description() const override;

 private:
  /// Weighted sums of the moments, one coefficient per word.
  struct DotPath {
    DotPath(const ocl::Device& device, const FrontEndPlan& plan, const ocl::Program& program, const BitRing& bits,
            const ocl::Buffer<std::uint32_t>& is_alive);
    ocl::Buffer<std::complex<float>> coefficients;  ///< [tile][word][frequency of the tile][q]
    ocl::Buffer<std::complex<float>> partial;       ///< [slice][frequency][channel]
    std::size_t slices = 0;
    std::size_t tiles = 0;
    ocl::Kernel word_sums;
    ocl::Arguments<2> per_window;  ///< arguments of word_sums
    ocl::Kernel sum_slices;
    ocl::Arguments<1> to_spectra;  ///< arguments of sum_slices
  };
  /// FFT of each moment's sequence.
  struct FftPath {
    FftPath(const ocl::Device& device, const FrontEndPlan& plan, const ocl::Program& program, const BitRing& bits,
            const ocl::Buffer<std::uint32_t>& is_alive);
    ocl::RealFft1d fft;
    ocl::Buffer<float> lines;               ///< [q][channel][word]
    ocl::Buffer<std::complex<float>> bins;  ///< [q][channel][bin]
    ocl::Buffer<std::uint32_t> wanted;      ///< [frequency]
    ocl::Buffer<float> weights;             ///< [frequency][q][b][4]
    ocl::Kernel moment_lines;
    ocl::Arguments<2> per_window;  ///< arguments of moment_lines
    ocl::Kernel combine;
    ocl::Arguments<1> to_spectra;  ///< arguments of combine
  };

  void enqueue_dot(std::uint32_t first_slot, const ocl::Buffer<std::complex<float>>& spectra,
                   const ocl::Buffer<std::uint32_t>& status);
  void enqueue_fft(std::uint32_t first_slot, const ocl::Buffer<std::complex<float>>& spectra,
                   const ocl::Buffer<std::uint32_t>& status);

  int order_;
  std::size_t channels_;
  std::size_t window_words_;
  std::vector<double> actual_frequencies_hz_;
  BitRing bits_;
  ocl::Buffer<std::uint32_t> is_alive_;  ///< [channel]
  std::unique_ptr<DotPath> dot_;         ///< exactly one of dot_ and fft_ is set
  std::unique_ptr<FftPath> fft_;
};

std::unique_ptr<FrontEnd> make_popcount(const ocl::Device& device, const FrontEndPlan& plan);

}  // namespace nearfield
