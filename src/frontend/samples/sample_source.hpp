#pragma once
#include <complex>
#include <cstdint>
#include <memory>
#include <span>
#include <string>

#include "frontend/common/bit_ring.hpp"
#include "frontend/front_end.hpp"
#include "frontend/samples/decimator.hpp"
#include "frontend/samples/sample_ring.hpp"

namespace nearfield {

/// The decimated samples that front ends cut their windows from: bits through a BitRing and a Decimator, or samples as
/// they come, into a SampleRing that holds two windows and more.
class SampleSource {
 public:
  /// The plan must have passed validate(); `stage` names the owner in errors. Throws DeviceError.
  SampleSource(const ocl::Device& device, const FrontEndPlan& plan, std::string stage);
  SampleSource(const SampleSource&) = delete;
  SampleSource& operator=(const SampleSource&) = delete;
  ~SampleSource() = default;

  /// The three of FrontEnd, with its contracts.
  [[nodiscard]] std::uint64_t history_words() const;
  void enqueue_bits(std::uint64_t first_word, std::span<const std::uint32_t> wire);
  void enqueue_samples(std::uint64_t first_sample, std::span<const float> values);

  [[nodiscard]] const SampleRing& samples() const { return samples_; }
  /// The slot of a window's first sample. Throws Error when the ring does not hold the whole window.
  [[nodiscard]] std::uint32_t window_slot(std::uint64_t first_sample_index) const;
  /// Throws Error unless `spectra` holds this many frequencies, and `status` its words.
  void check_outputs(std::size_t frequencies, const ocl::Buffer<std::complex<float>>& spectra,
                     const ocl::Buffer<std::uint32_t>& status) const;

  /// Pascal at a window's first bit (or sample) per unit of a sample's phasor at that sample: undoes the decimator's
  /// complex response and the 31 bit-times from the first bit to the first sample's newest one.
  [[nodiscard]] std::complex<double> scale_pa(double frequency_hz) const;

  /// [channel], 0 where clipping does not count.
  [[nodiscard]] const ocl::Buffer<std::uint32_t>& is_alive() const { return is_alive_; }
  /// What kernels/frontend/window_samples.cl wants to know.
  [[nodiscard]] const ocl::Defines& defines() const { return defines_; }

 private:
  /// What turns bits into samples.
  struct BitPath {
    BitPath(const ocl::Device& device, const FrontEndPlan& plan, SampleRing& samples, std::size_t max_words);
    BitRing bits;
    Decimator decimator;
  };

  std::string stage_;
  std::size_t channels_;
  std::size_t window_samples_;
  std::size_t max_append_;
  double sample_rate_hz_;
  double sensitivity_dbfs_;
  SampleRing samples_;
  std::unique_ptr<BitPath> bit_path_;  ///< none when fed with samples
  ocl::Buffer<std::uint32_t> is_alive_;
  ocl::Defines defines_;
};

}  // namespace nearfield
