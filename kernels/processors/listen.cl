// Processor listen: beams in the time domain, by delay and sum of decimated samples.
//
//   beam_samples  y[b][n] = sum_m g_m (r_m / r_0) p_m[n + d_m] / sum_m g_m,   d_m = (r_m - r_min) / c in samples
//                 (Van Veen and Buckley, "Beamforming: a versatile approach to spatial filtering", IEEE ASSP Magazine 5
//                 (1988), section II), p_m between samples by 16 coefficients of a windowed sinc function
//                 (Laakso, Valimaki, Karjalainen, Laine, "Splitting the unit delay", IEEE SP Magazine 13 (1996), III.B).
//                 A microphone with a sample that is not finite among those 16 is left out of y[n], and of its sum of
//                 weights; with fewer than FEWEST microphones y[n] is NaN.
//   watch_window  the flags of a window: microphones that are not finite, clipped or masked.
//
// Buffers:
//   samples   float  [slot][channel], channel fastest, full scale 1 or pascal; a ring
//   used      uint   [i], used channels, `count` of them
//   delays    int    [beam][channel], whole samples, 0 .. WINDOW - NEW_SAMPLES - TAPS + 1
//   taps      float  [beam][tap][channel], pascal per unit of a sample, g_m r_m / r_0 included
//   weights   float  [channel], g_m
//   beams     float  [window][beam][n], pascal
//   status    uint   [window][STATUS_WORDS], word 0 gathers flags, word 1 counts microphones that are not finite
// Launches: beam_samples: local (64, 1, 1), global (64 ceil(NEW_SAMPLES / OUTPUTS), BEAMS, windows): each work-group
//   computes OUTPUTS samples of a beam, each lane a part of the microphones.
//   watch_window: local (64, 1), global (count rounded up to 64, at least 64, windows).
// Assumes: (windows - 1) * HOP + WINDOW <= slots.

//! needs frontend/window_samples.cl

//! default BEAMS 1  // beams
//! default NEW_SAMPLES 32  // samples of each beam per frame
//! default TAPS 16  // coefficients of a delay
//! default OUTPUTS 8  // samples per work-group
//! default FEWEST 4  // microphones required for a sample
//! default HOP 32  // samples from one window to the next
//! default STATUS_WORDS 4  // words of a window's status
//! default FLAG_NON_FINITE 16u  // bit set in a frame's flags (FrameFlag of frame.hpp)

#define LANES 64
// Stride of a row of sums in local memory; LANES plus one, so that lanes that add rows have no bank conflicts.
#define ROW (LANES + 1)

__kernel __attribute__((reqd_work_group_size(LANES, 1, 1))) void beam_samples(
    __global const float* restrict samples, __global const uint* restrict used, __global const int* restrict delays,
    __global const float* restrict taps, __global const float* restrict weights, __global float* restrict beams,
    const uint first_slot, const uint slots, const uint count) {
  __local float sums[3 * OUTPUTS * ROW];
  const uint lane = get_local_id(0);
  const uint first = get_group_id(0) * OUTPUTS;
  const uint beam = get_global_id(1);
  const uint window = get_global_id(2);
  float sum[OUTPUTS];
  float weight[OUTPUTS];
  float heard[OUTPUTS];
  for (uint o = 0; o < OUTPUTS; ++o) {
    sum[o] = 0.0f;
    weight[o] = 0.0f;
    heard[o] = 0.0f;
  }
  for (uint i = lane; i < count; i += LANES) {
    const uint channel = used[i];
    const uint begin = first + (uint)delays[beam * CHANNELS + channel];
    const float of_channel = weights[channel];
    float values[OUTPUTS + TAPS - 1];
    float coefficients[TAPS];
    for (uint k = 0; k < OUTPUTS + TAPS - 1; ++k) {
      // The last work-group's samples may end before it does.
      const uint n = min(begin + k, (uint)(WINDOW - 1));
      values[k] = samples[(size_t)ring_slot(first_slot, window * HOP + n, slots) * CHANNELS + channel];
    }
    for (uint tap = 0; tap < TAPS; ++tap) {
      coefficients[tap] = taps[(size_t)(beam * TAPS + tap) * CHANNELS + channel];
    }
    for (uint o = 0; o < OUTPUTS; ++o) {
      float pressure = 0.0f;
      for (uint tap = 0; tap < TAPS; ++tap) {
        pressure += coefficients[tap] * values[o + tap];
      }
      if (isfinite(pressure)) {
        sum[o] += pressure;
        weight[o] += of_channel;
        heard[o] += 1.0f;
      }
    }
  }
  for (uint o = 0; o < OUTPUTS; ++o) {
    sums[o * ROW + lane] = sum[o];
    sums[(OUTPUTS + o) * ROW + lane] = weight[o];
    sums[(2 * OUTPUTS + o) * ROW + lane] = heard[o];
  }
  barrier(CLK_LOCAL_MEM_FENCE);
  if (lane < 3 * OUTPUTS) {
    float total = 0.0f;
    for (uint k = 0; k < LANES; ++k) {
      total += sums[lane * ROW + k];
    }
    sums[lane * ROW] = total;
  }
  barrier(CLK_LOCAL_MEM_FENCE);
  if (lane < OUTPUTS && first + lane < NEW_SAMPLES) {
    const bool is_heard = sums[(2 * OUTPUTS + lane) * ROW] >= (float)FEWEST;
    const float value = sums[lane * ROW] / sums[(OUTPUTS + lane) * ROW];
    beams[((size_t)window * BEAMS + beam) * NEW_SAMPLES + first + lane] = is_heard ? value : NAN;
  }
}

__kernel __attribute__((reqd_work_group_size(LANES, 1, 1))) void watch_window(__global const float* restrict samples,
                                                                              __global const uint* restrict used,
                                                                              __global uint* restrict status,
                                                                              const uint first_slot, const uint slots,
                                                                              const uint count, const uint flags) {
  const uint i = get_global_id(0);
  const uint window = get_global_id(1);
  __global uint* of_window = status + (size_t)window * STATUS_WORDS;
  if (i == 0 && flags != 0u) {
    atomic_or(&of_window[0], flags);
  }
  if (i >= count) {
    return;
  }
  const uint channel = used[i];
  float peak = 0.0f;
  bool is_finite = true;
  for (uint n = 0; n < WINDOW; ++n) {
    const float value = samples[(size_t)ring_slot(first_slot, window * HOP + n, slots) * CHANNELS + channel];
    is_finite = is_finite && isfinite(value);
    peak = fmax(peak, fabs(value));
  }
  if (!is_finite) {
    atomic_or(&of_window[0], FLAG_NON_FINITE);
    atomic_inc(&of_window[1]);
  }
  flag_clipping(peak, 1u, of_window);
}
