// sonah's modes of a field: the field folded, its products with the projections, and its evidence of the noise.
// sonah.cl documents the formulas and the arrays.

//! needs common/groups.cl
//! needs common/local_helper.cl
//! needs imaging/sonah_sizes.cl

static float2 folded(__global const float2* field, const int class, const int row, const int column) {
  const int far_row = (ROWS - 1 - row) * COLUMNS;
  const int far_column = COLUMNS - 1 - column;
  const float sign_x = class & 1 ? -1.0f : 1.0f;
  const float sign_y = class & 2 ? -1.0f : 1.0f;
  return field[row * COLUMNS + column] + sign_x * field[row * COLUMNS + far_column] +
         sign_y * (field[far_row + column] + sign_x * field[far_row + far_column]);
}

// Part of the modes that one work-group of sonah_modes computes.
typedef struct {
  int fold;
  int block;  // its first block among the blocks of all slots
  int blocks;
  int samples;
  int row;  // row of the projections
} ModePart;

static ModePart mode_part(int number) {
#if SQUARE
  const int of_class = STAYING_PARTS + SIGNED_PARTS;
  if (number >= 2 * of_class) {
    const int block = (number - 2 * of_class) * PAIR_PART_BLOCKS;
    const int before = 2 * (STAYING_BLOCKS + SIGNED_BLOCKS);
    return (ModePart){4, before + block, min(PAIR_PART_BLOCKS, MODES / 32 - block), SAMPLES,
                      before * TRIANGLE + block * SAMPLES};
  }
  const int odd = number / of_class;
  number -= odd * of_class;
  const int is_signed = number >= STAYING_PARTS;
  const int block = (is_signed ? number - STAYING_PARTS : number) * PART_BLOCKS;
  const int first = odd * (STAYING_BLOCKS + SIGNED_BLOCKS) + (is_signed ? STAYING_BLOCKS : 0) + block;
  return (ModePart){2 * odd + is_signed, first, min(PART_BLOCKS, (is_signed ? SIGNED_BLOCKS : STAYING_BLOCKS) - block),
                    TRIANGLE, first * TRIANGLE};
#else
  const int block = number % CLASS_PARTS * PART_BLOCKS;
  const int first = number / CLASS_PARTS * (MODES / 32) + block;
  return (ModePart){number / CLASS_PARTS, first, min(PART_BLOCKS, MODES / 32 - block), SAMPLES, first * SAMPLES};
#endif
}

// Folds the field to this part's fold in `field_1`, for fold 4 also to class 2 in `field_2`. Ends with a barrier.
LOCAL_HELPER void fold_field(__global const float2* field, const ModePart* part, __local float2* field_1,
                             __local float2* field_2, const int item) {
  for (int sample = item; sample < part->samples; sample += GROUP) {
#if SQUARE
    if (part->fold < 4) {
      const int class = part->fold < 2 ? 0 : 3;
      const float sign = part->fold % 2 ? -1.0f : 1.0f;
      const int2 place = triangle_place(sample);
      field_1[sample] = folded(field, class, place.x, place.y) + sign * folded(field, class, place.y, place.x);
    } else {
      const int row = sample / HALF_COLUMNS;
      const int column = sample % HALF_COLUMNS;
      field_1[sample] = folded(field, 1, row, column);
      field_2[sample] = folded(field, 2, column, row);
    }
#else
    field_1[sample] = folded(field, part->fold, sample / HALF_COLUMNS, sample % HALF_COLUMNS);
#endif
  }
  SYNC(GROUP);
}

#if GROUP == 1
// y of the 32 modes of a block, for one folded field.
LOCAL_HELPER void project(__global const float* restrict projection, __local const float2* field, const int samples,
                          __local float2* y) {
  float16 sum_re[2] = {0.0f, 0.0f};
  float16 sum_im[2] = {0.0f, 0.0f};
  for (int sample = 0; sample < samples; ++sample) {
    const float2 value = field[sample];
#pragma unroll
    for (int vector = 0; vector < 2; ++vector) {
      const float16 factor = vload16(2 * sample + vector, projection);
      sum_re[vector] += factor * value.x;
      sum_im[vector] += factor * value.y;
    }
  }
  for (int i = 0; i < 2; ++i) {
    float re[16];
    float im[16];
    vstore16(sum_re[i], 0, re);
    vstore16(sum_im[i], 0, im);
    for (int lane = 0; lane < 16; ++lane) {
      y[16 * i + lane] = (float2)(re[lane], im[lane]);
    }
  }
}

#if SQUARE
// y for two fields at once.
LOCAL_HELPER void project_pair(__global const float* restrict projection, __local const float2* field_1,
                               __local const float2* field_2, const int samples, __local float2* y_1,
                               __local float2* y_2) {
  float16 sums[2][4] = {{0.0f, 0.0f, 0.0f, 0.0f}, {0.0f, 0.0f, 0.0f, 0.0f}};
  for (int sample = 0; sample < samples; ++sample) {
    const float2 one = field_1[sample];
    const float2 two = field_2[sample];
#pragma unroll
    for (int vector = 0; vector < 2; ++vector) {
      const float16 factor = vload16(2 * sample + vector, projection);
      sums[vector][0] += factor * one.x;
      sums[vector][1] += factor * one.y;
      sums[vector][2] += factor * two.x;
      sums[vector][3] += factor * two.y;
    }
  }
  for (int i = 0; i < 2; ++i) {
    float parts[4][16];
#pragma unroll
    for (int k = 0; k < 4; ++k) {
      vstore16(sums[i][k], 0, parts[k]);
    }
    for (int lane = 0; lane < 16; ++lane) {
      y_1[16 * i + lane] = (float2)(parts[0][lane], parts[1][lane]);
      y_2[16 * i + lane] = (float2)(parts[2][lane], parts[3][lane]);
    }
  }
}
#endif
#else
#define AHEAD 16  // samples whose factors an item reads before it uses the first of them
// y of the 32 modes of a block, for each folded field; parts [GROUP]. Ends with a barrier.
LOCAL_HELPER void project(__global const float* restrict projection, __local const float2* field_1,
                          __local const float2* field_2, const int samples, __local float4* parts, __local float2* y_1,
                          __local float2* y_2, const int item) {
  const int lane = item % 32;
  float4 sum = 0.0f;
  for (int first = item / 32; first < samples; first += AHEAD * (GROUP / 32)) {
    float factors[AHEAD];
#pragma unroll
    for (int i = 0; i < AHEAD; ++i) {
      const int sample = first + i * (GROUP / 32);
      factors[i] = sample < samples ? projection[sample * 32 + lane] : 0.0f;
    }
#pragma unroll
    for (int i = 0; i < AHEAD; ++i) {
      const int sample = min(first + i * (GROUP / 32), samples - 1);
      sum.lo += factors[i] * field_1[sample];
#if SQUARE
      sum.hi += factors[i] * field_2[sample];
#endif
    }
  }
  parts[item] = sum;
  SYNC(GROUP);
  if (item < 32) {
    for (int part = 1; part < GROUP / 32; ++part) {
      sum += parts[32 * part + lane];
    }
    y_1[lane] = sum.lo;
#if SQUARE
    y_2[lane] = sum.hi;
#endif
  }
  SYNC(GROUP);
}
#endif

__kernel __attribute__((reqd_work_group_size(GROUP, 1, 1))) void sonah_modes(__global const float2* restrict spectra,
                                                                             __global uchar* arena,
                                                                             const int frequencies) {
  __local float2 field_1[SAMPLES];
  __local float2 field_2[SQUARE ? SAMPLES : 1];
  __local float2 y_1[32];
  __local float2 y_2[32];
  __local float powers[32 * MOST_BLOCKS];
  __local float energies[32 * MOST_BLOCKS];
  __local float sums[GRID * SHARERS];
#if GROUP > 1
  __local float4 parts[GROUP];
#endif
  const int item = (int)get_local_id(0);
  const int hologram = (int)get_group_id(1);
  const int frequency = hologram % frequencies;
  const ModePart part = mode_part((int)get_group_id(0));
  const int slot = frequency * SLOTS + 32 * part.block;
  __global const int* restrict slot_modes = (__global const int*)(arena + SLOT_MODES_AT) + slot;
  __global const float* restrict slot_powers = (__global const float*)(arena + SLOT_POWERS_AT) + slot;
  __global float2* restrict coefficients =
      (__global float2*)(arena + COEFFICIENTS_AT) + (size_t)hologram * CLASSES * MODES;
  for (int i = item; i < 32 * part.blocks; i += GROUP) {
    powers[i] = slot_powers[i];
  }
  fold_field(spectra + (size_t)hologram * CHANNELS, &part, field_1, field_2, item);
  const int is_pair = SQUARE && part.fold == 4;
  for (int block = 0; block < part.blocks; ++block) {
    __global const float* restrict projection =
        (__global const float*)(arena + PROJECTIONS_AT) +
        ((size_t)frequency * PROJECTION_ROWS + part.row + block * part.samples) * 32;
#if GROUP > 1
    project(projection, field_1, is_pair ? field_2 : field_1, part.samples, parts, y_1, y_2, item);
#elif SQUARE
    if (is_pair) {
      project_pair(projection, field_1, field_2, part.samples, y_1, y_2);
    } else {
      project(projection, field_1, part.samples, y_1);
    }
#else
    project(projection, field_1, part.samples, y_1);
#endif
    for (int lane = item; lane < 32; lane += GROUP) {
      const int mode = slot_modes[32 * block + lane];
      const float2 y = y_1[lane];
      const float2 other = is_pair ? y_2[lane] : (float2)(0.0f);
      energies[32 * block + lane] = y.x * y.x + y.y * y.y + other.x * other.x + other.y * other.y;
      if (mode >= 0) {
        coefficients[mode] = y;
        if (is_pair) {
          coefficients[mode + MODES] = other;
        }
      }
    }
  }
  SYNC(GROUP);
  sum_shares(powers, energies, 32 * part.blocks, (__global const float*)(arena + NOISES_AT), sums, item);
  __global float* restrict shares =
      (__global float*)(arena + SHARES_AT) + ((size_t)hologram * MODE_PARTS + get_group_id(0)) * GRID;
  for (int step = item; step < GRID; step += GROUP) {
    shares[step] = sums[step];
  }
}
