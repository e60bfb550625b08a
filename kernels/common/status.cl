// A frame's status is gathered in one place by all stages; the frame's last launch moves it next to the images, so that
// one transfer fetches both, and clears it for the next frame.

//! default STATUS_WORDS 4  // words of a frame's status

// Moves a frame's status to `taken`; executed by `items` work-items, of which this is `item`.
static void take_status(__global uint* status, __global uint* taken, const int frame, const int item, const int items) {
  for (int i = item; i < STATUS_WORDS; i += items) {
    taken[frame * STATUS_WORDS + i] = status[frame * STATUS_WORDS + i];
    status[frame * STATUS_WORDS + i] = 0u;
  }
}
