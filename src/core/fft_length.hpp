#pragma once

namespace nearfield {

/// True when n = 2^a 3^b 5^c 7^d, the lengths that every FFT here takes.
bool is_fft_length(int n);
/// The smallest such length not below n.
int next_fft_length(int n);

}  // namespace nearfield
