// Shared by the kernels on windows of the sample ring.
//   flag_clipping   raises FLAG_CLIPPED in status[0] for a live channel that reached CLIP_LEVEL of full scale
//   finite_or_nan   a sum over a window with NaN or infinity in it is NaN in both parts

//! needs common/ring.cl

//! default CHANNELS 1024  // microphones
//! default WINDOW 1024  // samples of a window
//! default CHECK_CLIPPING 1  // 1: samples are fractions of full scale and are checked for clipping; 0: they are pascal
//! default CLIP_LEVEL 0.95f  // fraction of full scale at or above which a sample counts as clipped
//! default FLAG_CLIPPED 32u  // bit set in a clipped frame's flags (FrameFlag of frame.hpp)

static void flag_clipping(const float peak, const uint is_alive, __global uint* status) {
  if (CHECK_CLIPPING && peak >= CLIP_LEVEL && is_alive != 0u && (status[0] & FLAG_CLIPPED) == 0u) {
    atomic_or(&status[0], FLAG_CLIPPED);
  }
}

static float2 finite_or_nan(const float2 value) {
  return isfinite(value.x) && isfinite(value.y) ? value : (float2)(NAN, NAN);
}
