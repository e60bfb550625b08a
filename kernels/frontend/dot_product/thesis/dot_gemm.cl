// Front end dot_product with sums by a library's matrix product: clipping alone, which the library's kernels do not
// detect.
//
// Buffers:
//   samples       float  [slot][channel], channel fastest, full scale 1 or pascal; a ring
//   is_alive      uint   [channel], 0 for a channel whose clipping does not count
//   status        uint   [4], word 0 gathers the flags of the frame
// Launch: local (64, 1), global (channels rounded up to 64, ROWS).

//! needs frontend/dot_product/sum_parts.cl
//! needs frontend/window_samples.cl

//! default ROWS 64  // work-items along the samples

__kernel void check_window(__global const float* restrict samples, __global const uint* restrict is_alive,
                           const uint slots, const uint first_slot, __global uint* restrict status) {
  const uint channel = get_global_id(0);
  if (channel < CHANNELS) {
    float peak = 0.0f;
    for (uint t = get_global_id(1); t < WINDOW; t += ROWS) {
      peak = fmax(peak, fabs(samples[(size_t)ring_slot(first_slot, t, slots) * CHANNELS + channel]));
    }
    flag_clipping(peak, is_alive[channel], status);
  }
}
