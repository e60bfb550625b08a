// Convolution, first half: the sums of beamform.cl over a regular array for planes of pixels parallel to it, whose step
// is the pitch divided or multiplied by a whole number. Pixels and microphones then lie on a common lattice, up to one
// offset, and the sum over microphones is the circular convolution
//   sums[row][column] = (h * x)[PIXEL_STEP_Y row][PIXEL_STEP column],
//   x[MICROPHONE_STEP_Y r][MICROPHONE_STEP c] = g P[r][c], 0 elsewhere,   h[i][j] = w(r) e^{+jkr} at that distance,
// computed as the inverse transform of H X. `transfer` is H, by the host in double precision. The diagonals are the
// convolution of |g P|^2 with w^2: the second field, with REMOVAL.
// This half transforms the microphones' rows along x, columns along y, multiplies by H, and transforms back for the
// rows of pixels. The macros of padded_lines.cl are set for y. imaging/columns.cl does the same for holography.
//
//   pressures  float2 [window][frequency][row][column], g P, Pa
//   ramps      float2 [microphone column][STRIDE], e^{-2 pi j MICROPHONE_STEP c kx / points}
//   roots      of padded_lines.cl
//   transfer   float2 [plane][FREQUENCIES, and w^2][ky][STRIDE], H over the number of points
//   slices     float2 [window][plane][field][frequency][STRIDE columns kx][ROW_STRIDE], rows of pixels fastest
//
// Launch: (GROUP * vectors of LANES kx / VECTOR_TILE, windows * FIELDS * FREQUENCIES), GROUP items per group, the first
//   of the windows `first_window`.

//! needs common/complex.cl
//! needs common/groups.cl
//! needs common/local_helper.cl
//! needs imaging/padded_lines.cl

//! default FREQUENCIES 1
//! default FIELDS 1  // 2: with diagonals
//! default PLANES 1
//! default ROWS 32  // rows of microphones
//! default COLUMNS 32
//! default MICROPHONE_STEP 1  // along y, in points
//! default PIXEL_STEP 1
//! default PIXEL_ROWS 64
//! default STRIDE 96  // columns kx, padded to whole groups
//! default ROW_STRIDE 64
//! default VECTOR_TILE 4  // vectors per group
//! default GROUP 128  // items per group
//! default LOCAL_SAMPLES 1  // 1: microphones are read from local memory
#define AT_ONCE (LANES > 1 ? 4 : 1)
#define ROW_BLOCKS ((ROWS + AT_ONCE - 1) / AT_ONCE)
#define LINE (COLUMNS + 1)  // puts rows in different banks

// X along x, for this group's kx, at the microphones' positions along y.
LOCAL_HELPER void transform_rows(__local FLOATV* re, __local FLOATV* im, __local const FLOATV* ramp_re,
                                 __local const FLOATV* ramp_im,
#if LOCAL_SAMPLES
                                 __local const float2* samples,
#else
                                 __global const float2* samples,
#endif
                                 const int field, const int item) {
  for (int i = item; i < ROW_BLOCKS * VECTOR_TILE; i += GROUP) {
    const int vector = i % VECTOR_TILE;
    const int first_row = i / VECTOR_TILE * AT_ONCE;
    FLOATV sum_re[AT_ONCE];
    FLOATV sum_im[AT_ONCE];
#pragma unroll
    for (int r = 0; r < AT_ONCE; ++r) {
      sum_re[r] = 0.0f;
      sum_im[r] = 0.0f;
    }
#pragma unroll 4
    for (int column = 0; column < COLUMNS; ++column) {
      const FLOATV w_re = ramp_re[column * VECTOR_TILE + vector];
      const FLOATV w_im = ramp_im[column * VECTOR_TILE + vector];
#pragma unroll
      for (int r = 0; r < AT_ONCE; ++r) {
        float2 sample = samples[min(first_row + r, ROWS - 1) * (LOCAL_SAMPLES ? LINE : COLUMNS) + column];
        if (FIELDS > 1 && field > 0) {
          sample = (float2)(squared_magnitude(sample), 0.0f);
        }
        sum_re[r] += sample.x * w_re;
        sum_im[r] += sample.x * w_im;
        sum_re[r] -= sample.y * w_im;
        sum_im[r] += sample.y * w_re;
      }
    }
#pragma unroll
    for (int r = 0; r < AT_ONCE; ++r) {
      const int to = PLACE_OF(MICROPHONE_STEP * min(first_row + r, ROWS - 1)) * VECTOR_TILE + vector;
      re[to] = sum_re[r];
      im[to] = sum_im[r];
    }
  }
}

__kernel __attribute__((reqd_work_group_size(GROUP, 1, 1))) void das_columns(__global const float2* restrict pressures,
                                                                             __global const float2* restrict ramps,
                                                                             __global const float2* restrict roots,
                                                                             __global const float2* restrict transfer,
                                                                             __global float2* restrict slices,
                                                                             const int first_window) {
  __local FLOATV re[PLACES * VECTOR_TILE];
  __local FLOATV im[PLACES * VECTOR_TILE];
#if PLANES > 1
  __local FLOATV plane_re[PLACES * VECTOR_TILE];
  __local FLOATV plane_im[PLACES * VECTOR_TILE];
#else
  __local FLOATV* plane_re = re;
  __local FLOATV* plane_im = im;
#endif
  __local FLOATV ramp_re[COLUMNS * VECTOR_TILE];
  __local FLOATV ramp_im[COLUMNS * VECTOR_TILE];
  const int item = (int)get_local_id(0);
  const int first_vector = (int)get_group_id(0) * VECTOR_TILE;
  const int image = (int)get_group_id(1);
  const int frequency = image % FREQUENCIES;
  const int field = image / FREQUENCIES % FIELDS;
  const int window = image / (FREQUENCIES * FIELDS);
  __global const float2* from =
      pressures + ((size_t)(first_window + window) * FREQUENCIES + frequency) * ROWS * COLUMNS;

#if LOCAL_SAMPLES
  __local float2 samples[ROWS * LINE];
  for (int i = item; i < ROWS * COLUMNS; i += GROUP) {
    samples[i / COLUMNS * LINE + i % COLUMNS] = from[i];
  }
#else
  __global const float2* samples = from;
#endif
  for (int i = item; i < COLUMNS * VECTOR_TILE; i += GROUP) {
    const COMPLEXV value = LOAD_COMPLEX(ramps + i / VECTOR_TILE * STRIDE + (first_vector + i % VECTOR_TILE) * LANES);
    ramp_re[i] = value.even;
    ramp_im[i] = value.odd;
  }
  for (int i = item; i < PLACES * VECTOR_TILE; i += GROUP) {
    re[i] = 0.0f;
    im[i] = 0.0f;
  }
  SYNC(GROUP);
  transform_rows(re, im, ramp_re, ramp_im, samples, field, item);
  SYNC(GROUP);
  outer_forward(re, im, roots, item, GROUP, VECTOR_TILE);
  SYNC(GROUP);

  for (int plane = 0; plane < PLANES; ++plane) {
    for (int i = item; i < OUTER * VECTOR_TILE; i += GROUP) {
      const int vector = i % VECTOR_TILE;
      const int k1 = i / VECTOR_TILE;
      const size_t spectrum = (size_t)plane * (FREQUENCIES + FIELDS - 1) + (field > 0 ? FREQUENCIES : frequency);
      __global const float2* factors = transfer + (spectrum * PADDED + k1) * STRIDE + (first_vector + vector) * LANES;
      FLOATV x_re[INNER];
      FLOATV x_im[INNER];
      FLOATV y_re[INNER];
      FLOATV y_im[INNER];
      inner_forward(re, im, x_re, x_im, k1, vector, VECTOR_TILE);
#pragma unroll
      for (int q = 0; q < INNER; ++q) {
        const COMPLEXV factor = LOAD_COMPLEX(factors + OUTER * INNER_BIN(q) * STRIDE);
        y_re[INNER_BIN(q)] = x_re[q] * factor.even - x_im[q] * factor.odd;
        y_im[INNER_BIN(q)] = x_re[q] * factor.odd + x_im[q] * factor.even;
      }
      inner_backward(plane_re, plane_im, y_re, y_im, roots, k1, vector, VECTOR_TILE);
    }
    SYNC(GROUP);
    __global float2* slice =
        slices + (size_t)(((window * PLANES + plane) * FIELDS + field) * FREQUENCIES + frequency) * STRIDE * ROW_STRIDE;
    for (int i = item; i < INNER * VECTOR_TILE; i += GROUP) {
      const int vector = i % VECTOR_TILE;
      const int n2 = i / VECTOR_TILE;
      FLOATV x_re[OUTER];
      FLOATV x_im[OUTER];
      outer_backward(plane_re, plane_im, x_re, x_im, n2, vector, VECTOR_TILE);
#pragma unroll
      for (int q = 0; q < OUTER; ++q) {
        const int point = INNER * OUTER_BIN(q) + n2;
        if (point % PIXEL_STEP == 0 && point < PIXEL_STEP * PIXEL_ROWS) {
          store_lines(slice + (first_vector + vector) * LANES * ROW_STRIDE + point / PIXEL_STEP, ROW_STRIDE, LANES,
                      x_re[q], x_im[q]);
        }
      }
    }
    if (PLANES > 1) {
      SYNC(GROUP);
    }
  }
}
