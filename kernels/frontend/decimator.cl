// Decimator: packed one-bit words to samples at 1/32 of the bit rate. A cascaded integrator-comb filter of order 5
// (Hogenauer 1981, "An economical class of digital filters for decimation and interpolation", eq. 4) divides the rate
// by 8, a compensation filter by 4.
//
// Formulas, x[n] = +1 for bit 1 and -1 for bit 0:
//   cic     c[k] = sum_{i=0}^{35} h[i] x[8k + 7 - i],  h = boxcar(8) * boxcar(8) * boxcar(8) * boxcar(8) * boxcar(8)
//           in exact integers: each byte of bits, 0 to 4 bytes old, adds one entry of a table
//           table[age][byte] = sum_{b=0}^{7} h[8 age + 7 - b] (2 bit_b(byte) - 1)
//   fir     y[m] = sum_{j=0}^{TAPS-1} taps[j] c[4m + 3 - j]; the newest bit of sample m is bit 32m + 31
// Words that were never fed count as the silence pattern, whose c is exactly 0 (eight alternating bits sum to zero).
//
// Buffers:
//   packed       uint  [slot][channel], channel fastest, 32 bit-times per word, first in bit 0; a ring
//   byte_table   int   [age 0..4][byte]
//   cic_ring     int   [slot][channel], 4 slots per word, full scale 8^5 = 32768; a ring
//   padded_taps  float [3 * 4 zeros][TAPS][3 * 4 zeros], scaled by 1/32768
//   samples      float [slot][channel], full scale 1; a ring
// Launches: cic and silence: local (64, 4), fir: local (64, 1); dimension 0 is the channels rounded up to 64, dimension
//   1 the words rounded up to 4 (cic), the slots to clear rounded up to 4 (silence), the blocks of OUTPUTS samples (fir).
// Assumes: rings hold what one launch reads and writes: words <= slots, 4 words + TAPS <= cic_slots.

//! default CHANNELS 1024  // microphones
//! default TAPS 80  // length of the compensation filter, a multiple of 4
//! default PACKED_SILENCE 0xAAAAAAAAu  // 32 bit-times of a microphone without data
//! default OUTPUTS 4  // consecutive samples computed by one work-item of fir, sharing its reads

#define GROUP_CHANNELS 64
#define GROUP_WORDS 4
#define AGES 5
#define BYTES 256
#define CIC_PER_WORD 4
#define CIC_PER_SAMPLE 4
#define TAP_PADDING (CIC_PER_SAMPLE * (OUTPUTS - 1))

uint wrapped(const uint slot, const uint slots) { return slot >= slots ? slot - slots : slot; }

__kernel __attribute__((reqd_work_group_size(GROUP_CHANNELS, GROUP_WORDS, 1))) void cic(
    __global const uint* restrict packed, __global const int* restrict byte_table, __global int* restrict cic_ring,
    const uint first_slot, const uint slots, const uint first_cic_slot, const uint cic_slots, const uint words,
    const int continues) {
  __local int table[AGES * BYTES];
  const uint item = get_local_id(1) * GROUP_CHANNELS + get_local_id(0);
  for (uint i = item; i < AGES * BYTES; i += GROUP_CHANNELS * GROUP_WORDS) {
    table[i] = byte_table[i];
  }
  barrier(CLK_LOCAL_MEM_FENCE);

  const uint channel = get_global_id(0);
  const uint word = get_global_id(1);
  if (channel < CHANNELS && word < words) {
    const uint slot = wrapped(first_slot + word, slots);
    const uint previous_slot = slot == 0 ? slots - 1 : slot - 1;
    const uint current = packed[(size_t)slot * CHANNELS + channel];
    const uint stored = packed[(size_t)previous_slot * CHANNELS + channel];
    const uint previous = word > 0 || continues != 0 ? stored : PACKED_SILENCE;
    const ulong bits = (ulong)current << 32 | previous;
    const uint cic_slot = wrapped(first_cic_slot + CIC_PER_WORD * word, cic_slots);
    for (uint output = 0; output < CIC_PER_WORD; ++output) {
      int sum = 0;
      for (uint age = 0; age < AGES; ++age) {
        const uint byte = (uint)(bits >> (8 * (output + AGES - 1 - age))) & 255u;
        sum += table[age * BYTES + byte];
      }
      cic_ring[(size_t)(cic_slot + output) * CHANNELS + channel] = sum;
    }
  }
}

// Clears `count` slots from first_cic_slot on: the silence before a stream, or before data that follow a gap.
__kernel __attribute__((reqd_work_group_size(GROUP_CHANNELS, GROUP_WORDS, 1))) void silence(
    __global int* restrict cic_ring, const uint first_cic_slot, const uint cic_slots, const uint count) {
  const uint channel = get_global_id(0);
  const uint step = get_global_id(1);
  if (channel < CHANNELS && step < count) {
    cic_ring[(size_t)wrapped(first_cic_slot + step, cic_slots) * CHANNELS + channel] = 0;
  }
}

// first_cic_slot is the slot of c[4m + 4 - TAPS] for the first sample m.
__kernel __attribute__((reqd_work_group_size(GROUP_CHANNELS, 1, 1))) void fir(
    __global const int* restrict cic_ring, __constant float* restrict padded_taps, __global float* restrict samples,
    const uint first_cic_slot, const uint cic_slots, const uint first_slot, const uint slots, const uint count) {
  const uint channel = get_global_id(0);
  const uint first = get_global_id(1) * OUTPUTS;
  if (channel < CHANNELS) {
    float sums[OUTPUTS];
#pragma unroll
    for (uint output = 0; output < OUTPUTS; ++output) {
      sums[output] = 0.0f;
    }
    uint slot = wrapped(first_cic_slot + CIC_PER_SAMPLE * first, cic_slots);
#pragma unroll
    for (uint step = 0; step < TAPS + TAP_PADDING; ++step) {
      const float value = (float)cic_ring[(size_t)slot * CHANNELS + channel];
      slot = slot + 1 == cic_slots ? 0 : slot + 1;
#pragma unroll
      for (uint output = 0; output < OUTPUTS; ++output) {
        sums[output] += padded_taps[TAP_PADDING + TAPS - 1 + CIC_PER_SAMPLE * output - step] * value;
      }
    }
#pragma unroll
    for (uint output = 0; output < OUTPUTS; ++output) {
      if (first + output < count) {
        samples[(size_t)wrapped(first_slot + first + output, slots) * CHANNELS + channel] = sums[output];
      }
    }
  }
}
