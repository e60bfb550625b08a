// Convolution, second half: the last transform, along x, for the columns of pixels. The macros of padded_lines.cl are set
// for x; das_columns.cl has the formula.
//
//   slices     float2 [window][plane][field][frequency][STRIDE columns kx][ROW_STRIDE], rows of pixels fastest
//   roots      of padded_lines.cl
//   sums, diagonals  as in beamform.cl; pixels are [plane][row][column]
//
// Launch: (GROUP * vectors of LANES rows / VECTOR_TILE, windows * PLANES * FIELDS * FREQUENCIES), GROUP items per
// group.

//! needs common/groups.cl
//! needs imaging/padded_lines.cl
//! needs processors/beamform/sizes.cl

//! default FIELDS 1  // 2: with diagonals
//! default PLANES 1
//! default PIXEL_STEP 1  // along x, in points
//! default PIXEL_ROWS 64
//! default PIXEL_COLUMNS 64
//! default STRIDE 96
//! default ROW_STRIDE 64
//! default VECTOR_TILE 4  // vectors per group
//! default GROUP 64  // items per group

#if FIELDS > 1
// Stores real parts, like store_lines().
static inline void store_real_lines(__global float* to, const int lines, const FLOATV re) {
#if LANES == 1
  if (lines > 0) {
    *to = re;
  }
#else
  float lane_re[LANES];
  STORE_FLOATS(re, lane_re);
#pragma unroll
  for (int lane = 0; lane < LANES; ++lane) {
    if (lane < lines) {
      to[lane * PIXEL_COLUMNS] = lane_re[lane];
    }
  }
#endif
}
#endif

__kernel __attribute__((reqd_work_group_size(GROUP, 1, 1))) void das_rows(__global const float2* restrict slices,
                                                                          __global const float2* restrict roots,
                                                                          __global float2* restrict sums,
                                                                          __global float* restrict diagonals) {
  __local FLOATV re[PLACES * VECTOR_TILE];
  __local FLOATV im[PLACES * VECTOR_TILE];
  const int item = (int)get_local_id(0);
  const int first_row = (int)get_group_id(0) * VECTOR_TILE * LANES;
  const int image = (int)get_group_id(1);
  __global const float2* slice = slices + (size_t)image * STRIDE * ROW_STRIDE + first_row;
  for (int i = item; i < OUTER * VECTOR_TILE; i += GROUP) {
    const int vector = i % VECTOR_TILE;
    const int k1 = i / VECTOR_TILE;
    FLOATV x_re[INNER];
    FLOATV x_im[INNER];
#pragma unroll
    for (int k2 = 0; k2 < INNER; ++k2) {
      const COMPLEXV value = LOAD_COMPLEX(slice + (k1 + OUTER * k2) * ROW_STRIDE + vector * LANES);
      x_re[k2] = value.even;
      x_im[k2] = value.odd;
    }
    inner_backward(re, im, x_re, x_im, roots, k1, vector, VECTOR_TILE);
  }
  SYNC(GROUP);
  const int frequency = image % FREQUENCIES;
  const int field = image / FREQUENCIES % FIELDS;
  const int plane = image / (FREQUENCIES * FIELDS) % PLANES;
  const int window = image / (FREQUENCIES * FIELDS * PLANES);
  const size_t at = ((size_t)window * FREQUENCIES + frequency) * PIXEL_STRIDE + plane * PIXEL_ROWS * PIXEL_COLUMNS;
  for (int i = item; i < INNER * VECTOR_TILE; i += GROUP) {
    const int vector = i % VECTOR_TILE;
    const int n2 = i / VECTOR_TILE;
    const int row = first_row + vector * LANES;
    FLOATV x_re[OUTER];
    FLOATV x_im[OUTER];
    outer_backward(re, im, x_re, x_im, n2, vector, VECTOR_TILE);
#pragma unroll
    for (int q = 0; q < OUTER; ++q) {
      const int point = INNER * OUTER_BIN(q) + n2;
      if (point % PIXEL_STEP == 0 && point < PIXEL_STEP * PIXEL_COLUMNS) {
        const size_t to = at + row * PIXEL_COLUMNS + point / PIXEL_STEP;
#if FIELDS > 1
        if (field > 0) {
          store_real_lines(diagonals + to, PIXEL_ROWS - row, x_re[q]);
          continue;
        }
#endif
        store_lines(sums + to, PIXEL_COLUMNS, PIXEL_ROWS - row, x_re[q], x_im[q]);
      }
    }
  }
}
