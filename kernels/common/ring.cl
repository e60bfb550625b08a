// Slot of a window's entry n in a ring that holds the window from first_slot on: first_slot + n modulo slots.

static uint ring_slot(const uint first_slot, const uint n, const uint slots) {
  const uint slot = first_slot + n;
  return slot >= slots ? slot - slots : slot;
}
