#pragma once
#include <cstdint>

#include "cl/device.hpp"
#include "frontend/common/bit_ring.hpp"
#include "frontend/samples/decimator_design.hpp"
#include "frontend/samples/sample_ring.hpp"

namespace nearfield {

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
