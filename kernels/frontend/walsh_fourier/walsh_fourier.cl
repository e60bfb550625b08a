// Front end walsh_fourier: phasors as weighted sums of Walsh coefficients of one-bit signals, with the Walsh transform
// across words applied to the weights beforehand (docs/how/walsh_fourier.md, "Variants").
//
//   spectra[f] = sum_word sum_pattern v[word][pattern][f] s(word, pattern),   s = 2 popcount(word ^ mask) - 32
// v is the Walsh-Hadamard transform over words of the kept weights of that pattern.
//   folded_sums     the sums of blocks of words
//   gather          the sum of the blocks
//
// Buffers:
//   packed       uint   [slot][channel], channel fastest, 32 bit-times per word, first in bit 0; a ring
//   mask         uint   [pattern], 32 values of a product of in-word Rademacher functions, bit 1 = -1
//   weight       float4 [word][pattern][pair], two frequencies per value (real, imaginary), pascal peak
//   partial      float4 [block][pair][channel]
//   spectra      float2 [frequency][channel], channel fastest, pascal peak
// Launches: folded_sums: local (64, 1, 1), global (channels rounded up to 64, WORDS / BLOCK, PAIRS / PAIR_TILE).
//   gather: local (64, 1), global (channels rounded up to 64, PAIRS).
// Assumes: WORDS = 2^LOG2_BITS / 32 <= slots, first_slot < slots; PAIRS a multiple of PAIR_TILE.

//! needs frontend/walsh_fourier/packed_words.cl

//! default PATTERNS 6  // in-word patterns that occur among the kept functions
// Pairs of frequencies, padded to a multiple of PAIR_TILE: the pairs that a work-item holds in registers.
//! default PAIRS 1
//! default PAIR_TILE 1
//! default BLOCK 16  // words per work-item of folded_sums; divides WORDS

__kernel __attribute__((reqd_work_group_size(64, 1, 1))) void folded_sums(__global const uint* restrict packed,
                                                                          __constant uint* mask,
                                                                          __global const float4* restrict weight,
                                                                          __global float4* restrict partial,
                                                                          const uint first_slot, const uint slots) {
  const uint channel = get_global_id(0);
  const uint block = get_global_id(1);
  const uint first_pair = get_global_id(2) * PAIR_TILE;
  if (channel >= CHANNELS) {
    return;
  }
  float4 sum[PAIR_TILE];
  for (uint pair = 0; pair < PAIR_TILE; ++pair) {
    sum[pair] = (float4)(0.0f, 0.0f, 0.0f, 0.0f);
  }
  for (uint word = block * BLOCK; word < (block + 1) * BLOCK; ++word) {
    const uint bits = packed[packed_index(word, channel, first_slot, slots)];
    for (uint pattern = 0; pattern < PATTERNS; ++pattern) {
      const float balance = (float)(2 * (int)popcount(bits ^ mask[pattern]) - 32);
      const size_t from = ((size_t)word * PATTERNS + pattern) * PAIRS + first_pair;
      for (uint pair = 0; pair < PAIR_TILE; ++pair) {
        sum[pair] += balance * weight[from + pair];
      }
    }
  }
  for (uint pair = 0; pair < PAIR_TILE; ++pair) {
    partial[((size_t)block * PAIRS + first_pair + pair) * CHANNELS + channel] = sum[pair];
  }
}

__kernel __attribute__((reqd_work_group_size(64, 1, 1))) void gather(__global const float4* restrict partial,
                                                                     __global float2* restrict spectra) {
  const uint channel = get_global_id(0);
  const uint pair = get_global_id(1);
  if (channel >= CHANNELS) {
    return;
  }
  float4 sum = (float4)(0.0f, 0.0f, 0.0f, 0.0f);
  for (uint block = 0; block < WORDS / BLOCK; ++block) {
    sum += partial[((size_t)block * PAIRS + pair) * CHANNELS + channel];
  }
  if (2 * pair < FREQUENCIES) {
    spectra[(size_t)(2 * pair) * CHANNELS + channel] = sum.xy;
  }
  if (2 * pair + 1 < FREQUENCIES) {
    spectra[(size_t)(2 * pair + 1) * CHANNELS + channel] = sum.zw;
  }
}
