// The columns of K-space: continued and transformed along y, filtered and propagated, transformed back for the rows of
// the aperture. Include after padded_lines.cl with that file's macros set for y.
//
//   row_spectra  float2 [frame][frequency][row][STRIDE], transforms along x, Pa
//   extension    float2 [frame][frequency][step][tap], or [step][tap] when EXTENSION_PER_IMAGE is 0
//   window, roots of padded_lines.cl
//   transfer     float2 [plane][frequency][ky][STRIDE], filter times propagator, scaled by 1 / padded points
//   frequencies  of a frame
//   slices       float2 [frame][plane][frequency][STRIDE columns kx][ROW_STRIDE], rows fastest
//
// Launch: (COLUMN_GROUP * vectors of columns / COLUMN_TILE, frames * frequencies), COLUMN_GROUP items a group, each
// group with COLUMN_TILE vectors of LANES columns.

#ifndef STRIDE  // columns with what fills the last group's
#define STRIDE 96
#endif
#ifndef ROW_STRIDE
#define ROW_STRIDE 32
#endif
#ifndef PLANES
#define PLANES 1
#endif
#ifndef COLUMN_TILE  // vectors a group
#define COLUMN_TILE 4
#endif
#ifndef COLUMN_GROUP  // items a group
#define COLUMN_GROUP 128
#endif
#ifndef EXTENSION_PER_IMAGE
#define EXTENSION_PER_IMAGE 1
#endif

__kernel __attribute__((reqd_work_group_size(COLUMN_GROUP, 1, 1))) void columns(
    __global const float2* restrict row_spectra, __global const float2* restrict extension,
    __global const float* restrict window, __global const float2* restrict roots,
    __global const float2* restrict transfer, __global float2* restrict slices, const int frequencies) {
  __local FLOATV re[PLACES * COLUMN_TILE];
  __local FLOATV im[PLACES * COLUMN_TILE];
#if PLANES > 1
  __local FLOATV plane_re[PLACES * COLUMN_TILE];
  __local FLOATV plane_im[PLACES * COLUMN_TILE];
#else
  __local FLOATV* plane_re = re;
  __local FLOATV* plane_im = im;
#endif
  __local float2 taps[STEPS * TAPS + 1];
  const int item = (int)get_local_id(0);
  const int first_vector = (int)get_group_id(0) * COLUMN_TILE;
  const int image = (int)get_group_id(1);
  const int frame = image / frequencies;
  const int frequency = image % frequencies;

  for (int i = item; i < STEPS * TAPS; i += COLUMN_GROUP) {
    taps[i] = extension[EXTENSION_PER_IMAGE * image * STEPS * TAPS + i];
  }
  for (int i = item; i < LENGTH * COLUMN_TILE; i += COLUMN_GROUP) {
    const int row = i / COLUMN_TILE;
    const int vector = first_vector + i % COLUMN_TILE;
    const COMPLEXV value = LOAD_COMPLEX(row_spectra + (image * LENGTH + row) * STRIDE + vector * LANES);
    re[PLACE_OF(BEFORE + row) * COLUMN_TILE + i % COLUMN_TILE] = value.even;
    im[PLACE_OF(BEFORE + row) * COLUMN_TILE + i % COLUMN_TILE] = value.odd;
  }
  SYNC(COLUMN_GROUP);
  extend_wings(re, im, taps, window, item, COLUMN_GROUP, COLUMN_TILE);
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
        y_re[INNER_BIN(q)] = x_re[q] * factor.even - x_im[q] * factor.odd;
        y_im[INNER_BIN(q)] = x_re[q] * factor.odd + x_im[q] * factor.even;
      }
      inner_backward(plane_re, plane_im, y_re, y_im, roots, k1, vector, COLUMN_TILE);
    }
    SYNC(COLUMN_GROUP);
    __global float2* slice = slices + ((frame * PLANES + plane) * frequencies + frequency) * STRIDE * ROW_STRIDE;
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
