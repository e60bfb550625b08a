// Processor srp_phat: steered response power with the phase transform, in the frequency domain (DiBiase, "A high-accuracy,
// low-latency technique for talker localization in reverberant environments", 2000, eq. 6.12, as the sum over all pairs
// of microphones). Formulas, buffers and launches of all its kernels are documented here; the files are weights.cl
// (terms of each microphone), terms.cl (the sum over bins and microphones), map.cl (map of all pixels), peel.cl
// (removal of a source from these terms) and ../srp_phat.cl (the search for the maxima, and their refinement).
//
//   p[q] = sum_k |sum_m Z[k][m] e^{+j 2 pi f_k path_m(q) / c}|^2 / scale
//   path = r_m - |q|, or -u . x_m for plane waves
//   PHAT 1: Z = P / |P|, 0 where |P| is below TINY of the bin's largest;  scale = BINS M^2
//        0: Z = P;                                                        scale = M sum_k sum_m |P|^2
//   SNR 1: like PHAT 1, for those bins alone whose power is SNR_FACTOR times its floor, which is the least power of the
//        windows before, times RISE for each window since; scale = (those bins) M^2. Their sum_m |P|^2 counts as 0 then
//   REJECT_COMMON 1: P is reduced by the mean over the bin's used microphones
// M microphones are used: those that are not masked and finite at all bins. With fewer than FEWEST_MICROPHONES the map
// is NaN; so are pixels nearer than NEAREST to a microphone.
// r - |q| is computed as (|x|^2 - 2 q.x) / (r + |q|): its rounding error scales with the array's size, not the
// distance. A maximum is the largest value and, among equal ones, the first; NaN never is.
// Refinement evaluates points around a maximum, -2 to 2 fractions of the grid's step along each of DIMENSIONS
// directions.
//
//   spectra      float2 [window][SPECTRA][channel], Pa peak
//   gains        float2 [SPECTRA][channel], factors of the spectra
//   used_by_mask uint   [channel], 0 where masked
//   bins         int    [bin], indices among the spectra
//   pressures    float2 [window][tile][channel, padded to PADDED_CHANNELS][TILE_BINS], P in Pa; 0 where not used. Also
//                0 beyond BINS and CHANNELS, which is written before the first launch
//   phases       float2 likewise, Z
//   used         uint   [window][channel]: 0 masked, 1 used, 2 not finite
//   floors       float  [bin], sum_m |P|^2 / M; negative before the first window
//   status       uint   [window][STATUS_WORDS], taken and cleared
//   taken        uint   [window][STATUS_WORDS]
//   pixels       float4 [pixel], m from the array's centre, or u; NaN in x if there is none
//   positions    float4 [PADDED_CHANNELS], m from the array's centre, |x|^2 in w; padded with the last one
//   waves_per_m  float  [bin, rounded up to whole tiles], f/c; if EVEN they continue with the band's spacing
//   powers       float  [window][part of tiles][PIXEL_STRIDE], sums over a part's bins of p's numerator
//   map          float  [window][pixel]
//   best_values  float  [window][group], the largest value of each GROUP pixels, -INFINITY if there is none
//   best_indices int    [window][group], its pixel
//   results      float  [window][RESULTS]: M, pairs with both microphones in use, [bin] sum_m |P|^2, [bin] sum_m
//                (|P|^2 / that sum)^2, [bin] sum_m |Z|^2, [source] the pixel's x, y, z, 0, its number (-1: none), the
//                refined x, y, z, [tile] power of the beam there (sum_k |sum_m P e|^2), [tile][POINT_STRIDE] numerators
//                of p at the points around it; if PEELED [source but the last][bin] sum_m |P|^2 of the remainder
//                without it, 0 where this is no sound
//   rounds       float  [window][source][round][4 + TILES POINT_STRIDE]: the position around which points lie, 0, their
//                numerators; of all rounds but the last
//
// Launches, for W windows: srp_microphones: local GROUP, global (channels rounded up to 32, times 8; W). srp_weights:
//   local GROUP, global (GROUP BINS, W). srp_floor, with SNR: local GROUP, global GROUP BINS. srp_fd: local MAP_GROUP,
//   global (PIXEL_STRIDE / (VECTORS LANES) WAYS, PARTS, W). srp_map, srp_maximum: local GROUP, global (pixels rounded
//   up to GROUP, W). srp_found: local GROUP, global (GROUP, W). srp_refine: local POINT_GROUP, global (POINT_GROUP
//   (POINT_VECTORS + is_last), TILES SOURCES, W).

//! needs common/complex.cl
//! needs common/local_helper.cl
//! needs common/status.cl
//! needs processors/beamform/das_lanes.cl

//! default CHANNELS 64
//! default PIXELS 64
//! default BINS 1
//! default SPECTRA 1  // spectra per window, at least BINS
//! default PHAT 1
//! default SNR 0
//! default SNR_FACTOR 4.0f
//! default RISE 1.0f  // factor by which a floor rises from window to window
//! default TINY 1e-12f
//! default PLANE_WAVE 0
//! default COLUMNS 0  // columns of the grid, whose planes lie behind each other; 0: pixels have no neighbours
//! default ROWS 1
//! default WRAPS 0  // 1: the first and the last column are neighbours, as the grid spans a full circle
//! default SPACING 0.0f  // spacing of equally spaced bins, in waves per metre; 0: they are not equally spaced
//! default SOURCES 1
//! default PEELED 0  // 1: each source is removed before the next one is searched for: srp_phat/peel.cl
//! default SEPARATION 0.98f  // cosine of the least angle between two maxima
//! default DIMENSIONS 2  // directions of refinement: 0, 1 (across AXIS), 2 and 3
// 1: refinement moves around the array's centre at one distance, by STEP radians; 0: along x, y and z, by STEP metres.
//! default ROUND 0
//! default STEP 0.02f
//! default POINTS 25  // 5 to the power of DIMENSIONS
//! default AXIS 0  // axis of a line of angles: 0 against x, 1 against y
//! default REJECT_COMMON 0
//! default VECTORS 2  // vectors of LANES pixels whose sums a work-item keeps
//! default TILE_BINS 16  // bins per tile, whose sums a work-item keeps; a multiple of RUN
//! default PADDED_CHANNELS 64  // channels, padded to whole tiles of microphones
//! default MICROPHONE_PAIRS 0  // number of pairs in the time domain, srp_phat/lags.cl; 0: it is not used
//! default PAIR_PARTS 1  // parts of pairs
//! default HAS_GAINS 0
//! default FEWEST_MICROPHONES 4
//! default NEAREST 1e-3f  // metres
//! default LARGEST 1e12f  // Pa; above it sums of squares overflow, so a value counts as not finite
// Bits of nearfield::FrameFlag.
//! default FLAG_MASKED 2
//! default FLAG_NON_FINITE 16

#define GROUP 256
#define GROUPS ((PIXELS + GROUP - 1) / GROUP)
#define TILES ((BINS + TILE_BINS - 1) / TILE_BINS)
#define OF_WINDOW (TILES * PADDED_CHANNELS * TILE_BINS)
// Points of refinement summed by an item of srp_refine, the number of such items, and all points with padding.
#define ITEM_POINTS (LANES * VECTORS)
#define POINT_VECTORS ((POINTS + ITEM_POINTS - 1) / ITEM_POINTS)
#define POINT_STRIDE (POINT_VECTORS * ITEM_POINTS)
#define SOURCE_RESULTS (8 + TILES + TILES * POINT_STRIDE)
#define BEFORE_SOURCES (2 + 3 * BINS)
#define BEFORE_REMAINDERS (BEFORE_SOURCES + SOURCES * SOURCE_RESULTS)
#define RESULTS (BEFORE_REMAINDERS + (PEELED ? (SOURCES - 1) * BINS : 0))

// Processes groups of 32 channels, eight items each.
__kernel void srp_microphones(__global const float2* restrict spectra, __global const uint* restrict used_by_mask,
                              __global const int* restrict bins, __global uint* restrict used) {
  __local int is_finite[GROUP];
  const int item = get_local_id(0);
  const int channel = (int)get_group_id(0) * 32 + item % 32;
  const int window = get_global_id(1);
  spectra += (size_t)window * SPECTRA * CHANNELS;
  int finite = 1;
  for (int k = item / 32; k < BINS; k += GROUP / 32) {
    const float2 value = spectra[bins[k] * CHANNELS + min(channel, CHANNELS - 1)];
    finite &= fabs(value.x) < LARGEST && fabs(value.y) < LARGEST;  // false for NaN too
  }
  is_finite[item] = finite;
  barrier(CLK_LOCAL_MEM_FENCE);
  if (item < 32 && channel < CHANNELS) {
    for (int i = item + 32; i < GROUP; i += 32) {
      finite &= is_finite[i];
    }
    used[(size_t)window * CHANNELS + channel] = used_by_mask[channel] == 0u ? 0u : finite ? 1u : 2u;
  }
}

// Magnitude without overflow and underflow of squares.
static float magnitude(const float2 value) {
  const float largest = fmax(fabs(value.x), fabs(value.y));
  if (largest == 0.0f) {
    return 0.0f;
  }
  const float2 scaled = value / largest;
  return largest * sqrt(squared_magnitude(scaled));
}

// The sum of a group's values, in values[0].
LOCAL_HELPER void sum_of_group(__local float* values, const int item) {
  for (int half_size = GROUP / 2; half_size > 0; half_size /= 2) {
    barrier(CLK_LOCAL_MEM_FENCE);
    if (item < half_size) {
      values[item] += values[item + half_size];
    }
  }
  barrier(CLK_LOCAL_MEM_FENCE);
}

// Index of a bin of a microphone among a window's phases.
static int place_of(const int k, const int channel) {
  return (k / TILE_BINS * PADDED_CHANNELS + channel) * TILE_BINS + k % TILE_BINS;
}

// Computes phases of a bin by a group, from pressures of which each item has written those that it reads here: returns
// sum_m |P|^2, sum_m (|P|^2 / that sum)^2 and sum_m |Z|^2, for all items.
LOCAL_HELPER float3 weigh_bin(__global const float2* pressures, __global float2* phases, __local float* sums,
                              __local float* largest_of, const int k, const int item) {
  float largest = 0.0f;
  float power = 0.0f;
  for (int channel = item; channel < CHANNELS; channel += GROUP) {
    const float2 value = pressures[place_of(k, channel)];
    largest = fmax(largest, magnitude(value));
    power += squared_magnitude(value);
  }
  largest_of[item] = largest;
  for (int half_size = GROUP / 2; half_size > 0; half_size /= 2) {
    barrier(CLK_LOCAL_MEM_FENCE);
    if (item < half_size) {
      largest_of[item] = fmax(largest_of[item], largest_of[item + half_size]);
    }
  }
  sums[item] = power;
  sum_of_group(sums, item);
  const float total = sums[0];
  const float least = TINY * largest_of[0];
  barrier(CLK_LOCAL_MEM_FENCE);
  float squares = 0.0f;
  float weight = 0.0f;
  for (int channel = item; channel < CHANNELS; channel += GROUP) {
    const int place = place_of(k, channel);
    const float2 value = pressures[place];
    const float share = total > 0.0f ? squared_magnitude(value) / total : 0.0f;
    squares += share * share;
#if PHAT
    const float size = magnitude(value);
    const float2 phase = size > least ? value / size : (float2)(0.0f, 0.0f);
#else
    const float2 phase = value;
#endif
    phases[place] = phase;
    weight += squared_magnitude(phase);
  }
  sums[item] = squares;
  sum_of_group(sums, item);
  const float spread = sums[0];
  barrier(CLK_LOCAL_MEM_FENCE);
  sums[item] = weight;
  sum_of_group(sums, item);
  const float3 of_bin = (float3)(total, spread, sums[0]);
  barrier(CLK_LOCAL_MEM_FENCE);
  return of_bin;
}

__kernel void srp_weights(__global const float2* restrict spectra, __global const float2* restrict gains,
                          __global const int* restrict bins, __global const int2* restrict pairs,
                          __global const uint* restrict used, __global float2* restrict pressures,
                          __global float2* restrict phases, __global float* restrict results,
                          __global uint* restrict status, __global uint* restrict taken) {
  __local uint counts[4];  // masked, used, not finite; pairs
  __local float largest_of[GROUP];
  __local float sums[GROUP];
#if REJECT_COMMON
  __local float others[GROUP];
#endif
  const int item = get_local_id(0);
  const int k = get_group_id(0);
  const int window = get_global_id(1);
  const int bin = bins[k];
  spectra += ((size_t)window * SPECTRA + bin) * CHANNELS;
  pressures += (size_t)window * OF_WINDOW;
  phases += (size_t)window * OF_WINDOW;
  used += (size_t)window * CHANNELS;
  results += (size_t)window * RESULTS;
  if (item < 4) {
    counts[item] = 0u;
  }
  barrier(CLK_LOCAL_MEM_FENCE);
  float2 common = (float2)(0.0f, 0.0f);
  for (int channel = item; channel < CHANNELS; channel += GROUP) {
    atomic_inc(&counts[used[channel]]);
    float2 value = (float2)(0.0f, 0.0f);
    if (used[channel] == 1u) {
      value = spectra[channel];
#if HAS_GAINS
      value = complex_multiply(value, gains[bin * CHANNELS + channel]);
#endif
    }
    pressures[place_of(k, channel)] = value;
    common += value;
  }
  barrier(CLK_LOCAL_MEM_FENCE);
#if REJECT_COMMON
  sums[item] = common.x;
  others[item] = common.y;
  sum_of_group(sums, item);
  sum_of_group(others, item);
  common = (float2)(sums[0], others[0]) / fmax((float)counts[1], 1.0f);
  barrier(CLK_LOCAL_MEM_FENCE);
#else
  common = (float2)(0.0f, 0.0f);
#endif
  for (int channel = item; channel < CHANNELS; channel += GROUP) {
    const int place = place_of(k, channel);
    pressures[place] = used[channel] == 1u ? pressures[place] - common : (float2)(0.0f, 0.0f);
  }
  const float3 of_bin = weigh_bin(pressures, phases, sums, largest_of, k, item);
  if (item == 0) {
    results[2 + k] = of_bin.x;
    results[2 + BINS + k] = of_bin.y;
    results[2 + 2 * BINS + k] = of_bin.z;
  }
  if (k == 0) {
    for (int n = item; n < MICROPHONE_PAIRS; n += GROUP) {
      if (used[pairs[n].x] == 1u && used[pairs[n].y] == 1u) {
        atomic_inc(&counts[3]);
      }
    }
  }
  barrier(CLK_LOCAL_MEM_FENCE);
  if (item == 0 && k == 0) {
    results[0] = (float)counts[1];
    results[1] = (float)counts[3];
    take_status(status, taken, window, 0, 1);
    taken[window * STATUS_WORDS] |=
        (counts[0] > 0u || counts[1] < FEWEST_MICROPHONES ? FLAG_MASKED : 0u) | (counts[2] > 0u ? FLAG_NON_FINITE : 0u);
    taken[window * STATUS_WORDS + 1] = max(taken[window * STATUS_WORDS + 1], counts[2]);
  }
}

// Drops the bins of each window that do not exceed their floor, and follows the floors over windows.
__kernel void srp_floor(__global float2* restrict phases, __global float* restrict results,
                        __global float* restrict floors, const int windows) {
  const int item = get_local_id(0);
  const int k = get_group_id(0);
  float least = floors[k];
  for (int window = 0; window < windows; ++window) {
    __global float* of_window = results + (size_t)window * RESULTS;
    const float power = of_window[2 + k] / fmax(of_window[0], 1.0f);
    if (power > 0.0f) {
      least = least < 0.0f ? power : fmin(power, least * RISE);
    }
    barrier(CLK_GLOBAL_MEM_FENCE);  // all have read what one of them writes
    if (!(power > least * SNR_FACTOR)) {
      for (int channel = item; channel < CHANNELS; channel += GROUP) {
        phases[(size_t)window * OF_WINDOW + place_of(k, channel)] = (float2)(0.0f, 0.0f);
      }
      if (item == 0) {
        of_window[2 + k] = 0.0f;
        of_window[2 + 2 * BINS + k] = 0.0f;
      }
    }
  }
  barrier(CLK_GLOBAL_MEM_FENCE);
  if (item == 0) {
    floors[k] = least;
  }
}

// Divisor of a sum of powers; NaN with too few microphones.
static float scale_of(__global const float* restrict results) {
  const float microphones = results[0];
#if PHAT && SNR
  int bins = 0;
  for (int k = 0; k < BINS; ++k) {
    bins += results[2 + k] > 0.0f;
  }
  const float scale = max(bins, 1) * microphones * microphones;
#elif PHAT
  const float scale = BINS * microphones * microphones;
#else
  float power = 0.0f;
  for (int k = 0; k < BINS; ++k) {
    power += results[2 + k];
  }
  const float scale = power > 0.0f ? microphones * power : 1.0f;
#endif
  return microphones < FEWEST_MICROPHONES ? NAN : scale;
}
