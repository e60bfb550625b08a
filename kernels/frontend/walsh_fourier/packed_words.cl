// Packed words of a window: packed [slot][channel] is a ring, and the window's first word lies in first_slot.

//! needs common/ring.cl

// Microphones.
#ifndef CHANNELS
#define CHANNELS 1024
#endif
// Bits of a window, as a power of two.
#ifndef LOG2_BITS
#define LOG2_BITS 15
#endif
// Frequencies of the plan.
#ifndef FREQUENCIES
#define FREQUENCIES 2
#endif

#define BITS (1 << LOG2_BITS)
#define WORDS (BITS / 32)

static size_t packed_index(uint word, uint channel, uint first_slot, uint slots) {
  return (size_t)ring_slot(first_slot, word, slots) * CHANNELS + channel;
}
