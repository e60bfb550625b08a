// Packed words of a window: packed [slot][channel] is a ring, and the window's first word lies in first_slot.

//! needs common/ring.cl

//! default CHANNELS 1024  // microphones
//! default LOG2_BITS 15  // bits of a window, as a power of two
//! default FREQUENCIES 2  // frequencies of the plan

#define BITS (1 << LOG2_BITS)
#define WORDS (BITS / 32)

static size_t packed_index(uint word, uint channel, uint first_slot, uint slots) {
  return (size_t)ring_slot(first_slot, word, slots) * CHANNELS + channel;
}
