#include "frontend/samples/work.hpp"

#include "frontend/samples/decimator_design.hpp"

namespace nearfield::work {

WorkModel decimator(const FrontEndSizes& s) {
  return {corner_turn(s),
          // Four bytes of a word and five ages of each add a table's entry.
          {.stage = "front_end/decimator/cic",
           .bytes = s.hop_words() * s.microphones * (1.0 + kFirFactor) * kWord,
           .operations = 20.0 * s.hop_words() * s.microphones},
          {.stage = "front_end/decimator/fir",
           .bytes = s.hop_words() * s.microphones * (1.0 + kFirFactor) * kFloat,
           .operations = 2.0 * kFirTaps * s.hop_words() * s.microphones}};
}

}  // namespace nearfield::work
