// From columns of K-space to rows of the image: the last transform, along x, for the columns of the aperture. Include
// after padded_lines.cl with that file's macros set for x.
//
//   slice   float2 [STRIDE columns kx][ROW_STRIDE], rows fastest, scaled
//   image   float2 [row][column], Pa or m/s

#ifndef LINES  // rows
#define LINES 32
#endif
#ifndef STRIDE
#define STRIDE 96
#endif
#ifndef ROW_STRIDE
#define ROW_STRIDE 32
#endif

// `tile` vectors of rows from `first_row` on, by `group` items, of which this is `item`.
static inline void make_rows(__local FLOATV* re, __local FLOATV* im, __global const float2* slice,
                             __global const float2* restrict roots, __global float2* restrict image,
                             const int first_row, const int item, const int group, const int tile) {
  for (int i = item; i < OUTER * tile; i += group) {
    const int vector = i % tile;
    const int k1 = i / tile;
    FLOATV x_re[INNER];
    FLOATV x_im[INNER];
#pragma unroll
    for (int k2 = 0; k2 < INNER; ++k2) {
      const COMPLEXV value = LOAD_COMPLEX(slice + (k1 + OUTER * k2) * ROW_STRIDE + first_row + vector * LANES);
      x_re[k2] = value.even;
      x_im[k2] = value.odd;
    }
    inner_backward(re, im, x_re, x_im, roots, k1, vector, tile);
  }
  SYNC(group);
  for (int i = item; i < INNER * tile; i += group) {
    const int vector = i % tile;
    const int n2 = i / tile;
    FLOATV x_re[OUTER];
    FLOATV x_im[OUTER];
    outer_backward(re, im, x_re, x_im, n2, vector, tile);
    const int row = first_row + vector * LANES;
#pragma unroll
    for (int q = 0; q < OUTER; ++q) {
      const int column = INNER * OUTER_BIN(q) + n2 - BEFORE;
      if (column >= 0 && column < LENGTH) {
        store_lines(image + row * LENGTH + column, LENGTH, LINES - row, x_re[q], x_im[q]);
      }
    }
  }
}
