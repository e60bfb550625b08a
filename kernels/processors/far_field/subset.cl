// Spectra of some of the microphones, for processors that use these alone.
//
//   spectra   float2 [window][SPECTRA][CHANNELS]
//   channels  int    [CHOSEN]
//   chosen    float2 [window][SPECTRA][CHOSEN]
//
// Launch: (CHOSEN rounded up, SPECTRA, windows).

//! default CHANNELS 64
//! default CHOSEN 16
//! default SPECTRA 1

__kernel void choose_microphones(__global const float2* restrict spectra, __global const int* restrict channels,
                                 __global float2* restrict chosen) {
  const int i = get_global_id(0);
  const size_t line = (size_t)get_global_id(2) * SPECTRA + get_global_id(1);
  if (i < CHOSEN) {
    chosen[line * CHOSEN + i] = spectra[line * CHANNELS + channels[i]];
  }
}
