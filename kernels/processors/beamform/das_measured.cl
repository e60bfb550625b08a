// Sums of beamform.cl with measured steering vectors a: a matrix of templates times the pressures. The norms depend on
// the frequency and are computed along with the sums, from the weights of the same window.
//
//   sums[q] = s sum_m w conj(a_m) g_m P_m,   diagonals[q] = s^2 sum_m w^2 |a_m|^2 |g_m P_m|^2 with REMOVAL
//   FORMULATION  w        s                              over microphones with g > 0 and a != 0
//   0 (I)        1/|a|    1 / sum g
//   1 (II)       1/|a|^2  1 / sum g
//   2 (III)      1        1 / sum g |a|^2
//   3 (IV)       1        1 / sqrt(sum g  sum g |a|^2)
//   With REMOVAL both also contain sqrt(N): N = t^2 / (t^2 - sum (g w |a|^2)^2), t = sum g w |a|^2.
// A template that was left out is NaN, and so is its pixel; with fewer than FEWEST_MICROPHONES all pixels are NaN.
//
//   templates    float2 [frequency][pixel][channel], 1 at the reference
//   pressures, weights, sums, diagonals as in beamform.cl, PARTS being 1
// Launch: local GROUP, a power of two; global (GROUP * PIXEL_STRIDE, FREQUENCIES, windows), the first of them
//   `first_window`. Channels are read side by side by the items of a group. Sums have a fixed order.

//! needs common/complex.cl
//! needs processors/beamform/sizes.cl

//! default GROUP 64

__kernel __attribute__((reqd_work_group_size(GROUP, 1, 1))) void das_measured(__global const float2* restrict templates,
                                                                              __global const float2* restrict pressures,
                                                                              __global const float* restrict weights,
                                                                              __global float2* restrict sums,
                                                                              __global float* restrict diagonals,
                                                                              const int first_window) {
  // Per item: beam, sum g, sum g |a|^2; microphones, t, sum of its squares, diagonal.
  __local float4 beams[GROUP];
  __local float4 norms[GROUP];
  const int item = get_local_id(0);
  const int pixel = get_group_id(0);
  const int f = get_global_id(1);
  const int window = first_window + (int)get_global_id(2);
  templates += ((size_t)f * PIXELS + min(pixel, PIXELS - 1)) * CHANNELS;
  pressures += ((size_t)window * FREQUENCIES + f) * CHANNELS;
  weights += (size_t)window * CHANNELS;
  float4 beam = (float4)(0.0f, 0.0f, 0.0f, 0.0f);
  float4 norm = (float4)(0.0f, 0.0f, 0.0f, 0.0f);
  for (int m = item; m < CHANNELS; m += GROUP) {
    const float2 a = templates[m];
    const float g = weights[m];
    const float square = squared_magnitude(a);
    if (g == 0.0f) {
      continue;
    }
    norm.x += 1.0f;
    if (square == 0.0f) {
      continue;
    }
#if FORMULATION == 0
    const float w = 1.0f / sqrt(square);
#elif FORMULATION == 1
    const float w = 1.0f / square;
#else
    const float w = 1.0f;
#endif
    const float2 p = w * pressures[m];
    beam.x += a.x * p.x + a.y * p.y;
    beam.y += a.x * p.y - a.y * p.x;
    beam.z += g;
    beam.w += g * square;
    const float of_source = g * w * square;
    norm.y += of_source;
    norm.z += of_source * of_source;
    norm.w += square * squared_magnitude(p);
  }
  beams[item] = beam;
  norms[item] = norm;
  for (int others = GROUP / 2; others > 0; others /= 2) {
    barrier(CLK_LOCAL_MEM_FENCE);
    if (item < others) {
      beams[item] += beams[item + others];
      norms[item] += norms[item + others];
    }
  }
  if (item == 0) {
    beam = beams[0];
    norm = norms[0];
#if FORMULATION < 2
    float scale = 1.0f / beam.z;
#elif FORMULATION == 2
    float scale = 1.0f / beam.w;
#else
    float scale = 1.0f / sqrt(beam.z * beam.w);
#endif
#if REMOVAL
    scale *= sqrt(norm.y * norm.y / (norm.y * norm.y - norm.z));
#endif
    scale = norm.x < FEWEST_MICROPHONES ? NAN : scale;
    const size_t to = (get_global_id(2) * FREQUENCIES + f) * PIXEL_STRIDE + pixel;
    sums[to] = scale * beam.xy;
#if REMOVAL
    diagonals[to] = scale * scale * norm.w;
#endif
  }
}
