// Prepares measured spectra for the imager: calibration, and interpolation of unusable microphones.
//
// A microphone is used unless it is masked or one of its spectra is not finite. One that is not finite is replaced by
// the mean of the used ones, weighted with 1/distance^2, in the smallest square of microphones around it, cut at the
// array's edge, that holds at least MIN_NEIGHBOURS of them (else in the whole array; zero when there is none at all).
// For microphones on no regular grid (IRREGULAR), these are the MIN_NEIGHBOURS used ones nearest in space, at equal
// distances the lower channel first. A masked one, which the host knows beforehand, is then predicted from its nearest
// neighbours that are not masked, with the weights of core/field_prediction.hpp: pressure = sum_n weights[n]
// pressure[neighbours[n]].
//
//   spectra, conditioned   float2 [frame][frequency][row][column], Pa
//   gains                  float2 [frequency][row][column], factors of the spectra
//   places                 float [channel][x, y, z], m; read only if IRREGULAR
//   masked                 uchar [row][column], 1 = do not use
//   mask                   int [1 + masked]: number of masked ones, then row * COLUMNS + column of each
//   neighbours             int [masked][FILL_NEIGHBOURS]
//   weights                float [masked][frequency][FILL_NEIGHBOURS], 0 if there is no neighbour
//   prior_weights          float [frequency][masked][row][column], 0 for masked ones
//   usable                 uchar [frame][row][column], 1 = used
//   status                 uint [frame][4]: 0 = flags, 1 = microphones that are not finite
//
// Launch: microphone_check and microphone_fill over (round_up(CHANNELS, 64), frames) items, 64 per group; then, if any
// is masked, microphone_predict over (round_up(masked, 64), frames * frequencies), or, if there are prior_weights,
// microphone_predict_by_prior over (PREDICT_GROUP * masked, frames * frequencies), PREDICT_GROUP per group.

//! needs common/complex.cl
//! needs imaging/fill.cl

//! default ROWS 32  // microphones in y
//! default COLUMNS 32  // microphones in x
//! default FREQUENCIES 1  // spectra per frame
//! default PREDICT_GROUP 64  // items that predict a microphone from all others, a power of 2
//! default IRREGULAR 0  // 1: on no regular grid; ROWS is 1, pitches are not used
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
    finite &= is_finite(value);
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

#if IRREGULAR
// Finds the usable microphones nearest to `channel`, and the squares of their distances in m^2. Returns their number.
static int nearest_in_space(__global const uchar* usable, __global const float* places, int channel, int* nearest,
                            float* distance2) {
  int found = 0;
  for (int other = 0; other < CHANNELS; ++other) {
    if (!usable[other]) {
      continue;
    }
    const float x = places[3 * other] - places[3 * channel];
    const float y = places[3 * other + 1] - places[3 * channel + 1];
    const float z = places[3 * other + 2] - places[3 * channel + 2];
    const float square = x * x + y * y + z * z;
    if (found == MIN_NEIGHBOURS && square >= distance2[MIN_NEIGHBOURS - 1]) {
      continue;
    }
    found = min(found + 1, MIN_NEIGHBOURS);
    int at = found - 1;
    for (; at > 0 && square < distance2[at - 1]; --at) {
      distance2[at] = distance2[at - 1];
      nearest[at] = nearest[at - 1];
    }
    distance2[at] = square;
    nearest[at] = other;
  }
  return found;
}
#endif

DEFINE_FILL_RADIUS(static, __global)

__kernel void microphone_fill(__global const float2* spectra, __global const float2* gains,
                              __global const float* places, __global const uchar* masked, __global const uchar* usable,
                              __global float2* conditioned) {
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
  if (masked[channel]) {
    return;
  }
#if IRREGULAR
  int nearest[MIN_NEIGHBOURS];
  float distance2[MIN_NEIGHBOURS];
  const int found = nearest_in_space(usable, places, channel, nearest, distance2);
  for (int f = 0; f < FREQUENCIES; ++f) {
    float2 sum = (float2)(0.0f, 0.0f);
    float weights = 0.0f;
    for (int i = 0; i < found; ++i) {
      sum += calibrated(spectra, gains, f * CHANNELS + nearest[i]) / distance2[i];
      weights += 1.0f / distance2[i];
    }
    conditioned[f * CHANNELS + channel] = weights > 0.0f ? sum / weights : (float2)(0.0f, 0.0f);
  }
#else
  const int row = channel / COLUMNS;
  const int column = channel % COLUMNS;
  const int radius = fill_radius(usable, row, column);
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
#endif
}

__kernel void microphone_predict(__global const int* mask, __global const int* neighbours,
                                 __global const float* weights, __global float2* conditioned) {
  const int i = (int)get_global_id(0);
  if (i >= mask[0]) {
    return;
  }
  conditioned += get_global_id(1) * CHANNELS;
  neighbours += i * FILL_NEIGHBOURS;
  weights += (i * FREQUENCIES + (int)get_global_id(1) % FREQUENCIES) * FILL_NEIGHBOURS;
  float2 sum = (float2)(0.0f, 0.0f);
  for (int n = 0; n < FILL_NEIGHBOURS; ++n) {
    if (weights[n] != 0.0f) {
      sum += weights[n] * conditioned[neighbours[n]];
    }
  }
  conditioned[mask[1 + i]] = sum;
}

// Best prediction by sonah's prior: from all microphones that are not masked.
__kernel __attribute__((reqd_work_group_size(PREDICT_GROUP, 1, 1))) void microphone_predict_by_prior(
    __global const int* mask, __global const float* prior_weights, __global float2* conditioned) {
  __local float2 parts[PREDICT_GROUP];
  const int item = (int)get_local_id(0);
  const int i = (int)get_group_id(0);
  const int hologram = (int)get_global_id(1);
  __global float2* field = conditioned + (size_t)hologram * CHANNELS;
  __global const float* weights = prior_weights + ((size_t)(hologram % FREQUENCIES) * mask[0] + i) * CHANNELS;
  float2 sum = (float2)(0.0f, 0.0f);
  for (int channel = item; channel < CHANNELS; channel += PREDICT_GROUP) {
    if (weights[channel] != 0.0f) {  // masked ones may hold any value
      sum += weights[channel] * field[channel];
    }
  }
  parts[item] = sum;
  barrier(CLK_LOCAL_MEM_FENCE);
  for (int others = PREDICT_GROUP / 2; others > 0; others /= 2) {
    if (item < others) {
      parts[item] += parts[item + others];
    }
    barrier(CLK_LOCAL_MEM_FENCE);
  }
  if (item == 0) {
    field[mask[1 + i]] = parts[0];
  }
}
