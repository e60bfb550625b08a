#pragma once
#include <complex>
#include <cstdint>
#include <span>
#include <vector>

#include "cl/device.hpp"
#include "core/geometry.hpp"
#include "frontend/common/bit_ring.hpp"

namespace nearfield {

inline constexpr int kCicOrder = 5;
inline constexpr int kCicFactor = 8;
inline constexpr int kFirFactor = 4;
/// Bits to a decimated sample.
inline constexpr int kDecimation = kCicFactor * kFirFactor;
inline constexpr int kFirTaps = 80;
/// Packed words before a sample's own that it depends on.
inline constexpr int kDecimatorHistoryWords = kFirTaps / kFirFactor;

/// The tables of the decimator: a CIC of order 5 by 8 and a compensation filter by 4.
struct DecimatorDesign {
  /// [age in bytes 0..4][byte, first bit in the least significant bit] -> share of an output, full scale 32768.
  std::vector<std::int32_t> cic_byte_table;
  /// [tap], newest input first, sum 1; as rounded for the kernel. Ideal 1/|CIC| up to half the output rate, times a
  /// Kaiser window (Kaiser 1974; Oppenheim and Schafer, Discrete-Time Signal Processing, section 7.5).
  std::vector<float> fir_taps;

  /// Response of the whole chain, referred to the newest bit of a sample: x[n] = e^{jwn} gives y[m] = H e^{jw(32m +
  /// 31)}.
  [[nodiscard]] std::complex<double> response(double frequency_hz, double bit_rate_hz) const;
};

DecimatorDesign design_decimator();

/// The newest decimated samples on the device: float [slot][channel], channel fastest; sample m lies in slot
/// m mod capacity. Unit: digital full scale when the decimator writes, pascal when fed directly.
class SampleRing {
 public:
  SampleRing(const ocl::Device& device, int channels, std::size_t capacity_samples);

  /// Uploads samples [sample][channel] from `first_sample` on, at most the capacity. Does not wait: `samples` must stay
  /// unchanged until Device::wait(). An append that does not continue the last one restarts the ring.
  void enqueue_append(std::uint64_t first_sample, std::span<const float> samples);
  /// Counts samples that a kernel writes.
  void append(std::uint64_t first_sample, std::size_t count) { span_.append(first_sample, count); }

  [[nodiscard]] int channels() const { return channels_; }
  [[nodiscard]] const RingSpan& span() const { return span_; }
  [[nodiscard]] const ocl::Buffer<float>& samples() const { return samples_; }

 private:
  ocl::Device device_;
  int channels_;
  RingSpan span_;
  ocl::Buffer<float> samples_;
};

/// Filters the bits of a BitRing continuously down to 1/32 of their rate into a SampleRing. Sample m depends on packed
/// words m - kDecimatorHistoryWords .. m. The CIC's integers pass through a ring of their own, so that each is computed
/// once however the windows overlap.
class Decimator {
 public:
  /// One enqueue accepts up to `max_words`. The rings must outlive the decimator.
  Decimator(const ocl::Device& device, const BitRing& bits, SampleRing& samples, std::size_t max_words);

  /// Converts packed words [first_word, first_word + words) of the bit ring to samples of the same indexes.
  /// `continues`: true if they continue the last call's words; otherwise silence precedes them.
  void enqueue(std::uint64_t first_word, std::size_t words, bool continues);

  [[nodiscard]] const DecimatorDesign& design() const { return design_; }
  /// The CIC's outputs, full scale 32768: int32 [slot][channel], output k (bits up to 8k + 7) in slot
  /// k mod cic_slots().
  [[nodiscard]] const ocl::Buffer<std::int32_t>& cic_outputs() const { return cic_outputs_; }
  [[nodiscard]] std::uint32_t cic_slots() const { return cic_slots_; }

 private:
  [[nodiscard]] std::uint32_t cic_slot_of(std::uint64_t first_word, int offset) const;
  void enqueue_silence(std::uint64_t first_word);

  const BitRing* bits_;
  SampleRing* samples_;
  std::size_t max_words_;
  DecimatorDesign design_;
  std::uint32_t cic_slots_;
  ocl::Buffer<std::int32_t> byte_table_;   ///< [age][byte]
  ocl::Buffer<float> padded_taps_;         ///< [zeros][tap][zeros], over 32768
  ocl::Buffer<std::int32_t> cic_outputs_;  ///< [slot][channel]
  ocl::Kernel cic_;
  ocl::Arguments<4> cic_words_;
  ocl::Kernel silence_;
  ocl::Arguments<1> silent_slot_;
  ocl::Kernel fir_;
  ocl::Arguments<3> fir_words_;
};

}  // namespace nearfield
