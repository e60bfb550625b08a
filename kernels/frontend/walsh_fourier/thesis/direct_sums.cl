// Front end walsh_fourier, methods of the thesis (Oznaya Angeles 2014, chapter 5): Walsh coefficients of one-bit
// signals, then their weighted sums.
//
//   S(m) = sum_i WAL(m, i) x(i) = 2 popcount(x ^ walsh) - 2^LOG2_BITS      x: bit 1 = +1; walsh: bit 1 = -1
//   spectra[f] = sum_m weight[f][m] S(m)
// WAL(m, i) = (-1)^popcount(h & i), h the bit-reversed Gray code of m. The low 5 bits of h select among the five
// Rademacher functions within a word (32 patterns), the others the sign of each word.
//   walsh_sums      S(m) of each kept function; its words from memory (PRECOMPUTED 1) or computed from Rademacher words
//   combine         the weighted sums of S(m)
//
// Buffers:
//   packed       uint   [slot][channel], channel fastest, 32 bit-times per word, first in bit 0; a ring
//   walsh        uint   PRECOMPUTED 1: [word][function], bit 1 = -1; 0: [function], number m in sequency order
//   sums         int    [function][channel]
//   first_term   uint   [frequency + 1], into the next two
//   term         uint   function of each term, an index of sums
//   term_weight  float2 [term], pascal peak
//   spectra      float2 [frequency][channel], channel fastest, pascal peak
// Launches: walsh_sums: local (32, 8, 1), global (channels rounded up to 32, 8, FUNCTIONS / 4).
//   combine: local (32, 8), global (channels rounded up to 32, 8, frequencies).
// Assumes: WORDS = 2^LOG2_BITS / 32 <= slots, first_slot < slots; FUNCTIONS a multiple of 4. Local memory: walsh_sums
//   4 KiB, combine 2 KiB.

//! needs frontend/walsh_fourier/packed_words.cl

//! default FUNCTIONS 40  // kept Walsh functions of all frequencies, padded to a multiple of 4
//! default PRECOMPUTED 1  // 1: `walsh` holds the functions' words; 0: their numbers

#define LANES 32
#define SLICES 8
#define FUNCTION_TILE 4

// Bit-reversed Gray code of a function's number.
static uint hadamard_index(uint function) {
  const uint gray = function ^ (function >> 1);
  uint index = 0u;
  for (uint bit = 0; bit < LOG2_BITS; ++bit) {
    index |= ((gray >> bit) & 1u) << (LOG2_BITS - 1 - bit);
  }
  return index;
}

// The 32 values of the product of the Rademacher functions within a word that `index` selects, bit 1 = -1.
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
