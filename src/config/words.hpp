#pragma once
#include "core/settings.hpp"

namespace nearfield {

/// Equivalent settings whose windows and hops of bits are counted in words of 32 bit-times: `front_end.decimation` is
/// 32, and lengths in decimated samples are scaled up accordingly. Front ends process bits in words, so that decimation
/// by 64 gives the same spectra of the same bits. Throws ConfigError if a window becomes too long for a front end, or
/// if a processor works on decimated samples themselves.
Settings in_words(Settings settings);

}  // namespace nearfield
