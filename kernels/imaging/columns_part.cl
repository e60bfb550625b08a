// The columns of K-space: the part of one work-group in one hologram. columns.cl has the formula and the buffers.

//! needs common/groups.cl
//! needs common/local_helper.cl
//! needs imaging/padded_lines.cl
//! needs imaging/spectrum_record.cl

//! arena SAMPLES EXTENSION_X EXTENSION_Y RAMPS WINDOW_Y ROOTS_Y TRANSFER SLICES KR
//! default STRIDE 96  // columns, padded to whole groups
//! default ROW_STRIDE 32
//! default PLANES 1  // planes of fields: an intensity's pressure and velocity count as two
//! default COLUMN_TILE 4  // vectors per group
//! default COLUMN_GROUP 128  // items per group
//! default EXTENSION_PER_IMAGE 1
//! default LOCAL_SAMPLES 1  // 1: samples are read from local memory
//! default X_LENGTH 32  // along x as LENGTH, BEFORE, PADDED, TAPS along y
//! default X_BEFORE 32
//! default X_PADDED 96
//! default X_TAPS 8
#define X_AFTER (X_PADDED - X_BEFORE - X_LENGTH)
#define X_STEPS (X_BEFORE > X_AFTER ? X_BEFORE : X_AFTER)
// Sums that an item computes in parallel.
#define AT_ONCE (LANES > 1 ? 4 : 1)
// Both edges' taps are added at once if no sample belongs to both.
#define SIDES_AT_ONCE (2 * X_TAPS <= X_LENGTH ? 2 : 1)
#define TAP_BLOCKS ((X_TAPS + AT_ONCE - 1) / AT_ONCE)
#define ROW_BLOCKS ((LENGTH + AT_ONCE - 1) / AT_ONCE)
#define WEIGHTS (X_LENGTH * COLUMN_TILE)
#define PADDING ((X_PADDED - X_LENGTH) * COLUMN_TILE)

// Loads D into W, [column][vector], at microphones, else into `edge`: the left side's steps, then the right side's.
LOCAL_HELPER void load_ramps(__global const float2* restrict ramps, __local FLOATV* weight_re,
                             __local FLOATV* weight_im, __local FLOATV* edge_re, __local FLOATV* edge_im,
                             const int item) {
  for (int i = item; i < X_PADDED * COLUMN_TILE; i += COLUMN_GROUP) {
    const int x = i / COLUMN_TILE;
    const int column = x - X_BEFORE;
    const int vector = i % COLUMN_TILE;
    const COMPLEXV value = LOAD_COMPLEX(ramps + x * STRIDE + vector * LANES);
    if (column >= 0 && column < X_LENGTH) {
      weight_re[column * COLUMN_TILE + vector] = value.even;
      weight_im[column * COLUMN_TILE + vector] = value.odd;
    } else {
      const int step = column < 0 ? X_BEFORE - 1 - x : x - X_LENGTH;
      edge_re[step * COLUMN_TILE + vector] = value.even;
      edge_im[step * COLUMN_TILE + vector] = value.odd;
    }
  }
}

// Adds the extension of the rows to W. Ends with a barrier.
LOCAL_HELPER void add_edges(__local const float2* extension, __local FLOATV* weight_re, __local FLOATV* weight_im,
                            __local const FLOATV* edge_re, __local const FLOATV* edge_im, const int item) {
  for (int first = 0; first < 2; first += SIDES_AT_ONCE) {
    for (int i = item; i < SIDES_AT_ONCE * TAP_BLOCKS * COLUMN_TILE; i += COLUMN_GROUP) {
      const int vector = i % COLUMN_TILE;
      const int first_tap = i / COLUMN_TILE % TAP_BLOCKS * AT_ONCE;
      const int right = first + i / (COLUMN_TILE * TAP_BLOCKS);
      const float side = right ? 1.0f : -1.0f;
      const int offset = (right ? X_BEFORE * COLUMN_TILE : 0) + vector;
      FLOATV sum_re[AT_ONCE];
      FLOATV sum_im[AT_ONCE];
#pragma unroll
      for (int t = 0; t < AT_ONCE; ++t) {
        sum_re[t] = 0.0f;
        sum_im[t] = 0.0f;
      }
#pragma unroll 4
      for (int step = 0; step < (right ? X_AFTER : X_BEFORE); ++step) {
        const FLOATV d_re = edge_re[step * COLUMN_TILE + offset];
        const FLOATV d_im = edge_im[step * COLUMN_TILE + offset];
#pragma unroll
        for (int t = 0; t < AT_ONCE; ++t) {
          const float2 factor = extension[step * X_TAPS + min(first_tap + t, X_TAPS - 1)];
          const float imaginary = side * factor.y;
          sum_re[t] += factor.x * d_re;
          sum_im[t] += factor.x * d_im;
          sum_re[t] -= imaginary * d_im;
          sum_im[t] += imaginary * d_re;
        }
      }
#pragma unroll
      for (int t = 0; t < AT_ONCE; ++t) {
        const int tap = first_tap + t;
        if (tap < X_TAPS) {
          const int to = (right ? X_LENGTH - 1 - tap : tap) * COLUMN_TILE + vector;
          weight_re[to] += sum_re[t];
          weight_im[to] += sum_im[t];
        }
      }
    }
    SYNC(COLUMN_GROUP);
  }
}

#if MEASURES_CUTOFF
// 2^x for x <= 0; relative error 2e-7.
static inline FLOATV power_of_two(FLOATV x) {
#if LANES == 1
  return native_exp2(x);
#else
  x = fmax(x, -120.0f);
  const FLOATV whole = rint(x);
  const FLOATV part = x - whole;
  FLOATV sum = part * 1.535336188e-4f + 1.339887440e-3f;
  sum = sum * part + 9.618437358e-3f;
  sum = sum * part + 5.550332471e-2f;
  sum = sum * part + 2.402264791e-1f;
  sum = sum * part + 6.931472029e-1f;
  sum = sum * part + 1.0f;
  return sum * JOIN(as_float, LANES)((JOIN(convert_int, LANES)(whole) + 127) << 23);
#endif
}

// H of this group's columns, [ky from 0 up][vector]; H is even in ky.
LOCAL_HELPER void fill_kept(__local FLOATV* kept, __global const float* kr, const float4 state, const int item) {
  const float scale = 1.44269504f / state.w;
  const float per_kr = scale / state.x;
  for (int i = item; i < (PADDED / 2 + 1) * COLUMN_TILE; i += COLUMN_GROUP) {
    __global const float* from = kr + i / COLUMN_TILE * STRIDE + i % COLUMN_TILE * LANES;
    const FLOATV x = scale - per_kr * LOAD_FLOATS(from);
    const FLOATV half_decay = 0.5f * power_of_two(-fabs(x));
    kept[i] = select(half_decay, 1.0f - half_decay, x >= 0.0f);
  }
}
#endif

// Local memory of a group.
typedef struct {
  FLOATV re[PLACES * COLUMN_TILE];
  FLOATV im[PLACES * COLUMN_TILE];
  FLOATV planes[PLANES > 1 ? 2 * PLACES* COLUMN_TILE : 1];  // re, im
  FLOATV weight_re[WEIGHTS];
  FLOATV weight_im[WEIGHTS];
  FLOATV edge_re[PADDING + 1];
  FLOATV edge_im[PADDING + 1];
  float2 taps_x[X_STEPS * X_TAPS + 1];
  float2 taps[STEPS * TAPS + 1];
#if LOCAL_SAMPLES
  float2 aperture[LENGTH * X_LENGTH];
#endif
#if MEASURES_CUTOFF
  FLOATV kept[(PADDED / 2 + 1) * COLUMN_TILE];
  float8 ring_errors[RINGS / 4];
#endif
} ColumnsSpace;

// Part of the work that does not depend on the aperture, for COLUMN_TILE vectors of columns.
LOCAL_HELPER void begin_columns(__local ColumnsSpace* space, __global const uchar* arena, const int part) {
  __global const float2* restrict ramps = (__global const float2*)(arena + RAMPS_AT) + part * COLUMN_TILE * LANES;
  load_ramps(ramps, space->weight_re, space->weight_im, space->edge_re, space->edge_im, (int)get_local_id(0));
}

// Remaining work on these columns, for one hologram.
LOCAL_HELPER void make_columns(__local ColumnsSpace* space, __global uchar* arena, const int frequencies,
                               const int half_number, const int age, const int part, const int image) {
  __global const float2* samples = (__global const float2*)(arena + SAMPLES_AT);
  __global const float2* extension_x = (__global const float2*)(arena + EXTENSION_X_AT);
  __global const float2* extension = (__global const float2*)(arena + EXTENSION_Y_AT);
  __global const float* restrict window = (__global const float*)(arena + WINDOW_Y_AT);
  __global const float2* restrict roots = (__global const float2*)(arena + ROOTS_Y_AT);
  __global const float2* restrict transfer = (__global const float2*)(arena + TRANSFER_AT);
  __global float2* slices = (__global float2*)(arena + SLICES_AT);
  __local FLOATV* re = space->re;
  __local FLOATV* im = space->im;
  __local FLOATV* plane_re = PLANES > 1 ? space->planes : space->re;
  __local FLOATV* plane_im = PLANES > 1 ? space->planes + PLACES * COLUMN_TILE : space->im;
  __local FLOATV* weight_re = space->weight_re;
  __local FLOATV* weight_im = space->weight_im;
  __local FLOATV* edge_re = space->edge_re;
  __local FLOATV* edge_im = space->edge_im;
  const int item = (int)get_local_id(0);
  const int first_vector = part * COLUMN_TILE;
  const int frame = image / frequencies;
  const int frequency = image % frequencies;

#if LOCAL_SAMPLES
  __local float2* aperture = space->aperture;
  for (int i = item; i < LENGTH * X_LENGTH; i += COLUMN_GROUP) {
    aperture[i] = samples[image * LENGTH * X_LENGTH + i];
  }
#else
  __global const float2* restrict aperture = samples + image * LENGTH * X_LENGTH;
#endif
#if MEASURES_CUTOFF
  __local FLOATV* kept = space->kept;
  __global const float* records = (__global const float*)(arena + SPECTRA_AT);
  const float4 state = settled_state(arena, frame, half_number, age, frequency, frequencies);
  fill_kept(kept, (__global const float*)(arena + KR_AT) + first_vector * LANES, state, item);
  if (first_vector == 0) {
    for (int i = item; i < RINGS / 4; i += COLUMN_GROUP) {
      space->ring_errors[i] =
          error_of_rings(4 * i, records + image * RECORD, (__global const float*)(arena + RING_BINS_AT), state,
                         ((__global const float2*)(arena + LIMITS_AT))[frequency].x);
    }
  }
#endif
  for (int i = item; i < X_STEPS * X_TAPS; i += COLUMN_GROUP) {
    space->taps_x[i] = extension_x[EXTENSION_PER_IMAGE * image * X_STEPS * X_TAPS + i];
  }
  for (int i = item; i < STEPS * TAPS; i += COLUMN_GROUP) {
    space->taps[i] = extension[EXTENSION_PER_IMAGE * image * STEPS * TAPS + i];
  }
  SYNC(COLUMN_GROUP);
#if MEASURES_CUTOFF
  if (first_vector == 0 && item == 0) {
    float8 error = 0.0f;
    for (int i = 0; i < RINGS / 4; ++i) {
      error += space->ring_errors[i];
    }
    ((__global float4*)(arena + FIGURES_AT))[image] = report_of(state, error);
  }
#endif
  add_edges(space->taps_x, weight_re, weight_im, edge_re, edge_im, item);
  for (int i = item; i < ROW_BLOCKS * COLUMN_TILE; i += COLUMN_GROUP) {
    const int vector = i / ROW_BLOCKS;
    const int first_row = i % ROW_BLOCKS * AT_ONCE;
    FLOATV sum_re[AT_ONCE];
    FLOATV sum_im[AT_ONCE];
#pragma unroll
    for (int r = 0; r < AT_ONCE; ++r) {
      sum_re[r] = 0.0f;
      sum_im[r] = 0.0f;
    }
#pragma unroll 8
    for (int column = 0; column < X_LENGTH; ++column) {
      const FLOATV w_re = weight_re[column * COLUMN_TILE + vector];
      const FLOATV w_im = weight_im[column * COLUMN_TILE + vector];
#pragma unroll
      for (int r = 0; r < AT_ONCE; ++r) {
        const float2 sample = aperture[column * LENGTH + min(first_row + r, LENGTH - 1)];
        sum_re[r] += sample.x * w_re;
        sum_im[r] += sample.x * w_im;
        sum_re[r] -= sample.y * w_im;
        sum_im[r] += sample.y * w_re;
      }
    }
#pragma unroll
    for (int r = 0; r < AT_ONCE; ++r) {
      const int to = PLACE_OF(BEFORE + min(first_row + r, LENGTH - 1)) * COLUMN_TILE + vector;
      re[to] = sum_re[r];
      im[to] = sum_im[r];
    }
  }
  SYNC(COLUMN_GROUP);
  extend_wings(re, im, space->taps, window, item, COLUMN_GROUP, COLUMN_TILE);
  SYNC(COLUMN_GROUP);
  outer_forward(re, im, roots, item, COLUMN_GROUP, COLUMN_TILE);
  SYNC(COLUMN_GROUP);

  for (int plane = 0; plane < PLANES; ++plane) {
    for (int i = item; i < OUTER * COLUMN_TILE; i += COLUMN_GROUP) {
      const int vector = i % COLUMN_TILE;
      const int k1 = i / COLUMN_TILE;
      __global const float2* factors =
          transfer + ((plane * frequencies + frequency) * PADDED + k1) * STRIDE + (first_vector + vector) * LANES;
      FLOATV x_re[INNER];
      FLOATV x_im[INNER];
      FLOATV y_re[INNER];
      FLOATV y_im[INNER];
      inner_forward(re, im, x_re, x_im, k1, vector, COLUMN_TILE);
#pragma unroll
      for (int q = 0; q < INNER; ++q) {
        const COMPLEXV factor = LOAD_COMPLEX(factors + OUTER * INNER_BIN(q) * STRIDE);
#if MEASURES_CUTOFF
        const int ky = k1 + OUTER * INNER_BIN(q);
        const FLOATV keep = kept[min(ky, PADDED - ky) * COLUMN_TILE + vector];
        x_re[q] *= keep;
        x_im[q] *= keep;
#endif
        y_re[INNER_BIN(q)] = x_re[q] * factor.even - x_im[q] * factor.odd;
        y_im[INNER_BIN(q)] = x_re[q] * factor.odd + x_im[q] * factor.even;
      }
      inner_backward(plane_re, plane_im, y_re, y_im, roots, k1, vector, COLUMN_TILE);
    }
    SYNC(COLUMN_GROUP);
    __global float2* slice =
        slices + (size_t)((frame * PLANES + plane) * frequencies + frequency) * STRIDE * ROW_STRIDE;
    for (int i = item; i < INNER * COLUMN_TILE; i += COLUMN_GROUP) {
      const int vector = i % COLUMN_TILE;
      const int n2 = i / COLUMN_TILE;
      FLOATV x_re[OUTER];
      FLOATV x_im[OUTER];
      outer_backward(plane_re, plane_im, x_re, x_im, n2, vector, COLUMN_TILE);
#pragma unroll
      for (int q = 0; q < OUTER; ++q) {
        const int row = INNER * OUTER_BIN(q) + n2 - BEFORE;
        if (row >= 0 && row < LENGTH) {
          store_lines(slice + (first_vector + vector) * LANES * ROW_STRIDE + row, ROW_STRIDE, LANES, x_re[q], x_im[q]);
        }
      }
    }
    if (PLANES > 1) {
      SYNC(COLUMN_GROUP);
    }
  }
}
