// Statistically optimised near-field holography: the image is the posterior mean given the prior and the measurement.
// docs/how/sonah.md has the derivation.
//
// A field over the array separates into four parity classes over half the rows and columns each (bit 0 of a class: odd
// along x, bit 1: odd along y). Within one, modes of prior power w are independent, so
//   y = projection^T folded,   image = sum over modes of images y / (w + noise)
// and the noise is the most probable one (sonah_noise.cl).
//
// A square array (SQUARE) is symmetric in its diagonals, too. Swapping rows and columns leaves some modes of classes 0
// and 3 unchanged and changes the sign of the others, over the half of a class's positions (a, b) with a <= b; class 2
// is class 1 with rows and columns swapped, so that one factor serves both. A field is folded to folds: the classes, or
// 0 and 1 of class 0 (unchanged, sign changed), 2 and 3 of class 3, 4 of classes 1 and 2 together.
//
// Plane waves and point sources that the host has found in addition to the prior (at most MOST_WAVES per frequency,
// mostly none), called waves below, are fitted and subtracted before that,
//   amplitude = sum over modes of amplitudes y,   y -= modes amplitude
// and their images are added to the rest's.
//
// A slot is a mode of a fold; each fold fills whole blocks of 32 slots. A frequency has a list of the modes that
// contribute to images, and only of these: the modes of each fold, then, for fold 4, the same ones in class 2; on a
// surface those of each class. A row of factors is a mode's share in PIXEL_LANES folded pixels: one row per entry of
// the list, except for modes in class 2, whose rows equal those in class 1 at the positions with rows and columns
// swapped.
//
// In the arena, at the bytes NAME_AT:
//   projections    float [frequency][block of 32 slots][sample][32]; samples of a fold: of a class, or with a <= b
//   slot_modes     int [frequency][slot], index of its y among coefficients, in class 1 for fold 4; -1: none
//   slot_powers    float [frequency][slot], w; 0 if the mode does not contribute to images
//   coefficients   float2 [frame][frequency][class][MODES], y
//   shares         float [frame][frequency][part of sonah_modes][GRID], sums of |y|^2 / (w + noise)
//   starts         int [frequency][LIST_STARTS]: begin and end of the parts of its list, and last its first row
//   list_modes     int [frequency][KEPT], index of y among coefficients
//   list_powers    float [frequency][KEPT], w
//   image_powers   float [frequency][KEPT], sum over an image of the first plane of a mode's squared factors
//   noises         float [GRID], the steps of noise
//   log_sums       float [frequency][GRID], sum over all modes of ln(w + noise)
//   errors         float [frequency][GRID], expected squared error of an image of the first plane for t = 1
//   cutoffs        float [frequency][GRID], rad/m
//   factors        float [plane][frequency][block of folded pixels][row][re, im][PIXEL_LANES], `images` above
//   noise_records, memories, incomplete: see noise_memory.cl; the records are of sonah_noise
//   amplitudes     float2 [frame][frequency][MOST_WAVES], of waves; from sonah_waves
//   waves          float [frequency][WAVE_SIZE], layout of src/imaging/sources/source_table.hpp; if HAS_WAVES
//
//   on_surface     uchar [pixel], 1: it lies on the surface; only with SURFACE_PIXELS
//
// On a curved surface (SURFACE_PIXELS) pixels are not mirrored: the factors of each pixel have the signs of the
// classes, so that an image is the sum over all classes, and pixels off the surface are NaN.
//
//   spectra        float2 [frame][frequency][row][column], Pa, of usable microphones
//   images         float2 [frame][plane][frequency][row][column], Pa or m/s
//   reports        float4 [frame][frequency]: cut-off rad/m, NaN, noise Pa, expected relative error
//
// half_number and age are of the first frame's hop, see memory_place() of src/imaging/shared/imager.hpp.
//
// Launch, GROUP items per group, 1 or a multiple of 128: sonah_modes (GROUP * MODE_PARTS, frames * frequencies), with
// any waves sonah_waves (GROUP, frames * frequencies), with several frames sonah_noise (likewise), and sonah_images
// (GROUP * PIXEL_BLOCKS, frames * PLANES * frequencies). Each group of sonah_images computes its own frame's record by
// the sums of sonah_noise; it reads those of the earlier frames.

//! needs common/complex.cl
//! needs common/groups.cl
//! needs common/local_helper.cl
//! needs common/status.cl
//! needs imaging/noise_memory.cl
//! needs imaging/sonah_modes.cl
//! needs imaging/sonah_noise.cl
//! needs imaging/sonah_sizes.cl
//! needs imaging/sonah_waves.cl

// Stores a view of a folded pixel, one of the pixels that it represents; `sums` has its sums over each part of the
// list.
#if SURFACE_PIXELS
// Stores the one pixel of the surface; there are no mirrors.
LOCAL_HELPER void store_pixel(__global float2* restrict image, __global const uchar* arena, const int pixel,
                              const int view, const float2* sums, const Waves* waves) {
  if (pixel < PIXELS && view == 0) {
    image[pixel] = arena[ON_SURFACE_AT + pixel] ? sums[0] + waves_at(waves, pixel) : (float2)(NAN, NAN);
  }
}
#else
// View bit 0: mirrored along x, bit 1: along y, bit 2: rows and columns swapped.
LOCAL_HELPER void store_pixel(__global float2* restrict image, __global const uchar* arena, const int pixel,
                              const int view, const float2* sums, const Waves* waves) {
  const float sign_x = view & 1 ? -1.0f : 1.0f;
  const float sign_y = view & 2 ? -1.0f : 1.0f;
#if SQUARE
  const int is_changed = view & 4;
  const int2 place = triangle_place(pixel);
  const int half_row = is_changed ? place.y : place.x;
  const int half_column = is_changed ? place.x : place.y;
  const float sign = is_changed ? -1.0f : 1.0f;
  const float2 of_class[CLASSES] = {sums[0] + sign * sums[1], is_changed ? sums[6] : sums[4],
                                    is_changed ? sums[5] : sums[7], sums[2] + sign * sums[3]};
  const int is_shown = pixel < PIXELS && (!is_changed || place.x != place.y);
#else
  const int half_row = pixel / HALF_IMAGE_COLUMNS;
  const int half_column = pixel % HALF_IMAGE_COLUMNS;
  const float2* of_class = sums;
  const int is_shown = pixel < PIXELS;
#endif
  const int row = view & 2 ? IMAGE_ROWS - 1 - half_row : half_row;
  const int column = view & 1 ? IMAGE_COLUMNS - 1 - half_column : half_column;
  if (is_shown) {
    image[row * IMAGE_COLUMNS + column] = of_class[0] + sign_x * of_class[1] +
                                          sign_y * (of_class[2] + sign_x * of_class[3]) +
                                          waves_at(waves, row * IMAGE_COLUMNS + column);
  }
}
#endif

// Cost of each step of noise in each frame of a batch.
__kernel __attribute__((reqd_work_group_size(GROUP, 1, 1))) void sonah_noise(__global uchar* arena,
                                                                             const int frequencies) {
  __local float sums[GRID * SHARERS];
  __local float costs[GRID];
  __local int record[NOISE_RECORD];
  const int item = (int)get_local_id(0);
  const int hologram = (int)get_group_id(1);
  sum_parts((__global const float*)(arena + SHARES_AT) + (size_t)hologram * MODE_PARTS * GRID, MODE_PARTS, sums, item);
  make_record(sums, (__global const float*)(arena + LOG_SUMS_AT) + hologram % frequencies * GRID, CHANNELS, costs,
              record, item);
  for (int i = item; i < NOISE_RECORD; i += GROUP) {
    ((__global int*)(arena + NOISE_RECORDS_AT))[hologram * NOISE_RECORD + i] = record[i];
  }
}

// Divides the group's y of its frequency's list by power + noise, in place; returns the energy of their image if
// `sums_energy` is set. Begins and ends with a barrier.
LOCAL_HELPER float divide_modes(__global const float* restrict powers, __global const float* restrict image_powers,
                                const float noise, const int count, __local float2* y, const int sums_energy,
                                __local float* item_parts, const int item) {
  SYNC(GROUP);
  float energy = 0.0f;
  for (int i = item; i < count; i += GROUP) {
    const float2 value = y[i] * (1.0f / (powers[i] + noise));
    y[i] = value;
    energy += sums_energy ? image_powers[i] * (value.x * value.x + value.y * value.y) : 0.0f;
  }
  SYNC(GROUP);
  return sums_energy ? sum_of_items(energy, item_parts, item) : 0.0f;
}

#if GROUP == 1
// Computes sums[pixel] over rows `first` to `last` with modes y.
LOCAL_HELPER void sum_rows(__global const float* restrict factors, __local const float2* y, const int first,
                           const int last, __local float2* sums) {
  float16 re[2] = {0.0f, 0.0f};
  float16 im[2] = {0.0f, 0.0f};
  for (int row = first; row < last; ++row) {
    const float2 value = y[row - first];
#pragma unroll
    for (int i = 0; i < 2; ++i) {
      const float16 f_re = vload16(4 * row + i, factors);
      const float16 f_im = vload16(4 * row + 2 + i, factors);
      re[i] += f_re * value.x;
      im[i] += f_re * value.y;
      re[i] -= f_im * value.y;
      im[i] += f_im * value.x;
    }
  }
  for (int i = 0; i < 2; ++i) {
    float16 low;
    float16 high;
    low.even = re[i].lo;
    low.odd = im[i].lo;
    high.even = re[i].hi;
    high.odd = im[i].hi;
    vstore16(low, 2 * i, (__local float*)sums);
    vstore16(high, 2 * i + 1, (__local float*)sums);
  }
}

// Computes two such sums, with modes y_1 and with modes y_2.
LOCAL_HELPER void sum_rows_pair(__global const float* restrict factors, __local const float2* y_1,
                                __local const float2* y_2, const int first, const int last, __local float2* sums_1,
                                __local float2* sums_2) {
  float16 re_1[2] = {0.0f, 0.0f};
  float16 im_1[2] = {0.0f, 0.0f};
  float16 re_2[2] = {0.0f, 0.0f};
  float16 im_2[2] = {0.0f, 0.0f};
  for (int row = first; row < last; ++row) {
    const float2 one = y_1[row - first];
    const float2 two = y_2[row - first];
#pragma unroll
    for (int i = 0; i < 2; ++i) {
      const float16 f_re = vload16(4 * row + i, factors);
      const float16 f_im = vload16(4 * row + 2 + i, factors);
      re_1[i] += f_re * one.x;
      im_1[i] += f_re * one.y;
      re_2[i] += f_re * two.x;
      im_2[i] += f_re * two.y;
      re_1[i] -= f_im * one.y;
      im_1[i] += f_im * one.x;
      re_2[i] -= f_im * two.y;
      im_2[i] += f_im * two.x;
    }
  }
  for (int i = 0; i < 2; ++i) {
    float16 both;
    both.even = re_1[i].lo;
    both.odd = im_1[i].lo;
    vstore16(both, 2 * i, (__local float*)sums_1);
    both.even = re_1[i].hi;
    both.odd = im_1[i].hi;
    vstore16(both, 2 * i + 1, (__local float*)sums_1);
    both.even = re_2[i].lo;
    both.odd = im_2[i].lo;
    vstore16(both, 2 * i, (__local float*)sums_2);
    both.even = re_2[i].hi;
    both.odd = im_2[i].hi;
    vstore16(both, 2 * i + 1, (__local float*)sums_2);
  }
}
#else
#define ROWS_AHEAD 8  // rows whose factors an item reads before it uses the first of them
#define PART_LANES (2 * PIXEL_LANES)
#define ROW_ITEMS (GROUP / PART_LANES)
// parts[sum][lane of re or im]: x, the sum over rows of factors times re y, and y, that of factors times im y. `parts`
// may share the memory of y. Begins and ends with a barrier.
LOCAL_HELPER void sum_rows(__global const float* restrict factors, __local const float2* y,
                           __global const int* restrict starts, __local float2* parts, const int item) {
  const int lane = item % PART_LANES;
  const int rows = starts[SUMS == 8 ? 6 : SUMS];
#if SUMS > 1
  const int start_1 = starts[1];
  const int start_2 = starts[2];
  const int start_3 = starts[3];
#endif
#if SUMS == 8
  const int start_4 = starts[4];
  const int start_5 = starts[5];
  const int pairs = rows - start_5;
#endif
  float2 sums[SUMS];
#pragma unroll
  for (int i = 0; i < SUMS; ++i) {
    sums[i] = 0.0f;
  }
  for (int first = item / PART_LANES; first < rows; first += ROWS_AHEAD * ROW_ITEMS) {
    float ahead[ROWS_AHEAD];
#pragma unroll
    for (int i = 0; i < ROWS_AHEAD; ++i) {
      const int row = first + i * ROW_ITEMS;
      ahead[i] = row < rows ? factors[row * PART_LANES + lane] : 0.0f;
    }
#pragma unroll
    for (int i = 0; i < ROWS_AHEAD; ++i) {
      const int row = min(first + i * ROW_ITEMS, rows - 1);
      const float2 product = ahead[i] * y[row];
#if SUMS == 1
      sums[0] += product;
#elif SUMS == 4
      if (row < start_1) {
        sums[0] += product;
      } else if (row < start_2) {
        sums[1] += product;
      } else if (row < start_3) {
        sums[2] += product;
      } else {
        sums[3] += product;
      }
#else
      if (row < start_1) {
        sums[0] += product;
      } else if (row < start_2) {
        sums[1] += product;
      } else if (row < start_3) {
        sums[2] += product;
      } else if (row < start_4) {
        sums[3] += product;
      } else if (row < start_5) {
        sums[4] += product;
        sums[5] += ahead[i] * y[row + pairs];
      } else {
        sums[6] += ahead[i] * y[row - pairs];
        sums[7] += product;
      }
#endif
    }
  }
  SYNC(GROUP);
#pragma unroll
  for (int i = 0; i < SUMS; ++i) {
    parts[i * GROUP + item] = sums[i];
  }
  SYNC(GROUP);
  for (int i = item; i < SUMS * PART_LANES; i += GROUP) {
    __local float2* of_lane = parts + i / PART_LANES * GROUP + i % PART_LANES;
    float2 sum = of_lane[0];
    for (int other = 1; other < ROW_ITEMS; ++other) {
      sum += of_lane[other * PART_LANES];
    }
    of_lane[0] = sum;
  }
  SYNC(GROUP);
}
#endif

#define PART_SUMS (GROUP > 1 ? SUMS * GROUP : 1)

__kernel __attribute__((reqd_work_group_size(GROUP, 1, 1))) void sonah_images(
    __global uchar* arena, __global float2* restrict images, __global float4* restrict reports,
    __global uint* restrict taken, const int frequencies, const int frames, const int turn, const int half_number,
    const int age, __global uint* restrict status) {
  __local float2 y[KEPT > PART_SUMS ? KEPT : PART_SUMS];
  __local float priors[GRID * SHARERS];
  __local float costs[GRID];
  __local int record[NOISE_RECORD];
  __local int cost_sums[GRID];
  __local float item_parts[GROUP];
  const int item = (int)get_local_id(0);
  const int block = (int)get_group_id(0);
  const int frequency = (int)get_group_id(1) % frequencies;
  const int plane = (int)get_group_id(1) / frequencies % PLANES;
  const int frame = (int)get_group_id(1) / frequencies / PLANES;
  const int hologram = frame * frequencies + frequency;
  __global const int* restrict starts = (__global const int*)(arena + STARTS_AT) + frequency * LIST_STARTS;
  const Batch batch = {(__global const int*)(arena + NOISE_RECORDS_AT) + frequency * NOISE_RECORD,
                       (__global const int*)(arena + INCOMPLETE_AT), frequencies * NOISE_RECORD, half_number, age};
  __global const float2* restrict coefficients =
      (__global const float2*)(arena + COEFFICIENTS_AT) + (size_t)hologram * CLASSES * MODES;
  const int listed = starts[LIST_PARTS];
  for (int i = item; i < listed; i += GROUP) {
    y[i] = coefficients[((__global const int*)(arena + LIST_MODES_AT))[frequency * KEPT + i]];
  }
#if HAS_WAVES
  __local float2 amplitudes[MOST_WAVES];
  __global const float* table = (__global const float*)(arena + WAVES_AT) + (size_t)frequency * WAVE_SIZE;
  const Waves waves = {(int)table[0], table[1], table + WAVE_HEADER, amplitudes, plane, table[3], (int)table[2]};
  for (int wave = item; wave < waves.count; wave += GROUP) {
    amplitudes[wave] = ((__global const float2*)(arena + AMPLITUDES_AT))[hologram * MOST_WAVES + wave];
  }
#else
  const Waves waves = {0, 0.0f, 0, 0, 0, 0.0f, 0};
#endif
  sum_parts((__global const float*)(arena + SHARES_AT) + (size_t)hologram * MODE_PARTS * GRID, MODE_PARTS, priors,
            item);
  make_record(priors, (__global const float*)(arena + LOG_SUMS_AT) + frequency * GRID, CHANNELS, costs, record, item);
  const int words = 2 * MEMORY_WORDS;
  __global int* memories = (__global int*)(arena + MEMORIES_AT) + (turn * frequencies + frequency) * words;
  const int step = step_of_frame(&batch, record, memories, frame, cost_sums, item);
  const float noise = ((__global const float*)(arena + NOISES_AT))[step];
  const float prior = priors[step] / CHANNELS;
  const int reports_here = block == 0 && plane == 0;
  const float modes_energy = divide_modes((__global const float*)(arena + LIST_POWERS_AT) + frequency * KEPT,
                                          (__global const float*)(arena + IMAGE_POWERS_AT) + frequency * KEPT, noise,
                                          listed, y, reports_here, item_parts, item);

  // The report of the image, written by one group of each hologram.
  if (reports_here) {
    const float2 energies = wave_energies(&waves, item);
    const float of_waves = fmax(sum_of_items(energies.x, item_parts, item), 0.0f);
    const float of_either_side = fmax(sum_of_items(energies.y, item_parts, item), 0.0f);
    if (item == 0) {
      const float error =
          prior * (((__global const float*)(arena + ERRORS_AT))[frequency * GRID + step] + waves.error) +
          0.5f * of_either_side;
      const float cutoff = ((__global const float*)(arena + CUTOFFS_AT))[frequency * GRID + step];
      const float whole = modes_energy + of_waves + error;
      const float share = whole > 0.0f ? 1.0f / whole : 0.0f;
      reports[hologram] = (float4)(cutoff, -of_waves * share * waves.of_used, sqrt(noise * prior), sqrt(error * share));
    }
  }
  if (reports_here && frame == frames - 1) {
    __global int* after = (__global int*)(arena + MEMORIES_AT) + ((1 - turn) * frequencies + frequency) * words;
    remember(&batch, record, memories, after, frame, cost_sums, item);
  }

  const int rows = SUMS == 8 ? starts[6] : listed;
  __global const float* restrict factors =
      (__global const float*)(arena + FACTORS_AT) +
      ((size_t)(plane * ROWS_OF_ALL + starts[LIST_STARTS - 1]) * PIXEL_BLOCKS + (size_t)block * rows) * 2 * PIXEL_LANES;
  __global float2* restrict image = images + (size_t)get_group_id(1) * IMAGE_PIXELS;
#if GROUP == 1
  __local float2 pixels[SUMS * 32];
#if SUMS == 8
  for (int i = 0; i < 4; ++i) {
    sum_rows(factors, y + starts[i], starts[i], starts[i + 1], pixels + 32 * i);
  }
  for (int i = 4; i < 6; ++i) {
    sum_rows_pair(factors, y + starts[4], y + starts[5], starts[i], starts[i + 1], pixels + 64 * (i - 2),
                  pixels + 64 * (i - 2) + 32);
  }
#else
  for (int i = 0; i < SUMS; ++i) {
    sum_rows(factors, y + starts[i], starts[i], starts[i + 1], pixels + 32 * i);
  }
#endif
  for (int i = 0; i < VIEWS * 32; ++i) {
    float2 sums[SUMS];
#pragma unroll
    for (int k = 0; k < SUMS; ++k) {
      sums[k] = pixels[32 * k + i % 32];
    }
    store_pixel(image, arena, 32 * block + i % 32, i / 32, sums, &waves);
  }
#else
  sum_rows(factors, y, starts, y, item);
  for (int i = item; i < VIEWS * PIXEL_LANES; i += GROUP) {
    const int lane = i % PIXEL_LANES;
    float2 sums[SUMS];
#pragma unroll
    for (int k = 0; k < SUMS; ++k) {
      const float2 of_re = y[k * GROUP + lane];
      const float2 of_im = y[k * GROUP + PIXEL_LANES + lane];
      sums[k] = (float2)(of_re.x - of_im.y, of_re.y + of_im.x);
    }
    store_pixel(image, arena, PIXEL_LANES * block + lane, i / PIXEL_LANES, sums, &waves);
  }
#endif
  // Must come last: before the sums, PoCL 3.1 lets all items do it
  // (docs/decisions/0023-kernels-that-pocl-compiles-wrongly.md).
  if (reports_here && frequency == 0) {
    take_status(status, taken, frame, item, GROUP);
  }
}
