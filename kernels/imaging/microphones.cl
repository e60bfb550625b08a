// Prepares measured spectra for the imager: calibration, and interpolation of microphones that can't be used.
//
// A microphone is used unless it is masked by the configuration or one of its spectra is not finite. Any other is replaced
// by the mean of the used ones, weighted with 1/distance^2, in the smallest square of microphones round it, cut at the
// array's edge, that holds at least MIN_NEIGHBOURS of them (else in the whole array; zero when there is none at all).
//
//   spectra, conditioned   float2 [frame][frequency][row][column], Pa
//   gains                  float2 [frequency][row][column], by which spectra are multiplied
//   masked                 uchar [row][column], 1 = do not use
//   usable                 uchar [frame][row][column], 1 = used
//   status                 uint [frame][4]: 0 = flags, 1 = microphones that are not finite
//
// Launch: microphone_check and microphone_fill over (round_up(CHANNELS, 64), frames) items, 64 a group.

#ifndef ROWS  // microphones in y
#define ROWS 32
#endif
#ifndef COLUMNS  // microphones in x
#define COLUMNS 32
#endif
#ifndef FREQUENCIES  // spectra a frame
#define FREQUENCIES 1
#endif
#ifndef PITCH_X  // metres
#define PITCH_X 0.02f
#endif
#ifndef PITCH_Y  // metres
#define PITCH_Y 0.02f
#endif
#ifndef HAS_GAINS  // 1: multiply by gains
#define HAS_GAINS 0
#endif
#ifndef MIN_NEIGHBOURS  // used microphones that an interpolation needs
#define MIN_NEIGHBOURS 3
#endif
#ifndef LARGEST  // Pa; beyond it squares overflow, so a value counts as not finite
#define LARGEST 1e18f
#endif
#ifndef FLAG_MASKED  // nearfield::kFlagMaskedMicrophones
#define FLAG_MASKED 2
#endif
#ifndef FLAG_NON_FINITE  // nearfield::kFlagNonFiniteInput
#define FLAG_NON_FINITE 16
#endif
#define CHANNELS (ROWS * COLUMNS)

__kernel void microphone_check(__global const float2* spectra, __global const uchar* masked, __global uchar* usable,
                               __global uint* status) {
  const int channel = (int)get_global_id(0);
  if (channel >= CHANNELS) {
    return;
  }
  const int frame = (int)get_global_id(1);
  int finite = 1;
  for (int f = 0; f < FREQUENCIES; ++f) {
    const float2 value = spectra[(frame * FREQUENCIES + f) * CHANNELS + channel];
    finite &= fabs(value.x) < LARGEST && fabs(value.y) < LARGEST;  // false for NaN too
  }
  usable[frame * CHANNELS + channel] = (uchar)(finite && !masked[channel]);
  if (masked[channel]) {
    atomic_or(&status[4 * frame], (uint)FLAG_MASKED);
  } else if (!finite) {
    atomic_or(&status[4 * frame], (uint)FLAG_NON_FINITE);
    atomic_inc(&status[4 * frame + 1]);
  }
}

static float2 calibrated(__global const float2* spectra, __global const float2* gains, int index) {
#if HAS_GAINS
  return complex_multiply(spectra[index], gains[index]);
#else
  return spectra[index];
#endif
}

// Half the side of the smallest square round (row, column) with enough usable microphones.
static int interpolation_radius(__global const uchar* usable, int row, int column) {
  int radius = 0;
  int found = 0;
  while (found < MIN_NEIGHBOURS && radius < max(ROWS, COLUMNS)) {
    ++radius;
    found = 0;
    for (int y = max(row - radius, 0); y <= min(row + radius, ROWS - 1); ++y) {
      for (int x = max(column - radius, 0); x <= min(column + radius, COLUMNS - 1); ++x) {
        found += usable[y * COLUMNS + x];
      }
    }
  }
  return radius;
}

__kernel void microphone_fill(__global const float2* spectra, __global const float2* gains,
                              __global const uchar* usable, __global float2* conditioned) {
  const int channel = (int)get_global_id(0);
  if (channel >= CHANNELS) {
    return;
  }
  spectra += get_global_id(1) * FREQUENCIES * CHANNELS;
  conditioned += get_global_id(1) * FREQUENCIES * CHANNELS;
  usable += get_global_id(1) * CHANNELS;
  if (usable[channel]) {
    for (int f = 0; f < FREQUENCIES; ++f) {
      conditioned[f * CHANNELS + channel] = calibrated(spectra, gains, f * CHANNELS + channel);
    }
    return;
  }
  const int row = channel / COLUMNS;
  const int column = channel % COLUMNS;
  const int radius = interpolation_radius(usable, row, column);
  for (int f = 0; f < FREQUENCIES; ++f) {
    float2 sum = (float2)(0.0f, 0.0f);
    float weights = 0.0f;
    for (int y = max(row - radius, 0); y <= min(row + radius, ROWS - 1); ++y) {
      for (int x = max(column - radius, 0); x <= min(column + radius, COLUMNS - 1); ++x) {
        if (usable[y * COLUMNS + x]) {
          const float dx = (float)(x - column) * PITCH_X;
          const float dy = (float)(y - row) * PITCH_Y;
          const float weight = 1.0f / (dx * dx + dy * dy);
          sum += weight * calibrated(spectra, gains, f * CHANNELS + y * COLUMNS + x);
          weights += weight;
        }
      }
    }
    conditioned[f * CHANNELS + channel] = weights > 0.0f ? sum / weights : (float2)(0.0f, 0.0f);
  }
}
