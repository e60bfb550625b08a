// Processor spectrum: the amplitudes of chosen microphones over all bins of a window of decimated samples.
//
//   point_lines  lines[w][p][n] = taper[n] y[first + w HOP + n][channels[p]]
//   (FFT)        bins[w][p][k] = sum_n lines[w][p][n] e^{-j 2 pi k n / WINDOW}
//   amplitudes   levels[w][p][k] = scales[k] |bins[w][p][k]|
// An FFT library may transform two real lines as one complex line, so NaN or infinity in one would spread to the other:
// point_lines puts 0 in its place and marks the line, which amplitudes then sets to NaN.
//
// Buffers:
//   samples   float  [slot][channel], channel fastest, full scale 1 or pascal; a ring
//   taper     float  [n], unitless
//   channels  uint   [point]; CHANNELS or more: none, NaN
//   lines     float  [window][point][n], n fastest
//   bad_in    uint   [window][point], number of the last frame in which the line was not finite
//   status    uint   [window][STATUS_WORDS], word 0 gathers the flags of the window
//   bins      float2 [window][point][bin], WINDOW / 2 + 1 bins, bin fastest
//   scales    float  [bin], pascal peak per unit of the FFT's sum
//   levels    float  [window][point][bin], pascal peak
// Launches: point_lines: local (64, 1), global (WINDOW rounded up to 64, windows * POINTS).
//   amplitudes: local (64, 1), global (bins rounded up to 64, windows * POINTS).
// Assumes: (windows - 1) * HOP + WINDOW <= slots.

//! needs frontend/window_samples.cl

//! default POINTS 1  // chosen microphones
//! default HOP 32  // samples from one window to the next
//! default STATUS_WORDS 4  // words of a window's status

#define BINS (WINDOW / 2 + 1)

__kernel __attribute__((reqd_work_group_size(64, 1, 1))) void point_lines(
    __global const float* restrict samples, __global const float* restrict taper,
    __global const uint* restrict channels, __global float* restrict lines, __global uint* restrict bad_in,
    __global uint* restrict status, const uint first_slot, const uint slots, const uint frame) {
  const uint n = get_global_id(0);
  const uint line = get_global_id(1);
  const uint window = line / POINTS;
  const uint channel = channels[line % POINTS];
  if (n >= WINDOW) {
    return;
  }
  float stored = NAN;
  if (channel < CHANNELS) {
    stored = samples[(size_t)ring_slot(first_slot, window * HOP + n, slots) * CHANNELS + channel];
  }
  const float sample = isfinite(stored) ? stored : 0.0f;
  lines[(size_t)line * WINDOW + n] = taper[n] * sample;
  if (!isfinite(stored)) {
    atomic_xchg(&bad_in[line], frame);
  }
  flag_clipping(fabs(sample), 1u, status + (size_t)window * STATUS_WORDS);
}

__kernel __attribute__((reqd_work_group_size(64, 1, 1))) void amplitudes(__global const float2* restrict bins,
                                                                         __global const float* restrict scales,
                                                                         __global const uint* restrict bad_in,
                                                                         __global float* restrict levels,
                                                                         const uint frame) {
  const uint bin = get_global_id(0);
  const uint line = get_global_id(1);
  if (bin < BINS) {
    const float2 value = bins[(size_t)line * BINS + bin];
    const float level = scales[bin] * sqrt(value.x * value.x + value.y * value.y);
    levels[(size_t)line * BINS + bin] = bad_in[line] == frame ? NAN : level;
  }
}
