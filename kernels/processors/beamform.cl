// Processor beamform: delay and sum over any pixels, with the steering vectors of Sarradj, "Three-dimensional acoustic
// source mapping with different beamforming steering vector formulations", Adv. Acoust. Vib. 2012, 292695, eq. 9 to 12.
//
//   B[q] = scale[q] sum_m g_m w(r) e^{+jk (r - r_0)} P_m     r = |q - x_m|, r_0 = |q| or REFERENCE
//   with w and scale, where G = sum g, A = sum g / r^2:
//     FORMULATION 0 (I)   1    1 / G             1 (II)   r      1 / (G r_0)
//                 2 (III) 1/r  1 / (r_0 A)       3 (IV)   1/r    1 / sqrt(G A)
//   plane waves from the direction u: -u . x_m for r - r_0, and FORMULATION 0.
//   power = N (|B|^2 - scale^2 sum_m g^2 w^2 |P|^2) / 2 with REMOVAL, N = t^2 / (t^2 - sum (g w/r)^2), t = sum g w/r
//   (1/r is 1 for plane waves); else |B|^2 / 2.
// r - |q| is computed as (|x|^2 - 2 q.x) / (r + |q|), which has the rounding of the array's size and not of the distance.
// A microphone that is masked, or not finite at one frequency, has g = 0; G and A follow. With fewer than
// FEWEST_MICROPHONES all are 0, and pixels are NaN; so are those nearer than NEAREST to a microphone.
//
//   spectra      float2 [window][SPECTRA][channel], Pa peak; the first FREQUENCIES of a window's are used
//   gains        float2 [SPECTRA][channel], by which spectra are multiplied
//   shading      float  [channel], > 0; 0 where masked
//   pressures    float2 [window][frequency][channel], Pa; 0 where g is
//   weights      float  [window][channel], g
//   status       uint   [window][STATUS_WORDS], taken and cleared
//   taken        uint   [window][STATUS_WORDS]
//   pixels       float4 [pixel], m from the array's centre, |q| in w; or u; NaN in x where there is none
//   offsets      float2 [pixel], |q| - REFERENCE in two parts, m
//   positions    float4 [channel], m from the array's centre, |x|^2 in w
//   waves_per_m  float2 [frequency], f/c in two parts
//   map          float2 [window][frequency][pixel], Pa peak; with AVERAGED float [frequency][pixel], Pa^2
//   sums         float2 [frequency][pixel]: sum of the powers of an average, and of their weights
//   published    float  [frequency][pixel], Pa^2
//
// Launches: beamform_microphones: local 64, global (64, windows). das_direct: local 64, global (pixels rounded up to 64,
//   frequency tiles, windows), the first of them `first_window`. das_average: local 64, global FREQUENCIES * PIXELS
//   rounded up to 64. Local memory of das_direct: 64 (16 + 8 FREQUENCY_TILE) bytes.

//! needs common/complex.cl
//! needs common/status.cl

#ifndef CHANNELS
#define CHANNELS 64
#endif
#ifndef PIXELS
#define PIXELS 64
#endif
#ifndef FREQUENCIES
#define FREQUENCIES 1
#endif
// Of the spectra's windows, at least FREQUENCIES.
#ifndef SPECTRA
#define SPECTRA 1
#endif
// Frequencies that one work-item sums.
#ifndef FREQUENCY_TILE
#define FREQUENCY_TILE 1
#endif
#ifndef FORMULATION
#define FORMULATION 2
#endif
#ifndef PLANE_WAVE
#define PLANE_WAVE 0
#endif
// Metres; 0: the array's centre, and offsets are not read.
#ifndef REFERENCE
#define REFERENCE 0.0f
#endif
#ifndef HAS_REFERENCE
#define HAS_REFERENCE 0
#endif
#ifndef HAS_GAINS
#define HAS_GAINS 0
#endif
#ifndef AVERAGED
#define AVERAGED 0
#endif
#ifndef REMOVAL
#define REMOVAL 0
#endif
#ifndef FEWEST_MICROPHONES
#define FEWEST_MICROPHONES 4
#endif
// Metres.
#ifndef NEAREST
#define NEAREST 1e-3f
#endif
// Pa; beyond it squares overflow, so a value counts as not finite.
#ifndef LARGEST
#define LARGEST 1e18f
#endif
// Of nearfield::FrameFlag.
#ifndef FLAG_MASKED
#define FLAG_MASKED 2
#endif
#ifndef FLAG_NON_FINITE
#define FLAG_NON_FINITE 16
#endif

#define TILE 64

__kernel void beamform_microphones(__global const float2* restrict spectra, __global const float2* restrict gains,
                                   __global const float* restrict shading, __global float2* restrict pressures,
                                   __global float* restrict weights, __global uint* restrict status,
                                   __global uint* restrict taken) {
  __local uint counts[3];  // masked, not finite, used
  const int item = get_local_id(0);
  const int window = get_global_id(1);
  spectra += (size_t)window * SPECTRA * CHANNELS;
  pressures += (size_t)window * FREQUENCIES * CHANNELS;
  weights += (size_t)window * CHANNELS;
  if (item < 3) {
    counts[item] = 0u;
  }
  barrier(CLK_LOCAL_MEM_FENCE);
  for (int channel = item; channel < CHANNELS; channel += TILE) {
    int finite = 1;
    for (int f = 0; f < FREQUENCIES; ++f) {
      const float2 value = spectra[f * CHANNELS + channel];
      finite &= fabs(value.x) < LARGEST && fabs(value.y) < LARGEST;  // false for NaN too
    }
    const int masked = shading[channel] == 0.0f;
    const int used = finite && !masked;
    for (int f = 0; f < FREQUENCIES; ++f) {
      float2 value = spectra[f * CHANNELS + channel];
#if HAS_GAINS
      value = complex_multiply(value, gains[f * CHANNELS + channel]);
#endif
      pressures[f * CHANNELS + channel] = used ? value : (float2)(0.0f, 0.0f);
    }
    weights[channel] = used ? shading[channel] : 0.0f;
    atomic_inc(&counts[masked ? 0 : used ? 2 : 1]);
  }
  barrier(CLK_LOCAL_MEM_FENCE);
  if (counts[2] < FEWEST_MICROPHONES) {
    for (int channel = item; channel < CHANNELS; channel += TILE) {
      weights[channel] = 0.0f;
    }
  }
  if (item == 0) {
    take_status(status, taken, window, 0, 1);
    const int too_few = counts[2] < FEWEST_MICROPHONES;
    taken[window * STATUS_WORDS] |=
        (counts[0] > 0u || too_few ? FLAG_MASKED : 0u) | (counts[1] > 0u ? FLAG_NON_FINITE : 0u);
    taken[window * STATUS_WORDS + 1] = max(taken[window * STATUS_WORDS + 1], counts[1]);
  }
}

// e^{+j 2 pi turns}
static float2 phasor(const float turns) {
  const float angle = 6.28318531f * (turns - rint(turns));
  return (float2)(native_cos(angle), native_sin(angle));
}

#if AVERAGED
#define MAP_VALUE float
#else
#define MAP_VALUE float2
#endif

__kernel void das_direct(__global const float4* restrict pixels, __global const float2* restrict offsets,
                         __global const float4* restrict positions, __global const float2* restrict waves_per_m,
                         __global const float2* restrict pressures, __global const float* restrict weights,
                         __global MAP_VALUE* restrict map, const int first_window) {
  __local float4 places[TILE];
  __local float g_of[TILE];
  __local float2 tile[FREQUENCY_TILE][TILE];
  const int item = get_local_id(0);
  const int pixel = get_global_id(0);
  const int first_frequency = get_global_id(1) * FREQUENCY_TILE;
  const int window = first_window + (int)get_global_id(2);
  pressures += (size_t)window * FREQUENCIES * CHANNELS;
  weights += (size_t)window * CHANNELS;
  const float4 q = pixels[min(pixel, PIXELS - 1)];

  float2 sums[FREQUENCY_TILE];
  float diagonals[FREQUENCY_TILE];
  float waves[FREQUENCY_TILE];
  for (int i = 0; i < FREQUENCY_TILE; ++i) {
    sums[i] = (float2)(0.0f, 0.0f);
    diagonals[i] = 0.0f;
    waves[i] = waves_per_m[min(first_frequency + i, FREQUENCIES - 1)].x;
  }
  float sum_g = 0.0f;
  float sum_inverse = 0.0f;   // g / r^2
  float sum_source = 0.0f;    // g w / r
  float sum_source_2 = 0.0f;  // of squares
  float nearest = INFINITY;
  for (int first = 0; first < CHANNELS; first += TILE) {
    barrier(CLK_LOCAL_MEM_FENCE);
    const int channel = min(first + item, CHANNELS - 1);
    const int is_there = first + item < CHANNELS;
    places[item] = positions[channel];
    g_of[item] = is_there ? weights[channel] : 0.0f;
    for (int i = 0; i < FREQUENCY_TILE; ++i) {
      tile[i][item] = pressures[min(first_frequency + i, FREQUENCIES - 1) * CHANNELS + channel];
    }
    barrier(CLK_LOCAL_MEM_FENCE);
    for (int m = 0; m < TILE; ++m) {
      const float4 x = places[m];
      const float g = g_of[m];
#if PLANE_WAVE
      const float path = -(q.x * x.x + q.y * x.y + q.z * x.z);
      const float inverse = 1.0f;
#else
      const float3 d = q.xyz - x.xyz;
      const float square = dot(d, d);
      const float r = sqrt(square);
      const float path = (x.w - 2.0f * (q.x * x.x + q.y * x.y + q.z * x.z)) / (r + q.w);
      const float inverse = g > 0.0f ? 1.0f / r : 0.0f;  // not of a masked microphone that stands at the pixel
      nearest = g > 0.0f ? min(nearest, r) : nearest;
#endif
#if FORMULATION == 0 || PLANE_WAVE
      const float weight = g;
#elif FORMULATION == 1
      const float weight = g * r;
#else
      const float weight = g * inverse;
#endif
      sum_g += g;
      sum_inverse += g * inverse * inverse;
#if REMOVAL
      const float of_source = weight * inverse;
      sum_source += of_source;
      sum_source_2 += of_source * of_source;
#endif
      for (int i = 0; i < FREQUENCY_TILE; ++i) {
        sums[i] += weight * complex_multiply(phasor(path * waves[i]), tile[i][m]);
#if REMOVAL
        diagonals[i] += weight * weight * dot(tile[i][m], tile[i][m]);
#endif
      }
    }
  }
  if (pixel >= PIXELS) {
    return;
  }

#if HAS_REFERENCE
  const float r_0 = REFERENCE;
#else
  const float r_0 = q.w;
#endif
#if FORMULATION == 0 || PLANE_WAVE
  const float scale = 1.0f / sum_g;
#elif FORMULATION == 1
  const float scale = 1.0f / (sum_g * r_0);
#elif FORMULATION == 2
  const float scale = 1.0f / (r_0 * sum_inverse);
#else
  const float scale = 1.0f / sqrt(sum_g * sum_inverse);
#endif
  const int is_nan = isnan(q.x) || sum_g == 0.0f || nearest < NEAREST;
  for (int i = 0; i < FREQUENCY_TILE && first_frequency + i < FREQUENCIES; ++i) {
    const int f = first_frequency + i;
    float2 beam = is_nan ? (float2)(NAN, NAN) : scale * sums[i];
#if AVERAGED
    float power = dot(beam, beam);
#if REMOVAL
    const float square = sum_source * sum_source;
    power = square / (square - sum_source_2) * (power - scale * scale * diagonals[i]);
#endif
    map[(size_t)f * PIXELS + pixel] = 0.5f * power;
#else
#if HAS_REFERENCE
    const float2 offset = offsets[pixel];
    const float2 k = waves_per_m[f];
    const float turns = offset.x * k.x;
    const float rest = fma(offset.x, k.x, -turns) + offset.x * k.y + offset.y * k.x;
    beam = complex_multiply(beam, phasor(turns - rint(turns) + rest));
#endif
    map[((size_t)window * FREQUENCIES + f) * PIXELS + pixel] = beam;
#endif
  }
}

// Adds one window's powers to the average, what was before multiplied by `keep`. A power that is not a number counts for
// nothing; the average of nothing is not one either.
__kernel void das_average(__global const float* restrict map, __global float2* restrict sums,
                          __global float* restrict published, const float keep, const int publishes) {
  const int i = get_global_id(0);
  if (i >= FREQUENCIES * PIXELS) {
    return;
  }
  const float power = map[i];
  const float2 sum = keep * sums[i] + (isnan(power) ? (float2)(0.0f, 0.0f) : (float2)(power, 1.0f));
  sums[i] = sum;
  if (publishes) {
    published[i] = sum.y > 0.0f ? max(sum.x / sum.y, 0.0f) : NAN;
  }
}
