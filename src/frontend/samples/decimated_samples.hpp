#pragma once
#include <complex>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

#include "frontend/common/bit_ring.hpp"
#include "frontend/front_end.hpp"
#include "frontend/samples/decimator.hpp"
#include "frontend/samples/sample_ring.hpp"

namespace nearfield {

/// Decimated samples on a device: bits through a BitRing and a Decimator, or samples unchanged, into a SampleRing that
/// holds at least two windows. Front ends and processors that cut windows from it may share it: sample m is the same
/// for every reader, as long as history_words() words before it have been fed.
class DecimatedSamples {
 public:
  /// Uses the plan's array and input; `longest_window` in samples. The plan must have passed validate(). Throws
  /// DeviceError.
  DecimatedSamples(const ocl::Device& device, const FrontEndPlan& plan, std::size_t longest_window);
  DecimatedSamples(const DecimatedSamples&) = delete;
  DecimatedSamples& operator=(const DecimatedSamples&) = delete;
  ~DecimatedSamples() = default;

  /// Like the functions of FrontEnd, with its contracts.
  [[nodiscard]] std::uint64_t history_words() const;
  void enqueue_bits(std::uint64_t first_word, std::span<const std::uint32_t> wire);
  void enqueue_samples(std::uint64_t first_sample, std::span<const float> values);

  [[nodiscard]] const SampleRing& ring() const { return ring_; }
  /// Number of calls whose data did not continue the data fed before.
  [[nodiscard]] std::uint64_t breaks() const { return breaks_; }
  /// The slot of a window's first sample. Throws Error, which begins with `stage`, when the ring does not hold the
  /// whole window.
  [[nodiscard]] std::uint32_t window_slot(std::uint64_t first_sample, std::size_t window_samples,
                                          std::string_view stage) const;
  /// Pascal at a window's first bit (or sample) per unit of a sample's phasor at that sample: undoes the decimator's
  /// complex response and the 31 bit-times from the first bit to the first sample's newest one.
  [[nodiscard]] std::complex<double> scale_pa(double frequency_hz) const;

 private:
  /// Converts bits to samples.
  struct BitPath {
    BitPath(const ocl::Device& device, const FrontEndPlan& plan, SampleRing& samples, std::size_t max_words);
    BitRing bits;
    Decimator decimator;
  };
  void note_append(std::uint64_t first);

  std::size_t channels_;
  std::size_t max_append_;
  double sample_rate_hz_;
  double sensitivity_dbfs_;
  SampleRing ring_;
  std::unique_ptr<BitPath> bit_path_;  ///< null when fed with samples
  std::uint64_t breaks_ = 0;
};

}  // namespace nearfield
