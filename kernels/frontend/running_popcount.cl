// Block sums of packed words for kernels/frontend/running_sums.cl, straight from wire words.
//
// Formula, moments m_q of a word as in kernels/common/moments.cl:
//   B_k[block] = round(e^{-j w_k t} sum_{word of the block} sum_q C_kq[word] m_q),   t: the block's first bit-time
//
// Buffers:
//   wire          uint   [bit-time][wire word], wire word fastest; a ring of wire_blocks blocks
//   coefficients  float2 [word of a block][term][q], times the scale that makes sums integers
//   steps         ulong  [term], turns a word times 2^64
//   is_alive      uint   [lane], 0 where clipping does not count; lane = 32 * wire word + bit
//   sums          int2   [slot][term][lane], as in running_sums.cl; a ring of `slots` blocks
//   first_wire_block, first_slot  of the first block of this launch in the two rings
//   first_word    of the first block of this launch, counted from the stream's start
//   blocks        of this launch
// Launch: local (32, ROWS, 1); global (32 * WIRE_WORDS, ROWS * ceil(TERMS / TERM_TILE), ceil(blocks / GROUP_BLOCKS)).
// Local memory: 4 KiB and 4 KiB a moment.

// 32-bit words of one bit-time on the wire.
#ifndef WIRE_WORDS
#define WIRE_WORDS 32
#endif
// Words of a block.
#ifndef BLOCK
#define BLOCK 32
#endif
// Highest moment, 0 to 2.
#ifndef ORDER
#define ORDER 1
#endif
// Rows of a work-group; each takes every ROWS-th word of a tile, and later every ROWS-th term.
#ifndef ROWS
#define ROWS 8
#endif
// Terms that one row sums.
#ifndef ROW_TERMS
#define ROW_TERMS 3
#endif
// Sum of eight words' signs from which on they count as clipped.
#ifndef CLIP_SUM
#define CLIP_SUM 244
#endif

#define BITS 32
#define MOMENTS (ORDER + 1)
#define TILE 32
#define TERM_TILE (ROWS * ROW_TERMS)
// Blocks that a work-group takes, in one tile of words; long blocks take several tiles.
#define GROUP_BLOCKS (BLOCK >= TILE ? 1 : TILE / BLOCK)
#define GROUP_WORDS (GROUP_BLOCKS * BLOCK)
#define CLIP_RUN 8

// Moments of up to 32 words of 32 lanes, from their bit-times; `first_word` is the place in the ring of wire words.
static void load_moments(__global const uint* restrict wire, const uint first_word, const uint wire_words,
                         const uint words, __local uint tile[TILE][BITS], __local float moments[TILE][MOMENTS][BITS]) {
  const uint lane = get_local_id(0);
  const uint row = get_local_id(1);
  for (uint j = row; j < words; j += ROWS) {
    const uint word = first_word + j >= wire_words ? first_word + j - wire_words : first_word + j;
    tile[j][lane] = wire[((size_t)word * BITS + lane) * WIRE_WORDS];
  }
  barrier(CLK_LOCAL_MEM_FENCE);
  for (uint j = row; j < words; j += ROWS) {
    uint turned = 0u;
#pragma unroll
    for (uint time = 0; time < BITS; ++time) {
      turned |= ((tile[j][time] >> lane) & 1u) << time;
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

static void add_word(__global const float2* restrict coefficients, const uint word, const uint first_term,
                     const uint last_term, __local float moments[MOMENTS][BITS], float2 totals[ROW_TERMS]) {
#pragma unroll
  for (uint i = 0; i < ROW_TERMS; ++i) {
    const uint term = min(first_term + i * ROWS, last_term);
#pragma unroll
    for (uint q = 0; q < MOMENTS; ++q) {
      totals[i] += coefficients[((size_t)word * (last_term + 1) + term) * MOMENTS + q] * moments[q][get_local_id(0)];
    }
  }
}

// Runs of eight words among the first `words` of a tile that clipped.
static int clipped_runs_of_tile(__local float moments[TILE][MOMENTS][BITS], const uint first, const uint words) {
  int clipped = 0;
  for (uint run = 0; run + CLIP_RUN <= words; run += CLIP_RUN) {
    float sum = 0.0f;
    for (uint j = 0; j < CLIP_RUN; ++j) {
      sum += moments[first + run + j][0][get_local_id(0)];
    }
    clipped += fabs(sum) >= (float)CLIP_SUM;
  }
  return clipped;
}

static int sum_of_signs(__local float moments[TILE][MOMENTS][BITS], const uint first, const uint words) {
  float sum = 0.0f;
  for (uint j = 0; j < words; ++j) {
    sum += moments[first + j][0][get_local_id(0)];
  }
  return (int)sum;
}

__kernel __attribute__((reqd_work_group_size(BITS, ROWS, 1))) void block_sums(
    __global const uint* restrict wire, __global const float2* restrict coefficients,
    __global const ulong* restrict steps, __global const uint* restrict is_alive, __global int2* restrict sums,
    const uint first_wire_block, const uint wire_blocks, const uint first_slot, const uint slots,
    const ulong first_word, const uint blocks) {
  __local uint tile[TILE][BITS];
  __local float moments[TILE][MOMENTS][BITS];
  const uint column = get_group_id(0);
  const uint lane = column * BITS + get_local_id(0);
  const uint row = get_local_id(1);
  const uint first_term = get_group_id(1) * TERM_TILE + row;
  const uint group_block = get_group_id(2) * GROUP_BLOCKS;
  // The row with the fewest terms looks for clipping.
  const bool looks = get_group_id(1) + 1 == get_num_groups(1) && row == ROWS - 1;
  const uint group_blocks = min((uint)GROUP_BLOCKS, blocks - group_block);

  const uint wire_words = wire_blocks * BLOCK;
  const uint first_wire_word = (first_wire_block + group_block) % wire_blocks * BLOCK;

#if BLOCK <= TILE
  load_moments(wire + column, first_wire_word, wire_words, group_blocks * BLOCK, tile, moments);
#endif
  for (uint b = 0; b < group_blocks; ++b) {
    const uint block = group_block + b;
    float2 totals[ROW_TERMS];
#pragma unroll
    for (uint i = 0; i < ROW_TERMS; ++i) {
      totals[i] = (float2)(0.0f, 0.0f);
    }
    int clipped = 0;
    int signs = 0;
#if BLOCK <= TILE
    for (uint j = 0; j < BLOCK; ++j) {
      add_word(coefficients, j, first_term, TERMS - 1, moments[b * BLOCK + j], totals);
    }
    if (looks) {
      clipped = clipped_runs_of_tile(moments, b * BLOCK, BLOCK);
      signs = sum_of_signs(moments, b * BLOCK, BLOCK);
    }
#else
    for (uint first = 0; first < BLOCK; first += TILE) {
      const uint words = min((uint)TILE, BLOCK - first);
      load_moments(wire + column, first_wire_word + first, wire_words, words, tile, moments);
      for (uint j = 0; j < words; ++j) {
        add_word(coefficients, first + j, first_term, TERMS - 1, moments[j], totals);
      }
      if (looks) {
        clipped += clipped_runs_of_tile(moments, 0, words);
        signs += sum_of_signs(moments, 0, words);
      }
      barrier(CLK_LOCAL_MEM_FENCE);
    }
#endif
    __global int2* restrict entry = sums + (size_t)((first_slot + block) % slots) * (TERMS + 1) * LANES + lane;
    const ulong word = first_word + (ulong)block * BLOCK;
#pragma unroll
    for (uint i = 0; i < ROW_TERMS; ++i) {
      const uint term = first_term + i * ROWS;
      if (term < TERMS) {
        entry[(size_t)term * LANES] = convert_int2_sat_rte(complex_multiply(totals[i], phasor(-(steps[term] * word))));
      }
    }
    if (looks) {
      entry[(size_t)TERMS * LANES] = (int2)(is_alive[lane] != 0u ? clipped : 0, signs);
    }
  }
}
