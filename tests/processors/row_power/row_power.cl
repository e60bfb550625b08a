// Processor row_power: the mean square of the pressure over each row of microphones.
//
//   power[f][row] = sum over columns of weight[f][row][column] |spectra[f][row][column]|^2
//
//   spectra  float2 [window][SPECTRA][row][column], Pa peak; the first FREQUENCIES of a window's are used
//   weights  float  [frequency][row][column]; 0 leaves a microphone out, whatever its value
//   power    float  [window][frequency][row], Pa^2; NaN in a row without any microphone
//
// Launch: one item per row of each window and frequency, and any number more.

//! default ROWS 8
//! default COLUMNS 8
//! default FREQUENCIES 1
//! default SPECTRA 1

__kernel void row_power(__global const float2* restrict spectra, __global const float* restrict weights,
                        __global float* restrict power, const int windows) {
  const int line = get_global_id(0);
  if (line >= windows * FREQUENCIES * ROWS) {
    return;
  }
  const int window = line / (FREQUENCIES * ROWS);
  const int row = line % (FREQUENCIES * ROWS);  // row counted over all frequencies
  __global const float2* values = spectra + ((size_t)window * SPECTRA * ROWS + row) * COLUMNS;
  __global const float* weight = weights + (size_t)row * COLUMNS;
  float sum = 0.0f;
  int used = 0;
  for (int column = 0; column < COLUMNS; ++column) {
    if (weight[column] > 0.0f) {
      sum += weight[column] * dot(values[column], values[column]);
      ++used;
    }
  }
  power[line] = used > 0 ? sum : NAN;
}
