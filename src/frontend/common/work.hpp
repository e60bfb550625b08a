#pragma once
#include <string_view>

#include "cl/work.hpp"
#include "frontend/front_end.hpp"

namespace nearfield::work {

/// Sizes of one launch, from which the work models of front ends are computed.
struct FrontEndSizes {
  explicit FrontEndSizes(const FrontEndPlan& plan);

  double windows;  ///< computed together
  double frequencies;
  double microphones;
  double lanes;  ///< bits of a bit-time on the wire
  double window;
  double hop;
  double blocks;      ///< blocks that enter the sliding DFT
  double kept_words;  ///< words or samples in these blocks
  double terms;       ///< complex exponentials summed

  [[nodiscard]] double holograms() const { return windows * frequencies; }
  [[nodiscard]] double spectra_bytes() const { return holograms() * microphones * kComplex; }
  [[nodiscard]] double hop_words() const { return windows * hop; }
  /// Bytes of one block's sums, including those for clipping.
  [[nodiscard]] double block_bytes() const;
};

/// Converts bits in wire order to words per microphone (BitRing).
StageWork corner_turn(const FrontEndSizes& s);
/// Each window adds the blocks that enter and subtracts those that leave; its terms are rotated to the window's start
/// and weighted. `stage` names it.
StageWork slide(std::string_view stage, const FrontEndSizes& s);
/// FFT of each microphone's window. `stage` names it. Real input: half of the usual 5 N lg N.
StageWork line_transforms(std::string_view stage, const FrontEndSizes& s);

}  // namespace nearfield::work
