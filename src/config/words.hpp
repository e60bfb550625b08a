#pragma once
#include "nearfield/settings.hpp"

namespace nearfield {

/// The same windows and hops of bits, counted in words of 32 bit-times: `front_end.decimation` is 32, and lengths in
/// decimated samples are as many times larger as it was. Front ends work on bits in words, so that a decimation by 64
/// is the same spectra of the same bits. Throws ConfigError where a window is longer than front ends can have, or where
/// a processor works on decimated samples themselves.
Settings in_words(Settings settings);

}  // namespace nearfield
