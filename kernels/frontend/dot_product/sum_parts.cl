// Spectra as the sums of parts: spectra[f][channel] = sum_p planes[p][f][channel].
//
// Buffers:
//   planes        float  [part][2 frequency + (0 real, 1 imaginary)][channel], channel fastest, pascal peak
//   spectra       float2 [frequency][channel], channel fastest, pascal peak
// Launch: local (64, 1), global (channels rounded up to 64, frequencies).

//! needs frontend/window_samples.cl

//! default FREQUENCIES 2  // dot products per channel

__kernel void sum_parts(__global const float* restrict planes, const uint parts, __global float2* restrict spectra) {
  const uint channel = get_global_id(0);
  const uint frequency = get_global_id(1);
  if (channel < CHANNELS) {
    float2 sum = (float2)(0.0f, 0.0f);
#pragma unroll 4
    for (uint part = 0; part < parts; ++part) {
      const size_t plane = ((size_t)part * FREQUENCIES + frequency) * 2;
      sum += (float2)(planes[plane * CHANNELS + channel], planes[(plane + 1) * CHANNELS + channel]);
    }
    spectra[(size_t)frequency * CHANNELS + channel] = finite_or_nan(sum);
  }
}
