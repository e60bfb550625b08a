// Corner turn: wire words, one bit of 32 microphones each, become packed words, 32 bit-times of one microphone each.
//
// Formula (from the wire layout, thesis of Oznaya Angeles, TU/e 2014, appendix B, and design.md "Layout"):
//   bit t of packed[slot(w)][channel(32 c + b)] = bit b of wire[32 w + t][c],  t = 0..31, b = 0..31
//   that is a 32 x 32 bit transposition of each column c of each 32 bit-times, then a scatter by the layout's table.
//
// Buffers:
//   wire                 uint [bit-time][wire word], wire word fastest, 32 * (appended words) bit-times
//   channel_of_wire_bit  int  [wire word][bit] -> channel, or -1 for a spare bit, which is dropped
//   packed               uint [slot][channel], channel fastest; first bit-time in the least significant bit; a ring
// Launch: local (32, WORD_TILE, 1); global (32, WIRE_WORDS rounded up to WORD_TILE, appended words).
// Assumes: WORD_TILE divides 1024; appended words <= slots. Local memory: 128 * WORD_TILE bytes.

//! needs common/ring.cl

//! default CHANNELS 1024  // microphones
//! default WIRE_WORDS 32  // 32-bit words of one bit-time on the wire
//! default WORD_TILE 8  // wire words that one work-group transposes

#define BITS 32

__kernel __attribute__((reqd_work_group_size(BITS, WORD_TILE, 1))) void corner_turn(
    __global const uint* restrict wire, __global const int* restrict channel_of_wire_bit,
    __global uint* restrict packed, const uint first_slot, const uint slots) {
  __local uint tile[BITS * WORD_TILE];  // [bit-time][wire word of the tile]
  const uint bit = get_local_id(0);
  const uint column = get_group_id(1) * WORD_TILE + get_local_id(1);
  const uint word = get_global_id(2);

  // The group's items, in one row, read the tile in wire order.
  const uint item = get_local_id(1) * BITS + bit;
  const uint load_time = item / WORD_TILE;
  const uint load_column = get_group_id(1) * WORD_TILE + item % WORD_TILE;
  const size_t from = ((size_t)word * BITS + load_time) * WIRE_WORDS + load_column;
  tile[item] = load_column < WIRE_WORDS ? wire[from] : 0u;
  barrier(CLK_LOCAL_MEM_FENCE);

  uint turned = 0u;
  for (uint time = 0; time < BITS; ++time) {
    turned |= ((tile[time * WORD_TILE + get_local_id(1)] >> bit) & 1u) << time;
  }
  const int channel = column < WIRE_WORDS ? channel_of_wire_bit[column * BITS + bit] : -1;
  if (channel >= 0) {
    packed[(size_t)ring_slot(first_slot, word, slots) * CHANNELS + channel] = turned;
  }
}
