// Front end walsh_fourier: phasors as weighted sums of Walsh coefficients of one-bit signals (thesis, chapter 5).
//
//   S(m) = sum_i WAL(m, i) x(i) = 2 popcount(x ^ walsh) - 2^LOG2_BITS      x: bit 1 = +1; walsh: bit 1 = -1
//   spectra[f] = sum_m weight[f][m] S(m)
// WAL(m, i) = (-1)^popcount(h & i), h the bit-reversed Gray code of m. The low 5 bits of h choose among the five
// Rademacher functions within a word (32 patterns), the others the sign of each word.
//   walsh_sums      S(m) of each kept function; its words from memory (PRECOMPUTED 1) or made from Rademacher words
//   combine         the weighted sums of S(m)
//   folded_sums     the same phasors with the sums over m done on the weights beforehand:
//                   sum_word sum_pattern v[word][pattern][f] s(word, pattern), s = 2 popcount(word ^ mask) - 32, and
//                   v the Walsh-Hadamard transform over words of the kept weights of that pattern
//   gather          the sum of folded_sums' blocks
//
// Buffers:
//   packed       uint   [slot][channel], channel fastest, 32 bit-times a word, first in the least significant bit; a ring
//   walsh        uint   PRECOMPUTED 1: [word][function], bit 1 = -1; 0: [function], number m in sequency order
//   sums         int    [function][channel]
//   first_term   uint   [frequency + 1], into the next two
//   term         uint   function of each term, an index of sums
//   term_weight  float2 of each term, pascal peak
//   mask         uint   [pattern], 32 values of a product of in-word Rademacher functions, bit 1 = -1
//   weight       float4 [word][pattern][pair], two frequencies a value (real, imaginary), pascal peak
//   partial      float4 [block][pair][channel]
//   spectra      float2 [frequency][channel], channel fastest, pascal peak
// Launches: walsh_sums: local (32, 8, 1), global (channels rounded up to 32, 8, FUNCTIONS / 4).
//   combine: local (32, 8), global (channels rounded up to 32, 8, frequencies).
//   folded_sums: local (64, 1, 1), global (channels rounded up to 64, WORDS / BLOCK, PAIRS / PAIR_TILE).
//   gather: local (64, 1), global (channels rounded up to 64, PAIRS).
// Assumes: WORDS = 2^LOG2_BITS / 32 <= slots, first_slot < slots; FUNCTIONS a multiple of 4; PAIRS one of PAIR_TILE.
// Local memory: walsh_sums 4 KiB, combine 2 KiB.

// Microphones.
#ifndef CHANNELS
#define CHANNELS 1024
#endif
// Bits of a window, as a power of two.
#ifndef LOG2_BITS
#define LOG2_BITS 15
#endif
// Kept Walsh functions of all frequencies, padded to a multiple of 4.
#ifndef FUNCTIONS
#define FUNCTIONS 40
#endif
// 1: `walsh` holds the functions' words; 0: their numbers.
#ifndef PRECOMPUTED
#define PRECOMPUTED 1
#endif
// In-word patterns that occur among the kept functions.
#ifndef PATTERNS
#define PATTERNS 6
#endif
// Frequencies, and pairs of them, padded to a multiple of PAIR_TILE: the pairs that a work-item holds in registers.
#ifndef FREQUENCIES
#define FREQUENCIES 2
#endif
#ifndef PAIRS
#define PAIRS 1
#endif
#ifndef PAIR_TILE
#define PAIR_TILE 1
#endif
// Words of a work-item of folded_sums; divides WORDS.
#ifndef BLOCK
#define BLOCK 16
#endif

#define BITS (1 << LOG2_BITS)
#define WORDS (BITS / 32)
#define LANES 32
#define SLICES 8
#define FUNCTION_TILE 4

static size_t packed_index(uint word, uint channel, uint first_slot, uint slots) {
  const uint slot = first_slot + word;
  return (size_t)(slot >= slots ? slot - slots : slot) * CHANNELS + channel;
}

// Bit-reversed Gray code of a function's number.
static uint hadamard_index(uint function) {
  const uint gray = function ^ (function >> 1);
  uint index = 0u;
  for (uint bit = 0; bit < LOG2_BITS; ++bit) {
    index |= ((gray >> bit) & 1u) << (LOG2_BITS - 1 - bit);
  }
  return index;
}

// The 32 values of the product of those Rademacher functions within a word that `index` chooses, bit 1 = -1.
static uint rademacher_product(uint index) {
  return ((index & 1u) != 0u ? 0xAAAAAAAAu : 0u) ^ ((index & 2u) != 0u ? 0xCCCCCCCCu : 0u) ^
         ((index & 4u) != 0u ? 0xF0F0F0F0u : 0u) ^ ((index & 8u) != 0u ? 0xFF00FF00u : 0u) ^
         ((index & 16u) != 0u ? 0xFFFF0000u : 0u);
}

__kernel __attribute__((reqd_work_group_size(LANES, SLICES, 1))) void walsh_sums(__global const uint* restrict packed,
                                                                                 __global const uint* restrict walsh,
                                                                                 __global int* restrict sums,
                                                                                 const uint first_slot,
                                                                                 const uint slots) {
  __local int slice_ones[SLICES][FUNCTION_TILE][LANES];
  const uint lane = get_local_id(0);
  const uint slice = get_local_id(1);
  const uint channel = get_global_id(0);
  const uint first = get_global_id(2) * FUNCTION_TILE;

  uint word_index[FUNCTION_TILE];
  uint pattern[FUNCTION_TILE];
  int ones[FUNCTION_TILE];
  for (uint i = 0; i < FUNCTION_TILE; ++i) {
    const uint index = PRECOMPUTED ? 0u : hadamard_index(walsh[first + i]);
    word_index[i] = index >> 5;
    pattern[i] = rademacher_product(index);
    ones[i] = 0;
  }
  for (uint word = slice; word < WORDS; word += SLICES) {
    const uint bits = channel < CHANNELS ? packed[packed_index(word, channel, first_slot, slots)] : 0u;
    for (uint i = 0; i < FUNCTION_TILE; ++i) {
      const uint sign = 0u - (popcount(word_index[i] & word) & 1u);
      const uint function_word = PRECOMPUTED ? walsh[(size_t)word * FUNCTIONS + first + i] : pattern[i] ^ sign;
      ones[i] += (int)popcount(bits ^ function_word);
    }
  }
  for (uint i = 0; i < FUNCTION_TILE; ++i) {
    slice_ones[slice][i][lane] = ones[i];
  }
  barrier(CLK_LOCAL_MEM_FENCE);
  if (slice < FUNCTION_TILE && channel < CHANNELS) {
    int total = 0;
    for (uint other = 0; other < SLICES; ++other) {
      total += slice_ones[other][slice][lane];
    }
    sums[(size_t)(first + slice) * CHANNELS + channel] = 2 * total - BITS;
  }
}

__kernel __attribute__((reqd_work_group_size(LANES, SLICES, 1))) void combine(
    __global const int* restrict sums, __global const uint* restrict first_term, __global const uint* restrict term,
    __global const float2* restrict term_weight, __global float2* restrict spectra) {
  __local float2 slice_sum[SLICES][LANES];
  const uint lane = get_local_id(0);
  const uint slice = get_local_id(1);
  const uint channel = get_global_id(0);
  const uint frequency = get_global_id(2);
  const uint end = first_term[frequency + 1];

  float2 sum = (float2)(0.0f, 0.0f);
  for (uint i = first_term[frequency] + slice; i < end && channel < CHANNELS; i += SLICES) {
    sum += term_weight[i] * (float)sums[(size_t)term[i] * CHANNELS + channel];
  }
  slice_sum[slice][lane] = sum;
  barrier(CLK_LOCAL_MEM_FENCE);
  if (slice == 0 && channel < CHANNELS) {
    for (uint other = 1; other < SLICES; ++other) {
      sum += slice_sum[other][lane];
    }
    spectra[(size_t)frequency * CHANNELS + channel] = sum;
  }
}

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
