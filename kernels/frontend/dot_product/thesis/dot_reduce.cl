// Front end dot_product, one work-group per channel: n dot products of a window, reduced in local memory OUTPUTS at a
// time (Angeles 2014, sections 6.1.2 and 7.2: plain, mirrored and four-output templates).
//
// Formula: spectra[f][channel] = sum_t c[f][t] y[first + t]
//   c[f][t] = w[t] (forward[f] e^{-ja} + image[f] e^{+ja} + constant[f]), a = 2 pi steps[f] t / 2^64; the product of
//   integers wraps like the angle, so that long windows lose no precision
// Work-item i loads samples i, i + GROUP, ... and keeps them for all frequencies. The group is then cut into OUTPUTS
// sections, and each reduces one frequency by halves: every item passes the sums for the other sections' frequencies to
// its counterparts there, and keeps its own in registers.
//
// Buffers:
//   samples       float  [slot][channel], channel fastest, full scale 1 or pascal; a ring
//   coefficients  float2 [frequency][3], forward, image, constant, pascal per unit of samples
//   window        float  [t]
//   steps         ulong  [frequency], turns per sample times 2^64
//   is_alive      uint   [channel], 0 for a channel whose clipping does not count
//   status        uint   [4], word 0 gathers the flags of the frame
//   spectra       float2 [frequency][channel], channel fastest, pascal peak
// Launch: local GROUP, global GROUP * CHANNELS.
// Assumes: GROUP / OUTPUTS a power of two of 4 or more. Local memory: 8 GROUP (OUTPUTS + 1) bytes, 2.3 to 10 KiB.

//! needs common/complex.cl
//! needs frontend/window_samples.cl

//! default FREQUENCIES 2  // dot products per channel
//! default GROUP 256  // work-items per group
//! default OUTPUTS 1  // frequencies of one reduction: 1, 2 or 4

#define SECTION (GROUP / OUTPUTS)
#define ITEM_SAMPLES ((WINDOW + GROUP - 1) / GROUP)

static float2 coefficient(__global const ulong* steps, __global const float2* terms, const uint frequency,
                          const uint t) {
  const uint phase = (uint)((steps[frequency] * t) >> 32);
  const float half_turns = (float)as_int(phase) * 0x1p-31f;
  const float cosine = cospi(half_turns);
  const float sine = sinpi(half_turns);
  return complex_multiply(terms[3 * frequency], (float2)(cosine, -sine)) +
         complex_multiply(terms[3 * frequency + 1], (float2)(cosine, sine)) + terms[3 * frequency + 2];
}

__kernel __attribute__((reqd_work_group_size(GROUP, 1, 1))) void dot_reduce(
    __global const float* restrict samples, __global const uint* restrict is_alive,
    __global const float2* restrict coefficients, const uint slots, const uint first_slot,
    __global float2* restrict spectra, __global uint* restrict status, __global const float* restrict window,
    __global const ulong* restrict steps) {
#if OUTPUTS > 1
  __local float2 exchange[OUTPUTS][GROUP];
#endif
  __local float2 halves[GROUP];
  const uint item = get_local_id(0);
  const uint channel = get_group_id(0);
  const uint section = item / SECTION;
  const uint rank = item % SECTION;

  float values[ITEM_SAMPLES];
  float peak = 0.0f;
  for (uint i = 0; i < ITEM_SAMPLES; ++i) {
    const uint t = i * GROUP + item;
    const uint held = min(t, (uint)(WINDOW - 1));
    const float sample = samples[(size_t)ring_slot(first_slot, held, slots) * CHANNELS + channel];
    peak = fmax(peak, fabs(sample));
    values[i] = t < WINDOW ? sample * window[held] : 0.0f;
  }
  flag_clipping(peak, is_alive[channel], status);

  for (uint first = 0; first < FREQUENCIES; first += OUTPUTS) {
    float2 sums[OUTPUTS];
    for (uint output = 0; output < OUTPUTS; ++output) {
      const uint frequency = min(first + output, (uint)(FREQUENCIES - 1));
      float2 sum = (float2)(0.0f, 0.0f);
      for (uint i = 0; i < ITEM_SAMPLES; ++i) {
        const uint t = min(i * GROUP + item, (uint)(WINDOW - 1));
        sum += coefficient(steps, coefficients, frequency, t) * values[i];
      }
      sums[output] = sum;
    }

    float2 own = sums[0];
#if OUTPUTS > 1
    for (uint output = 0; output < OUTPUTS; ++output) {
      exchange[output][item] = sums[output];
    }
    barrier(CLK_LOCAL_MEM_FENCE);
    own = (float2)(0.0f, 0.0f);
    for (uint other = 0; other < OUTPUTS; ++other) {
      own += exchange[section][other * SECTION + rank];
    }
#endif
    for (uint active = SECTION / 2; active > 0; active /= 2) {
      if (rank >= active && rank < 2 * active) {
        halves[item] = own;
      }
      barrier(CLK_LOCAL_MEM_FENCE);
      if (rank < active) {
        own += halves[item + active];
      }
    }
    if (rank == 0 && first + section < FREQUENCIES) {
      spectra[(size_t)(first + section) * CHANNELS + channel] = finite_or_nan(own);
    }
  }
}
