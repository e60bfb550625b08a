// CLEAN-SC (Sijtsma, Int. J. Aeroacoustics 6, 2007) of the snapshots of history.cl. The remainder of C after the found
// sources is X W X^H / T, with a matrix W with one row and column per snapshot:
//
//   b_q = sum_t |B_qt|^2 / T, W = 1;  repeat: i = the pixel where b is largest,  y = B_i W,  map_i += LOOP_GAIN b_i,
//   d_q = sum_t B_qt conj(y_t) / T,  b_q -= LOOP_GAIN |d_q|^2 / b_i,  W -= LOOP_GAIN y^H y / (T b_i)
// until the largest is larger than three steps before, is STOP times the first or less, or does not exist. Powers are
// compared in published form, with `levels`.
//
// Without microphones' own noise, the beams of signals replace those of snapshots: combinations of these whose matrix
// of cross-spectra is C minus the noise (decomposition.hpp); `held` is then the number of signals.
//
//   columns, levels, published  as in history.cl
//   vectors      float2 [frequency][signal, SNAPSHOTS][SNAPSHOTS], a signal's part of each snapshot, the oldest first
//   signals      float2 [signal][frequency][PIXEL_STRIDE], as columns
//   left         float  [frequency][PIXEL_STRIDE], b
//   best_values, best_indices   [frequency][GROUPS]
//   rests        float2 [frequency][SNAPSHOTS][SNAPSHOTS], W
//   last         float2 [frequency][SNAPSHOTS], y
//   state        float  [frequency][STATE]: b_i, 1 after the end, the first power, those of the last three steps
//
// Launches: clean_signals: (PIXEL_STRIDE, FREQUENCIES, signals), GROUP items per group. An iteration: clean_remove:
//   (GROUP * GROUPS, FREQUENCIES). clean_find: (GROUP, FREQUENCIES). `step` counts iterations from 0; GROUP items per
//   group, one pixel per item, GROUPS = PIXEL_STRIDE / GROUP.

//! needs common/best.cl
//! needs common/complex.cl
//! needs processors/beamform/sizes.cl

//! default LOOP_GAIN 0.6f
//! default STOP 1e-4f
#define GROUP 64
#define GROUPS (PIXEL_STRIDE / GROUP)
#define STATE 8

DEFINE_BEST_OF_GROUP(GROUP)

__kernel __attribute__((reqd_work_group_size(GROUP, 1, 1))) void clean_signals(__global const float2* restrict columns,
                                                                               __global const float2* restrict vectors,
                                                                               __global float2* restrict signals,
                                                                               const int first_slot, const int held) {
  const int pixel = get_global_id(0);
  const int f = get_global_id(1);
  const int signal = get_global_id(2);
  vectors += ((size_t)f * SNAPSHOTS + signal) * SNAPSHOTS;
  float2 sum = (float2)(0.0f, 0.0f);
  for (int t = 0; t < held; ++t) {
    const int slot = (first_slot + t) % SLOTS;
    sum += complex_multiply(vectors[t], columns[((size_t)slot * FREQUENCIES + f) * PIXEL_STRIDE + pixel]);
  }
  signals[((size_t)signal * FREQUENCIES + f) * PIXEL_STRIDE + pixel] = sum;
}

__kernel __attribute__((reqd_work_group_size(GROUP, 1, 1))) void clean_remove(
    __global const float2* restrict columns, __global const float* restrict levels,
    __global const float2* restrict last, __global const float* restrict state, __global float* restrict left,
    __global float* restrict best_values, __global int* restrict best_indices, __global float* restrict published,
    const int first_slot, const int held, const int step) {
  __local float2 y[SNAPSHOTS];
  __local float values[GROUP];
  __local int indices[GROUP];
  const int item = get_local_id(0);
  const int pixel = get_global_id(0);
  const int f = get_global_id(1);
  state += f * STATE;
  if (step > 0 && state[1] != 0.0f) {  // equal for all items of the group
    return;
  }
  for (int t = item; t < held; t += GROUP) {
    y[t] = last[f * SNAPSHOTS + t];
  }
  barrier(CLK_LOCAL_MEM_FENCE);
  float power = 0.0f;
  float2 d = (float2)(0.0f, 0.0f);
  for (int t = 0; t < held; ++t) {
    const int slot = (first_slot + t) % SLOTS;
    const float2 beam = columns[((size_t)slot * FREQUENCIES + f) * PIXEL_STRIDE + pixel];
    if (step == 0) {
      power += squared_magnitude(beam);
    } else {
      d += complex_multiply(beam, (float2)(y[t].x, -y[t].y));
    }
  }
  const float each = 1.0f / (float)held;
  const size_t at = (size_t)f * PIXEL_STRIDE + pixel;
  float b = each * power;
  if (step > 0) {
    b = left[at] - LOOP_GAIN * each * each * squared_magnitude(d) / state[0];
  } else if (pixel < PIXELS) {
    published[(size_t)f * PIXELS + pixel] = isnan(b) ? NAN : 0.0f;
  }
  left[at] = b;
  const float level = levels[pixel] * b;
  values[item] = pixel < PIXELS && level > 0.0f ? level : 0.0f;  // NaN is never the largest
  indices[item] = pixel;
  best_of_group(values, indices, item);
  if (item == 0) {
    best_values[f * GROUPS + get_group_id(0)] = values[0];
    best_indices[f * GROUPS + get_group_id(0)] = indices[0];
  }
}

__kernel __attribute__((reqd_work_group_size(GROUP, 1, 1))) void clean_find(
    __global const float2* restrict columns, __global const float* restrict levels, __global const float* restrict left,
    __global const float* restrict best_values, __global const int* restrict best_indices,
    __global float2* restrict rests, __global float2* restrict last, __global float* restrict state,
    __global float* restrict published, const int first_slot, const int held, const int step) {
  __local float2 beams[SNAPSHOTS];
  __local float2 y[SNAPSHOTS];
  __local float values[GROUP];
  __local int indices[GROUP];
  const int item = get_local_id(0);
  const int f = get_global_id(1);
  state += f * STATE;
  rests += (size_t)f * SNAPSHOTS * SNAPSHOTS;
  if (step > 0 && state[1] != 0.0f) {
    return;
  }
  float best = -INFINITY;
  int best_index = INT_MAX;
  for (int group = item; group < GROUPS; group += GROUP) {
    if (is_better(best_values[f * GROUPS + group], best_indices[f * GROUPS + group], best, best_index)) {
      best = best_values[f * GROUPS + group];
      best_index = best_indices[f * GROUPS + group];
    }
  }
  values[item] = best;
  indices[item] = best_index;
  best_of_group(values, indices, item);
  const float level = values[0];
  const int pixel = indices[0];
  const float first_level = step == 0 ? level : state[2];
  const float three_before = step < 3 ? INFINITY : state[3 + step % 3];
  barrier(CLK_GLOBAL_MEM_FENCE);  // all have read the state that item 0 writes
  const int ends = !(level > 0.0f) || level <= STOP * first_level || level > three_before;
  if (item == 0) {
    state[1] = ends ? 1.0f : 0.0f;
    state[2] = first_level;
    state[3 + step % 3] = level;
  }
  if (ends) {  // equal for all items
    return;
  }
  const float b = left[(size_t)f * PIXEL_STRIDE + pixel];
  for (int t = item; t < held; t += GROUP) {
    const int slot = (first_slot + t) % SLOTS;
    beams[t] = columns[((size_t)slot * FREQUENCIES + f) * PIXEL_STRIDE + pixel];
  }
  barrier(CLK_LOCAL_MEM_FENCE);
  for (int t = item; t < held; t += GROUP) {
    float2 sum = beams[t];
    if (step > 0) {
      sum = (float2)(0.0f, 0.0f);
      for (int s = 0; s < held; ++s) {
        sum += complex_multiply(beams[s], rests[s * SNAPSHOTS + t]);
      }
    }
    y[t] = sum;
    last[f * SNAPSHOTS + t] = sum;
  }
  barrier(CLK_LOCAL_MEM_FENCE);
  const float factor = LOOP_GAIN / ((float)held * b);
  // Each item processes its own columns t, which only it has read above.
  for (int t = item; t < held; t += GROUP) {
    for (int s = 0; s < held; ++s) {
      const float2 before = step > 0 ? rests[s * SNAPSHOTS + t] : (float2)(s == t ? 1.0f : 0.0f, 0.0f);
      rests[s * SNAPSHOTS + t] = before - factor * complex_multiply((float2)(y[s].x, -y[s].y), y[t]);
    }
  }
  if (item == 0) {
    state[0] = b;
    published[(size_t)f * PIXELS + pixel] += LOOP_GAIN * level;
  }
}
