// The kernels of sliding_popcount.cl for processors: a work-item processes COLUMNS_A_VECTOR wire words side by side,
// and transposes their bit-times in registers. Also slide_vectors, which replaces slide (sliding_dft.cl).
//
// Transposes 32 words v[t] of 32 bits, v[t] bit b <-> v[b] bit t, by halves: for s = 16, 8, 4, 2, 1 the s high bits of
// each group of 2 s in v[k] are exchanged with the s low ones in v[k + s] (Warren, Hacker's Delight, 2nd ed., section
// 7-3, least significant bit first).
//
// Buffers and formulas: sliding_popcount.cl; but lane = bit * LANE_WORDS + wire word. The lanes of the words from
// WIRE_WORDS to LANE_WORDS, which fill the last vector, have no channel; their bits are those of the next bit-time.
// Launch: local (1, 1, 1); global (LANE_WORDS / COLUMNS_A_VECTOR, 1, blocks), 1 for advance.
// Assumes: BLOCK <= 32; COLUMNS_A_VECTOR, one of 1, 2, 4 and 8, divides LANE_WORDS; space for a vector behind the ring
// of wire words.

//! default COLUMNS_A_VECTOR 8  // wire words that an item processes side by side
#define WIDTH COLUMNS_A_VECTOR
//! default LANE_WORDS 32  // WIRE_WORDS rounded up to whole vectors

//! needs common/vectors.cl
//! needs frontend/popcount/sliding_popcount_shared.cl
//! needs common/moments_vector.cl

// Transposes one word: bit-times of these columns into packed[bit].
LOCAL_HELPER void turn_word(__global const uint* restrict wire, __local UINTV packed[BITS]) {
  UINTV v[BITS];
#pragma unroll
  for (uint t = 0; t < BITS; ++t) {
    v[t] = LOAD_UINTS(wire + t * WIRE_WORDS);
  }
#define EXCHANGE(s, mask)                                        \
  _Pragma("unroll") for (uint k = 0; k < BITS; ++k) {            \
    if ((k & (s)) == 0) {                                        \
      const UINTV moved = ((v[k] >> (s)) ^ v[k + (s)]) & (mask); \
      v[k + (s)] ^= moved;                                       \
      v[k] ^= moved << (s);                                      \
    }                                                            \
  }
  EXCHANGE(16, 0x0000FFFFu)
  EXCHANGE(8, 0x00FF00FFu)
  EXCHANGE(4, 0x0F0F0F0Fu)
  EXCHANGE(2, 0x33333333u)
  EXCHANGE(1, 0x55555555u)
#undef EXCHANGE
#pragma unroll
  for (uint b = 0; b < BITS; ++b) {
    packed[b] = v[b];
  }
}

// Transposes a block of `words` words that does not wrap at the ring's end.
LOCAL_HELPER void turn_block(__global const uint* restrict wire, const uint wire_word, const uint words,
                             __local UINTV packed[BLOCK][BITS]) {
  __global const uint* first = wire + (size_t)wire_word * BITS * WIRE_WORDS;
  for (uint j = 0; j < words; ++j) {
    turn_word(first + (size_t)j * BITS * WIRE_WORDS, packed[j]);
  }
}

// Finds moments of one bit of all words, and the figures for clipping: clipped runs of eight words, and the sum of
// signs.
LOCAL_HELPER void take_moments(__local UINTV packed[BLOCK][BITS], const uint bit, const uint words,
                               FLOATV moments[BLOCK][MOMENTS], INTV* clipped, INTV* signs) {
  INTV run = 0;
  *clipped = 0;
  *signs = 0;
  for (uint j = 0; j < words; ++j) {
    INTV of_word[MOMENTS];
    find_moments_of(packed[j][bit], of_word);
#pragma unroll
    for (uint q = 0; q < MOMENTS; ++q) {
      moments[j][q] = TO_FLOATS(of_word[q]);
    }
    run += of_word[0];
    *signs += of_word[0];
    if (j % CLIP_RUN == CLIP_RUN - 1) {
      *clipped += IS_TRUE(TO_INTS(abs(run)) >= CLIP_SUM);
      run = 0;
    }
  }
}

// Computes `count` sums, of the terms from `first` on. `count` is a constant, and the helper is inlined, so that the
// sums stay in registers.
LOCAL_HELPER void sum_terms(const FLOATV moments[BLOCK][MOMENTS], const uint words,
                            __global const float2* restrict coefficients, const uint first, const uint count,
                            FLOATV* re, FLOATV* im) {
#pragma unroll
  for (uint i = 0; i < count; ++i) {
    re[i] = 0.0f;
    im[i] = 0.0f;
  }
  for (uint j = 0; j < words; ++j) {
    __global const float2* restrict row = coefficients + ((size_t)first * BLOCK + j) * MOMENTS;
#pragma unroll
    for (uint i = 0; i < count; ++i) {
#pragma unroll
      for (uint q = 0; q < MOMENTS; ++q) {
        re[i] += row[i * BLOCK * MOMENTS + q].x * moments[j][q];
        im[i] += row[i * BLOCK * MOMENTS + q].y * moments[j][q];
      }
    }
  }
}

// Multiplies (re, im) by a phasor and rounds.
LOCAL_HELPER void round_turned(const FLOATV re, const FLOATV im, const float2 turn, INTV* rounded_re,
                               INTV* rounded_im) {
  *rounded_re = ROUNDED(PRODUCT_RE(re, im, turn.x, turn.y));
  *rounded_im = ROUNDED(PRODUCT_IM(re, im, turn.x, turn.y));
}

__kernel __attribute__((reqd_work_group_size(1, 1, 1))) void block_sums(
    __global const uint* restrict wire, __global const float2* restrict coefficients,
    __global const ulong* restrict steps, __global const uint* restrict is_alive, __global int2* restrict sums,
    const uint first_wire_word, const uint wire_words, const uint first_slot, const uint slots, const ulong first_word,
    const uint hop_block, const uint blocks) {
  __local UINTV packed[BLOCK][BITS];
  const uint column = get_group_id(0) * COLUMNS_A_VECTOR;
  const uint block = get_group_id(2);
  const uint words = block_words((hop_block + block) % HOP_BLOCKS);
  const ulong word = first_word + words_on(hop_block, block, HOP_WORDS);
  float2 back[TERMS];
  for (uint term = 0; term < TERMS; ++term) {
    back[term] = phasor(-(steps[term] * word));
  }
  turn_block(wire + column, (first_wire_word + words_on(hop_block, block, KEPT_WORDS)) % wire_words, words, packed);
  for (uint bit = 0; bit < BITS; ++bit) {
    const uint lane = bit * LANE_WORDS + column;
    __global int* restrict entry =
        (__global int*)(sums + (size_t)((first_slot + block) % slots) * (TERMS + 1) * LANES + lane);
    FLOATV moments[BLOCK][MOMENTS];
    INTV clipped;
    INTV signs;
    take_moments(packed, bit, words, moments, &clipped, &signs);
    for (uint term = 0; term < TERMS; ++term) {
      FLOATV re;
      FLOATV im;
      INTV rounded_re;
      INTV rounded_im;
      sum_terms(moments, words, coefficients, term, 1, &re, &im);
      round_turned(re, im, back[term], &rounded_re, &rounded_im);
      STORE_PAIRS(rounded_re, rounded_im, entry + (size_t)term * 2 * LANES);
    }
    clipped *= TO_INTS(LOAD_UINTS(is_alive + lane));
    STORE_PAIRS(clipped, signs, entry + (size_t)TERMS * 2 * LANES);
  }
}

// Sums of a vector of lanes: of the block that enters, of the one that leaves, and of the window.
typedef struct {
  __global const int2* state;    // before the block; 0 if the window begins with it
  __global int2* moved;          // after
  __global const int2* leaving;  // 0 if none leaves
  __global int2* coming;
} Move;

// Updates the sums of `count` terms of a vector of lanes, and returns them with phases from the window's first word.
LOCAL_HELPER void move_terms(const FLOATV moments[BLOCK][MOMENTS], const uint words,
                             __global const float2* restrict coefficients, const float2* back, const float2* forth,
                             const Move* move, const uint first, const uint count, FLOATV* y_re, FLOATV* y_im) {
  sum_terms(moments, words, coefficients, first, count, y_re, y_im);
#pragma unroll
  for (uint i = 0; i < count; ++i) {
    const size_t at = (size_t)(first + i) * LANES;
    INTV sum_re;
    INTV sum_im;
    INTV gone_re = 0;
    INTV gone_im = 0;
    INTV total_re = 0;
    INTV total_im = 0;
    round_turned(y_re[i], y_im[i], back[first + i], &sum_re, &sum_im);
    if (move->leaving) {
      LOAD_PAIRS(gone_re, gone_im, (__global const int*)(move->leaving + at));
    }
    if (move->state) {
      LOAD_PAIRS(total_re, total_im, (__global const int*)(move->state + at));
    }
    STORE_PAIRS(sum_re, sum_im, (__global int*)(move->coming + at));
    total_re += sum_re - gone_re;
    total_im += sum_im - gone_im;
    STORE_PAIRS(total_re, total_im, (__global int*)(move->moved + at));
    const FLOATV re = TO_FLOATS(total_re);
    const FLOATV im = TO_FLOATS(total_im);
    y_re[i] = PRODUCT_RE(re, im, forth[first + i].x, forth[first + i].y);
    y_im[i] = PRODUCT_IM(re, im, forth[first + i].x, forth[first + i].y);
  }
}

// Updates the clipping of a vector's lanes, one by one: they are few. Returns the largest number of runs in the window.
static int move_clipping(const INTV clipped, const INTV signs, __global const uint* restrict is_alive, const Move* move,
                         const ulong block) {
  const size_t at = (size_t)TERMS * LANES;
  int clipped_of[COLUMNS_A_VECTOR];
  int signs_of_lanes[COLUMNS_A_VECTOR];
  STORE_INTS(clipped, clipped_of);
  STORE_INTS(signs, signs_of_lanes);
  int most = 0;
  for (uint i = 0; i < COLUMNS_A_VECTOR; ++i) {
    int2 entry = (int2)(is_alive[i] != 0u ? clipped_of[i] : 0, signs_of_lanes[i]);
    const int2 before = move->state ? move->state[at + i] : (int2)(0, 0);
    const int gone = move->leaving ? move->leaving[at + i].x : 0;
    int run = before.y;
    const int now = before.x + clipped_runs(&entry, is_alive[i], block, &run) - gone;
    move->coming[at + i] = entry;
    move->moved[at + i] = (int2)(now, run);
    most = max(most, now);
  }
  return most;
}

// Applies spectrum_of() to a vector and stores to its channels.
static void store_spectra(const FLOATV* y_re, const FLOATV* y_im, const FLOATV offset,
                          __global const float2* restrict weights, __global const int* restrict channel_of,
                          __global float2* restrict spectra) {
  const FLOATV x_re = WINDOWED(y_re);
  const FLOATV x_im = WINDOWED(y_im);
  FLOATV re;
  FLOATV im;
  FIND_SPECTRUM(re, im, x_re, x_im, offset, weights[0], weights[1], weights[2]);
  float values_re[COLUMNS_A_VECTOR];
  float values_im[COLUMNS_A_VECTOR];
  STORE_FLOATS(re, values_re);
  STORE_FLOATS(im, values_im);
  for (uint i = 0; i < COLUMNS_A_VECTOR; ++i) {
    if (channel_of[i] >= 0) {
      spectra[channel_of[i]] = (float2)(values_re[i], values_im[i]);
    }
  }
}

// The common case in one launch: `moves` blocks enter and as many leave, one after the other, and the spectra of the
// window that ends with the last of them are computed. With `from_zero` none leaves, and the window is the blocks that
// enter.
__kernel __attribute__((reqd_work_group_size(1, 1, 1))) void advance(
    __global uchar* arena, __global float2* restrict spectra, __global uint* restrict status, const uint from_b,
    const uint wire_word, const uint wire_words, const uint leaving_slot, const uint coming_slot,
    const ulong coming_block, const ulong coming_word, const ulong first_word, const uint slots, const uint moves,
    const uint from_zero) {
  __global const uint* restrict wire = (__global const uint*)(arena + WIRE_AT);
  __global const float2* restrict coefficients = (__global const float2*)(arena + COEFFICIENTS_AT);
  __global const ulong* restrict steps = (__global const ulong*)(arena + STEPS_AT);
  __global const uint* restrict is_alive = (__global const uint*)(arena + IS_ALIVE_AT);
  __global int2* sums = (__global int2*)(arena + SUMS_AT);
  __global const float2* restrict weights = (__global const float2*)(arena + WEIGHTS_AT);
  __global const int* restrict channel_of = (__global const int*)(arena + CHANNEL_OF_AT);
  __global const int2* state_in = (__global const int2*)(arena + (from_b ? STATE_B_AT : STATE_A_AT));
  __global int2* state_out = (__global int2*)(arena + (from_b ? STATE_A_AT : STATE_B_AT));
  __local UINTV packed[BLOCK][BITS];
  const uint column = get_group_id(0) * COLUMNS_A_VECTOR;
  const uint hop_block = (uint)(coming_block % HOP_BLOCKS);
  float2 back[TERMS];
  float2 forth[TERMS];
  for (uint term = 0; term < TERMS; ++term) {
    forth[term] = phasor(steps[term] * first_word);
  }
  for (uint i = 0; i < moves; ++i) {
    const uint words = block_words((hop_block + i) % HOP_BLOCKS);
    const ulong word = coming_word + words_on(hop_block, i, HOP_WORDS);
    for (uint term = 0; term < TERMS; ++term) {
      back[term] = phasor(-(steps[term] * word));
    }
    turn_block(wire + column, (wire_word + words_on(hop_block, i, KEPT_WORDS)) % wire_words, words, packed);
    const size_t slot_size = (size_t)(TERMS + 1) * LANES;
    for (uint bit = 0; bit < BITS; ++bit) {
      const uint lane = bit * LANE_WORDS + column;
      const Move move = {i > 0       ? state_out + lane
                         : from_zero ? 0
                                     : state_in + lane,
                         state_out + lane, from_zero ? 0 : sums + (leaving_slot + i) % slots * slot_size + lane,
                         sums + (coming_slot + i) % slots * slot_size + lane};
      FLOATV moments[BLOCK][MOMENTS];
      INTV clipped;
      INTV signs;
      take_moments(packed, bit, words, moments, &clipped, &signs);
      const int runs = move_clipping(clipped, signs, is_alive + lane, &move, coming_block + i);
      FLOATV offset = 0.0f;
#if OFFSET_TERMS > 0
      FLOATV offset_re[OFFSET_TERMS];
      FLOATV offset_im[OFFSET_TERMS];
      move_terms(moments, words, coefficients, back, forth, &move, FREQUENCIES * FREQUENCY_TERMS, OFFSET_TERMS,
                 offset_re, offset_im);
      offset = WINDOWED_OFFSET(offset_re);
#endif
      for (uint frequency = 0; frequency < FREQUENCIES; ++frequency) {
        FLOATV y_re[FREQUENCY_TERMS];
        FLOATV y_im[FREQUENCY_TERMS];
        move_terms(moments, words, coefficients, back, forth, &move, frequency * FREQUENCY_TERMS, FREQUENCY_TERMS, y_re,
                   y_im);
        if (i + 1 == moves) {
          store_spectra(y_re, y_im, offset, weights + 3 * frequency, channel_of + lane,
                        spectra + (size_t)frequency * CHANNELS);
        }
      }
      if (i + 1 == moves && runs > 0) {
        atomic_or(&status[0], FLAG_CLIPPED);
      }
    }
  }
}

// Replaces slide of sliding_dft.cl, for a tile of SLIDE_VECTORS vectors of lanes and one frequency: phasors are
// computed once for a window and a tile.
// Launch: local (1, 1, 1); global (frequencies, LANES over WIDTH * SLIDE_VECTORS, rounded up, 1).

//! default SLIDE_VECTORS 8  // vectors per tile
#if WIDTH == 1
#define ANY_ABOVE_ZERO(value) ((value) > 0)
#else
#define ANY_ABOVE_ZERO(value) any((value) > 0)
#endif
#define PAIRSV JOIN(int, PAIR_WIDTH)
#define LOAD_INTS(from) JOIN(vload, PAIR_WIDTH)(0, (__global const int*)(from))
#define KEEP_INTS(value, to) JOIN(vstore, PAIR_WIDTH)(value, 0, (__global int*)(to))

// Adds a block that enters, and subtracts one that leaves unless `from_zero`.
static void slide_on(__global const int2* restrict sums, const uint from, const uint to, const uint from_zero,
                     const uint first_lane, const uint vectors, const uint frequency,
                     PAIRSV totals[SLIDE_VECTORS][OWN_TERMS]) {
  const size_t slot_size = (size_t)(TERMS + 1) * LANES;
  for (uint i = 0; i < OWN_TERMS; ++i) {
    const size_t at = (size_t)ring_term(frequency, i) * LANES + first_lane;
    __global const int2* restrict coming = sums + to * slot_size + at;
    __global const int2* restrict leaving = sums + from * slot_size + at;
    for (uint v = 0; v < vectors; ++v) {
      totals[v][i] += LOAD_INTS(coming + v * WIDTH);
      if (!from_zero) {
        totals[v][i] -= LOAD_INTS(leaving + v * WIDTH);
      }
    }
  }
}

// Moves the clipping: x of a pair counts clipped runs in the window, y sums the signs of the present run.
static void slide_clipping(__global int2* restrict sums, const uint from, const uint to, const uint from_zero,
                           const uint first_lane, const uint vectors, __global const uint* restrict is_alive,
                           const ulong block, PAIRSV clipping[SLIDE_VECTORS]) {
  for (uint v = 0; v < vectors; ++v) {
    const uint lane = first_lane + v * WIDTH;
    PAIRSV entry = LOAD_INTS(sums + clipping_at(to, lane));
#if RUN_BLOCKS > 1
    const INTV run = clipping[v].odd + entry.odd;
    const int ends = (block + 1) % RUN_BLOCKS == 0;
    const INTV alive = TO_INTS(LOAD_UINTS(is_alive + lane));
    entry.even = ends ? alive * IS_TRUE(TO_INTS(abs(run)) >= RUN_CLIP_SUM) : (INTV)(0);
    clipping[v].odd = ends ? (INTV)(0) : run;
    KEEP_INTS(entry, sums + clipping_at(to, lane));
#endif
    clipping[v].even += entry.even;
    if (!from_zero) {
      const PAIRSV leaving = LOAD_INTS(sums + clipping_at(from, lane));
      clipping[v].even -= leaving.even;
    }
  }
}

// Stores the spectra of a window whose sums are `totals`.
static void store_window(const PAIRSV totals[SLIDE_VECTORS][OWN_TERMS], const float2* forth, const uint first_lane,
                         const uint vectors, __global const float2* restrict weights,
                         __global const int* restrict channel_of, __global float2* restrict spectra) {
  for (uint v = 0; v < vectors; ++v) {
    FLOATV y_re[OWN_TERMS];
    FLOATV y_im[OWN_TERMS];
    for (uint i = 0; i < OWN_TERMS; ++i) {
      const FLOATV re = TO_FLOATS(totals[v][i].even);
      const FLOATV im = TO_FLOATS(totals[v][i].odd);
      y_re[i] = PRODUCT_RE(re, im, forth[i].x, forth[i].y);
      y_im[i] = PRODUCT_IM(re, im, forth[i].x, forth[i].y);
    }
    FLOATV offset = 0.0f;
#if OFFSET_TERMS > 0
    offset = WINDOWED_OFFSET(y_re + FREQUENCY_TERMS);
#endif
    store_spectra(y_re, y_im, offset, weights, channel_of + first_lane + v * WIDTH, spectra);
  }
}

__kernel __attribute__((reqd_work_group_size(1, 1, 1))) void slide_vectors(
    __global int2* restrict sums, __global const ulong* restrict steps, __global const float2* restrict weights,
    __global const int* restrict channel_of, __global const uint* restrict is_alive,
    __global const int2* restrict state_in, __global int2* restrict state_out, __global float2* restrict spectra,
    __global uint* restrict status, const uint oldest, const uint newest, const uint slots, const uint moves,
    const uint from_zero, const ulong newest_block, const ulong first_word, const uint windows) {
  const uint frequency = get_group_id(0);
  const uint first_lane = get_group_id(1) * SLIDE_VECTORS * WIDTH;
  const uint vectors = min((uint)SLIDE_VECTORS, (LANES - first_lane) / WIDTH);
  PAIRSV totals[SLIDE_VECTORS][OWN_TERMS];
  PAIRSV clipping[SLIDE_VECTORS];
  for (uint v = 0; v < vectors; ++v) {
    __global const int2* restrict before = state_in + first_lane + v * WIDTH;
    for (uint i = 0; i < OWN_TERMS; ++i) {
      totals[v][i] = from_zero ? (PAIRSV)(0) : LOAD_INTS(before + (size_t)ring_term(frequency, i) * LANES);
    }
    clipping[v] = from_zero ? (PAIRSV)(0) : LOAD_INTS(before + (size_t)TERMS * LANES);
  }
  uint from = oldest;
  uint to = newest;
  ulong block = newest_block;
  for (uint window = 0; window < windows; ++window) {
    const uint nothing_leaves = from_zero && window == 0;
    const uint steps_on = window == 0 ? moves : HOP_BLOCKS;
    for (uint move = 0; move < steps_on; ++move) {
      slide_on(sums, from, to, nothing_leaves, first_lane, vectors, frequency, totals);
      if (frequency == 0) {
        slide_clipping(sums, from, to, nothing_leaves, first_lane, vectors, is_alive, block, clipping);
      }
      from = nothing_leaves ? from : next_slot(from, slots);
      to = next_slot(to, slots);
      ++block;
    }
    const ulong first = first_word + (ulong)window * HOP_WORDS;
    float2 forth[OWN_TERMS];
    for (uint i = 0; i < OWN_TERMS; ++i) {
      forth[i] = phasor(steps[ring_term(frequency, i)] * first);
    }
    store_window(totals, forth, first_lane, vectors, weights + 3 * frequency, channel_of,
                 spectra + ((size_t)window * FREQUENCIES + frequency) * CHANNELS);
    for (uint v = 0; v < vectors && frequency == 0; ++v) {
      if (ANY_ABOVE_ZERO(clipping[v].even)) {
        atomic_or(&status[window * STATUS_WORDS], FLAG_CLIPPED);
      }
    }
  }
  // All frequencies have the offset's terms; the first one writes them.
  const uint written = frequency == 0 ? OWN_TERMS : FREQUENCY_TERMS;
  for (uint v = 0; v < vectors; ++v) {
    __global int2* restrict after = state_out + first_lane + v * WIDTH;
    for (uint i = 0; i < written; ++i) {
      KEEP_INTS(totals[v][i], after + (size_t)ring_term(frequency, i) * LANES);
    }
    if (frequency == 0) {
      KEEP_INTS(clipping[v], after + (size_t)TERMS * LANES);
    }
  }
}
