// Images by a dense operator per frequency: the posterior mean given the covariance of a prior's field, from any
// positions of microphones to any imaged places. docs/how/operators.md has the derivation.
//
// The covariance of the microphones' pressures is U diag(w) U^H with orthonormal columns in U, one per mode, so that
//   y = U^H p,   image = sum over modes of images y / (w + noise)
// and the residual of the measurement, p - U y, contains noise alone. The noise, relative to the prior's power t, is
// the one of GRID steps at which the measurement is most probable,
//   t = (sum |y|^2 / (w + noise) + |p - U y|^2 / noise) / USED,
//   cost = sum ln(w + noise) + (USED - modes) ln noise + USED ln t.
// |p - U y|^2 is computed from the differences themselves: |p|^2 - |y|^2 would lose it in the rounding of float32.
// Where what comes from behind the array is told apart, there are SHARES models, one for each share of its power in the
// prior, and the GRID steps are those of noise of the first share, then of the second one, and so on.
// Where the mirrors x = 0 and y = 0 change neither microphones nor pixels, fields are folded to four parity classes,
// odd along x (bit 0 of a class) or along y (bit 1), each with modes of its own, and p above is a folded field. Else
// there is one class, whose samples are the microphones.
//
// In the arena, at the bytes NAME_AT:
//   modes          float [frequency][share][class][block of 32 modes][sample][re, im][32], U; 0 for modes that a class
//                  lacks
//   folds          int [sample][CLASSES], microphones of a sample: its own, and mirrored along x, along y and both
//   scales         float [sample], factor of their signed sum
//   coefficients   float2 [frame][frequency][share][MODES], y
//   rests          float [frame][frequency][share][class][block of 32 samples], its part of |p - U y|^2
//   powers         float [frequency][share][MODES], w
//   image_powers   float [frequency][share][MODES], sum over an image of the first plane of a mode's squared factors
//   log_sums       float [frequency][GRID], sum ln(w + noise) + (USED - modes) ln noise
//   noises         float [STEPS], the steps of noise
//   errors         float [frequency][GRID][ERROR_TERMS], terms of the expected squared error of an image of the first
//                  plane: the noise's part for t = 1; the unresolved part for a scale of 1; 1 over the sum of g w;
//                  then, of g over that sum, the sums of g, (g w)^2, g^2 w and g^2; 0. g is that of
//                  scale_of_unresolved()
//   factors        float [plane][frequency][share][block of PIXEL_LANES folded pixels][MODES][re, im][PIXEL_LANES],
//                  `images` above
//   views          int [folded pixel][CLASSES], its pixels in the order of folds; -1 for one that stands before
//   on_surface     uchar [pixel], 1: it is imaged; the others are NaN
//   priors         float [frame][frequency][GRID], t USED for each step of noise
//   waves          float [frequency][WAVE_SIZE], layout of src/imaging/sources/source_table.hpp; if HAS_WAVES
//   amplitudes     float2 [frame][frequency][MOST_WAVES], of waves; from operators_sources
//   noise_records, memories, incomplete: see noise_memory.cl
//
//   spectra        float2 [frame][frequency][microphone], Pa, finite; without waves, if there are any
//   residuals      float2 [frame][frequency][microphone], Pa, spectra minus waves
//   images         float2 [frame][plane][frequency][pixel], Pa, m/s or m
//   reports        float4 [frame][frequency]: NaN, NaN, noise Pa, expected relative error
//
// half_number and age are of the first frame's hop, see memory_place() of src/imaging/shared/imager.hpp.
//
// Launch, GROUP items per group, 1, 64, 128 or 256: if there are any waves, that is point sources beside the prior,
// operators_sources (GROUP, frames * frequencies); operators_modes (GROUP * SHARES * MODES / 32, frames * frequencies),
// operators_rests (GROUP * SHARES * REST_BLOCKS, frames * frequencies), operators_noise (GROUP, frames * frequencies),
// operators_images (GROUP * PIXEL_BLOCKS, frames * PLANES * frequencies).

//! needs common/complex.cl
//! needs common/groups.cl
//! needs common/local_helper.cl
//! needs common/status.cl
//! needs imaging/noise_memory.cl
//! needs imaging/operators_sizes.cl
//! needs imaging/sources.cl

#if GRID > 64 * SHARES
#error "a group of 64 items takes the steps of one share"
#endif

DEFINE_SUM_OF_ITEMS(GROUP)

#if HAS_WAVES
// Fits the amplitudes of the sources beside the prior, and subtracts them from each microphone.
__kernel __attribute__((reqd_work_group_size(GROUP, 1, 1))) void operators_sources(
    __global const float2* restrict spectra, __global uchar* arena, __global float2* restrict residuals,
    const int frequencies) {
  __local float2 amplitudes[MOST_WAVES];
  __local float2 parts[MOST_WAVES * (GROUP == 1 ? 1 : 32)];
  const int item = (int)get_local_id(0);
  const int hologram = (int)get_group_id(1);
  __global const float2* restrict field = spectra + (size_t)hologram * MICROPHONES;
  __global const float* table =
      (__global const float*)(arena + WAVES_AT) + (size_t)(hologram % frequencies) * WAVE_SIZE;
  const Waves waves = {(int)table[0], table[1], table + WAVE_HEADER, amplitudes, 0, 0.0f, 0};
  fit_waves(&waves, field, parts, item);
  for (int wave = item; wave < waves.count; wave += GROUP) {
    ((__global float2*)(arena + AMPLITUDES_AT))[hologram * MOST_WAVES + wave] = amplitudes[wave];
  }
  for (int microphone = item; microphone < MICROPHONES; microphone += GROUP) {
    residuals[(size_t)hologram * MICROPHONES + microphone] = without_waves(&waves, field[microphone], microphone);
  }
}
#endif

// Signed sum of four values, each the one before mirrored along x, or both before mirrored along y: of microphones to
// the sample of class `signs`, or of classes to the view `signs` of a pixel.
static float2 signed_sum(const float2 own, const float2 along_x, const float2 along_y, const float2 both,
                         const int signs) {
  const float sign_x = signs & 1 ? -1.0f : 1.0f;
  const float sign_y = signs & 2 ? -1.0f : 1.0f;
  return own + sign_x * along_x + sign_y * (along_y + sign_x * both);
}

// Value of a field at a sample of a class.
static float2 folded(__global const float2* restrict field, __global const uchar* arena, const int class,
                     const int sample) {
  __global const int* restrict folds = (__global const int*)(arena + FOLDS_AT);
#if CLASSES == 1
  return field[folds[sample]];
#else
  const int4 at = vload4(sample, folds);
  return ((__global const float*)(arena + SCALES_AT))[sample] *
         signed_sum(field[at.s0], field[at.s1], field[at.s2], field[at.s3], class);
#endif
}

__kernel __attribute__((reqd_work_group_size(GROUP, 1, 1))) void operators_modes(
    __global const float2* restrict spectra, __global uchar* arena, const int frequencies) {
  __local float2 field[SAMPLES];
  const int item = (int)get_local_id(0);
  const int block = (int)get_group_id(0);
  const int class = block % MODE_BLOCKS / CLASS_BLOCKS;
  const int hologram = (int)get_group_id(1);
  for (int sample = item; sample < SAMPLES; sample += GROUP) {
    field[sample] = folded(spectra + (size_t)hologram * MICROPHONES, arena, class, sample);
  }
  SYNC(GROUP);
  __global const float* restrict modes =
      (__global const float*)(arena + MODES_AT) +
      ((size_t)(hologram % frequencies) * SHARES * MODE_BLOCKS + block) * SAMPLES * 64;
  __global float2* restrict coefficients =
      (__global float2*)(arena + COEFFICIENTS_AT) + ((size_t)hologram * SHARES * MODE_BLOCKS + block) * 32;
#if GROUP == 1
  float8 sum_re[4] = {0.0f, 0.0f, 0.0f, 0.0f};
  float8 sum_im[4] = {0.0f, 0.0f, 0.0f, 0.0f};
  for (int sample = 0; sample < SAMPLES; ++sample) {
    const float2 value = field[sample];
#pragma unroll
    for (int vector = 0; vector < 4; ++vector) {
      const float8 u_re = vload8(8 * sample + vector, modes);
      const float8 u_im = vload8(8 * sample + 4 + vector, modes);
      sum_re[vector] += u_re * value.x;
      sum_im[vector] += u_re * value.y;
      sum_re[vector] += u_im * value.y;
      sum_im[vector] -= u_im * value.x;
    }
  }
  for (int vector = 0; vector < 4; ++vector) {
    float16 both;
    both.even = sum_re[vector];
    both.odd = sum_im[vector];
    vstore16(both, 0, (__global float*)(coefficients + LANES * vector));
  }
#else
  __local float2 parts[GROUP];
  const int lane = item % 32;
  float2 sum = 0.0f;
#pragma unroll 8
  for (int sample = item / 32; sample < SAMPLES; sample += GROUP / 32) {
    const float2 value = field[sample];
    const float u_re = modes[sample * 64 + lane];
    const float u_im = modes[sample * 64 + 32 + lane];
    sum += (float2)(u_re * value.x + u_im * value.y, u_re * value.y - u_im * value.x);
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

// Loads y of `count` modes into local memory. Ends with a barrier.
LOCAL_HELPER void load_modes(__global const float2* restrict coefficients, const int count, __local float* re,
                             __local float* im, const int item) {
  for (int mode = item; mode < count; mode += GROUP) {
    const float2 value = coefficients[mode];
    re[mode] = value.x;
    im[mode] = value.y;
  }
  SYNC(GROUP);
}

#define ROUNDS (1024 / GROUP)  // samples of each item of operators_rests, in groups of 64 to 256 items

// Energy of a block of samples that the modes do not explain.
__kernel __attribute__((reqd_work_group_size(GROUP, 1, 1))) void operators_rests(
    __global const float2* restrict spectra, __global uchar* arena, const int frequencies) {
  __local float re[CLASS_MODES];
  __local float im[CLASS_MODES];
  const int item = (int)get_local_id(0);
  const int share = (int)get_group_id(0) / REST_BLOCKS;
  const int class = (int)get_group_id(0) % REST_BLOCKS / SAMPLE_BLOCKS;
  const int block = (int)get_group_id(0) % SAMPLE_BLOCKS;
  const int hologram = (int)get_group_id(1);
  __global const float2* restrict field = spectra + (size_t)hologram * MICROPHONES;
  __global const float* restrict modes =
      (__global const float*)(arena + MODES_AT) +
      (((size_t)(hologram % frequencies) * SHARES + share) * MODE_BLOCKS + class * CLASS_BLOCKS) * SAMPLES * 64;
  load_modes((__global const float2*)(arena + COEFFICIENTS_AT) + ((size_t)hologram * SHARES + share) * MODES +
                 class * CLASS_MODES,
             CLASS_MODES, re, im, item);
  const int last = min(SAMPLES, 32 * (block + 1));
  float energy = 0.0f;
#if GROUP == 1
  for (int sample = 32 * block; sample < last; ++sample) {
    float8 sum_re = 0.0f;
    float8 sum_im = 0.0f;
    for (int i = 0; i < CLASS_BLOCKS; ++i) {
      __global const float* restrict of_block = modes + ((size_t)i * SAMPLES + sample) * 64;
#pragma unroll
      for (int vector = 0; vector < 4; ++vector) {
        const float8 u_re = vload8(vector, of_block);
        const float8 u_im = vload8(4 + vector, of_block);
        const float8 y_re = vload8(4 * i + vector, re);
        const float8 y_im = vload8(4 * i + vector, im);
        sum_re += PRODUCT_RE(u_re, u_im, y_re, y_im);
        sum_im += PRODUCT_IM(u_re, u_im, y_re, y_im);
      }
    }
    const float4 half_re = sum_re.lo + sum_re.hi;
    const float4 half_im = sum_im.lo + sum_im.hi;
    const float2 rest = folded(field, arena, class, sample) - (float2)(half_re.x + half_re.y + half_re.z + half_re.w,
                                                                       half_im.x + half_im.y + half_im.z + half_im.w);
    energy += rest.x * rest.x + rest.y * rest.y;
  }
#else
  __local float2 parts[32 * 32];  // [sample][lane]
  __local float2 eighths[GROUP];
  __local float item_parts[GROUP];
  const int lane = item % 32;
  float2 sums[ROUNDS];
#pragma unroll
  for (int round = 0; round < ROUNDS; ++round) {
    sums[round] = 0.0f;
  }
  for (int i = 0; i < CLASS_BLOCKS; ++i) {
    const float2 y = (float2)(re[32 * i + lane], im[32 * i + lane]);
#pragma unroll
    for (int round = 0; round < ROUNDS; ++round) {
      const int sample = min(32 * block + round * (GROUP / 32) + item / 32, SAMPLES - 1);
      __global const float* restrict of_block = modes + ((size_t)i * SAMPLES + sample) * 64;
      sums[round] += complex_multiply((float2)(of_block[lane], of_block[32 + lane]), y);
    }
  }
#pragma unroll
  for (int round = 0; round < ROUNDS; ++round) {
    parts[round * GROUP + item] = sums[round];
  }
  SYNC(GROUP);
  for (int first = 0; first < 32 * 8; first += GROUP) {
    const int sample = (first + item) / 8;
    float2 sum = 0.0f;
    for (int i = item % 8; i < 32; i += 8) {
      sum += parts[32 * sample + i];
    }
    eighths[item] = sum;
    SYNC(GROUP);
    if (item % 8 == 0 && 32 * block + sample < last) {
      for (int i = 1; i < 8; ++i) {
        sum += eighths[item + i];
      }
      const float2 rest = folded(field, arena, class, 32 * block + sample) - sum;
      energy += rest.x * rest.x + rest.y * rest.y;
    }
    SYNC(GROUP);
  }
  energy = sum_of_items(energy, item_parts, item);
#endif
  if (item == 0) {
    ((__global float*)(arena + RESTS_AT))[hologram * SHARES * REST_BLOCKS + (int)get_group_id(0)] = energy;
  }
}

// The prior's power of one share at each of its steps of noise, times USED; energies: |y|^2. `parts` is working memory.
// Ends with a barrier.
LOCAL_HELPER void prior_powers(__global const float* restrict powers, __global const float* restrict noises,
                               __local const float* energies, const float rest, __local float* parts,
                               __local float* sums, const int item) {
#if GROUP == 1
  for (int step = 0; step < STEPS; ++step) {
    const float noise = noises[step];
    float8 sum = 0.0f;
    for (int i = 0; i < MODES / LANES; ++i) {
      sum += vload8(i, energies) / (vload8(i, powers) + noise);
    }
    const float4 half_sum = sum.lo + sum.hi;
    sums[step] = half_sum.x + half_sum.y + half_sum.z + half_sum.w + rest / noise;
  }
#else
  const int step = item % 64;
  const int part = item / 64;
  float sum = 0.0f;
  if (step < STEPS) {
    const float noise = noises[step];
    for (int i = part; i < MODES; i += GROUP / 64) {
      sum += native_divide(energies[i], powers[i] + noise);
    }
    parts[part * STEPS + step] = sum;
  }
  SYNC(GROUP);
  if (part == 0 && step < STEPS) {
    for (int other = 1; other < GROUP / 64; ++other) {
      sum += parts[other * STEPS + step];
    }
    sums[step] = sum + rest / noises[step];
  }
  SYNC(GROUP);
#endif
}

// Cost of each step of noise in each frame.
__kernel __attribute__((reqd_work_group_size(GROUP, 1, 1))) void operators_noise(__global uchar* arena,
                                                                                 const int frequencies) {
  __local float energies[MODES];
  __local float parts[STEPS * (GROUP > 64 ? GROUP / 64 : 1)];
  __local float sums[GRID];
  __local float item_parts[GROUP];
  __local float costs[GRID];
  __local int record[NOISE_RECORD];
  const int item = (int)get_local_id(0);
  const int hologram = (int)get_group_id(1);
  const int frequency = hologram % frequencies;
  for (int share = 0; share < SHARES; ++share) {
    const int model = hologram * SHARES + share;
    __global const float2* restrict coefficients =
        (__global const float2*)(arena + COEFFICIENTS_AT) + (size_t)model * MODES;
    for (int mode = item; mode < MODES; mode += GROUP) {
      const float2 y = coefficients[mode];
      energies[mode] = y.x * y.x + y.y * y.y;
    }
    __global const float* restrict rests = (__global const float*)(arena + RESTS_AT) + model * REST_BLOCKS;
    float rest = 0.0f;
    for (int i = item; i < REST_BLOCKS; i += GROUP) {
      rest += rests[i];
    }
    rest = sum_of_items(rest, item_parts, item);
    prior_powers((__global const float*)(arena + POWERS_AT) + (frequency * SHARES + share) * MODES,
                 (__global const float*)(arena + NOISES_AT), energies, rest, parts, sums + share * STEPS, item);
  }
  make_record(sums, (__global const float*)(arena + LOG_SUMS_AT) + frequency * GRID, USED, costs, record, item);
  for (int step = item; step < GRID; step += GROUP) {
    ((__global float*)(arena + PRIORS_AT))[hologram * GRID + step] = sums[step];
  }
  for (int i = item; i < NOISE_RECORD; i += GROUP) {
    ((__global int*)(arena + NOISE_RECORDS_AT))[hologram * NOISE_RECORD + i] = record[i];
  }
}

// Expected power of the prior in the fields that the microphones do not resolve: t, unless the modes that are weakest
// above the noise have another one. Theirs is the mean of (|y|^2 - t noise) / w with weights w g,
// g = noise^2 w / (w + noise)^4, plus its standard deviation; gains: y / (w + noise).
LOCAL_HELPER float scale_of_unresolved(__global const float* restrict powers, __local const float* gains_re,
                                       __local const float* gains_im, __global const float* restrict terms,
                                       const float noise, const float prior, __local float* item_parts,
                                       const int item) {
  float measured = 0.0f;
  for (int mode = item; mode < MODES; mode += GROUP) {
    const float part = noise / (powers[mode] + noise);
    measured +=
        part * terms[2] * part * powers[mode] * (gains_re[mode] * gains_re[mode] + gains_im[mode] * gains_im[mode]);
  }
  measured = sum_of_items(measured, item_parts, item);
  const float of_noise = noise * prior;
  const float mean = max(0.0f, measured - of_noise * terms[3]);
  const float variance = mean * mean * terms[4] + 2.0f * mean * of_noise * terms[5] + of_noise * of_noise * terms[6];
  const float scale = mean + sqrt(variance);
  return clamp(prior, scale, MOST_OF_UNRESOLVED * scale);
}

// Stores a view of a folded pixel; sums [CLASSES][PIXEL_LANES] of its block.
LOCAL_HELPER void store_view(__global float2* restrict image, __global const uchar* arena, const int block,
                             const int lane, const int view, __local const float2* sums, const Waves* waves) {
  const int folded_pixel = block * PIXEL_LANES + lane;
  const int pixel =
      folded_pixel < FOLDED_PIXELS ? ((__global const int*)(arena + VIEWS_AT))[folded_pixel * CLASSES + view] : -1;
  if (pixel >= 0) {
#if CLASSES == 1
    const float2 value = sums[lane];
#else
    const float2 value = signed_sum(sums[lane], sums[PIXEL_LANES + lane], sums[2 * PIXEL_LANES + lane],
                                    sums[3 * PIXEL_LANES + lane], view);
#endif
    image[pixel] = arena[ON_SURFACE_AT + pixel] ? value + waves_at(waves, pixel) : (float2)(NAN, NAN);
  }
}

__kernel __attribute__((reqd_work_group_size(GROUP, 1, 1))) void operators_images(
    __global uchar* arena, __global float2* restrict images, __global float4* restrict reports,
    __global uint* restrict taken, const int frequencies, const int frames, const int turn, const int half_number,
    const int age, __global uint* restrict status) {
  __local float re[MODES];
  __local float im[MODES];
  __local int record[NOISE_RECORD];
  __local int cost_sums[GRID];
  __local float item_parts[GROUP];
  const int item = (int)get_local_id(0);
  const int block = (int)get_group_id(0);
  const int frequency = (int)get_group_id(1) % frequencies;
  const int plane = (int)get_group_id(1) / frequencies % PLANES;
  const int frame = (int)get_group_id(1) / frequencies / PLANES;
  const int hologram = frame * frequencies + frequency;
  const Batch batch = {(__global const int*)(arena + NOISE_RECORDS_AT) + frequency * NOISE_RECORD,
                       (__global const int*)(arena + INCOMPLETE_AT), frequencies * NOISE_RECORD, half_number, age};
#if HAS_WAVES
  __local float2 amplitudes[MOST_WAVES];
  __global const float* table = (__global const float*)(arena + WAVES_AT) + (size_t)frequency * WAVE_SIZE;
  const Waves waves = {(int)table[0], table[1], table + WAVE_HEADER, amplitudes, plane, 0.0f, 0};
  for (int wave = item; wave < waves.count; wave += GROUP) {
    amplitudes[wave] = ((__global const float2*)(arena + AMPLITUDES_AT))[hologram * MOST_WAVES + wave];
  }
#else
  const Waves waves = {0, 0.0f, 0, 0, 0, 0.0f, 0};
#endif
  for (int i = item; i < NOISE_RECORD; i += GROUP) {
    record[i] = batch.records[frame * batch.record_step + i];
  }
  const int words = 2 * MEMORY_WORDS;
  __global int* memories = (__global int*)(arena + MEMORIES_AT) + (turn * frequencies + frequency) * words;
  const int step = step_of_frame(&batch, record, memories, frame, cost_sums, item);
  const int share = step / STEPS;
  const int model = frequency * SHARES + share;
  __global const float* restrict powers = (__global const float*)(arena + POWERS_AT) + model * MODES;
  load_modes((__global const float2*)(arena + COEFFICIENTS_AT) + ((size_t)hologram * SHARES + share) * MODES, MODES, re,
             im, item);
  const float noise = ((__global const float*)(arena + NOISES_AT))[step % STEPS];
  const float prior = ((__global const float*)(arena + PRIORS_AT))[hologram * GRID + step] / USED;
  __global const float* restrict image_powers = (__global const float*)(arena + IMAGE_POWERS_AT) + model * MODES;
  float energy = 0.0f;
  for (int mode = item; mode < MODES; mode += GROUP) {
    const float gain = 1.0f / (powers[mode] + noise);
    re[mode] *= gain;
    im[mode] *= gain;
    energy += image_powers[mode] * (re[mode] * re[mode] + im[mode] * im[mode]);
  }
  energy = sum_of_items(energy + wave_energies(&waves, item).x, item_parts, item);

  __global const float* restrict factors =
      (__global const float*)(arena + FACTORS_AT) +
      (((size_t)plane * frequencies * SHARES + model) * PIXEL_BLOCKS + block) * MODES * 2 * PIXEL_LANES;
  __local float2 sums[CLASSES * PIXEL_LANES];
#if GROUP == 1
  for (int class = 0; class < CLASSES; ++class) {
    float8 sum_re[4] = {0.0f, 0.0f, 0.0f, 0.0f};
    float8 sum_im[4] = {0.0f, 0.0f, 0.0f, 0.0f};
    for (int mode = class * CLASS_MODES; mode < (class + 1) * CLASS_MODES; ++mode) {
      const float a = re[mode];
      const float b = im[mode];
#pragma unroll
      for (int vector = 0; vector < 4; ++vector) {
        const float8 f_re = vload8(8 * mode + vector, factors);
        const float8 f_im = vload8(8 * mode + 4 + vector, factors);
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
      vstore16(both, 0, (__local float*)(sums + class * PIXEL_LANES + LANES * vector));
    }
  }
#else
  __local float2 parts[CLASSES * GROUP];
  const int lane = item % PIXEL_LANES;
  for (int class = 0; class < CLASSES; ++class) {
    float2 sum = 0.0f;
#pragma unroll 8
    for (int mode = class * CLASS_MODES + item / PIXEL_LANES; mode < (class + 1) * CLASS_MODES;
         mode += GROUP / PIXEL_LANES) {
      const float f_re = factors[2 * PIXEL_LANES * mode + lane];
      const float f_im = factors[2 * PIXEL_LANES * mode + PIXEL_LANES + lane];
      sum += (float2)(PRODUCT_RE(f_re, f_im, re[mode], im[mode]), PRODUCT_IM(f_re, f_im, re[mode], im[mode]));
    }
    parts[class * GROUP + item] = sum;
  }
  SYNC(GROUP);
  for (int i = item; i < CLASSES * PIXEL_LANES; i += GROUP) {
    __local const float2* of_class = parts + i / PIXEL_LANES * GROUP;
    float2 sum = 0.0f;
    for (int part = i % PIXEL_LANES; part < GROUP; part += PIXEL_LANES) {
      sum += of_class[part];
    }
    sums[i] = sum;
  }
  SYNC(GROUP);
#endif
  __global float2* restrict image = images + (size_t)get_group_id(1) * PIXELS;
  for (int i = item; i < CLASSES * PIXEL_LANES; i += GROUP) {
    store_view(image, arena, block, i % PIXEL_LANES, i / PIXEL_LANES, sums, &waves);
  }

  // The report of the image, written by one item of each hologram. All groups find the scale: PoCL compiles barriers
  // that only some of them reach wrongly (docs/decisions/0023).
  __global const float* restrict terms =
      (__global const float*)(arena + ERRORS_AT) + (frequency * GRID + step) * ERROR_TERMS;
  const float scale = scale_of_unresolved(powers, re, im, terms, noise, prior, item_parts, item);
  if (block == 0 && plane == 0 && item == 0) {
    const float error = prior * (terms[0] + waves.error) + scale * terms[1];
    const float share = energy + error > 0.0f ? 1.0f / (energy + error) : 0.0f;
    reports[hologram] = (float4)(NAN, NAN, sqrt(noise * prior), sqrt(error * share));
  }
  if (block == 0 && plane == 0 && frame == frames - 1) {
    __global int* after = (__global int*)(arena + MEMORIES_AT) + ((1 - turn) * frequencies + frequency) * words;
    remember(&batch, record, memories, after, frame, cost_sums, item);
  }
  if (block == 0 && plane == 0 && frequency == 0) {
    take_status(status, taken, frame, item, GROUP);
  }
}
