#pragma once
#include <complex>
#include <memory>
#include <span>
#include <vector>

#include "cl/device.hpp"
#include "frontend/front_end.hpp"
#include "simulate/bit_synthesizer.hpp"

/// Simulated bits with the expected spectra, and the front ends that compute them.
namespace nearfield::bench {

/// Words before the window: enough for the response of every front end's filter to the silence before the capture to
/// decay. Front ends without a history begin with the window, which may be no whole number of hops after the history's
/// first word.
inline constexpr std::uint64_t kFirstWord = 64;

/// One window of an array's bits, with its history.
struct KnownBits {
  std::vector<std::uint32_t> words;         ///< [bit-time][word]; the window is from word kFirstWord on
  std::size_t group_words = 0;              ///< of 32 bit-times
  std::vector<std::complex<double>> truth;  ///< [channel], of the tone at the window's first bit, full scale 1
};

/// A front end's spectra of known bits.
class FrontEndOnBits {
 public:
  /// The plan is for bits. Throws ConfigError, DeviceError.
  FrontEndOnBits(const ocl::Device& device, const FrontEndPlan& plan);
  /// [frequency][channel], full scale 1.
  std::vector<std::complex<double>> spectra(const KnownBits& bits);
  [[nodiscard]] const std::vector<double>& frequencies_hz() const { return front_end_->actual_frequencies_hz(); }

 private:
  ocl::Device device_;
  double full_scale_pa_;
  std::unique_ptr<FrontEnd> front_end_;
  ocl::Buffer<std::complex<float>> spectra_;
  ocl::Buffer<std::uint32_t> status_;
};

/// Bits of a tone, or with `tone` null of the microphones' offsets alone; `settings` have array, modulator and offsets.
KnownBits known_bits(const BitSynthesizerSettings& settings, const ArrayTone* tone, int window_samples);

/// |found - truth| / |truth|, Euclidean.
double relative_error(std::span<const std::complex<double>> found, std::span<const std::complex<double>> truth);

}  // namespace nearfield::bench
