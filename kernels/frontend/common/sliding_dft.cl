// Sliding DFT: the spectra of a window that moves on block by block, at a cost independent of its length.
//
// Formulas, for signals s(t), the window's first time t0 and its length N, b = 2 pi / N:
//   B_k[block] = round(S sum_{t in block} s(t) e^{-j w_k t})     once a block, with t counted from the stream's start
//   R_k        = sum of B_k over the window's blocks             each move adds the new blocks, subtracts the old ones
//   Y_k        = e^{j w_k t0} R_k
//   X = 1/2 Y(w) - 1/4 (Y(w - b) + Y(w + b)),   D = 1/2 Y(0) - 1/2 Re Y(b)         hann; X = Y(w), D = Y(0) without
//   spectrum = forward X + image conj(X) + constant D               (the analysis vector of
//   src/frontend/common/analysis.hpp)
// B and R are integers: every block is subtracted exactly as it was added, so rounding does not accumulate; R is the
// same whether summed from zero or updated a million times. The phases w_k t are integers too, in turns times 2^64, and
// wrap.
//
// Buffers:
//   sums       int2  [slot][term][lane], lane fastest, a ring of blocks: per frequency w (and w - b, w + b with a
//              hann window), then 0 (and b) if offsets are removed, then one that detects clipping: x runs that
//              clipped, y the sum of signs. TERMS of them and the last.
//   steps      ulong [term], turns per word times 2^64
//   weights    float2 [frequency][3]: forward, image, constant, pascal
//   channel_of int   [lane] -> channel, or -1 for a spare lane
//   is_alive   uint  [lane], 0 where clipping does not count
//   state_in, state_out  int2 [term][lane], R before and after, and the clipping: x clipped runs in the window, y the
//              sum for the present run
//   spectra    float2 [window][frequency][channel], channel fastest, pascal peak
//   status     uint  [window][4], word 0 gathers the flags of the frame
//   oldest, newest  slots of the first block that leaves and of the first that enters; slots in the ring
//   moves      blocks that leave and enter
//   from_zero  1: the sums begin at zero, none leaves, and `moves` is the window's length
//   newest_block  number in the stream of the block in `newest`; runs of RUN_BLOCKS blocks detect clipping if blocks
//                 are too short
//   first_word    first word of the first window
//   windows       windows in this launch, a hop apart
// Blocks: windows begin at multiples of HOP_WORDS and end LEAD_WORDS after one. A hop is cut into the blocks of its first
//   LEAD_WORDS words and those of its rest, to KEPT_WORDS, each of BLOCK words but the last, which may be shorter; block
//   i of the stream is block i % HOP_BLOCKS of hop i / HOP_BLOCKS.
// Launch: local (SLIDE_LANES, SEGMENTS), global (LANES rounded up to SLIDE_LANES, SEGMENTS times frequencies). The
//   windows of a launch are cut into SEGMENTS parts, whose items first sum the moves of all earlier parts; sums of
//   integers are equal in any order.

//! needs common/complex.cl

//! default LANES 1024  // lanes of the ring: wire positions or channels
//! default CHANNELS 1024  // microphones
//! default FREQUENCIES 2  // frequencies of the plan
//! default FREQUENCY_TERMS 3  // terms per frequency: 3 with a hann window, 1 without
//! default OFFSET_TERMS 2  // terms of the offset: 2 with a hann window, 1 without, 0 if offsets are not removed
//! default RUN_BLOCKS 1  // blocks of a run in which clipping is detected; 1 if single blocks are long enough
//! default RUN_CLIP_SUM 244  // sum of a run's signs at or above which it counts as clipped, if RUN_BLOCKS > 1
//! default BLOCK 32  // words of the longest block
//! default HOP_BLOCKS 1  // blocks from a window to the next
//! default HOP_WORDS 32
//! default LEAD_WORDS 0  // words that a window has beyond its whole hops; blocks end where windows end
//! default KEPT_WORDS 32  // words of a hop that belong to windows: all, unless hops are longer than windows
//! default STATUS_WORDS 4  // words of a frame's status
//! default FLAG_CLIPPED 32u  // bit set in a clipped frame's flags (FrameFlag of frame.hpp)

#define TERMS (FREQUENCIES * FREQUENCY_TERMS + OFFSET_TERMS)
#define OWN_TERMS (FREQUENCY_TERMS + OFFSET_TERMS)
//! default SEGMENTS 1
#if SEGMENTS > 1
#define SLIDE_LANES 32
#else
#define SLIDE_LANES 64
#endif
#define LEAD_BLOCKS ((LEAD_WORDS + BLOCK - 1) / BLOCK)
#define BLOCKS_ARE_EQUAL (LEAD_WORDS % BLOCK == 0 && KEPT_WORDS % BLOCK == 0)

// First word of a hop's block, counted from the hop's first.
static uint block_begin(const uint block) {
#if LEAD_WORDS > 0
  return block < LEAD_BLOCKS ? block * BLOCK : LEAD_WORDS + (block - LEAD_BLOCKS) * BLOCK;
#else
  return block * BLOCK;
#endif
}

static uint block_words(const uint block) {
#if BLOCKS_ARE_EQUAL
  return BLOCK;
#elif LEAD_WORDS > 0
  return min((uint)BLOCK, (block < LEAD_BLOCKS ? LEAD_WORDS : KEPT_WORDS) - block_begin(block));
#else
  return min((uint)BLOCK, KEPT_WORDS - block_begin(block));
#endif
}

// Words from the first word of a hop's block to that of the block `count` blocks later: all words of the stream if
// `step` is HOP_WORDS, only words that belong to windows if it is KEPT_WORDS.
static uint words_on(const uint block, const uint count, const uint step) {
  const uint to = block + count;
  return to / HOP_BLOCKS * step + block_begin(to % HOP_BLOCKS) - block_begin(block);
}

// e^{j 2 pi turns}, for turns times 2^64.
static float2 phasor(const ulong turns) {
  const float half_turns = (float)as_int((uint)(turns >> 32)) * 0x1p-31f;
  return (float2)(cospi(half_turns), sinpi(half_turns));
}

static uint next_slot(const uint slot, const uint slots) { return slot + 1 == slots ? 0 : slot + 1; }

// Index among the ring's terms of a frequency's own term i.
static uint ring_term(const uint frequency, const uint i) {
  return i < FREQUENCY_TERMS ? frequency * FREQUENCY_TERMS + i : FREQUENCIES * FREQUENCY_TERMS + (i - FREQUENCY_TERMS);
}

// Sum Y of a term, counted from the window's first word.
static float2 turned_back(const int2 total, const ulong step, const ulong first_word) {
  return complex_multiply((float2)((float)total.x, (float)total.y), phasor(step * first_word));
}

// X from Y of a frequency's terms, and D from Y of the offset's: float2, or parts of any vector width.
#if FREQUENCY_TERMS == 3
#define WINDOWED(y) (0.5f * (y)[0] - 0.25f * ((y)[1] + (y)[2]))
#else
#define WINDOWED(y) ((y)[0])
#endif
#if OFFSET_TERMS == 2
#define WINDOWED_OFFSET(y) (0.5f * (y)[0] - 0.5f * (y)[1])
#else
#define WINDOWED_OFFSET(y) ((y)[0])
#endif

// re + j im = forward X + image conj(X) + constant D, in parts of any vector width; D is not read if offsets are not
// removed.
#define FIND_SPECTRUM(re, im, x_re, x_im, offset, forward, image, constant_part)            \
  do {                                                                                      \
    re = PRODUCT_RE((forward).x, (forward).y, x_re, x_im);                                  \
    im = PRODUCT_IM((forward).x, (forward).y, x_re, x_im);                                  \
    if (OFFSET_TERMS > 0) {                                                                 \
      re += PRODUCT_RE((image).x, (image).y, x_re, -(x_im)) + (constant_part).x * (offset); \
      im += PRODUCT_IM((image).x, (image).y, x_re, -(x_im)) + (constant_part).y * (offset); \
    }                                                                                       \
  } while (0)

// Spectrum from Y of a frequency's own terms.
static float2 spectrum_of(const float2* y, const float2 forward, const float2 image, const float2 constant_part) {
  const float2 x = WINDOWED(y);
  const float offset = OFFSET_TERMS > 0 ? WINDOWED_OFFSET(y + FREQUENCY_TERMS).x : 0.0f;
  float2 value;
  FIND_SPECTRUM(value.x, value.y, x.x, x.y, offset, forward, image, constant_part);
  return value;
}

// Adds a block's signs to its run; returns the runs that clipped in it. `entry` is the block's entry in the ring; x is
// written for the time when the block leaves.
static int clipped_runs(int2* entry, const uint alive, const ulong block, int* run) {
#if RUN_BLOCKS > 1
  *run += entry->y;
  const int ends = (block + 1) % RUN_BLOCKS == 0;
  entry->x = ends && alive != 0u && abs(*run) >= RUN_CLIP_SUM;
  *run = ends ? 0 : *run;
#endif
  return entry->x;
}

// Adds a block that enters to `totals` and subtracts one that leaves; `from_zero`: none leaves.
static void add_move(__global const int2* restrict sums, const uint from, const uint to, const uint from_zero,
                     const uint lane, const uint frequency, int2* totals) {
  __global const int2* restrict leaving = sums + (size_t)from * (TERMS + 1) * LANES + lane;
  __global const int2* restrict coming = sums + (size_t)to * (TERMS + 1) * LANES + lane;
#pragma unroll
  for (uint i = 0; i < OWN_TERMS; ++i) {
    const size_t term = (size_t)ring_term(frequency, i) * LANES;
    totals[i] += from_zero ? coming[term] : coming[term] - leaving[term];
  }
}

// Index of the clipping entry in the ring.
static size_t clipping_at(const uint slot, const uint lane) {
  return ((size_t)slot * (TERMS + 1) + TERMS) * LANES + lane;
}

// Counts the runs of a block that enters, and writes them for the time when it leaves. `run` is as in clipped_runs().
static int note_clipping(__global int2* restrict sums, const uint to, const uint lane, const uint alive,
                         const ulong block, int* run) {
  int2 entry = sums[clipping_at(to, lane)];
  const int runs = clipped_runs(&entry, alive, block, run);
#if RUN_BLOCKS > 1
  sums[clipping_at(to, lane)].x = entry.x;  // other items may read y at this time
#endif
  return runs;
}

// Moves the window by one block.
static void move_on(__global int2* restrict sums, const uint from, const uint to, const uint from_zero, const uint lane,
                    const uint frequency, const uint alive, const ulong block, int2* totals, int2* clipping) {
  add_move(sums, from, to, from_zero, lane, frequency, totals);
  if (frequency == 0) {
#if SEGMENTS == 1
    int run = clipping->y;
    clipping->x += note_clipping(sums, to, lane, alive, block, &run);
    clipping->y = run;
#else  // counted before
    clipping->x += sums[clipping_at(to, lane)].x;
#endif
    clipping->x -= from_zero ? 0 : sums[clipping_at(from, lane)].x;
  }
}

static uint slot_after(const uint slot, const uint moves, const uint slots) {
  const uint there = slot + moves;  // at most once around the ring of blocks
  return there >= slots ? there - slots : there;
}

__kernel __attribute__((reqd_work_group_size(SLIDE_LANES, SEGMENTS, 1))) void slide(
    __global int2* restrict sums, __global const ulong* restrict steps, __global const float2* restrict weights,
    __global const int* restrict channel_of, __global const uint* restrict is_alive,
    __global const int2* restrict state_in, __global int2* restrict state_out, __global float2* restrict spectra,
    __global uint* restrict status, const uint oldest, const uint newest, const uint slots, const uint moves,
    const uint from_zero, const ulong newest_block, const ulong first_word, const uint windows) {
  const uint lane = get_global_id(0);
  const uint frequency = get_group_id(1);
  const uint segment = get_local_id(1);
#if SEGMENTS == 1
  if (lane >= LANES) {
    return;
  }
  const uint first_window = 0;
  const uint end_window = windows;
#else
  // Spare lanes have no windows: their items only take part in the barriers.
  const uint each = (windows + SEGMENTS - 1) / SEGMENTS;
  const uint first_window = lane < LANES ? min(segment * each, windows) : windows;
  const uint end_window = lane < LANES ? min(first_window + each, windows) : windows;
#endif
  const uint is_last = end_window == windows && first_window < windows;
  const uint alive = lane < LANES ? is_alive[lane] : 0u;
  const int channel = lane < LANES ? channel_of[lane] : -1;
  const uint begins = first_window == 0 && from_zero;  // no sum precedes its first window
  const uint passed = first_window == 0 ? 0u : moves + (first_window - 1) * HOP_BLOCKS;
  const uint first_from = slot_after(oldest, from_zero && first_window > 0 ? passed - moves : passed, slots);
  const uint first_to = slot_after(newest, passed, slots);
  const ulong first_block = newest_block + passed;

  int2 totals[OWN_TERMS];
#pragma unroll
  for (uint i = 0; i < OWN_TERMS; ++i) {
    totals[i] = from_zero || lane >= LANES ? (int2)(0, 0) : state_in[ring_term(frequency, i) * LANES + lane];
  }
  int2 clipping = from_zero || lane >= LANES ? (int2)(0, 0) : state_in[TERMS * LANES + lane];

#if SEGMENTS > 1
  __local int2 parts[SEGMENTS][OWN_TERMS][SLIDE_LANES];
  __local int clipped_parts[SEGMENTS][SLIDE_LANES];
  const uint item = get_local_id(0);
  const uint own_moves = first_window == end_window
                             ? 0u
                             : (end_window - first_window - 1) * HOP_BLOCKS + (first_window == 0 ? moves : HOP_BLOCKS);
  if (frequency == 0) {
    // Continues the run of the first block: signs of the blocks since it began, some of them of earlier windows.
#if RUN_BLOCKS > 1
    const uint since = (uint)(first_block % RUN_BLOCKS);
    const uint here = min(since, passed);
    int run = since >= passed ? clipping.y : 0;
    for (uint back = here; back > 0; --back) {
      run += sums[clipping_at(slot_after(newest, passed - back, slots), lane < LANES ? lane : 0)].y;
    }
#else
    int run = clipping.y;
#endif
    uint to = first_to;
    for (uint move = 0; move < own_moves; ++move) {
      (void)note_clipping(sums, to, lane, alive, first_block + move, &run);
      to = next_slot(to, slots);
    }
    clipping.y = run;
  }
  barrier(CLK_GLOBAL_MEM_FENCE);  // blocks that enter in these windows may leave in them, too
  int2 part[OWN_TERMS];
#pragma unroll
  for (uint i = 0; i < OWN_TERMS; ++i) {
    part[i] = (int2)(0, 0);
  }
  int clipped = 0;
  {
    uint from = first_from;
    uint to = first_to;
    for (uint move = 0; move < own_moves; ++move) {
      const uint nothing_leaves = begins && move < moves;
      add_move(sums, from, to, nothing_leaves, lane, frequency, part);
      if (frequency == 0) {
        clipped += sums[clipping_at(to, lane)].x - (nothing_leaves ? 0 : sums[clipping_at(from, lane)].x);
      }
      from = nothing_leaves ? from : next_slot(from, slots);
      to = next_slot(to, slots);
    }
  }
#pragma unroll
  for (uint i = 0; i < OWN_TERMS; ++i) {
    parts[segment][i][item] = part[i];
  }
  clipped_parts[segment][item] = clipped;
  barrier(CLK_LOCAL_MEM_FENCE);
  for (uint before = 0; before < segment; ++before) {
#pragma unroll
    for (uint i = 0; i < OWN_TERMS; ++i) {
      totals[i] += parts[before][i][item];
    }
    clipping.x += clipped_parts[before][item];
  }
#endif

  uint from = first_from;
  uint to = first_to;
  ulong block = first_block;
  for (uint window = first_window; window < end_window; ++window) {
    const uint nothing_leaves = from_zero && window == 0;
    const uint steps_on = window == 0 ? moves : HOP_BLOCKS;
    for (uint move = 0; move < steps_on; ++move) {
      move_on(sums, from, to, nothing_leaves, lane, frequency, alive, block++, totals, &clipping);
      from = nothing_leaves ? from : next_slot(from, slots);
      to = next_slot(to, slots);
    }
    if (channel >= 0) {
      const ulong first = first_word + (ulong)window * HOP_WORDS;
      float2 turned[OWN_TERMS];
#pragma unroll
      for (uint i = 0; i < OWN_TERMS; ++i) {
        turned[i] = turned_back(totals[i], steps[ring_term(frequency, i)], first);
      }
      spectra[((size_t)window * FREQUENCIES + frequency) * CHANNELS + channel] =
          spectrum_of(turned, weights[3 * frequency], weights[3 * frequency + 1], weights[3 * frequency + 2]);
      if (frequency == 0 && clipping.x > 0) {
        atomic_or(&status[window * STATUS_WORDS], FLAG_CLIPPED);
      }
    }
  }

  // All frequencies have the offset's terms; the first one writes them.
  const uint written = frequency == 0 ? OWN_TERMS : FREQUENCY_TERMS;
  for (uint i = 0; i < written && is_last; ++i) {
    state_out[ring_term(frequency, i) * LANES + lane] = totals[i];
  }
  if (frequency == 0 && is_last) {
    state_out[TERMS * LANES + lane] = clipping;
  }
}
