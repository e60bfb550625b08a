#include "config/schema/front_end_kinds.hpp"

namespace nearfield::schema {

/// It has no settings of its own.
FrontEndKind decimated_fft_kind() {
  return {
      .name = "decimated_fft", .meaning = "filter and decimate, then FFT, then pick the bins", .takes_samples = true};
}

}  // namespace nearfield::schema
