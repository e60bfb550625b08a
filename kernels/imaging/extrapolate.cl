// Applies extrapolation matrices to the aperture: padded = E_y * measured * transpose(E_x), the window folded into both.
//
//   measured        float2 [frequency][row][column], Pa
//   matrix_columns  float2 [frequency or 1][row][padded row], E_y transposed
//   matrix_rows     float2 [frequency or 1][column][padded column], E_x transposed
//   extended        float2 [frequency][padded row][column]
//   padded          float2 [frequency][padded row][padded column]
//
// Launch: (round_up(COLUMNS or PADDED_COLUMNS, 32), round_up(PADDED_ROWS, 4), frequencies), groups of 32 x 4.

//! needs common/complex.cl
//! needs imaging/padded_sizes.cl

//! default MATRIX_PER_FREQUENCY 1  // 1: every frequency has its own matrices; 0: all share one pair

__kernel void extrapolate_columns(__global const float2* measured, __global const float2* matrix_columns,
                                  __global float2* extended) {
  const int column = (int)get_global_id(0);
  const int padded_row = (int)get_global_id(1);
  const int frequency = (int)get_global_id(2);
  if (column >= COLUMNS || padded_row >= PADDED_ROWS) {
    return;
  }
  __global const float2* matrix = matrix_columns + MATRIX_PER_FREQUENCY * frequency * ROWS * PADDED_ROWS + padded_row;
  __global const float2* values = measured + frequency * ROWS * COLUMNS + column;
  float2 sum = (float2)(0.0f, 0.0f);
  for (int row = 0; row < ROWS; ++row) {
    sum += complex_multiply(matrix[row * PADDED_ROWS], values[row * COLUMNS]);
  }
  extended[(frequency * PADDED_ROWS + padded_row) * COLUMNS + column] = sum;
}

__kernel void extrapolate_rows(__global const float2* extended, __global const float2* matrix_rows,
                               __global float2* padded) {
  const int padded_column = (int)get_global_id(0);
  const int padded_row = (int)get_global_id(1);
  const int frequency = (int)get_global_id(2);
  if (padded_column >= PADDED_COLUMNS || padded_row >= PADDED_ROWS) {
    return;
  }
  __global const float2* matrix =
      matrix_rows + MATRIX_PER_FREQUENCY * frequency * COLUMNS * PADDED_COLUMNS + padded_column;
  __global const float2* values = extended + (frequency * PADDED_ROWS + padded_row) * COLUMNS;
  float2 sum = (float2)(0.0f, 0.0f);
  for (int column = 0; column < COLUMNS; ++column) {
    sum += complex_multiply(matrix[column * PADDED_COLUMNS], values[column]);
  }
  padded[(frequency * PADDED_ROWS + padded_row) * PADDED_COLUMNS + padded_column] = sum;
}
