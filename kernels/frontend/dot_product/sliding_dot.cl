// Block sums of decimated samples for kernels/frontend/common/sliding_dft.cl.
//
// Formula:
//   B_k[block] = round(e^{-j w_k m} sum_{i < BLOCK} c_k[i] y[m + i]),   c_k[i] = scale e^{-j w_k i},   m: the block's first
//
// Buffers:
//   samples       float  [slot][channel], channel fastest, full scale 1; a ring
//   coefficients  float2 [sample of a block][term], times the scale that makes sums integers
//   steps         ulong  [term], turns per sample times 2^64
//   is_alive      uint   [channel], 0 where clipping does not count
//   sums          int2   [slot][term][channel], as in sliding_dft.cl; a ring of block_slots blocks
//   first_slot    slot of the launch's first sample in its ring of `slots`
//   first_block_slot, first_sample, hop_block  of the launch's first block: its slot in the ring, its first sample
//     counted from the stream's start, and its index in its hop
// Launch: local (64, 1, 1); global (channels rounded up to 64, ceil(TERMS / TERM_TILE), blocks).

//! needs frontend/common/sliding_dft.cl

//! default TERM_TILE 4  // terms per item
//! default CLIP_LEVEL 0.95f  // fraction of full scale at or above which a sample counts as clipped

__kernel __attribute__((reqd_work_group_size(64, 1, 1))) void sample_block_sums(
    __global const float* restrict samples, __global const float2* restrict coefficients,
    __global const ulong* restrict steps, __global const uint* restrict is_alive, __global int2* restrict sums,
    const uint first_slot, const uint slots, const uint first_block_slot, const uint block_slots,
    const ulong first_sample, const uint hop_block) {
  const uint channel = get_global_id(0);
  const uint first_term = get_group_id(1) * TERM_TILE;
  const uint block = get_global_id(2);
  const uint ahead = words_on(hop_block, block, HOP_WORDS);
  const uint count = block_words((hop_block + block) % HOP_BLOCKS);
  if (channel >= CHANNELS) {
    return;
  }
  float2 totals[TERM_TILE];
#pragma unroll
  for (uint i = 0; i < TERM_TILE; ++i) {
    totals[i] = (float2)(0.0f, 0.0f);
  }
  float peak = 0.0f;
  for (uint j = 0; j < count; ++j) {
    const uint slot = (first_slot + ahead + j) % slots;
    const float sample = samples[(size_t)slot * CHANNELS + channel];
    peak = fmax(peak, fabs(sample));
#pragma unroll
    for (uint i = 0; i < TERM_TILE; ++i) {
      totals[i] += coefficients[j * TERMS + min(first_term + i, (uint)(TERMS - 1))] * sample;
    }
  }
  __global int2* restrict entry =
      sums + (size_t)((first_block_slot + block) % block_slots) * (TERMS + 1) * LANES + channel;
  const ulong first = first_sample + ahead;
#pragma unroll
  for (uint i = 0; i < TERM_TILE; ++i) {
    const uint term = first_term + i;
    if (term < TERMS) {
      entry[(size_t)term * LANES] = convert_int2_sat_rte(complex_multiply(totals[i], phasor(-(steps[term] * first))));
    }
  }
  if (first_term == 0) {
    entry[(size_t)TERMS * LANES] = (int2)(is_alive[channel] != 0u && peak >= CLIP_LEVEL, 0);
  }
}
