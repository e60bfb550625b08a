// Statistically optimised near-field holography: the image is the posterior mean given the prior and the measurement.
// docs/sonah.md has the derivation.
//
// A field over the array falls into four parity classes over half the rows and columns each (bit 0 of a class: odd along
// x, bit 1: odd along y). Within one, modes of prior power w are independent, so
//   y = projection^T folded,   image = sum over modes of images y / (w + noise)
// and the noise, relative to the prior's power t, is the one of GRID steps at which the measurement is most probable,
//   t = sum |y|^2 / (w + noise) / CHANNELS,   cost = sum ln(w + noise) + CHANNELS ln t.
//
// Plane waves and point sources that the host has found in addition to the prior (at most MOST_WAVES a frequency, mostly
// none), called waves below, are fitted and subtracted before that,
//   amplitude = sum over modes of amplitudes y,   y -= modes amplitude
// and their images added to the rest's.
//
// In the arena, at the bytes NAME_AT:
//   projections    float [frequency][class][block of 32 modes][sample][32]
//   coefficients   float2 [frame][frequency][class][MODES], y
//   powers         float [frequency][class][KEPT], w
//   image_powers   float [frequency][class][KEPT], sum over an image of the first plane of a mode's squared factors
//   log_sums       float [frequency][GRID], sum over all modes of ln(w + noise)
//   errors         float [frequency][GRID], expected squared error of an image of the first plane for t = 1
//   cutoffs        float [frequency][GRID], rad/m
//   factors        float [plane][frequency][block of 32 folded pixels][class][KEPT][re, im][32], what `images` is above
//   priors         float [frame][frequency][GRID], t CHANNELS for each step of noise
//   noise_records  int [frame][frequency][NOISE_RECORD], a frame's cost above the least one in COST_UNITs of a nat for
//                  each step of noise, then the step of the least one, then 0 for silence and 1 otherwise
//   memories       int [2][frequency][2][MEMORY_WORDS], what is remembered of the frames before: the half in which a
//                  memory began, its frames, the step that it holds, or -1, and the sums of the costs while it settled;
//                  read from the first index `turn`, written to the other
//   incomplete     int [frame], 1: bits of its window are missing, so that nothing is remembered of it
//   waves          float [frequency][WAVE_SIZE], as src/imaging/sonah/wave_table.hpp lays them out; where HAS_WAVES
//
//   on_surface     uchar [pixel], 1: it lies on the surface; with SURFACE_PIXELS alone
//
// On a surface that is no plane (SURFACE_PIXELS) pixels do not mirror: the factors of each pixel have the signs of the
// classes, so that an image is the sum over all classes, and pixels that do not lie on the surface are NaN.
//
//   spectra        float2 [frame][frequency][row][column], Pa, of usable microphones
//   images         float2 [frame][plane][frequency][row][column], Pa or m/s
//   reports        float4 [frame][frequency]: cut-off rad/m, NaN, noise Pa, expected relative error
//
// A memory begins anew every 2 HALF hops, the second one HALF hops after the first: that of the half of a memory in
// which a hop lies settles in it, and the other one, which holds the step of the least sum of costs, serves its frames. So a
// frame depends on 2 HALF hops at most, wherever a run began. All that is remembered is in whole numbers, so that frames
// come out the same to the last bit whatever batch they are in. half_number and age are of the first frame's hop.
//
// Launch, GROUP items a group, 1 or a multiple of 128: sonah_modes (GROUP * 4 * MODES / 32, frames * frequencies),
// sonah_noise (GROUP, frames * frequencies), sonah_images (GROUP * blocks of pixels, frames * PLANES * frequencies).

//! needs common/complex.cl
//! needs common/groups.cl
//! needs common/local_helper.cl
//! needs common/status.cl

// Bytes from the arena's start; an owner with an arena defines each.
#ifndef HAS_ARENA
#define PROJECTIONS_AT 0
#define COEFFICIENTS_AT 0
#define POWERS_AT 0
#define IMAGE_POWERS_AT 0
#define LOG_SUMS_AT 0
#define ERRORS_AT 0
#define CUTOFFS_AT 0
#define FACTORS_AT 0
#define ON_SURFACE_AT 0
#define PRIORS_AT 0
#define NOISE_RECORDS_AT 0
#define MEMORIES_AT 0
#define INCOMPLETE_AT 0
#define WAVES_AT 0
#endif

#ifndef ROWS
#define ROWS 32
#endif
#ifndef COLUMNS
#define COLUMNS 32
#endif
#ifndef MODES  // of a class, a multiple of 32
#define MODES 256
#endif
#ifndef KEPT  // modes that contribute to images, a multiple of 32; the others contain noise alone
#define KEPT 192
#endif
#ifndef PLANES
#define PLANES 1
#endif
#ifndef UPSAMPLE
#define UPSAMPLE 1
#endif
#ifndef GROUP
#define GROUP 256
#endif
//! needs imaging/noise_memory.cl
#ifndef HAS_WAVES  // 1: there is room for plane waves in addition to the prior
#define HAS_WAVES 0
#endif
#ifndef MOST_WAVES  // of a frequency
#define MOST_WAVES 8
#endif
#ifndef WAVE_HEADER  // floats before the first wave
#define WAVE_HEADER 8
#endif
#ifndef SURFACE_PIXELS  // pixels of a surface that is no plane; 0: planes
#define SURFACE_PIXELS 0
#endif
#define CHANNELS (ROWS * COLUMNS)
#define HALF_ROWS ((ROWS + 1) / 2)
#define HALF_COLUMNS ((COLUMNS + 1) / 2)
#define SAMPLES (HALF_ROWS * HALF_COLUMNS)
#define IMAGE_ROWS (UPSAMPLE * ROWS)
#define IMAGE_COLUMNS (UPSAMPLE * COLUMNS)
// Pixels of a line that mirrors in the array's centre: the image has UPSAMPLE - 1 fewer, those before it.
#define LINE_ROWS (UPSAMPLE * (ROWS + 1) - 1)
#define LINE_COLUMNS (UPSAMPLE * (COLUMNS + 1) - 1)
#define HALF_LINE_COLUMNS ((LINE_COLUMNS + 1) / 2)
#if SURFACE_PIXELS
#define PIXELS SURFACE_PIXELS
#define IMAGE_PIXELS SURFACE_PIXELS
#else
#define PIXELS ((LINE_ROWS + 1) / 2 * HALF_LINE_COLUMNS)
#define IMAGE_PIXELS (IMAGE_ROWS * IMAGE_COLUMNS)
#endif
#define PIXEL_BLOCKS ((PIXELS + 31) / 32)
#define CLASSES 4
#define NOISE_MODES (MODES > KEPT ? MODES - KEPT : 1)
#define LANES 8  // of a vector on processors
#define WAVE_MODES (2 * CLASSES * MODES)
#define WAVE_ENERGIES (2 * WAVE_MODES)
#define WAVE_IMAGES (WAVE_ENERGIES + 2 * MOST_WAVES)
#define WAVE_STRIDE (WAVE_IMAGES + 2 * PLANES * IMAGE_PIXELS)
#define WAVE_SIZE (WAVE_HEADER + MOST_WAVES * WAVE_STRIDE)

static float2 folded(__global const float2* field, const int class, const int sample) {
  const int row = sample / HALF_COLUMNS;
  const int column = sample % HALF_COLUMNS;
  const int far_row = (ROWS - 1 - row) * COLUMNS;
  const int far_column = COLUMNS - 1 - column;
  const float sign_x = class & 1 ? -1.0f : 1.0f;
  const float sign_y = class & 2 ? -1.0f : 1.0f;
  return field[row * COLUMNS + column] + sign_x * field[row * COLUMNS + far_column] +
         sign_y * (field[far_row + column] + sign_x * field[far_row + far_column]);
}

__kernel __attribute__((reqd_work_group_size(GROUP, 1, 1))) void sonah_modes(__global const float2* restrict spectra,
                                                                             __global uchar* arena,
                                                                             const int frequencies) {
  const int item = (int)get_local_id(0);
  const int class_block = (int)get_group_id(0);
  const int class = class_block / (MODES / 32);
  const int image = (int)get_group_id(1);
  __global const float2* field = spectra + (size_t)image * CHANNELS;
  __global const float* restrict projection =
      (__global const float*)(arena + PROJECTIONS_AT) +
      ((size_t)(image % frequencies) * CLASSES * (MODES / 32) + class_block) * SAMPLES * 32;
  __global float2* restrict coefficients =
      (__global float2*)(arena + COEFFICIENTS_AT) + ((size_t)image * CLASSES * (MODES / 32) + class_block) * 32;
  __local float re[SAMPLES];
  __local float im[SAMPLES];
  for (int sample = item; sample < SAMPLES; sample += GROUP) {
    const float2 value = folded(field, class, sample);
    re[sample] = value.x;
    im[sample] = value.y;
  }
  SYNC(GROUP);
#if GROUP == 1
  float8 sum_re[4] = {0.0f, 0.0f, 0.0f, 0.0f};
  float8 sum_im[4] = {0.0f, 0.0f, 0.0f, 0.0f};
  for (int sample = 0; sample < SAMPLES; ++sample) {
#pragma unroll
    for (int vector = 0; vector < 4; ++vector) {
      const float8 factor = vload8(4 * sample + vector, projection);
      sum_re[vector] += factor * re[sample];
      sum_im[vector] += factor * im[sample];
    }
  }
  for (int vector = 0; vector < 4; ++vector) {
    __global float* to = (__global float*)(coefficients + LANES * vector);
    float16 both;
    both.even = sum_re[vector];
    both.odd = sum_im[vector];
    vstore16(both, 0, to);
  }
#else
  __local float2 parts[GROUP];
  const int lane = item % 32;
  float2 sum = 0.0f;
#pragma unroll 8
  for (int sample = item / 32; sample < SAMPLES; sample += GROUP / 32) {
    sum += projection[sample * 32 + lane] * (float2)(re[sample], im[sample]);
  }
  parts[item] = sum;
  SYNC(GROUP);
  if (item < 32) {
    for (int part = 1; part < GROUP / 32; ++part) {
      sum += parts[32 * part + lane];
    }
    coefficients[lane] = sum;
  }
#endif
}

// The prior's power at each step of noise, times CHANNELS. `re` and `im` hold the kept modes, [class][KEPT], `rest` is
// the energy of the others. Ends with a barrier.
LOCAL_HELPER void prior_powers(__global const float* restrict powers, __local const float* re, __local const float* im,
                               const float rest, __local float* sums, const int item) {
#if GROUP == 1
  for (int step = 0; step < GRID; ++step) {
    const float noise = noise_of(step);
    float8 sum = 0.0f;
    for (int i = 0; i < CLASSES * KEPT / LANES; ++i) {
      const float8 a = vload8(i, re);
      const float8 b = vload8(i, im);
      sum += (a * a + b * b) / (vload8(i, powers) + noise);
    }
    const float4 half_sum = sum.lo + sum.hi;
    sums[step] = half_sum.x + half_sum.y + half_sum.z + half_sum.w + rest / noise;
  }
#else
  // Two steps' worth of items would leave some idle; each takes every GROUP / 64th mode of its step.
  const int step = item % 64;
  const int part = item / 64;
  float sum = 0.0f;
  if (step < GRID) {
    const float noise = noise_of(step);
    for (int i = part; i < CLASSES * KEPT; i += GROUP / 64) {
      sum += native_divide(re[i] * re[i] + im[i] * im[i], powers[i] + noise);
    }
    sums[part * GRID + step] = sum;
  }
  SYNC(GROUP);
  if (part == 0 && step < GRID) {
    for (int other = 1; other < GROUP / 64; ++other) {
      sum += sums[other * GRID + step];
    }
    sums[step] = sum + rest / noise_of(step);
  }
  SYNC(GROUP);
#endif
}

DEFINE_SUM_OF_ITEMS(GROUP)

// The plane waves and point sources of a frequency.
typedef struct {
  int count;
  float error;  // expected, squared, that they add to an image where the prior's power is 1
  __global const float* restrict first;
  __local float2* amplitudes;  // [MOST_WAVES]
  int plane;                   // that is imaged
} Waves;

static float2 pair_at(__global const float* restrict values, const int index) {
  return (float2)(values[2 * index], values[2 * index + 1]);
}

// The share of `lane` of `lanes` in a wave's amplitude.
static float2 amplitude_share(__global const float* restrict factors, __global const float2* restrict coefficients,
                              const int lane, const int lanes) {
#if GROUP == 1
  float8 re = 0.0f;
  float8 im = 0.0f;
  for (int i = 0; i < CLASSES * MODES / LANES; ++i) {
    const float16 factor = vload16(i, factors);
    const float16 value = vload16(i, (__global const float*)coefficients);
    re += factor.even * value.even - factor.odd * value.odd;
    im += factor.even * value.odd + factor.odd * value.even;
  }
  const float4 half_re = re.lo + re.hi;
  const float4 half_im = im.lo + im.hi;
  return (float2)(half_re.x + half_re.y + half_re.z + half_re.w, half_im.x + half_im.y + half_im.z + half_im.w);
#else
  float2 sum = 0.0f;
  for (int mode = lane; mode < CLASSES * MODES; mode += lanes) {
    sum += complex_multiply(pair_at(factors, mode), coefficients[mode]);
  }
  return sum;
#endif
}

// Fits the waves to all modes. Ends with a barrier.
LOCAL_HELPER void fit_waves(const Waves* waves, __global const float2* restrict coefficients, __local float2* parts,
                            const int item) {
#if HAS_WAVES
  const int lanes = GROUP == 1 ? 1 : 32;
  for (int wave = item / lanes; wave < waves->count; wave += GROUP / lanes) {
    parts[wave * lanes + item % lanes] =
        amplitude_share(waves->first + wave * WAVE_STRIDE, coefficients, item % lanes, lanes);
  }
  SYNC(GROUP);
  for (int wave = item; wave < waves->count; wave += GROUP) {
    float2 sum = 0.0f;
    for (int i = 0; i < lanes; ++i) {
      sum += parts[wave * lanes + (wave + i) % lanes];
    }
    waves->amplitudes[wave] = sum;
  }
  SYNC(GROUP);
#endif
}

// y of a mode, [class][MODES], without the waves.
LOCAL_HELPER float2 without_waves(const Waves* waves, float2 value, const int mode) {
  for (int wave = 0; wave < waves->count; ++wave) {
    value -= complex_multiply(pair_at(waves->first + wave * WAVE_STRIDE + WAVE_MODES, mode), waves->amplitudes[wave]);
  }
  return value;
}

// This item's share of the energy of the waves' image on the first plane.
LOCAL_HELPER float wave_energy(const Waves* waves, const int item) {
  float energy = 0.0f;
  for (int i = item; i < waves->count * waves->count; i += GROUP) {
    const int wave = i / waves->count;
    const int other = i % waves->count;
    const float2 shared =
        complex_multiply(pair_at(waves->first + wave * WAVE_STRIDE + WAVE_ENERGIES, other), waves->amplitudes[other]);
    energy += waves->amplitudes[wave].x * shared.x + waves->amplitudes[wave].y * shared.y;
  }
  return energy;
}

// At a pixel of the image.
LOCAL_HELPER float2 waves_at(const Waves* waves, const int pixel) {
  float2 sum = 0.0f;
  for (int wave = 0; wave < waves->count; ++wave) {
    __global const float* restrict image = waves->first + wave * WAVE_STRIDE + WAVE_IMAGES;
    sum += complex_multiply(waves->amplitudes[wave], pair_at(image, waves->plane * IMAGE_PIXELS + pixel));
  }
  return sum;
}

// y of the kept modes, without waves, into local memory. Ends with a barrier.
LOCAL_HELPER void load_modes(__global const float2* restrict coefficients, const Waves* waves, __local float* re,
                             __local float* im, const int item) {
  for (int i = item; i < CLASSES * KEPT; i += GROUP) {
    const int mode = i / KEPT * MODES + i % KEPT;
    const float2 value = without_waves(waves, coefficients[mode], mode);
    re[i] = value.x;
    im[i] = value.y;
  }
  SYNC(GROUP);
}

// The energy of the other modes. Ends with a barrier.
LOCAL_HELPER float energy_of_rest(__global const float2* restrict coefficients, const Waves* waves,
                                  __local float* item_parts, const int item) {
  float rest = 0.0f;
  for (int i = item; i < CLASSES * (MODES - KEPT); i += GROUP) {
    const int mode = i / NOISE_MODES * MODES + KEPT + i % NOISE_MODES;
    const float2 value = without_waves(waves, coefficients[mode], mode);
    rest += value.x * value.x + value.y * value.y;
  }
  return sum_of_items(rest, item_parts, item);
}

#if SURFACE_PIXELS
// The one pixel of the surface; there are no mirrors.
LOCAL_HELPER void store_pixel(__global float2* restrict image, __global const uchar* arena, const int pixel,
                              const int mirror, const float2* of_class, const Waves* waves) {
  if (pixel < PIXELS && mirror == 0) {
    image[pixel] = arena[ON_SURFACE_AT + pixel]
                       ? of_class[0] + of_class[1] + of_class[2] + of_class[3] + waves_at(waves, pixel)
                       : (float2)(NAN, NAN);
  }
}
#else
LOCAL_HELPER void store_pixel(__global float2* restrict image, __global const uchar* arena, const int pixel,
                              const int mirror, const float2* of_class, const Waves* waves) {
  const float sign_x = mirror & 1 ? -1.0f : 1.0f;
  const float sign_y = mirror & 2 ? -1.0f : 1.0f;
  const int half_row = pixel / HALF_LINE_COLUMNS;
  const int half_column = pixel % HALF_LINE_COLUMNS;
  const int row = (mirror & 2 ? LINE_ROWS - 1 - half_row : half_row) - (UPSAMPLE - 1);
  const int column = (mirror & 1 ? LINE_COLUMNS - 1 - half_column : half_column) - (UPSAMPLE - 1);
  if (pixel < PIXELS && row >= 0 && column >= 0) {
    image[row * IMAGE_COLUMNS + column] = of_class[0] + sign_x * of_class[1] +
                                          sign_y * (of_class[2] + sign_x * of_class[3]) +
                                          waves_at(waves, row * IMAGE_COLUMNS + column);
  }
}
#endif

// How probable each step of noise is in each frame.
__kernel __attribute__((reqd_work_group_size(GROUP, 1, 1))) void sonah_noise(__global uchar* arena,
                                                                             const int frequencies) {
  __local float re[CLASSES * KEPT];
  __local float im[CLASSES * KEPT];
  __local float sums[GRID * (GROUP > 64 ? GROUP / 64 : 1)];
  __local float item_parts[GROUP];
  __local float costs[GRID];
  const int item = (int)get_local_id(0);
  const int hologram = (int)get_group_id(1);
  const int frequency = hologram % frequencies;
  __global const float2* restrict coefficients =
      (__global const float2*)(arena + COEFFICIENTS_AT) + (size_t)hologram * CLASSES * MODES;
#if HAS_WAVES
  __local float2 amplitudes[MOST_WAVES];
  __local float2 wave_parts[MOST_WAVES * (GROUP == 1 ? 1 : 32)];
  __global const float* table = (__global const float*)(arena + WAVES_AT) + (size_t)frequency * WAVE_SIZE;
  const Waves waves = {(int)table[0], table[1], table + WAVE_HEADER, amplitudes, 0};
  fit_waves(&waves, coefficients, wave_parts, item);
#else
  const Waves waves = {0, 0.0f, 0, 0, 0};
#endif
  load_modes(coefficients, &waves, re, im, item);
  const float rest = energy_of_rest(coefficients, &waves, item_parts, item);
  prior_powers((__global const float*)(arena + POWERS_AT) + frequency * CLASSES * KEPT, re, im, rest, sums, item);
  __global const float* restrict log_sums = (__global const float*)(arena + LOG_SUMS_AT) + frequency * GRID;
  for (int step = item; step < GRID; step += GROUP) {
    costs[step] = log_sums[step] + CHANNELS * log(max(sums[step], 1e-37f));
  }
  SYNC(GROUP);
  int best = 0;
  for (int step = 1; step < GRID; ++step) {
    best = costs[step] < costs[best] ? step : best;
  }
  __global float* restrict priors = (__global float*)(arena + PRIORS_AT) + hologram * GRID;
  __global int* restrict record = (__global int*)(arena + NOISE_RECORDS_AT) + hologram * NOISE_RECORD;
  for (int step = item; step < GRID; step += GROUP) {
    priors[step] = sums[step];
    record[step] = convert_int_rte(min(costs[step] - costs[best], LARGEST_COST) * (float)COST_UNITS);
  }
  if (item == 0) {
    record[GRID] = best;
    record[GRID + 1] = sums[best] > 0.0f ? 1 : 0;
  }
}

__kernel __attribute__((reqd_work_group_size(GROUP, 1, 1))) void sonah_images(
    __global uchar* arena, __global float2* restrict images, __global float4* restrict reports,
    __global uint* restrict taken, const int frequencies, const int frames, const int turn, const int half_number,
    const int age, __global uint* restrict status) {
  __local float re[CLASSES * KEPT];
  __local float im[CLASSES * KEPT];
  __local int cost_sums[GRID];
  __local float item_parts[GROUP];
  const int item = (int)get_local_id(0);
  const int block = (int)get_group_id(0);
  const int frequency = (int)get_group_id(1) % frequencies;
  const int plane = (int)get_group_id(1) / frequencies % PLANES;
  const int frame = (int)get_group_id(1) / frequencies / PLANES;
  const int hologram = frame * frequencies + frequency;
  __global const float* restrict powers = (__global const float*)(arena + POWERS_AT) + frequency * CLASSES * KEPT;
  __global int* memories = (__global int*)(arena + MEMORIES_AT);
  const Batch batch = {(__global const int*)(arena + NOISE_RECORDS_AT) + frequency * NOISE_RECORD,
                       (__global const int*)(arena + INCOMPLETE_AT), frequencies * NOISE_RECORD, half_number, age};
  __global const float2* restrict coefficients =
      (__global const float2*)(arena + COEFFICIENTS_AT) + (size_t)hologram * CLASSES * MODES;
#if HAS_WAVES
  __local float2 amplitudes[MOST_WAVES];
  __local float2 wave_parts[MOST_WAVES * (GROUP == 1 ? 1 : 32)];
  __global const float* table = (__global const float*)(arena + WAVES_AT) + (size_t)frequency * WAVE_SIZE;
  const Waves waves = {(int)table[0], table[1], table + WAVE_HEADER, amplitudes, plane};
  fit_waves(&waves, coefficients, wave_parts, item);
#else
  const Waves waves = {0, 0.0f, 0, 0, 0};
#endif
  load_modes(coefficients, &waves, re, im, item);
  const int serving = (half_number + (age + frame) / HALF + 1) & 1;  // that began in the half before
  const Memory memory = memory_after(&batch, memories + ((turn * frequencies + frequency) * 2 + serving) * MEMORY_WORDS,
                                     serving, frame, 1, cost_sums, item);
  __global const int* restrict record = batch.records + frame * batch.record_step;
  const int step = record[GRID + 1] ? memory.held : record[GRID];
  const float noise = noise_of(step);
  const float prior = ((__global const float*)(arena + PRIORS_AT))[hologram * GRID + step] / CHANNELS;
  __global const float* restrict image_powers =
      (__global const float*)(arena + IMAGE_POWERS_AT) + frequency * CLASSES * KEPT;
  float energy = wave_energy(&waves, item);
  SYNC(GROUP);
  for (int i = item; i < CLASSES * KEPT; i += GROUP) {
    const float gain = 1.0f / (powers[i] + noise);
    re[i] *= gain;
    im[i] *= gain;
    energy += image_powers[i] * (re[i] * re[i] + im[i] * im[i]);
  }
  energy = sum_of_items(energy, item_parts, item);

  __global const float* restrict factors =
      (__global const float*)(arena + FACTORS_AT) +
      ((size_t)(plane * frequencies + frequency) * PIXEL_BLOCKS + block) * CLASSES * KEPT * 64;
  __global float2* restrict image = images + (size_t)get_group_id(1) * IMAGE_PIXELS;
#if GROUP == 1
  __local float2 pixels[CLASSES * 32];
  for (int class = 0; class < CLASSES; ++class) {
    float8 sum_re[4] = {0.0f, 0.0f, 0.0f, 0.0f};
    float8 sum_im[4] = {0.0f, 0.0f, 0.0f, 0.0f};
    for (int mode = 0; mode < KEPT; ++mode) {
      const float a = re[class * KEPT + mode];
      const float b = im[class * KEPT + mode];
#pragma unroll
      for (int vector = 0; vector < 4; ++vector) {
        const float8 f_re = vload8(8 * (class * KEPT + mode) + vector, factors);
        const float8 f_im = vload8(8 * (class * KEPT + mode) + 4 + vector, factors);
        sum_re[vector] += f_re * a;
        sum_im[vector] += f_re * b;
        sum_re[vector] -= f_im * b;
        sum_im[vector] += f_im * a;
      }
    }
    for (int vector = 0; vector < 4; ++vector) {
      float16 both;
      both.even = sum_re[vector];
      both.odd = sum_im[vector];
      vstore16(both, 0, (__local float*)(pixels + class * 32 + LANES * vector));
    }
  }
  for (int i = 0; i < CLASSES * 32; ++i) {
    const int lane = i % 32;
    const float2 of_class[CLASSES] = {pixels[lane], pixels[32 + lane], pixels[64 + lane], pixels[96 + lane]};
    store_pixel(image, arena, block * 32 + lane, i / 32, of_class, &waves);
  }
#else
  __local float2 pixels[GROUP];
  const int lane = item % 32;
  const int class = item / 32 % CLASSES;
  float2 sum = 0.0f;
#pragma unroll 8
  for (int mode = item / (32 * CLASSES); mode < KEPT; mode += GROUP / (32 * CLASSES)) {
    const int i = class * KEPT + mode;
    const float f_re = factors[i * 64 + lane];
    const float f_im = factors[i * 64 + 32 + lane];
    sum += (float2)(f_re * re[i] - f_im * im[i], f_re * im[i] + f_im * re[i]);
  }
  pixels[item] = sum;
  SYNC(GROUP);
  if (item < 32 * CLASSES) {
    float2 of_class[CLASSES];
    for (int c = 0; c < CLASSES; ++c) {
      of_class[c] = 0.0f;
      for (int part = 0; part < GROUP / (32 * CLASSES); ++part) {
        of_class[c] += pixels[(part * CLASSES + c) * 32 + lane];
      }
    }
    store_pixel(image, arena, block * 32 + lane, item / 32, of_class, &waves);
  }
#endif

  // The report of the image, by one item of each hologram.
  if (block == 0 && plane == 0 && item == 0) {
    const float error = prior * (((__global const float*)(arena + ERRORS_AT))[frequency * GRID + step] + waves.error);
    const float cutoff = ((__global const float*)(arena + CUTOFFS_AT))[frequency * GRID + step];
    reports[hologram] =
        (float4)(cutoff, NAN, sqrt(noise * prior), energy + error > 0.0f ? sqrt(error / (energy + error)) : 0.0f);
  }
  if (block == 0 && plane == 0 && frame == frames - 1) {
    for (int which = 0; which < 2; ++which) {
      const Memory left = memory_after(&batch, memories + ((turn * frequencies + frequency) * 2 + which) * MEMORY_WORDS,
                                       which, frame, 0, cost_sums, item);
      __global int* to = memories + (((1 - turn) * frequencies + frequency) * 2 + which) * MEMORY_WORDS;
      for (int i = item; i < GRID; i += GROUP) {
        to[3 + i] = cost_sums[i];
      }
      if (item == 0) {
        to[0] = left.begun;
        to[1] = left.frames;
        to[2] = left.held;
      }
    }
  }
  if (block == 0 && plane == 0 && frequency == 0) {
    take_status(status, taken, frame, item, GROUP);
  }
}
