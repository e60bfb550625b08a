// Processor beamform: delay and sum over any pixels, with the steering vectors of Sarradj, "Three-dimensional acoustic
// source mapping with different beamforming steering vector formulations", Adv. Acoust. Vib. 2012, 292695, eq. 9 to 12.
//
//   B[q] = scale[q] sum_m w(r) e^{+jk (r - r_0)} g_m P_m     r = |q - x_m|, r_0 = |q| or REFERENCE
//   with w and scale of beamform/das_norms.cl; plane waves from the direction u: -u . x_m for r - r_0, and w = 1.
//   power = N (|B|^2 - scale^2 sum_m w^2 |g_m P_m|^2) / 2 with REMOVAL, N = `restoring`; else |B|^2 / 2.
// A microphone that is masked, or not finite at one frequency, has g = 0; the norms take this into account. With fewer
// than FEWEST_MICROPHONES the scale, and with it each pixel, is NaN.
//
// This file has the kernels common to all methods to make a map: microphones before the sums, and maps made from them.
// The sums themselves are in beamform/das_direct.cl, das_columns.cl and das_rows.cl, das_separable.cl, or
// das_measured.cl.
//
//   spectra      float2 [window][SPECTRA][channel], Pa peak; the first FREQUENCIES of a window's are used
//   gains        float2 [SPECTRA][channel], factors of the spectra
//   shading      float  [channel], > 0; 0 where masked
//   pressures    float2 [window][frequency][channel], g P, Pa
//   weights      float  [window][channel], g
//   status       uint   [window][STATUS_WORDS], taken and cleared
//   taken        uint   [window][STATUS_WORDS]
//   pixels       float  [x, y, z, length][PIXEL_STRIDE], m from the array's centre, or u; x is NaN if there is none
//   norms        float  [scale, restoring][PIXEL_STRIDE], for `shading`
//   positions    float4 [channel], m from the array's centre, |x|^2 in w
//   sums         float2 [PARTS][WINDOWS][frequency][PIXEL_STRIDE], over the microphones of a part
//   diagonals    float  likewise, sum w^2 |g P|^2, with REMOVAL
//   offsets      float  [high, low][PIXEL_STRIDE], m: correction of the sums' r - r_0, in two parts
//   waves_per_m  float2 [frequency], f/c in two parts
//   map          float2 [window][frequency][MAP_STRIDE pixels], Pa peak, from window `to` on; with AVERAGED float
//                [frequency][pixel], Pa^2
//   average      float2 [frequency][pixel]: sum of the powers of an average, and of their weights
//   published    float  [frequency][pixel], Pa^2
//
// Launches: beamform_microphones: local 64, global (64, windows). das_norms: (vectors of LANES pixels). das_finish:
//   (vectors, FREQUENCIES, windows), the first of them `first_window`. das_average: local 64, global FREQUENCIES * PIXELS
//   rounded up to 64. Vectors are those of PIXEL_STRIDE, a multiple of 64, in groups of a divisor of PIXEL_STRIDE / LANES.

//! needs common/complex.cl
//! needs common/status.cl
//! needs processors/beamform/das_norms.cl

//! default MAP_STRIDE PIXELS  // PIXELS or PIXEL_STRIDE
//! default SPECTRA 1  // spectra per window, at least FREQUENCIES
//! default HAS_GAINS 0
//! default HAS_OFFSETS 0
//! default NORMALISED 0  // 1: sums include their norms, and a removal's factor
//! default AVERAGED 0
//! default WINDOW_NORMS 1
//! default LARGEST 1e18f  // Pa; above it squares overflow, so a value counts as not finite
// Bits of nearfield::FrameFlag.
//! default FLAG_MASKED 2
//! default FLAG_NON_FINITE 16

#define MICROPHONE_GROUP 64

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
  for (int channel = item; channel < CHANNELS; channel += MICROPHONE_GROUP) {
    int finite = 1;
    for (int f = 0; f < FREQUENCIES; ++f) {
      const float2 value = spectra[f * CHANNELS + channel];
      finite &= fabs(value.x) < LARGEST && fabs(value.y) < LARGEST;  // false for NaN too
    }
    const float g = shading[channel];
    const int masked = g == 0.0f;
    const int used = finite && !masked;
    for (int f = 0; f < FREQUENCIES; ++f) {
      float2 value = spectra[f * CHANNELS + channel];
#if HAS_GAINS
      value = complex_multiply(value, gains[f * CHANNELS + channel]);
#endif
      pressures[f * CHANNELS + channel] = used ? g * value : (float2)(0.0f, 0.0f);
    }
    weights[channel] = used ? g : 0.0f;
    atomic_inc(&counts[masked ? 0 : used ? 2 : 1]);
  }
  barrier(CLK_LOCAL_MEM_FENCE);
  if (item == 0) {
    take_status(status, taken, window, 0, 1);
    const int too_few = counts[2] < FEWEST_MICROPHONES;
    taken[window * STATUS_WORDS] |=
        (counts[0] > 0u || too_few ? FLAG_MASKED : 0u) | (counts[1] > 0u ? FLAG_NON_FINITE : 0u);
    taken[window * STATUS_WORDS + 1] = max(taken[window * STATUS_WORDS + 1], counts[1]);
  }
}

static inline void norms_at(const int first, __global const float* restrict pixels,
                            __global const float4* restrict positions, __global const float* restrict weights,
                            FLOATV* scale, FLOATV* restoring) {
  norms_of(LOAD_FLOATS(pixels + first), LOAD_FLOATS(pixels + PIXEL_STRIDE + first),
           LOAD_FLOATS(pixels + 2 * PIXEL_STRIDE + first), LOAD_FLOATS(pixels + 3 * PIXEL_STRIDE + first), positions,
           weights, scale, restoring);
}

__kernel void das_norms(__global const float* restrict pixels, __global const float4* restrict positions,
                        __global const float* restrict shading, __global float* restrict norms) {
  const int first = (int)get_global_id(0) * LANES;
  FLOATV scale;
  FLOATV restoring;
  norms_at(first, pixels, positions, shading, &scale, &restoring);
  STORE_FLOATS(scale, norms + first);
  STORE_FLOATS(restoring, norms + PIXEL_STRIDE + first);
}

#if AVERAGED
#define MAP_VALUE float
#else
#define MAP_VALUE float2
#endif

// With WINDOW_NORMS a window that lacks further microphones besides the masked ones has norms of its own.
__kernel void das_finish(__global const float* restrict pixels, __global const float* restrict offsets,
                         __global const float4* restrict positions, __global const float2* restrict waves_per_m,
                         __global const float* restrict weights, __global const float* restrict norms,
                         __global const float2* restrict sums, __global const float* restrict diagonals,
                         __global const uint* restrict taken, __global MAP_VALUE* restrict map, const int first_window,
                         const int to) {
  const int first = (int)get_global_id(0) * LANES;
  const int f = get_global_id(1);
  const int window = first_window + (int)get_global_id(2);
#if NORMALISED
  const FLOATV scale = 1.0f;
  const FLOATV restoring = 1.0f;
#else
  FLOATV scale = LOAD_FLOATS(norms + first);
  FLOATV restoring = LOAD_FLOATS(norms + PIXEL_STRIDE + first);
  if (WINDOW_NORMS && taken[window * STATUS_WORDS + 1] > 0u) {
    norms_at(first, pixels, positions, weights + (size_t)window * CHANNELS, &scale, &restoring);
  }
#endif
  FLOATV re = 0.0f;
  FLOATV im = 0.0f;
  FLOATV diagonal = 0.0f;
#pragma unroll 4
  for (int part = 0; part < PARTS; ++part) {
    const size_t at = (((size_t)part * WINDOWS + get_global_id(2)) * FREQUENCIES + f) * PIXEL_STRIDE + first;
    FLOATV part_re;
    FLOATV part_im;
    LOAD_PAIR(part_re, part_im, sums + at);
    re += part_re;
    im += part_im;
#if REMOVAL
    diagonal += LOAD_FLOATS(diagonals + at);
#endif
  }
  re *= scale;
  im *= scale;
#if AVERAGED
  FLOATV power = re * re + im * im;
#if REMOVAL
  power = restoring * (power - scale * scale * diagonal);
#endif
  store_floats(map + (size_t)f * PIXELS + first, PIXELS - first, 0.5f * power);
#else
#if HAS_OFFSETS
  const float2 k = waves_per_m[f];
  const FLOATV high = LOAD_FLOATS(offsets + first);
  const FLOATV low = LOAD_FLOATS(offsets + PIXEL_STRIDE + first);
  const FLOATV turns = high * k.x;
  const FLOATV rest = fma(high, (FLOATV)(k.x), -turns) + high * k.y + low * k.x;
  FLOATV c;
  FLOATV s;
  phasor(turns - rint(turns) + rest, &c, &s);
  const FLOATV turned = PRODUCT_RE(re, im, c, s);
  im = PRODUCT_IM(re, im, c, s);
  re = turned;
#endif
  store_pairs(map + ((size_t)(to + (int)get_global_id(2)) * FREQUENCIES + f) * MAP_STRIDE + first, MAP_STRIDE - first,
              re, im);
#endif
}

// Adds one window's powers to the average, after multiplying the sums so far by `keep`. A power that is NaN is not
// counted; the average of none is NaN.
__kernel void das_average(__global const float* restrict map, __global float2* restrict average,
                          __global float* restrict published, const float keep, const int publishes) {
  const int i = get_global_id(0);
  if (i >= FREQUENCIES * PIXELS) {
    return;
  }
  const float power = map[i];
  const float2 sum = keep * average[i] + (isnan(power) ? (float2)(0.0f, 0.0f) : (float2)(power, 1.0f));
  average[i] = sum;
  if (publishes) {
    published[i] = sum.y > 0.0f ? max(sum.x / sum.y, 0.0f) : NAN;
  }
}
