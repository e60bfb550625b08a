#pragma once
#include <complex>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>

#include "frontend/common/bit_ring.hpp"
#include "frontend/common/work.hpp"
#include "frontend/front_end.hpp"
#include "frontend/samples/decimator.hpp"

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

/// Source from which a front end cuts its windows: DecimatedSamples of its own, which it feeds, or those of the plan,
/// which others feed.
class SampleSource {
 public:
  /// The plan must have passed validate(); `stage` names the owner in errors.
  /// Throws DeviceError.
  SampleSource(const ocl::Device& device, const FrontEndPlan& plan, std::string stage);
  SampleSource(const SampleSource&) = delete;
  SampleSource& operator=(const SampleSource&) = delete;
  ~SampleSource() = default;

  /// Like the functions of FrontEnd, with its contracts. Not for samples that others feed.
  [[nodiscard]] std::uint64_t history_words() const { return decimated_->history_words(); }
  void enqueue_bits(std::uint64_t first_word, std::span<const std::uint32_t> wire) {
    decimated_->enqueue_bits(first_word, wire);
  }
  void enqueue_samples(std::uint64_t first_sample, std::span<const float> values) {
    decimated_->enqueue_samples(first_sample, values);
  }

  [[nodiscard]] const SampleRing& samples() const { return decimated_->ring(); }
  /// DecimatedSamples::breaks().
  [[nodiscard]] std::uint64_t breaks() const { return decimated_->breaks(); }
  /// Slot of a window's first sample. Throws Error if the ring does not hold the whole window.
  [[nodiscard]] std::uint32_t window_slot(std::uint64_t first_sample_index) const {
    return decimated_->window_slot(first_sample_index, window_samples_, stage_);
  }
  /// Throws Error unless `spectra` has room for this many frequencies, and `status` for its words.
  void check_outputs(std::size_t frequencies, const ocl::Buffer<std::complex<float>>& spectra,
                     const ocl::Buffer<std::uint32_t>& status) const;
  /// DecimatedSamples::scale_pa().
  [[nodiscard]] std::complex<double> scale_pa(double frequency_hz) const { return decimated_->scale_pa(frequency_hz); }

  /// [channel], 0 where clipping does not count.
  [[nodiscard]] const ocl::Buffer<std::uint32_t>& is_alive() const { return is_alive_; }
  /// Macros of kernels/frontend/window_samples.cl.
  [[nodiscard]] const ocl::Defines& defines() const { return defines_; }

 private:
  std::string stage_;
  std::size_t channels_;
  std::size_t window_samples_;
  std::shared_ptr<DecimatedSamples> decimated_;
  ocl::Buffer<std::uint32_t> is_alive_;
  ocl::Defines defines_;
};

namespace work {

/// Work of the ring of bits and the decimator of SampleSource.
WorkModel decimator(const FrontEndSizes& s);

}  // namespace work
}  // namespace nearfield
