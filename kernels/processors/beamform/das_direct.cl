// Direct sum of beamform.cl: for each pixel over the microphones of a part, for any positions of both.
//
//   sums[q] = sum_m w(r) e^{+jk (r - |q|)} g_m P_m,   diagonals[q] = sum_m w^2 |g_m P_m|^2 with REMOVAL
// r - |q| is computed as (|x|^2 - 2 q.x) / (r + |q|), whose rounding error scales with the array's size and not with
// the distance. Buffers as in beamform.cl. Sums over microphones are in the order of channels within a part, so a map
// depends on the number of parts, which the plan chooses, and on nothing else.
//
// Launch: (vectors of LANES pixels, frequency tiles * PARTS, windows), the first of them `first_window`, in groups of GROUP
//   items. On GPUs a group keeps TILE microphones at a time in local memory, TILE (16 + 8 FREQUENCY_TILE) bytes.

//! needs common/complex.cl
//! needs processors/beamform/das_lanes.cl
//! needs processors/beamform/sizes.cl

//! default PART 64  // microphones per part except the last; a multiple of TILE
//! default FREQUENCY_TILE 1  // frequencies per work-item
#define FREQUENCY_TILES ((FREQUENCIES + FREQUENCY_TILE - 1) / FREQUENCY_TILE)
//! default PLANAR 0  // 1: all microphones have z = 0
//! default GROUP 64  // items per group, a multiple of TILE; 1: microphones are read from global memory
//! default TILE 32

#define IS_WEIGHTED (FORMULATION != 0 && !PLANE_WAVE)

__kernel __attribute__((reqd_work_group_size(GROUP, 1, 1))) void das_direct(
    __global const float* restrict pixels, __global const float4* restrict positions,
    __global const float2* restrict waves_per_m, __global const float2* restrict pressures,
    __global float2* restrict sums, __global float* restrict diagonals, const int first_window) {
#if GROUP > 1
  __local float4 places[TILE];
  __local float2 tile[FREQUENCY_TILE][TILE];
  const int item = get_local_id(0);
#endif
  const int first_pixel = (int)get_global_id(0) * LANES;
  const int first_frequency = (int)get_global_id(1) % FREQUENCY_TILES * FREQUENCY_TILE;
  const int part = (int)get_global_id(1) / FREQUENCY_TILES;
  pressures += (size_t)(first_window + (int)get_global_id(2)) * FREQUENCIES * CHANNELS;
  const FLOATV q_x = LOAD_FLOATS(pixels + first_pixel);
  const FLOATV q_y = LOAD_FLOATS(pixels + PIXEL_STRIDE + first_pixel);
  const FLOATV q_z = LOAD_FLOATS(pixels + 2 * PIXEL_STRIDE + first_pixel);
  const FLOATV length = LOAD_FLOATS(pixels + 3 * PIXEL_STRIDE + first_pixel);

  FLOATV sum_re[FREQUENCY_TILE];
  FLOATV sum_im[FREQUENCY_TILE];
  FLOATV diagonal[FREQUENCY_TILE];
  float waves[FREQUENCY_TILE];
#pragma unroll
  for (int i = 0; i < FREQUENCY_TILE; ++i) {
    sum_re[i] = 0.0f;
    sum_im[i] = 0.0f;
    diagonal[i] = 0.0f;
    waves[i] = waves_per_m[min(first_frequency + i, FREQUENCIES - 1)].x;
  }
  const int end = min((part + 1) * PART, CHANNELS);
#if GROUP > 1
  for (int first = part * PART; first < end; first += TILE) {
    barrier(CLK_LOCAL_MEM_FENCE);
    if (item < TILE) {
      places[item] = positions[min(first + item, CHANNELS - 1)];
    }
    for (int i = item; i < FREQUENCY_TILE * TILE; i += GROUP) {
      const int channel = first + i % TILE;
      const int f = min(first_frequency + i / TILE, FREQUENCIES - 1);
      tile[i / TILE][i % TILE] = channel < end ? pressures[f * CHANNELS + channel] : (float2)(0.0f, 0.0f);
    }
    barrier(CLK_LOCAL_MEM_FENCE);
#pragma unroll 4
    for (int m = 0; m < TILE; ++m) {
#define PLACE_OF_MICROPHONE places[m]
#define PRESSURE(i) tile[i][m]
#else
  {
    for (int m = part * PART; m < end; ++m) {
#define PLACE_OF_MICROPHONE positions[m]
#define PRESSURE(i) pressures[min(first_frequency + i, FREQUENCIES - 1) * CHANNELS + m]
#endif
      const float4 x = PLACE_OF_MICROPHONE;
#if PLANE_WAVE
#if PLANAR
      const FLOATV path = -(q_x * x.x + q_y * x.y);
#else
      const FLOATV path = -(q_x * x.x + q_y * x.y + q_z * x.z);
#endif
#else
      const FLOATV d_x = q_x - x.x;
      const FLOATV d_y = q_y - x.y;
#if PLANAR
      const FLOATV d_z = q_z;
      const FLOATV twice_inner = 2.0f * (q_x * x.x + q_y * x.y);
#else
      const FLOATV d_z = q_z - x.z;
      const FLOATV twice_inner = 2.0f * (q_x * x.x + q_y * x.y + q_z * x.z);
#endif
      // Not 0, so that a masked microphone at the pixel, whose pressure is 0, adds 0.
      const FLOATV square = d_x * d_x + d_y * d_y + d_z * d_z + 1e-20f;
#if LANES == 1
      const float inverse = rsqrt(square);
      const float r = square * inverse;
      const float inverse_sum = native_recip(r + length);
#else  // one division for both
      const FLOATV r = sqrt(square);
      const FLOATV r_sum = r + length;
      const FLOATV inverse_both = 1.0f / (r * r_sum);
      const FLOATV inverse = inverse_both * r_sum;
      const FLOATV inverse_sum = inverse_both * r;
#endif
      const FLOATV path = (x.w - twice_inner) * inverse_sum;
#if FORMULATION == 1
      const FLOATV weight = r;
#else
      const FLOATV weight = inverse;
#endif
#endif
#pragma unroll
      for (int i = 0; i < FREQUENCY_TILE; ++i) {
        const float2 p = PRESSURE(i);
        FLOATV c;
        FLOATV s;
        phasor(path * waves[i], &c, &s);
#if IS_WEIGHTED
        c *= weight;
        s *= weight;
#endif
        sum_re[i] += c * p.x;
        sum_re[i] -= s * p.y;
        sum_im[i] += c * p.y;
        sum_im[i] += s * p.x;
#if REMOVAL
#if IS_WEIGHTED
        diagonal[i] += weight * weight * squared_magnitude(p);
#else
        diagonal[i] += squared_magnitude(p);
#endif
#endif
      }
    }
  }

  const size_t at = ((size_t)part * WINDOWS + get_global_id(2)) * FREQUENCIES;
#pragma unroll
  for (int i = 0; i < FREQUENCY_TILE; ++i) {
    if (first_frequency + i < FREQUENCIES) {
      const size_t to = (at + first_frequency + i) * PIXEL_STRIDE + first_pixel;
      store_pairs(sums + to, LANES, sum_re[i], sum_im[i]);
#if REMOVAL
      STORE_FLOATS(diagonal[i], diagonals + to);
#endif
    }
  }
}
