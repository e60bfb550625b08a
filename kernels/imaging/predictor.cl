// Burg's linear predictors along the rows and columns of the measured aperture.
//
// Lines x_l[n], n = 0..N-1, are predicted as x[n] = -sum_{i=1..p} a_i x[n-i] and, backwards, x[n] = -sum conj(a_i)
// x[n+i]. Burg (1975), pooled over the lines l: forward and backward errors start as f = g = x; stage m forms
//   k = -2 sum f_l[n] conj(g_l[n-m]) / (sum |f_l[n]|^2 + |g_l[n-m]|^2 + FLOOR * E),   n = m..N-1, all l,
// with E that sum of squares at m = 1; then a <- [a, 0] + k [0, reverse(conj(a))], f[n] <- f[n] + k g[n-m] and
// g[n-m] <- g[n-m] + conj(k) f[n]. Here g of stage m keeps the slot in which it began, so each pair is updated in place.
// |k| < 1, so a predictor never grows without bound. FLOOR acts as white noise 35 dB below the field: it keeps predictors
// of clean, smooth fields from amplifying small differences (docs/how/pnah.md has the measurements).
//
// Silence (E = 0) and predictors that blow up beyond RUNAWAY or are not finite extrapolate to zero and raise the flag.

//! needs common/local_helper.cl
//! needs imaging/padded_sizes.cl

#ifndef REAL  // double if the device has it: predictors of smooth fields lose up to half of their digits
#define REAL float
#define REAL2 float2
#endif
#ifdef USE_FP64
#pragma OPENCL EXTENSION cl_khr_fp64 : enable
#endif
//! default ORDER_ROWS 8  // order of the predictor along a row
//! default ORDER_COLUMNS 8  // order of the predictor along a column
//! default GROUP 128  // items per group, a power of two, at least max(ROWS, COLUMNS)
//! default FLOOR 3e-4f  // floor of the error power, relative
//! default RUNAWAY 1e6f  // gain above which float32 input has no digit left
//! default FLAG_FELL_BACK 1  // nearfield::kFlagExtrapolationFellBack
//! default LOCAL_SCRATCH 1  // 1: prediction errors are in local memory; 0: in the buffer `scratch`
//! default SCRATCH_LINES 32  // lines pooled by a group
#define MAX_ORDER (ORDER_ROWS > ORDER_COLUMNS ? ORDER_ROWS : ORDER_COLUMNS)
#define MAX_LENGTH (ROWS > COLUMNS ? ROWS : COLUMNS)
#define MAX_PADDED (PADDED_ROWS > PADDED_COLUMNS ? PADDED_ROWS : PADDED_COLUMNS)
#define SCRATCH_SIZE (SCRATCH_LINES * MAX_LENGTH)
#if LOCAL_SCRATCH
#define SCRATCH_SPACE __local
#else
#define SCRATCH_SPACE __global
#endif

static REAL2 times(REAL2 a, REAL2 b) { return (REAL2)(a.x * b.x - a.y * b.y, a.x * b.y + a.y * b.x); }
static REAL2 times_conjugate(REAL2 a, REAL2 b) { return (REAL2)(a.x * b.x + a.y * b.y, a.y * b.x - a.x * b.y); }
static REAL2 conjugate(REAL2 a) { return (REAL2)(a.x, -a.y); }
static REAL square(REAL2 a) { return a.x * a.x + a.y * a.y; }

// Layout of the lines of one fit: element n of line l is input[l * line_stride + n * element_stride].
typedef struct {
  int lines;
  int length;
  int line_stride;
  int element_stride;
  int order;
} Lines;

// Sums three values over the group; the result is in sums[0], sums[GROUP] and sums[2 * GROUP] for every item.
LOCAL_HELPER void reduce(__local REAL* sums, REAL2 numerator, REAL denominator) {
  const int item = (int)get_local_id(0);
  sums[item] = numerator.x;
  sums[GROUP + item] = numerator.y;
  sums[2 * GROUP + item] = denominator;
  barrier(CLK_LOCAL_MEM_FENCE);
  for (int half_size = GROUP / 2; half_size > 0; half_size /= 2) {
    if (item < half_size) {
      sums[item] += sums[item + half_size];
      sums[GROUP + item] += sums[GROUP + item + half_size];
      sums[2 * GROUP + item] += sums[2 * GROUP + item + half_size];
    }
    barrier(CLK_LOCAL_MEM_FENCE);
  }
}

// Fits one predictor to all lines; a[0..order], a[0] = 1. Returns 1, or 0 for silence, equal for every item.
LOCAL_HELPER int fit(__global const float2* input, Lines lines, SCRATCH_SPACE REAL2* f, SCRATCH_SPACE REAL2* g,
                     __local REAL* sums, __local REAL2* a) {
  const int item = (int)get_local_id(0);
  for (int i = item; i < lines.lines * lines.length; i += GROUP) {
    const int line = i / lines.length;
    const float2 value = input[line * lines.line_stride + (i - line * lines.length) * lines.element_stride];
    f[i] = (REAL2)(value.x, value.y);
    g[i] = f[i];
  }
  if (item == 0) {
    a[0] = (REAL2)(1, 0);
  }
  barrier(CLK_LOCAL_MEM_FENCE | CLK_GLOBAL_MEM_FENCE);

  REAL energy = 0;
  for (int m = 1; m <= lines.order; ++m) {
    const int pairs = lines.length - m;
    REAL2 numerator = (REAL2)(0, 0);
    REAL denominator = 0;
    for (int i = item; i < lines.lines * pairs; i += GROUP) {
      const int line = i / pairs;
      const int n = line * lines.length + (i - line * pairs);
      numerator += times_conjugate(f[n + m], g[n]);
      denominator += square(f[n + m]) + square(g[n]);
    }
    reduce(sums, numerator, denominator);
    energy = m == 1 ? sums[2 * GROUP] : energy;
    const REAL whole = sums[2 * GROUP] + (REAL)FLOOR * energy;
    const REAL2 k = whole > 0 ? (REAL2)(-2 * sums[0] / whole, -2 * sums[GROUP] / whole) : (REAL2)(0, 0);
    for (int i = item; i < lines.lines * pairs; i += GROUP) {
      const int line = i / pairs;
      const int n = line * lines.length + (i - line * pairs);
      const REAL2 forward = f[n + m];
      f[n + m] = forward + times(k, g[n]);
      g[n] += times_conjugate(forward, k);
    }
    if (item == 0) {
      a[m] = (REAL2)(0, 0);
      for (int i = 0; i <= m - i; ++i) {
        const REAL2 low = a[i];
        const REAL2 high = a[m - i];
        a[i] = low + times(k, conjugate(high));
        a[m - i] = high + times(k, conjugate(low));
      }
      a[0] = (REAL2)(1, 0);
    }
    barrier(CLK_LOCAL_MEM_FENCE | CLK_GLOBAL_MEM_FENCE);
  }
  return energy > 0 && isfinite(energy);
}

// The next value of a line from its last `order` ones, recent[0] the nearest; `backward` conjugates the coefficients.
LOCAL_HELPER REAL2 predict(__local const REAL2* a, const REAL2* recent, int order, int backward) {
  REAL2 sum = (REAL2)(0, 0);
  for (int i = 0; i < order; ++i) {
    sum -= times(backward ? conjugate(a[i + 1]) : a[i + 1], recent[i]);
  }
  return sum;
}

static void shift_in(REAL2* recent, int order, REAL2 value) {
  for (int i = order - 1; i > 0; --i) {
    recent[i] = recent[i - 1];
  }
  recent[0] = value;
}

static int is_runaway(REAL2 value, REAL limit) { return !(square(value) <= limit * limit); }

// Pooled predictors as matrices: E applied to a line of the aperture gives the padded line, window folded in.
//   measured        float2 [frequency][row][column], Pa
//   window_rows     float [PADDED_ROWS], window_columns float [PADDED_COLUMNS]
//   matrix_columns  float2 [frequency][row][padded row], E_y transposed
//   matrix_rows     float2 [frequency][column][padded column], E_x transposed
//   scratch         REAL2 [frequency][axis][2][SCRATCH_SIZE], used when LOCAL_SCRATCH is 0
//   status          uint [frame][4]: 0 = flags; [frequency] here and below counts those of all frames
// Launch: (2 * GROUP, frequencies), GROUP items per group; group 0 works along the rows, group 1 along the columns.
__kernel __attribute__((reqd_work_group_size(GROUP, 1, 1))) void pooled_predictors(
    __global const float2* measured, __global const float* window_rows, __global const float* window_columns,
    __global float2* matrix_columns, __global float2* matrix_rows, __global REAL2* scratch, __global uint* status) {
  __local REAL sums[3 * GROUP];
  __local REAL2 a[MAX_ORDER + 1];
  __local int fell_back;
#if LOCAL_SCRATCH
  __local REAL2 errors[2 * SCRATCH_SIZE];
#else
  __global REAL2* errors = scratch + (get_group_id(1) * 2 + get_group_id(0)) * 2 * SCRATCH_SIZE;
#endif
  const int item = (int)get_local_id(0);
  const int along_rows = get_group_id(0) == 0;
  const int frequency = (int)get_group_id(1);
  const Lines lines = along_rows ? (Lines){ROWS, COLUMNS, .line_stride = COLUMNS, .element_stride = 1, ORDER_ROWS}
                                 : (Lines){COLUMNS, ROWS, .line_stride = 1, .element_stride = COLUMNS, ORDER_COLUMNS};
  const int padded = along_rows ? PADDED_COLUMNS : PADDED_ROWS;
  const int before = along_rows ? BEFORE_COLUMNS : BEFORE_ROWS;
  __global const float* window = along_rows ? window_columns : window_rows;
  __global float2* matrix =
      along_rows ? matrix_rows + frequency * COLUMNS * PADDED_COLUMNS : matrix_columns + frequency * ROWS * PADDED_ROWS;

  const int fitted = fit(measured + frequency * ROWS * COLUMNS, lines, errors, errors + SCRATCH_SIZE, sums, a);
  if (item == 0) {
    fell_back = !fitted;
  }
  barrier(CLK_LOCAL_MEM_FENCE);

  if (item < lines.length) {
    __global float2* column = matrix + item * padded;
    for (int n = 0; n < lines.length; ++n) {
      column[before + n] = (float2)(n == item ? 1.0f : 0.0f, 0.0f);
    }
    int runaway = 0;
    for (int backward = 0; backward < 2; ++backward) {
      REAL2 recent[MAX_ORDER];
      for (int i = 0; i < lines.order; ++i) {
        const int n = backward ? i : lines.length - 1 - i;
        recent[i] = (REAL2)(n == item ? 1 : 0, 0);
      }
      const int steps = backward ? before : padded - before - lines.length;
      for (int step = 0; step < steps; ++step) {
        const REAL2 value = predict(a, recent, lines.order, backward);
        const int n = backward ? before - 1 - step : before + lines.length + step;
        runaway |= is_runaway(value, (REAL)RUNAWAY);
        column[n] = window[n] * (float2)((float)value.x, (float)value.y);
        shift_in(recent, lines.order, value);
      }
    }
    if (runaway) {
      fell_back = 1;
    }
  }
  barrier(CLK_LOCAL_MEM_FENCE);

  if (fell_back && item < lines.length) {
    for (int n = 0; n < padded; ++n) {
      if (n < before || n >= before + lines.length) {
        matrix[item * padded + n] = (float2)(0.0f, 0.0f);
      }
    }
  }
  if (fell_back && item == 0) {
    atomic_or(status + 4 * (frequency / FREQUENCIES), (uint)FLAG_FELL_BACK);
  }
}

#if LOCAL_SCRATCH  // one line always fits into local memory
// Extends one line by its own predictor; used with SCRATCH_LINES 1.
LOCAL_HELPER void extend_line(__global const float2* input, Lines lines, int padded, int before,
                              SCRATCH_SPACE REAL2* errors, __local REAL* sums, __local REAL2* a, __local REAL2* line,
                              __local int* fell_back) {
  const int item = (int)get_local_id(0);
  const int fitted = fit(input, lines, errors, errors + SCRATCH_SIZE, sums, a);
  REAL largest = 0;
  for (int n = 0; n < lines.length; ++n) {
    const float2 value = input[n * lines.element_stride];
    largest = fmax(largest, square((REAL2)(value.x, value.y)));
    if (item == 0) {
      line[before + n] = (REAL2)(value.x, value.y);
    }
  }
  if (item == 0) {
    *fell_back = !fitted;
  }
  barrier(CLK_LOCAL_MEM_FENCE);
  if (item < 2) {
    const int backward = item;
    REAL2 recent[MAX_ORDER];
    for (int i = 0; i < lines.order; ++i) {
      recent[i] = line[backward ? before + i : before + lines.length - 1 - i];
    }
    const int steps = backward ? before : padded - before - lines.length;
    int runaway = 0;
    for (int step = 0; step < steps; ++step) {
      const REAL2 value = predict(a, recent, lines.order, backward);
      runaway |= is_runaway(value, (REAL)RUNAWAY * sqrt(largest));
      line[backward ? before - 1 - step : before + lines.length + step] = value;
      shift_in(recent, lines.order, value);
    }
    if (runaway) {
      *fell_back = 1;
    }
  }
  barrier(CLK_LOCAL_MEM_FENCE);
  if (*fell_back) {
    for (int n = item; n < padded; n += GROUP) {
      if (n < before || n >= before + lines.length) {
        line[n] = (REAL2)(0, 0);
      }
    }
  }
  barrier(CLK_LOCAL_MEM_FENCE);
}

// Extends line by line: rows first.
//   measured  float2 [frequency][row][column] -> extended float2 [frequency][row][padded column], no window
// Launch: (GROUP * ROWS, frequencies), GROUP items per group.
__kernel __attribute__((reqd_work_group_size(GROUP, 1, 1))) void extend_rows(__global const float2* measured,
                                                                             __global float2* extended,
                                                                             __global uint* status) {
  __local REAL sums[3 * GROUP];
  __local REAL2 a[MAX_ORDER + 1];
  __local REAL2 line[MAX_PADDED];
  __local int fell_back;
  __local REAL2 errors[2 * SCRATCH_SIZE];
  const int row = (int)get_group_id(0);
  const int frequency = (int)get_group_id(1);
  const Lines lines = {1, COLUMNS, .line_stride = 0, .element_stride = 1, ORDER_ROWS};
  extend_line(measured + (frequency * ROWS + row) * COLUMNS, lines, PADDED_COLUMNS, BEFORE_COLUMNS, errors, sums, a,
              line, &fell_back);
  for (int n = (int)get_local_id(0); n < PADDED_COLUMNS; n += GROUP) {
    extended[(frequency * ROWS + row) * PADDED_COLUMNS + n] = (float2)((float)line[n].x, (float)line[n].y);
  }
  if (fell_back && get_local_id(0) == 0) {
    atomic_or(status + 4 * (frequency / FREQUENCIES), (uint)FLAG_FELL_BACK);
  }
}

// Then extends every column of the result, and applies both windows.
//   extended  float2 [frequency][row][padded column] -> padded float2 [frequency][padded row][padded column]
// Launch: (GROUP * PADDED_COLUMNS, frequencies), GROUP items per group.
__kernel __attribute__((reqd_work_group_size(GROUP, 1, 1))) void extend_columns(__global const float2* extended,
                                                                                __global const float* window_rows,
                                                                                __global const float* window_columns,
                                                                                __global float2* padded,
                                                                                __global uint* status) {
  __local REAL sums[3 * GROUP];
  __local REAL2 a[MAX_ORDER + 1];
  __local REAL2 line[MAX_PADDED];
  __local int fell_back;
  __local REAL2 errors[2 * SCRATCH_SIZE];
  const int column = (int)get_group_id(0);
  const int frequency = (int)get_group_id(1);
  const Lines lines = {1, ROWS, .line_stride = 0, .element_stride = PADDED_COLUMNS, ORDER_COLUMNS};
  extend_line(extended + frequency * ROWS * PADDED_COLUMNS + column, lines, PADDED_ROWS, BEFORE_ROWS, errors, sums, a,
              line, &fell_back);
  for (int n = (int)get_local_id(0); n < PADDED_ROWS; n += GROUP) {
    padded[(frequency * PADDED_ROWS + n) * PADDED_COLUMNS + column] =
        window_rows[n] * window_columns[column] * (float2)((float)line[n].x, (float)line[n].y);
  }
  if (fell_back && get_local_id(0) == 0) {
    atomic_or(status + 4 * (frequency / FREQUENCIES), (uint)FLAG_FELL_BACK);
  }
}
#endif  // LOCAL_SCRATCH
