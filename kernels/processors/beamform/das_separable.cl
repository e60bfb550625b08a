// The sums of beamform.cl for plane waves from a grid of angles before a regular array, whose phases are products:
//   sums[e][a] = sum_r Y[r][e] T[r][a],   T[r][a] = sum_c X[c][a] g P[r][c]
//   X[c][a] = e^{-jk x_c sin(azimuth a)},   Y[r][e] = e^{-jk y_r sin(elevation e)}
//   diagonals[e][a] = sum_m |g_m P_m|^2 with REMOVAL
// X and Y are computed in double precision, so that their phases have no rounding error of the array's size.
//
//   pressures   float2 [window][frequency][row][column], g P, Pa
//   steering_x  float  [frequency][re, im][column][X_STRIDE azimuths]
//   steering_y  float2 [frequency][row][ELEVATIONS]
//   sums, diagonals  as in beamform.cl; pixels are [elevation][azimuth]
//
// Launch: (GROUP * vectors of LANES azimuths / VECTOR_TILE, chunks of CHUNK elevations, windows * FREQUENCIES), GROUP
//   items per group, the first of the windows `first_window`. Local memory: 8 ROWS VECTOR_TILE LANES + 4 ROWS bytes.

//! needs common/complex.cl
//! needs common/groups.cl
//! needs processors/beamform/das_lanes.cl
//! needs processors/beamform/sizes.cl

//! default ROWS 8
//! default COLUMNS 8
//! default AZIMUTHS 8
//! default ELEVATIONS 8
//! default X_STRIDE 8  // azimuths, padded to whole groups
//! default CHUNK 8
//! default VECTOR_TILE 8  // vectors per group
//! default GROUP 64  // items per group
// Sums that an item computes in parallel.
#define AT_ONCE 4
#define ROW_BLOCKS ((ROWS + AT_ONCE - 1) / AT_ONCE)
#define CHUNK_BLOCKS ((CHUNK + AT_ONCE - 1) / AT_ONCE)

__kernel __attribute__((reqd_work_group_size(GROUP, 1, 1))) void das_separable(
    __global const float2* restrict pressures, __global const float* restrict steering_x,
    __global const float2* restrict steering_y, __global float2* restrict sums, __global float* restrict diagonals,
    const int first_window) {
  __local FLOATV t_re[ROWS * VECTOR_TILE];
  __local FLOATV t_im[ROWS * VECTOR_TILE];
#if REMOVAL
  __local float squares[ROWS];
#endif
  const int item = (int)get_local_id(0);
  const int first_vector = (int)get_group_id(0) * VECTOR_TILE;
  const int first_elevation = (int)get_group_id(1) * CHUNK;
  const int image = (int)get_group_id(2);
  const int f = image % FREQUENCIES;
  pressures += ((size_t)first_window * FREQUENCIES + image) * ROWS * COLUMNS;
  steering_x += (size_t)f * 2 * COLUMNS * X_STRIDE;
  steering_y += (size_t)f * ROWS * ELEVATIONS;

  for (int i = item; i < ROW_BLOCKS * VECTOR_TILE; i += GROUP) {
    const int vector = i % VECTOR_TILE;
    const int first_row = i / VECTOR_TILE * AT_ONCE;
    __global const float* from = steering_x + (first_vector + vector) * LANES;
    FLOATV sum_re[AT_ONCE];
    FLOATV sum_im[AT_ONCE];
#pragma unroll
    for (int r = 0; r < AT_ONCE; ++r) {
      sum_re[r] = 0.0f;
      sum_im[r] = 0.0f;
    }
    for (int column = 0; column < COLUMNS; ++column) {
      const FLOATV x_re = LOAD_FLOATS(from + column * X_STRIDE);
      const FLOATV x_im = LOAD_FLOATS(from + (COLUMNS + column) * X_STRIDE);
#pragma unroll
      for (int r = 0; r < AT_ONCE; ++r) {
        const float2 p = pressures[min(first_row + r, ROWS - 1) * COLUMNS + column];
        sum_re[r] += p.x * x_re;
        sum_re[r] -= p.y * x_im;
        sum_im[r] += p.x * x_im;
        sum_im[r] += p.y * x_re;
      }
    }
#pragma unroll
    for (int r = 0; r < AT_ONCE; ++r) {
      const int to = min(first_row + r, ROWS - 1) * VECTOR_TILE + vector;
      t_re[to] = sum_re[r];
      t_im[to] = sum_im[r];
    }
  }
#if REMOVAL
  for (int row = item; row < ROWS; row += GROUP) {
    float sum = 0.0f;
    for (int column = 0; column < COLUMNS; ++column) {
      const float2 p = pressures[row * COLUMNS + column];
      sum += squared_magnitude(p);
    }
    squares[row] = sum;
  }
#endif
  SYNC(GROUP);
#if REMOVAL
  float diagonal = 0.0f;
  for (int row = 0; row < ROWS; ++row) {
    diagonal += squares[row];
  }
#endif
  const size_t at = (size_t)image * PIXEL_STRIDE;
  for (int i = item; i < CHUNK_BLOCKS * VECTOR_TILE; i += GROUP) {
    const int vector = i % VECTOR_TILE;
    const int first = first_elevation + i / VECTOR_TILE * AT_ONCE;
    FLOATV sum_re[AT_ONCE];
    FLOATV sum_im[AT_ONCE];
#pragma unroll
    for (int e = 0; e < AT_ONCE; ++e) {
      sum_re[e] = 0.0f;
      sum_im[e] = 0.0f;
    }
    for (int row = 0; row < ROWS; ++row) {
      const FLOATV re = t_re[row * VECTOR_TILE + vector];
      const FLOATV im = t_im[row * VECTOR_TILE + vector];
#pragma unroll
      for (int e = 0; e < AT_ONCE; ++e) {
        const float2 y = steering_y[row * ELEVATIONS + min(first + e, ELEVATIONS - 1)];
        sum_re[e] += y.x * re;
        sum_re[e] -= y.y * im;
        sum_im[e] += y.x * im;
        sum_im[e] += y.y * re;
      }
    }
    const int azimuth = (first_vector + vector) * LANES;
#pragma unroll
    for (int e = 0; e < AT_ONCE; ++e) {
      if (first + e < min(first_elevation + CHUNK, ELEVATIONS)) {
        const size_t to = at + (first + e) * AZIMUTHS + azimuth;
        store_pairs(sums + to, AZIMUTHS - azimuth, sum_re[e], sum_im[e]);
#if REMOVAL
        store_floats(diagonals + to, AZIMUTHS - azimuth, diagonal);
#endif
      }
    }
  }
}
