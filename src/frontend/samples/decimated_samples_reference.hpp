#pragma once
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "frontend/front_end.hpp"
#include "frontend/samples/decimator_reference.hpp"

namespace nearfield::reference {

/// The newest decimated samples in double precision: bits through Decimator, or samples unchanged.
class DecimatedSamples {
 public:
  /// Uses the plan's array and input. Keeps at least two windows.
  DecimatedSamples(const FrontEndPlan& plan, std::size_t longest_window);

  /// Wire words [bit-time][word].
  void push_bits(std::uint64_t first_word, std::span<const std::uint32_t> wire);
  /// Samples [sample][channel] in pascal.
  void push_samples(std::uint64_t first_sample, std::span<const float> values);
  /// [sample][channel], full scale 1 for bits, else pascal; valid until the next push. Throws Error if samples are
  /// missing.
  [[nodiscard]] std::span<const double> window(std::uint64_t first_sample, std::size_t samples) const;

 private:
  void make_room(std::uint64_t first_sample, std::size_t count);

  FrontEndPlan plan_;
  std::size_t channels_;
  std::size_t keep_samples_;
  std::size_t wire_words_ = 0;
  std::vector<Decimator> decimators_;  ///< [channel], empty when fed with samples
  std::vector<double> samples_;        ///< [sample][channel], newest samples only
  std::uint64_t begin_ = 0;            ///< index of the first entry of samples_
  std::uint64_t end_ = 0;
};

}  // namespace nearfield::reference
