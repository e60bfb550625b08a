// Full scale in packed bits: |ones - zeros| over any RUN words in a row of a window at LIMIT or above.
//
// Buffers:
//   packed    uint  [slot][channel], channel fastest, 32 bit-times per word; a ring
//   is_alive  uint  [channel], 0 for a channel whose clipping does not count
//   status    uint  [4], word 0 gathers the flags of the frame
// Launch: local (64, 1), global (channels rounded up to 64, chunks); a work-item checks the CHUNK runs that start in
//   its chunk of the window.
// Assumes: RUN <= WORDS <= slots, first_slot < slots.

//! needs common/ring.cl

//! default CHANNELS 1024  // microphones
//! default WORDS 1024  // words of a window
//! default RUN 8  // words of a run
//! default CHUNK 32  // runs per work-item
//! default LIMIT 244u  // value of |ones - zeros| at or above which a run counts as clipped: 0.95 of its bits
//! default FLAG_CLIPPED 32u  // bit set in a clipped frame's flags (FrameFlag of frame.hpp)

static int ones_minus_zeros(__global const uint* restrict packed, uint channel, uint word, uint first_slot,
                            uint slots) {
  return 2 * (int)popcount(packed[(size_t)ring_slot(first_slot, word, slots) * CHANNELS + channel]) - 32;
}

__kernel void find_clipping(__global const uint* restrict packed, __global const uint* restrict is_alive,
                            __global uint* restrict status, const uint first_slot, const uint slots) {
  const uint channel = get_global_id(0);
  if (channel >= CHANNELS || is_alive[channel] == 0u) {
    return;
  }
  const uint first = get_global_id(1) * CHUNK;
  const uint end = min(first + CHUNK + RUN - 1u, (uint)WORDS);
  int balance = 0;
  uint highest = 0u;
  for (uint word = first; word < end; ++word) {
    balance += ones_minus_zeros(packed, channel, word, first_slot, slots);
    if (word >= first + RUN) {
      balance -= ones_minus_zeros(packed, channel, word - RUN, first_slot, slots);
    }
    highest = word + 1u >= first + RUN ? max(highest, abs(balance)) : highest;
  }
  if (highest >= LIMIT) {
    atomic_or(&status[0], FLAG_CLIPPED);
  }
}
