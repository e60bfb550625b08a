// Processor levels: mean square, peak and offset of every microphone in a window of decimated samples.
//
//   level_parts  parts[w][p][m] = (sum, max | |) of y[first + w HOP + n][m] over n of part p; NaN where one is not finite
//   level_lines  offsets[w][m] = scale mean of y, peaks[w][m] = scale max |y|; lines[w][m][n] = taper[n] (y - mean)
//   (FFT)        bins[w][m][k] = sum_n lines[w][m][n] e^{-j 2 pi k n / WINDOW}
//   level_sums   levels[w][s][m] = sum_i weights[i] |bins[w][m][first_bins[s] + i - ends[s]]|^2, i from ends[s] to ends[s + 1]
// An FFT library may transform two real lines as one complex line, so NaN or infinity in one would spread to the other:
// level_lines makes such a line 0, and level_sums its sums NaN.
//
// Buffers:
//   samples     float  [slot][channel], channel fastest, full scale 1 or pascal; a ring
//   parts       float2 [window][part][channel]
//   taper       float  [n], unitless
//   lines       float  [window][channel][n], n fastest
//   peaks       float  [window][channel], Pa; NaN where a sample is not finite
//   offsets     float  [window][channel], Pa; likewise
//   bins        float2 [window][channel][bin], WINDOW / 2 + 1 bins, bin fastest
//   ends        int    [sum + 1], the first weight of each sum
//   first_bins  int    [sum]
//   weights     float  [weight], Pa^2 per unit of the FFT's squares
//   levels      float  [window][sum][channel], Pa^2
// Launches: level_parts: local (64, 1, 1), global (CHANNELS rounded up to 64, PARTS, windows).
//   level_lines: local (64, 1, 1), global (WINDOW rounded up to 64, CHANNELS, windows).
//   level_sums: local (64, 1, 1), global (64 * SUMS, CHANNELS, windows).
// Assumes: (windows - 1) * HOP + WINDOW <= slots.

//! needs common/ring.cl

//! default CHANNELS 1024  // microphones
//! default WINDOW 4096  // samples of a window
//! default HOP 32  // samples from one window to the next
//! default SUMS 1  // sums of bins for each microphone

#define PARTS 32
#define GROUP 64
#define BINS (WINDOW / 2 + 1)

__kernel __attribute__((reqd_work_group_size(GROUP, 1, 1))) void level_parts(__global const float* restrict samples,
                                                                             __global float2* restrict parts,
                                                                             const uint first_slot, const uint slots) {
  const uint channel = get_global_id(0);
  const uint part = get_global_id(1);
  const uint window = get_global_id(2);
  if (channel >= CHANNELS) {
    return;
  }
  float sum = 0.0f;
  float largest = 0.0f;
  for (uint n = part * WINDOW / PARTS; n < (part + 1) * WINDOW / PARTS; ++n) {
    const float value = samples[(size_t)ring_slot(first_slot, window * HOP + n, slots) * CHANNELS + channel];
    sum += isfinite(value) ? value : NAN;
    largest = fmax(largest, fabs(value));
  }
  parts[((size_t)window * PARTS + part) * CHANNELS + channel] = (float2)(sum, largest);
}

__kernel __attribute__((reqd_work_group_size(GROUP, 1, 1))) void level_lines(
    __global const float* restrict samples, __global const float2* restrict parts, __global const float* restrict taper,
    __global float* restrict lines, __global float* restrict peaks, __global float* restrict offsets, const float scale,
    const uint first_slot, const uint slots) {
  const uint n = get_global_id(0);
  const uint channel = get_global_id(1);
  const uint window = get_global_id(2);
  if (n >= WINDOW) {
    return;
  }
  float sum = 0.0f;
  float largest = 0.0f;
  for (uint part = 0; part < PARTS; ++part) {
    const float2 one = parts[((size_t)window * PARTS + part) * CHANNELS + channel];
    sum += one.x;
    largest = fmax(largest, one.y);
  }
  const size_t line = (size_t)window * CHANNELS + channel;
  const float mean = sum / WINDOW;
  const float value = samples[(size_t)ring_slot(first_slot, window * HOP + n, slots) * CHANNELS + channel];
  lines[line * WINDOW + n] = isfinite(mean) ? taper[n] * (value - mean) : 0.0f;
  if (n == 0) {
    offsets[line] = scale * mean;
    peaks[line] = isfinite(mean) ? scale * largest : NAN;
  }
}

__kernel __attribute__((reqd_work_group_size(GROUP, 1, 1))) void level_sums(
    __global const float2* restrict bins, __global const float* restrict offsets, __global const int* restrict ends,
    __global const int* restrict first_bins, __global const float* restrict weights, __global float* restrict levels) {
  __local float of_items[GROUP];
  const int item = (int)get_local_id(0);
  const uint sum = get_group_id(0);
  const uint channel = get_global_id(1);
  const uint window = get_global_id(2);
  const size_t line = (size_t)window * CHANNELS + channel;
  const int begin = ends[sum];
  float of_item = 0.0f;
  for (int i = begin + item; i < ends[sum + 1]; i += GROUP) {
    const float2 value = bins[line * BINS + first_bins[sum] + i - begin];
    of_item += weights[i] * (value.x * value.x + value.y * value.y);
  }
  of_items[item] = of_item;
  barrier(CLK_LOCAL_MEM_FENCE);
  if (item == 0) {
    float total = 0.0f;
    for (int i = 0; i < GROUP; ++i) {
      total += of_items[i];
    }
    levels[((size_t)window * SUMS + sum) * CHANNELS + channel] = isfinite(offsets[line]) ? total : NAN;
  }
}
