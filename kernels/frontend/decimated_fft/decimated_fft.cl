// Front end decimated_fft: cuts a window out of the sample ring for the FFT, and picks the wanted bins of its result.
//
// Formulas (design.md, "Signal contract"): X(f) = (2 / sum w) sum_n w[n] y[n] e^{-j 2 pi f n / fs}
//   window_lines  lines[channel][n] = w[n] y[first + n]; flags |y| >= CLIP_LEVEL
//   pick_bins     spectra[f][channel] = forward X[bin] + image conj(X[bin]) + constant X[0], X those of the channel:
//                 sum w[n] y[n] e^{+j 2 pi f n / fs} is conj(X) for real y, and sum w[n] y[n] is X[0]
// An FFT library may transform two real lines as one complex line, so NaN or infinity in one channel would spread to
// its neighbour: window_lines puts 0 in its place and marks the channel, whose spectra pick_bins then sets to NaN.
//
// Buffers:
//   samples   float  [slot][channel], channel fastest, full scale 1 or pascal; a ring
//   window    float  [n], unitless
//   is_alive  uint   [channel], 0 for a channel whose clipping does not count
//   lines     float  [channel][n], n fastest
//   status    uint   [4], word 0 gathers the flags of the frame
//   bad_in    uint   [channel], number of the last frame in which the channel was not finite
//   bins      float2 [channel][bin], WINDOW / 2 + 1 bins, bin fastest
//   wanted    uint   [frequency], bin numbers
//   terms     float2 [frequency][3], forward, image and constant, pascal per unit of the FFT's sum
//   spectra   float2 [frequency][channel], channel fastest, pascal peak
// Launches: window_lines: local (32, 8), global (channels rounded up to 32, 8 * ceil(WINDOW / 32)).
//   pick_bins: local (64, 1), global (channels rounded up to 64, frequencies).
// Assumes: WINDOW <= slots. Local memory: 4.2 KiB.

//! needs common/complex.cl
//! needs frontend/window_samples.cl

#define TILE 32
#define TILE_STEP 8
#define BINS (WINDOW / 2 + 1)

__kernel __attribute__((reqd_work_group_size(TILE, TILE_STEP, 1))) void window_lines(
    __global const float* restrict samples, __global const float* restrict window,
    __global const uint* restrict is_alive, __global float* restrict lines, __global uint* restrict status,
    __global uint* restrict bad_in, const uint first_slot, const uint slots, const uint frame) {
  __local float tile[TILE][TILE + 1];  // [n][channel], one column of padding against bank conflicts
  const uint lane = get_local_id(0);
  const uint first_channel = get_group_id(0) * TILE;
  const uint first_n = get_group_id(1) * TILE;
  for (uint row = get_local_id(1); row < TILE; row += TILE_STEP) {
    const uint n = first_n + row;
    const uint channel = first_channel + lane;
    if (n < WINDOW && channel < CHANNELS) {
      const float stored = samples[(size_t)ring_slot(first_slot, n, slots) * CHANNELS + channel];
      const float sample = isfinite(stored) ? stored : 0.0f;
      tile[row][lane] = sample * window[n];
      if (!isfinite(stored)) {
        atomic_xchg(&bad_in[channel], frame);
      }
      flag_clipping(fabs(sample), is_alive[channel], status);
    }
  }
  barrier(CLK_LOCAL_MEM_FENCE);

  for (uint row = get_local_id(1); row < TILE; row += TILE_STEP) {
    const uint n = first_n + lane;
    const uint channel = first_channel + row;
    if (n < WINDOW && channel < CHANNELS) {
      lines[(size_t)channel * WINDOW + n] = tile[lane][row];
    }
  }
}

__kernel void pick_bins(__global const float2* restrict bins, __global const uint* restrict wanted,
                        __global const float2* restrict terms, __global float2* restrict spectra,
                        __global const uint* restrict bad_in, const uint frame) {
  const uint channel = get_global_id(0);
  const uint frequency = get_global_id(1);
  if (channel < CHANNELS) {
    const float2 value = bins[(size_t)channel * BINS + wanted[frequency]];
    const float2 conjugate = (float2)(value.x, -value.y);
    const float2 sum = complex_multiply(terms[3 * frequency], value) +
                       complex_multiply(terms[3 * frequency + 1], conjugate) +
                       terms[3 * frequency + 2] * bins[(size_t)channel * BINS].x;
    spectra[(size_t)frequency * CHANNELS + channel] = bad_in[channel] == frame ? (float2)(NAN, NAN) : sum;
  }
}
