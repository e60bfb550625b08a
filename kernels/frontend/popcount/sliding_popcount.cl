// Block sums of packed words for kernels/frontend/common/sliding_dft.cl, straight from wire words.
//
// Formula, moments m_q of a word as in kernels/common/moments.cl:
//   B_k[block] = round(e^{-j w_k t} sum_{word of the block} sum_q C_kq[word] m_q),   t: the block's first bit-time
//
// Buffers:
//   wire          uint   [bit-time][wire word], wire word fastest; a ring of the newest wire_words words that belong to
//                 windows
//   coefficients  float2 [term][word of the longest block][q], times the scale that makes sums integers
//   steps         ulong  [term], turns per word times 2^64
//   is_alive      uint   [lane], 0 where clipping does not count; lane = 32 * wire word + bit
//   sums          int2   [slot][term][lane], as in sliding_dft.cl; a ring of `slots` blocks
//   first_wire_word, first_slot  position of this launch's first block in the two rings
//   first_word, hop_block  of this launch's first block: its first word counted from the stream's start, and its index
//     in its hop
//   blocks        blocks in this launch
//   the others    as in sliding_dft.cl
// Launch: local (32, ROWS, 1); global (32 * WIRE_WORDS, ROWS * ceil(FREQUENCIES / FREQUENCY_TILE), z), where z is
//   ceil(blocks / GROUP_BLOCKS) for block_sums and 1 for advance.
// Local memory: 4 KiB, 4 KiB per moment, 0.25 KiB per row if rows share terms, at most 8 KiB of coefficients, and for
// advance 0.25 KiB per term of the group.

//! needs common/moments.cl
//! needs frontend/popcount/sliding_popcount_shared.cl

// Rows of a work-group; each processes every ROWS-th word of a tile, and later every ROWS-th term. With at least twice
// as many rows as terms, PARTS rows share a term, each with every PARTS-th word.
//! default ROWS 8
//! default FREQUENCY_TILE 2  // frequencies per work-group

#define TILE 32
// Terms of a work-group: those of its frequencies, then the offset's, which every group has.
#define GROUP_TERMS (FREQUENCY_TILE * FREQUENCY_TERMS + OFFSET_TERMS)
#define ROW_TERMS ((GROUP_TERMS + ROWS - 1) / ROWS)
#define PARTS (ROWS / GROUP_TERMS > 1 ? ROWS / GROUP_TERMS : 1)
#define TERM_OF_ROW(row, i) (PARTS > 1 ? (row) % GROUP_TERMS : (row) + (i)*ROWS)
#define ROW_WORDS ((TILE + ROWS - 1) / ROWS)
// A group's coefficients are loaded while its bits are being loaded, if a block fits a tile and there are few of them.
#define HELD_VALUES (GROUP_TERMS * BLOCK * MOMENTS)
#define HOLDS_COEFFICIENTS (BLOCK <= TILE && HELD_VALUES <= 1024)
// Blocks per work-group: those of as many hops as fit one tile of words, or one block; long ones need several tiles.
#define GROUP_BLOCKS (KEPT_WORDS > TILE ? 1 : TILE / KEPT_WORDS * HOP_BLOCKS)

// Index among the ring's terms of a group's term; TERMS if there is none.
static uint term_of(const uint tile, const uint own) {
  const uint offset = FREQUENCY_TILE * FREQUENCY_TERMS;
  const uint term = tile * offset + own;
  if (own < offset) {
    return term < FREQUENCIES * FREQUENCY_TERMS ? term : TERMS;
  }
  return own < GROUP_TERMS ? FREQUENCIES * FREQUENCY_TERMS + own - offset : TERMS;
}

// Loads coefficients into `held`, [term of the group][word][q], if the group holds them. The barriers of find_moments()
// follow.
LOCAL_HELPER void load_coefficients(__global const float2* restrict coefficients, const uint tile_of_frequencies,
                                    __local float2 held[HOLDS_COEFFICIENTS ? HELD_VALUES : 1]) {
  if (HOLDS_COEFFICIENTS) {
    for (uint i = get_local_id(1) * BITS + get_local_id(0); i < HELD_VALUES; i += ROWS * BITS) {
      const uint term = min(term_of(tile_of_frequencies, i / (BLOCK * MOMENTS)), (uint)(TERMS - 1));
      held[i] = coefficients[term * BLOCK * MOMENTS + i % (BLOCK * MOMENTS)];
    }
  }
}

// Loads bit-time `lane` of this row's words; `first_word` is the position in the ring of wire words.
static void load_words(__global const uint* restrict wire, const uint first_word, const uint wire_words,
                       const uint words, uint loaded[ROW_WORDS]) {
#pragma unroll
  for (uint i = 0; i < ROW_WORDS; ++i) {
    const uint j = min((uint)get_local_id(1) + i * ROWS, words - 1);
    const uint word = first_word + j >= wire_words ? first_word + j - wire_words : first_word + j;
    loaded[i] = wire[((size_t)word * BITS + get_local_id(0)) * WIRE_WORDS];
  }
}

// Finds moments of up to 32 words of 32 lanes, from their bit-times. Ends with a barrier.
LOCAL_HELPER void find_moments(const uint loaded[ROW_WORDS], const uint words, __local uint tile[TILE][BITS],
                               __local float moments[TILE][MOMENTS][BITS]) {
  const uint lane = get_local_id(0);
  const uint row = get_local_id(1);
#pragma unroll
  for (uint i = 0; i < ROW_WORDS; ++i) {
    if (row + i * ROWS < words) {
      tile[row + i * ROWS][lane] = loaded[i];
    }
  }
  barrier(CLK_LOCAL_MEM_FENCE);
  for (uint j = row; j < words; j += ROWS) {
    uint turned = 0u;
#pragma unroll
    for (uint time = 0; time < BITS; time += 4) {
      const uint4 four = vload4(0, &tile[j][time]) >> lane;
      turned = (turned >> 1) | (four.x << 31);
      turned = (turned >> 1) | (four.y << 31);
      turned = (turned >> 1) | (four.z << 31);
      turned = (turned >> 1) | (four.w << 31);
    }
    moments[j][0][lane] = (float)sign_sum(turned);
#if ORDER >= 1
    moments[j][1][lane] = (float)first_moment(turned);
#endif
#if ORDER >= 2
    moments[j][2][lane] = (float)second_moment(turned);
#endif
  }
  barrier(CLK_LOCAL_MEM_FENCE);
}

// Clipped runs of eight words among `words` of a tile in x, the sum of all words' signs in y.
LOCAL_HELPER int2 clipping_of(__local float moments[TILE][MOMENTS][BITS], const uint first, const uint words) {
  int2 found = (int2)(0, 0);
  int run = 0;
  for (uint j = 0; j < words; ++j) {
    const int sum = (int)moments[first + j][0][get_local_id(0)];
    found.y += sum;
    run += sum;
    if (j % CLIP_RUN == CLIP_RUN - 1) {
      found.x += abs(run) >= CLIP_SUM;
      run = 0;
    }
  }
  return found;
}

// Sums one block of `length` words for the terms of this item's row (of the first rows, if rows share terms), and its
// clipping if `looks`. For blocks that fit a tile the moments are already in local memory, from word `place` on; for
// longer ones they are loaded here.
LOCAL_HELPER int2 sum_block(__global const uint* restrict wire, __global const float2* restrict coefficients,
                            const uint first_wire_word, const uint wire_words, const uint length, const uint place,
                            const uint looks, __local uint tile[TILE][BITS], __local float moments[TILE][MOMENTS][BITS],
                            __local float2 held[HOLDS_COEFFICIENTS ? HELD_VALUES : 1],
                            __local float2 shares[PARTS > 1 ? ROWS : 1][BITS], float2 totals[ROW_TERMS]) {
  const uint lane = get_local_id(0);
  const uint row = get_local_id(1);
  const uint part = PARTS > 1 ? row / GROUP_TERMS : 0;
  uint terms[ROW_TERMS];  // indices in the group if coefficients are held, else in the ring
#pragma unroll
  for (uint i = 0; i < ROW_TERMS; ++i) {
    totals[i] = (float2)(0.0f, 0.0f);
    terms[i] = HOLDS_COEFFICIENTS ? min((uint)TERM_OF_ROW(row, i), (uint)(GROUP_TERMS - 1))
                                  : min(term_of(get_group_id(1), TERM_OF_ROW(row, i)), (uint)(TERMS - 1));
  }
  int2 clipping = (int2)(0, 0);
  for (uint first = 0; first < length; first += TILE) {
    const uint words = min((uint)TILE, length - first);
#if BLOCK > TILE
    uint loaded[ROW_WORDS];
    load_words(wire, first_wire_word + first, wire_words, words, loaded);
    find_moments(loaded, words, tile, moments);
#endif
#pragma unroll 8
    for (uint j = part; j < (part < PARTS ? words : 0); j += PARTS) {
#pragma unroll
      for (uint i = 0; i < ROW_TERMS; ++i) {
        const uint factors = (terms[i] * BLOCK + first + j) * MOMENTS;
#pragma unroll
        for (uint q = 0; q < MOMENTS; ++q) {
          totals[i] +=
              (HOLDS_COEFFICIENTS ? held[factors + q] : coefficients[factors + q]) * moments[place + j][q][lane];
        }
      }
    }
    if (looks) {
      clipping += clipping_of(moments, place, words);
    }
#if BLOCK > TILE
    barrier(CLK_LOCAL_MEM_FENCE);
#endif
  }
#if PARTS > 1
  shares[row][lane] = totals[0];
  barrier(CLK_LOCAL_MEM_FENCE);
  if (row < GROUP_TERMS) {
    totals[0] = shares[row][lane];
#pragma unroll
    for (uint i = 1; i < PARTS; ++i) {
      totals[0] += shares[row + i * GROUP_TERMS][lane];
    }
  }
  barrier(CLK_LOCAL_MEM_FENCE);
#endif
  return clipping;
}

static int2 rounded(const float2 total, const float2 turn) {
  return convert_int2_sat_rte(complex_multiply(total, turn));
}

// True in the row that detects clipping: the last one of the first groups, which has the fewest terms.
static uint looks_for_clipping(void) { return get_group_id(1) == 0 && get_local_id(1) == ROWS - 1; }

// Sums any number of blocks.
__kernel __attribute__((reqd_work_group_size(BITS, ROWS, 1))) void block_sums(
    __global const uint* restrict wire, __global const float2* restrict coefficients,
    __global const ulong* restrict steps, __global const uint* restrict is_alive, __global int2* restrict sums,
    const uint first_wire_word, const uint wire_words, const uint first_slot, const uint slots, const ulong first_word,
    const uint hop_block, const uint blocks) {
  __local uint tile[TILE][BITS];
  __local float moments[TILE][MOMENTS][BITS];
  __local float2 shares[PARTS > 1 ? ROWS : 1][BITS];
  __local float2 held[HOLDS_COEFFICIENTS ? HELD_VALUES : 1];
  const uint column = get_group_id(0);
  const uint lane = column * BITS + get_local_id(0);
  const uint group_block = get_group_id(2) * GROUP_BLOCKS;
  const uint group_blocks = min((uint)GROUP_BLOCKS, blocks - group_block);
  const uint group_place = words_on(hop_block, group_block, KEPT_WORDS);
  const uint group_wire_word = (first_wire_word + group_place) % wire_words;
#if BLOCK <= TILE
  const uint group_words = words_on(hop_block, group_block + group_blocks - 1, KEPT_WORDS) - group_place +
                           block_words((hop_block + group_block + group_blocks - 1) % HOP_BLOCKS);
  uint loaded[ROW_WORDS];
  load_words(wire + column, group_wire_word, wire_words, group_words, loaded);
  load_coefficients(coefficients, get_group_id(1), held);
  find_moments(loaded, group_words, tile, moments);
#endif
  for (uint b = 0; b < group_blocks; ++b) {
    const uint block = group_block + b;
    const uint place = words_on(hop_block, block, KEPT_WORDS) - group_place;
    float2 totals[ROW_TERMS];
    const int2 clipping = sum_block(wire + column, coefficients, group_wire_word, wire_words,
                                    block_words((hop_block + block) % HOP_BLOCKS), place, looks_for_clipping(), tile,
                                    moments, held, shares, totals);
    __global int2* restrict entry = sums + (size_t)((first_slot + block) % slots) * (TERMS + 1) * LANES + lane;
    const ulong word = first_word + words_on(hop_block, block, HOP_WORDS);
#pragma unroll
    for (uint i = 0; i < ROW_TERMS; ++i) {
      const uint own = get_local_id(1) + i * ROWS;
      const uint term = term_of(get_group_id(1), own);
      if (term < TERMS && (own < FREQUENCY_TILE * FREQUENCY_TERMS || get_group_id(1) == 0)) {
        entry[(size_t)term * LANES] = rounded(totals[i], phasor(-(steps[term] * word)));
      }
    }
    if (looks_for_clipping()) {
      entry[(size_t)TERMS * LANES] = (int2)(is_alive[lane] != 0u ? clipping.x : 0, clipping.y);
    }
  }
}

// The common case in one launch if a hop is one block, with all arrays in one arena at the bytes NAME_AT: one block
// enters, one leaves, and the spectra of the window that ends with it are computed.
__kernel __attribute__((reqd_work_group_size(BITS, ROWS, 1))) void advance(
    __global uchar* arena, __global float2* restrict spectra, __global uint* restrict status, const uint from_b,
    const uint wire_word, const uint wire_words, const uint leaving_slot, const uint coming_slot,
    const ulong coming_block, const ulong coming_word, const ulong first_word) {
  __global const uint* restrict wire = (__global const uint*)(arena + WIRE_AT);
  __global const float2* restrict coefficients = (__global const float2*)(arena + COEFFICIENTS_AT);
  __global const ulong* restrict steps = (__global const ulong*)(arena + STEPS_AT);
  __global const uint* restrict is_alive = (__global const uint*)(arena + IS_ALIVE_AT);
  __global int2* restrict sums = (__global int2*)(arena + SUMS_AT);
  __global const float2* restrict weights = (__global const float2*)(arena + WEIGHTS_AT);
  __global const int* restrict channel_of = (__global const int*)(arena + CHANNEL_OF_AT);
  __global const int2* restrict state_in = (__global const int2*)(arena + (from_b ? STATE_B_AT : STATE_A_AT));
  __global int2* restrict state_out = (__global int2*)(arena + (from_b ? STATE_A_AT : STATE_B_AT));
  __local uint tile[TILE][BITS];
  __local float moments[TILE][MOMENTS][BITS];
  __local float2 shares[PARTS > 1 ? ROWS : 1][BITS];
  __local float2 held[HOLDS_COEFFICIENTS ? HELD_VALUES : 1];
  __local float2 turned[GROUP_TERMS][BITS];
  __local float2 tile_weights[3 * FREQUENCY_TILE];
  const uint column = get_group_id(0);
  const uint tile_of_frequencies = get_group_id(1);
  const uint lane = column * BITS + get_local_id(0);
  __global const int2* restrict leaving = sums + (size_t)leaving_slot * (TERMS + 1) * LANES + lane;
  __global int2* restrict coming = sums + (size_t)coming_slot * (TERMS + 1) * LANES + lane;
  const int channel = channel_of[lane];
  // All loads from memory are issued first; values that do not depend on the bits are computed meanwhile.
#if BLOCK <= TILE
  uint loaded[ROW_WORDS];
  load_words(wire + column, wire_word, wire_words, BLOCK, loaded);
  load_coefficients(coefficients, tile_of_frequencies, held);
#endif
  for (uint i = get_local_id(1) * BITS + get_local_id(0); i < 3 * FREQUENCY_TILE; i += ROWS * BITS) {
    tile_weights[i] = weights[min(3 * FREQUENCY_TILE * tile_of_frequencies + i, (uint)(3 * FREQUENCIES - 1))];
  }
  int2 staying[ROW_TERMS];
  float2 turn[ROW_TERMS];
  float2 turn_back[ROW_TERMS];
#pragma unroll
  for (uint i = 0; i < ROW_TERMS; ++i) {
    const uint term = term_of(tile_of_frequencies, get_local_id(1) + i * ROWS);
    if (term < TERMS) {
      staying[i] = state_in[(size_t)term * LANES + lane] - leaving[(size_t)term * LANES];
      turn[i] = phasor(-(steps[term] * coming_word));
      turn_back[i] = phasor(steps[term] * first_word);
    }
  }
#if BLOCK <= TILE
  find_moments(loaded, BLOCK, tile, moments);
#endif
  float2 totals[ROW_TERMS];
  const int2 found = sum_block(wire + column, coefficients, wire_word, wire_words, BLOCK, 0, looks_for_clipping(), tile,
                               moments, held, shares, totals);
#pragma unroll
  for (uint i = 0; i < ROW_TERMS; ++i) {
    const uint own = get_local_id(1) + i * ROWS;
    const uint term = term_of(tile_of_frequencies, own);
    if (term < TERMS) {
      const size_t at = (size_t)term * LANES;
      const int2 sum = rounded(totals[i], turn[i]);
      const int2 total = staying[i] + sum;
      if (own < FREQUENCY_TILE * FREQUENCY_TERMS || tile_of_frequencies == 0) {
        coming[at] = sum;
        state_out[at + lane] = total;
      }
      turned[own][get_local_id(0)] = complex_multiply((float2)((float)total.x, (float)total.y), turn_back[i]);
    }
  }
  if (looks_for_clipping()) {
    const size_t at = (size_t)TERMS * LANES;
    int2 entry = (int2)(is_alive[lane] != 0u ? found.x : 0, found.y);
    const int2 before = state_in[at + lane];
    int run = before.y;
    const int clipped = before.x + clipped_runs(&entry, is_alive[lane], coming_block, &run) - leaving[at].x;
    coming[at] = entry;
    state_out[at + lane] = (int2)(clipped, run);
    if (clipped > 0) {
      atomic_or(&status[0], FLAG_CLIPPED);
    }
  }
  barrier(CLK_LOCAL_MEM_FENCE);

  for (uint f = get_local_id(1); f < FREQUENCY_TILE; f += ROWS) {
    const uint frequency = tile_of_frequencies * FREQUENCY_TILE + f;
    if (frequency < FREQUENCIES && channel >= 0) {
      float2 y[OWN_TERMS];
#pragma unroll
      for (uint i = 0; i < OWN_TERMS; ++i) {
        const uint own =
            i < FREQUENCY_TERMS ? f * FREQUENCY_TERMS + i : FREQUENCY_TILE * FREQUENCY_TERMS + i - FREQUENCY_TERMS;
        y[i] = turned[own][get_local_id(0)];
      }
      spectra[(size_t)frequency * CHANNELS + channel] =
          spectrum_of(y, tile_weights[3 * f], tile_weights[3 * f + 1], tile_weights[3 * f + 2]);
    }
  }
}
