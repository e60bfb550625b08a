// Maps of the last snapshots of beamform.cl: they evaluate the matrix of cross-spectra C of all microphones by the
// beams of the snapshots and a matrix of their inner products with one row and column per snapshot.
//
//   C = X X^H / T, X = [snapshot t of microphones m], p_t = sqrt(g) P;   G = X^H X / T = V diag(lambda) V^H on the host
//   u_i = X v_i / sqrt(T lambda_i) are C's eigenvectors, so |a^H u_i|^2 / |a|^2 = |sum_t B_t v_ti|^2 / (T lambda_i)
// with B_t the beam of formulation IV, which is a^H p_t / |a| / sqrt(sum g), and lambda over sum g. Maps are powers of
// formulation III or IV by `levels`.
//   METHOD 0  functional beamforming (Dougherty 2014): (sum_i lambda_i^(1/EXPONENT) |a^H u_i|^2 / |a|^2)^EXPONENT
//   METHOD 1  Capon (1969) with diagonal loading e: e / (1 - sum_i |a^H u_i|^2 / |a|^2 lambda_i / (lambda_i + e))
//   METHOD 2  MUSIC (Schmidt 1986): 1 / (1 - sum_i |a^H u_i|^2 / |a|^2) over the largest
//   METHOD 3  orthogonal beamforming (Sarradj 2010): lambda_i where |a^H u_i|^2 / |a|^2 is largest
//   METHOD 4  CLEAN-SC (Sijtsma 2007): beamform/history_clean.cl
//
//   pressures     float2 [window][frequency][channel], g P, Pa; weights float [window][channel], g
//   snapshots     float2 [slot][frequency][channel], sqrt(g) P; a ring of SLOTS
//   products      float2 [frequency][slot]: sum_m conj(snapshots[slot]) times the new snapshot
//   columns       float2 [slot][frequency][PIXEL_STRIDE], B
//   pixels, norms as in beamform.cl
//   levels        float  [PIXEL_STRIDE]: factor from |B|^2 to a mean square pressure
//   vectors       float2 [frequency][mode][SNAPSHOTS], v_i from the oldest snapshot on, those of largest lambda first
//   coefficients  float  [frequency][mode], 0 for a mode that is not used:
//                 lambda^(1/EXPONENT) / (T lambda), 1 / (T (lambda + e)), 1 / (T lambda), lambda
//   loadings      float  [frequency], e
//   places        int    [frequency][mode], the pixel where |a^H u_i| is largest
//   published     float  [frequency][pixel], Pa^2; dimensionless for MUSIC
//
// Launches: history_products: (GROUP * SLOTS, FREQUENCIES). history_levels: (PIXEL_STRIDE). history_map: (vectors of
//   LANES pixels rounded up to MAP_GROUP, FREQUENCIES), MAP_GROUP items per group. history_peaks: (GROUP * MODES,
//   FREQUENCIES). history_place: (PIXELS rounded up to GROUP, FREQUENCIES). GROUP items per group except in
//   history_map.

//! needs common/best.cl
//! needs common/complex.cl
//! needs common/groups.cl
//! needs processors/beamform/das_lanes.cl
//! needs processors/beamform/sizes.cl

//! default METHOD 0
//! default MODES 8  // at most SNAPSHOTS
//! default TRUE_LEVEL 1  // 1: formulation III, else IV
//! default MAP_GROUP 64
#define GROUP 64
#define MODE_TILE 8
// Bound of the rounding error in 1 - sum |a^H u|^2 / |a|^2.
#define LEAST_REST 1e-6f

DEFINE_SUM_OF_ITEMS(GROUP)
DEFINE_BEST_OF_GROUP(GROUP)

// Makes the snapshot of `slot`, and its inner products with those of all slots.
__kernel __attribute__((reqd_work_group_size(GROUP, 1, 1))) void history_products(
    __global const float2* restrict pressures, __global const float* restrict weights,
    __global float2* restrict snapshots, __global float2* restrict products, const int window, const int slot) {
  __local float parts[GROUP];
  const int item = get_local_id(0);
  const int other_slot = get_group_id(0);
  const int f = get_global_id(1);
  pressures += ((size_t)window * FREQUENCIES + f) * CHANNELS;
  weights += (size_t)window * CHANNELS;
  __global float2* place = snapshots + ((size_t)other_slot * FREQUENCIES + f) * CHANNELS;
  float2 sum = (float2)(0.0f, 0.0f);
  for (int channel = item; channel < CHANNELS; channel += GROUP) {
    const float g = weights[channel];
    const float2 p = g > 0.0f ? pressures[channel] / sqrt(g) : (float2)(0.0f, 0.0f);
    if (other_slot == slot) {  // no other group reads or writes it
      place[channel] = p;
    }
    const float2 other = other_slot == slot ? p : place[channel];
    sum += complex_multiply((float2)(other.x, -other.y), p);
  }
  const float re = sum_of_items(sum.x, parts, item);
  const float im = sum_of_items(sum.y, parts, item);
  if (item == 0) {
    products[f * SLOTS + other_slot] = (float2)(re, im);
  }
}

// Levels from the norms of formulation IV, 1 / sqrt(weight_sum * sum g / r^2).
__kernel void history_levels(__global const float* restrict pixels, __global const float* restrict norms,
                             __global float* restrict levels, const float weight_sum) {
  const int pixel = get_global_id(0);
#if PLANE_WAVE || !TRUE_LEVEL
  levels[pixel] = 0.5f;
#else
#if HAS_REFERENCE
  const float r_0 = REFERENCE;
#else
  const float r_0 = pixels[3 * PIXEL_STRIDE + pixel];
#endif
  const float ratio = weight_sum * norms[pixel] / r_0;
  levels[pixel] = 0.5f * ratio * ratio;
#endif
}

// Maps `held` snapshots from `first_slot` on by their first `modes` modes.
__kernel __attribute__((reqd_work_group_size(MAP_GROUP, 1, 1))) void history_map(
    __global const float2* restrict columns, __global const float2* restrict vectors,
    __global const float* restrict coefficients, __global const float* restrict loadings,
    __global const float* restrict levels, __global float* restrict published, const int first_slot, const int held,
    const int modes) {
  __local float2 tile[MODE_TILE * SNAPSHOTS];
  const int item = get_local_id(0);
  const int f = get_global_id(1);
  const int first = (int)get_global_id(0) * LANES;
  vectors += (size_t)f * MODES * SNAPSHOTS;
  coefficients += f * MODES;
  FLOATV sum = 0.0f;
  for (int first_mode = 0; first_mode < modes; first_mode += MODE_TILE) {
    SYNC(MAP_GROUP);
    for (int i = item; i < MODE_TILE * held; i += MAP_GROUP) {
      const int mode = min(first_mode + i / held, MODES - 1);
      tile[i] = vectors[(size_t)mode * SNAPSHOTS + i % held];
    }
    SYNC(MAP_GROUP);
    FLOATV z_re[MODE_TILE];
    FLOATV z_im[MODE_TILE];
#pragma unroll
    for (int i = 0; i < MODE_TILE; ++i) {
      z_re[i] = 0.0f;
      z_im[i] = 0.0f;
    }
    for (int t = 0; t < held; ++t) {
      const int slot = (first_slot + t) % SLOTS;
      FLOATV re;
      FLOATV im;
      LOAD_PAIR(re, im, columns + ((size_t)slot * FREQUENCIES + f) * PIXEL_STRIDE + first);
#pragma unroll
      for (int i = 0; i < MODE_TILE; ++i) {
        const float2 v = tile[i * held + t];
        z_re[i] += v.x * re;
        z_re[i] -= v.y * im;
        z_im[i] += v.x * im;
        z_im[i] += v.y * re;
      }
    }
#pragma unroll
    for (int i = 0; i < MODE_TILE; ++i) {
      const float coefficient = first_mode + i < modes ? coefficients[first_mode + i] : 0.0f;
      sum += coefficient * (z_re[i] * z_re[i] + z_im[i] * z_im[i]);
    }
  }
  const FLOATV rest = 1.0f - sum;
  const FLOATV divisor = rest < LEAST_REST ? (FLOATV)(LEAST_REST) : rest;  // NaN stays
  const FLOATV level = LOAD_FLOATS(levels + first);
#if METHOD == 0
  const FLOATV value = level * pow(sum, (FLOATV)(EXPONENT));
#elif METHOD == 1
  const FLOATV value = level * loadings[f] / divisor;
#else
  const FLOATV value = isnan(level) ? (FLOATV)(NAN) : 1.0f / divisor;
#endif
  store_floats(published + (size_t)f * PIXELS + first, PIXELS - first, value);
}

__kernel __attribute__((reqd_work_group_size(GROUP, 1, 1))) void history_peaks(__global const float2* restrict columns,
                                                                               __global const float2* restrict vectors,
                                                                               __global int* restrict places,
                                                                               const int first_slot, const int held) {
  __local float2 of_mode[SNAPSHOTS];
  __local float values[GROUP];
  __local int indices[GROUP];
  const int item = get_local_id(0);
  const int mode = get_group_id(0);
  const int f = get_global_id(1);
  for (int t = item; t < held; t += GROUP) {
    of_mode[t] = vectors[((size_t)f * MODES + mode) * SNAPSHOTS + t];
  }
  barrier(CLK_LOCAL_MEM_FENCE);
  values[item] = -INFINITY;
  indices[item] = 0;
  for (int pixel = item; pixel < PIXELS; pixel += GROUP) {
    float2 z = (float2)(0.0f, 0.0f);
    for (int t = 0; t < held; ++t) {
      const int slot = (first_slot + t) % SLOTS;
      z += complex_multiply(of_mode[t], columns[((size_t)slot * FREQUENCIES + f) * PIXEL_STRIDE + pixel]);
    }
    const float power = squared_magnitude(z);
    if (power > values[item]) {  // false for NaN
      values[item] = power;
      indices[item] = pixel;
    }
  }
  best_of_group(values, indices, item);
  if (item == 0) {
    places[f * MODES + mode] = indices[0];
  }
}

__kernel void history_place(__global const float2* restrict columns, __global const int* restrict places,
                            __global const float* restrict coefficients, __global const float* restrict levels,
                            __global float* restrict published, const int first_slot, const int modes) {
  const int pixel = get_global_id(0);
  const int f = get_global_id(1);
  if (pixel >= PIXELS) {
    return;
  }
  const float2 beam = columns[((size_t)first_slot * FREQUENCIES + f) * PIXEL_STRIDE + pixel];
  float sum = 0.0f;
  for (int mode = 0; mode < modes; ++mode) {
    sum += places[f * MODES + mode] == pixel ? coefficients[f * MODES + mode] : 0.0f;
  }
  published[(size_t)f * PIXELS + pixel] = isnan(beam.x) ? NAN : levels[pixel] * sum;
}
