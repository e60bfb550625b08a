// From spectra to rows in K-space, and to what continues the columns: conditioning, predictors, the transform along x.
// Include after complex.cl and padded_lines.cl with that file's macros set for x.
//
// Microphones are conditioned as microphones.cl defines it. Predictors are those of predictor.cl, Burg's pooled over all
// lines, from other sums: with x[n-i], i = 0..p, the errors of stage m are linear in the samples, so the sums of
// their products follow from C_ij = sum_{n=m}^{N-1} sum_lines x[n-i] conj(x[n-j]) alone,
//   sum f[n] conj(g[n-1])     = sum_ij a_i a_j C_{i,m-j}
//   sum |f[n]|^2 + |g[n-1]|^2 = sum_ij a_i conj(a_j) C_ij + conj(a_i) a_j C_{m-i,m-j},    i, j = 0..m-1,
// and C from the banded Gram matrix G[n][d] = sum_lines x[n] conj(x[n-d]). That needs double precision, whose rounding
// the predictors' floor (3e-4 of the power) bounds to about 1e-10 of a coefficient.
// The predictor then is turned into `extension` (padded_lines.cl): e_s = -sum_i a_i e_{s-i}, e_{-t} the unit vector t,
// and, from `order` known steps on, e_{q+s}[j] = sum_t e_s[t] e_{q-t}[j], which doubles their number in each pass.
//
//   spectra     float2 [frame][frequency][row][column], Pa
//   gains       float2 [frequency][row][column]
//   masked      uchar [row][column], 1 = do not use
//   usable      uchar [frame][row][column] from microphone_check, read when CHECK_HERE is 0
//   fixed       float2 [step][tap], the extension along x when PREDICT is 0
//   window, roots of padded_lines.cl
//   extension   float2 [frame][frequency][OTHER_STEPS][OTHER_TAPS], along y, written when PREDICT is 1
//   row_spectra float2 [frame][frequency][row][STRIDE], transforms along x, Pa
//   status      uint [frame][4]: 0 = flags, 1 = microphones that are not finite
//   frequencies of a frame
//
// Launch: (FIT_GROUP * (1 + PREDICT), frames * frequencies), FIT_GROUP items a group; group 0 works along x, 1 along y.

#if PREDICT
#pragma OPENCL EXTENSION cl_khr_fp64 : enable
#endif
#ifndef LINES  // rows
#define LINES 32
#endif
#ifndef STRIDE  // columns of row_spectra
#define STRIDE 96
#endif
#ifndef PREDICT  // 1: Burg's predictors, 0: the fixed extension
#define PREDICT 1
#endif
#ifndef OTHER_TAPS  // TAPS of y
#define OTHER_TAPS 8
#endif
#ifndef OTHER_STEPS  // STEPS of y
#define OTHER_STEPS 32
#endif
#ifndef PITCH_X  // metres
#define PITCH_X 0.02f
#endif
#ifndef PITCH_Y  // metres
#define PITCH_Y 0.02f
#endif
#ifndef HAS_GAINS  // 1: multiply by gains
#define HAS_GAINS 0
#endif
#ifndef CHECK_HERE  // 1: every group looks through all frequencies of its frame for values that are not finite
#define CHECK_HERE 1
#endif
#ifndef MIN_NEIGHBOURS
#define MIN_NEIGHBOURS 3
#endif
#ifndef LARGEST  // Pa
#define LARGEST 1e18f
#endif
#ifndef FIT_GROUP  // items a group
#define FIT_GROUP 256
#endif
#ifndef LINE_TILE  // vectors of lines that are transformed at a time
#define LINE_TILE 16
#endif
#ifndef FLOOR  // of the error power, relative
#define FLOOR 3e-4
#endif
#ifndef RUNAWAY
#define RUNAWAY 1e6
#endif
#ifndef FLAG_FELL_BACK
#define FLAG_FELL_BACK 1
#endif
#ifndef FLAG_MASKED
#define FLAG_MASKED 2
#endif
#ifndef FLAG_NON_FINITE
#define FLAG_NON_FINITE 16
#endif
#define COLUMNS LENGTH
#define ROWS LINES
#define CHANNELS (ROWS * COLUMNS)
#define MAX_TAPS (TAPS > OTHER_TAPS ? TAPS : OTHER_TAPS)
#define MAX_LENGTH (ROWS > COLUMNS ? ROWS : COLUMNS)
#define MAX_TABLE (STEPS * TAPS > OTHER_STEPS * OTHER_TAPS ? STEPS * TAPS : OTHER_STEPS * OTHER_TAPS)
#define VECTORS_OF(lines) (((lines) + LANES - 1) / LANES)
// Scalars from one position to the next; odd on GPUs, so that neighbours lie in different banks.
#define LINE_STRIDE(lines) (VECTORS_OF(lines) * LANES + (LANES == 1 ? 1 - (lines) % 2 : 0))
#define MAX_SAMPLES \
  (COLUMNS * LINE_STRIDE(ROWS) > ROWS * LINE_STRIDE(COLUMNS) ? COLUMNS * LINE_STRIDE(ROWS) : ROWS * LINE_STRIDE(COLUMNS))
#if PREDICT
#define REAL double
#define REAL2 double2
#else
#define REAL float
#define REAL2 float2
#endif
#if LANES == 1
#define REALV REAL
#define LOAD_REALS(from) (*(from))
#define TO_FLOATS(values) ((float)(values))
#else
#define REALV JOIN(REAL, LANES)
#define LOAD_REALS(from) JOIN(vload, LANES)(0, from)
#define TO_FLOATS(values) JOIN(convert_float, LANES)(values)
#endif

static int is_finite(float2 value) { return fabs(value.x) < LARGEST && fabs(value.y) < LARGEST; }

// Marks the usable microphones; returns whether some are not. Tells the frame's status when `report` is 1.
static int find_usable(__global const float2* spectra, __global const uchar* masked,
                       __global const uchar* checked, __global uint* status, __local uchar* usable,
                       __local int* found, int frequencies, int report) {
  const int item = (int)get_local_id(0);
  if (item == 0) {
    found[0] = 0;
    found[1] = 0;
  }
  SYNC(FIT_GROUP);
#if CHECK_HERE
  int bad = 0;
  for (int i = item; i < frequencies * CHANNELS; i += FIT_GROUP) {
    bad |= !is_finite(spectra[i]);
  }
  if (bad) {
    found[0] = 1;
  }
  SYNC(FIT_GROUP);
  for (int i = item; i < CHANNELS; i += FIT_GROUP) {
    int finite = 1;
    if (found[0]) {
      for (int f = 0; f < frequencies; ++f) {
        finite &= is_finite(spectra[f * CHANNELS + i]);
      }
    }
    usable[i] = (uchar)(finite && !masked[i]);
    if (!usable[i]) {
      found[1] = 1;
      if (report) {
        atomic_or(&status[0], masked[i] ? (uint)FLAG_MASKED : (uint)FLAG_NON_FINITE);
        atomic_add(&status[1], masked[i] ? 0U : 1U);
      }
    }
  }
#else
  for (int i = item; i < CHANNELS; i += FIT_GROUP) {
    usable[i] = checked[i];
    if (!usable[i]) {
      found[1] = 1;
    }
  }
#endif
  SYNC(FIT_GROUP);
  return found[1];
}

// Half the side of the smallest square round (row, column) with enough usable microphones.
static int fill_radius(__local const uchar* usable, int row, int column) {
  int radius = 0;
  int found = 0;
  while (found < MIN_NEIGHBOURS && radius < MAX_LENGTH) {
    ++radius;
    found = 0;
    for (int y = max(row - radius, 0); y <= min(row + radius, ROWS - 1); ++y) {
      for (int x = max(column - radius, 0); x <= min(column + radius, COLUMNS - 1); ++x) {
        found += usable[y * COLUMNS + x];
      }
    }
  }
  return radius;
}

// Where microphone (row, column) lies among the lines of an axis.
static int place(int row, int column, int along_x) {
  return along_x ? column * LINE_STRIDE(ROWS) + row : row * LINE_STRIDE(COLUMNS) + column;
}

// Lines of the axis into local memory, [position][line]; what fills the last vector is 0.
static void load_samples(__global const float2* spectra, __global const float2* gains, __local const uchar* usable,
                         int some_unusable, __local REAL* re, __local REAL* im, int along_x) {
  const int item = (int)get_local_id(0);
  const int lines = along_x ? ROWS : COLUMNS;
  const int stride = along_x ? LINE_STRIDE(ROWS) : LINE_STRIDE(COLUMNS);
  for (int i = item; i < CHANNELS; i += FIT_GROUP) {
#if HAS_GAINS
    const float2 value = complex_multiply(spectra[i], gains[i]);
#else
    const float2 value = spectra[i];
#endif
    const int to = place(i / COLUMNS, i % COLUMNS, along_x);
    re[to] = usable[i] ? value.x : 0.0f;
    im[to] = usable[i] ? value.y : 0.0f;
  }
  for (int i = item; i < (along_x ? COLUMNS : ROWS) * (stride - lines); i += FIT_GROUP) {
    const int to = i / (stride - lines) * stride + lines + i % (stride - lines);
    re[to] = 0;
    im[to] = 0;
  }
  SYNC(FIT_GROUP);
  if (!some_unusable) {
    return;
  }
  for (int i = item; i < CHANNELS; i += FIT_GROUP) {
    if (!usable[i]) {
      const int row = i / COLUMNS;
      const int column = i % COLUMNS;
      const int radius = fill_radius(usable, row, column);
      float2 sum = (float2)(0.0f, 0.0f);
      float weights = 0.0f;
      for (int y = max(row - radius, 0); y <= min(row + radius, ROWS - 1); ++y) {
        for (int x = max(column - radius, 0); x <= min(column + radius, COLUMNS - 1); ++x) {
          if (usable[y * COLUMNS + x]) {
            const float dx = (float)(x - column) * PITCH_X;
            const float dy = (float)(y - row) * PITCH_Y;
            const float weight = 1.0f / (dx * dx + dy * dy);
            const int from = place(y, x, along_x);
            sum += weight * (float2)((float)re[from], (float)im[from]);
            weights += weight;
          }
        }
      }
      const int to = place(row, column, along_x);
      re[to] = weights > 0.0f ? sum.x / weights : 0.0f;
      im[to] = weights > 0.0f ? sum.y / weights : 0.0f;
    }
  }
  SYNC(FIT_GROUP);
}

#if PREDICT
static REAL2 times(REAL2 a, REAL2 b) { return (REAL2)(a.x * b.x - a.y * b.y, a.x * b.y + a.y * b.x); }
static REAL2 conjugate(REAL2 a) { return (REAL2)(a.x, -a.y); }

static REAL sum_of_lanes(REALV values) {
#if LANES == 1
  return values;
#else
  REAL lanes[LANES];
  JOIN(vstore, LANES)(values, 0, lanes);
  REAL sum = 0;
  for (int lane = 0; lane < LANES; ++lane) {
    sum += lanes[lane];
  }
  return sum;
#endif
}

typedef struct {
  __local REAL2* gram;     // [lag][position]
  __local REAL2* products; // C, [i][j]
  __local REAL2* a;        // [2][MAX_TAPS + 1], the predictor before and after a stage
  __local REAL2* numerators;
  __local REAL* denominators;
  __local REAL2* steps;  // extension, [step][tap]
} Fit;

static void fill_gram(Fit fit, __local const REAL* re, __local const REAL* im, int length, int stride, int order) {
  for (int i = (int)get_local_id(0); i < length * (order + 1); i += FIT_GROUP) {
    const int lag = i / length;
    const int n = i % length;
    if (n >= lag) {
      REALV sum_re = 0;
      REALV sum_im = 0;
      for (int line = 0; line < stride / LANES * LANES; line += LANES) {
        const REALV x_re = LOAD_REALS(re + n * stride + line);
        const REALV x_im = LOAD_REALS(im + n * stride + line);
        const REALV y_re = LOAD_REALS(re + (n - lag) * stride + line);
        const REALV y_im = LOAD_REALS(im + (n - lag) * stride + line);
        sum_re += x_re * y_re + x_im * y_im;
        sum_im += x_im * y_re - x_re * y_im;
      }
      fit.gram[i] = (REAL2)(sum_of_lanes(sum_re), sum_of_lanes(sum_im));
    }
  }
  SYNC(FIT_GROUP);
}

// C_ij at the first stage that uses it, and a = 1.
static void start_fit(Fit fit, int length, int order) {
  const int size = order + 1;
  for (int t = (int)get_local_id(0); t < size * size; t += FIT_GROUP) {
    const int i = t / size;
    const int j = t % size;
    if (i <= j) {
      REAL2 sum = (REAL2)(0, 0);
      for (int n = max(j, 1) - i; n < length - i; ++n) {
        sum += fit.gram[(j - i) * length + n];
      }
      fit.products[i * size + j] = sum;
      fit.products[j * size + i] = conjugate(sum);
    }
  }
  for (int i = (int)get_local_id(0); i < 2 * size; i += FIT_GROUP) {
    fit.a[i / size * (MAX_TAPS + 1) + i % size] = (REAL2)(i % size == 0 ? 1 : 0, 0);
  }
  SYNC(FIT_GROUP);
}

// The shares of one stage's sums that belong to rows 0..m of C with the reversed predictor, and 0..m-1 with the other.
static void stage_shares(Fit fit, __local const REAL2* a, int m, int size) {
  for (int t = (int)get_local_id(0); t <= 2 * m; t += FIT_GROUP) {
    const int reversed = t <= m;
    const int row = reversed ? t : t - m - 1;
    REAL2 sum = (REAL2)(0, 0);
    for (int j = 0; j < m; ++j) {
      sum += times(reversed ? a[j] : conjugate(a[j]), fit.products[row * size + (reversed ? m - j : j)]);
    }
    if (reversed) {
      fit.numerators[t] = times(a[t], sum);  // a[m] is 0
      fit.denominators[t] = t > 0 ? a[m - t].x * sum.x + a[m - t].y * sum.y : 0;
    } else {
      fit.denominators[t] = a[row].x * sum.x - a[row].y * sum.y;
    }
  }
}

// Burg's predictor into the returned array; `energy` is 0 for silence.
static __local REAL2* run_fit(Fit fit, int length, int order, REAL* energy) {
  const int item = (int)get_local_id(0);
  const int size = order + 1;
  __local REAL2* a = fit.a;
  __local REAL2* next = fit.a + MAX_TAPS + 1;
  for (int m = 1; m <= order; ++m) {
    stage_shares(fit, a, m, size);
    SYNC(FIT_GROUP);
    REAL2 numerator = (REAL2)(0, 0);
    REAL denominator = 0;
    for (int t = 0; t < m; ++t) {
      numerator += fit.numerators[t];
    }
    for (int t = 0; t <= 2 * m; ++t) {
      denominator += fit.denominators[t];
    }
    *energy = m == 1 ? denominator : *energy;
    const REAL whole = denominator + FLOOR * *energy;
    const REAL scale = whole > 0 ? -2 / whole : 0;
    const REAL2 k = scale * numerator;
    for (int i = item; i <= m; i += FIT_GROUP) {
      next[i] = i > 0 ? a[i] + times(k, conjugate(a[m - i])) : a[0];
    }
    for (int t = item; t < (m + 1) * (m + 1); t += FIT_GROUP) {
      const int i = t / (m + 1);
      const int j = t % (m + 1);
      const REAL2 gone = fit.gram[abs(j - i) * length + m - min(i, j)];
      fit.products[i * size + j] -= i <= j ? gone : conjugate(gone);
    }
    SYNC(FIT_GROUP);
    __local REAL2* swapped = a;
    a = next;
    next = swapped;
  }
  return a;
}

// The predictor's extension over `count` steps.
static void predict_steps(Fit fit, __local const REAL2* a, int order, int count) {
  const int item = (int)get_local_id(0);
  __local REAL2* steps = fit.steps;
  for (int j = item; j < order; j += FIT_GROUP) {
    for (int s = 1; s <= min(order, count); ++s) {
      REAL2 sum = s + j <= order ? -a[s + j] : (REAL2)(0, 0);
      for (int i = 1; i < s; ++i) {
        sum -= times(a[i], steps[(s - i - 1) * order + j]);
      }
      steps[(s - 1) * order + j] = sum;
    }
  }
  SYNC(FIT_GROUP);
  for (int known = order; known < count; known *= 2) {
    for (int i = item; i < min(known, count - known) * order; i += FIT_GROUP) {
      const int s = i / order;
      const int j = i % order;
      REAL2 sum = (REAL2)(0, 0);
      for (int t = 0; t < order; ++t) {
        sum += times(steps[s * order + t], steps[(known - 1 - t) * order + j]);
      }
      steps[known * order + i] = sum;
    }
    SYNC(FIT_GROUP);
  }
}

// Fits, extends, and flags predictors that can't be used, whose extension is 0: to `local_table` or `global_table`.
static void make_extension(Fit fit, __local const REAL* re, __local const REAL* im, __local int* fell_back,
                           __local float2* local_table, __global float2* global_table, __global uint* status,
                           int along_x) {
  const int item = (int)get_local_id(0);
  const int length = along_x ? COLUMNS : ROWS;
  const int order = along_x ? TAPS : OTHER_TAPS;
  const int count = (along_x ? STEPS : OTHER_STEPS) * order;
  fill_gram(fit, re, im, length, along_x ? LINE_STRIDE(ROWS) : LINE_STRIDE(COLUMNS), order);
  start_fit(fit, length, order);
  REAL energy = 0;
  __local const REAL2* a = run_fit(fit, length, order, &energy);
  if (item == 0) {
    *fell_back = !(energy > 0 && isfinite(energy));
  }
  predict_steps(fit, a, order, along_x ? STEPS : OTHER_STEPS);
  for (int i = item; i < count; i += FIT_GROUP) {
    const REAL2 value = fit.steps[i];
    if (!(value.x * value.x + value.y * value.y <= (REAL)RUNAWAY * (REAL)RUNAWAY)) {
      *fell_back = 1;
    }
  }
  SYNC(FIT_GROUP);
  for (int i = item; i < count; i += FIT_GROUP) {
    const float2 value = *fell_back ? (float2)(0.0f, 0.0f) : (float2)((float)fit.steps[i].x, (float)fit.steps[i].y);
    if (along_x) {
      local_table[i] = value;
    } else {
      global_table[i] = value;
    }
  }
  if (item == 0 && *fell_back) {
    atomic_or(status, (uint)FLAG_FELL_BACK);
  }
  SYNC(FIT_GROUP);
}
#endif  // PREDICT

__kernel __attribute__((reqd_work_group_size(FIT_GROUP, 1, 1))) void aperture(
    __global const float2* restrict spectra, __global const float2* restrict gains,
    __global const uchar* restrict masked, __global const uchar* restrict usable_microphones,
    __global const float2* restrict fixed, __global const float* restrict window, __global const float2* restrict roots,
    __global float2* restrict extension, __global float2* restrict row_spectra, __global uint* restrict status,
    const int frequencies) {
  __local REAL sample_re[MAX_SAMPLES];
  __local REAL sample_im[MAX_SAMPLES];
  __local FLOATV re[PADDED * LINE_TILE];
  __local FLOATV im[PADDED * LINE_TILE];
  __local float2 taps[STEPS * TAPS + 1];
  __local uchar usable[CHANNELS];
  __local int found[2];
  const int item = (int)get_local_id(0);
  const int along_x = get_group_id(0) == 0;
  const int image = (int)get_group_id(1);
  const int frame = image / frequencies;
  const int frequency = image % frequencies;

  const int some_unusable =
      find_usable(spectra + frame * frequencies * CHANNELS, masked, usable_microphones + frame * CHANNELS,
                  status + 4 * frame, usable, found, frequencies, along_x && frequency == 0);
  load_samples(spectra + image * CHANNELS, gains + HAS_GAINS * frequency * CHANNELS, usable, some_unusable, sample_re,
               sample_im, along_x);
#if PREDICT
  __local REAL2 gram[MAX_LENGTH * (MAX_TAPS + 1)];
  __local REAL2 products[(MAX_TAPS + 1) * (MAX_TAPS + 1)];
  __local REAL2 predictors[2 * (MAX_TAPS + 1)];
  __local REAL2 numerators[MAX_TAPS + 1];
  __local REAL denominators[2 * MAX_TAPS + 1];
  __local REAL2 steps[MAX_TABLE + 1];
  __local int fell_back;
  Fit fit = {gram, products, predictors, numerators, denominators, steps};
  make_extension(fit, sample_re, sample_im, &fell_back, taps, extension + image * OTHER_STEPS * OTHER_TAPS,
                 status + 4 * frame, along_x);
  if (!along_x) {
    return;
  }
#else
  for (int i = item; i < STEPS * TAPS; i += FIT_GROUP) {
    taps[i] = fixed[i];
  }
#endif

  for (int first = 0; first < VECTORS_OF(LINES); first += LINE_TILE) {
    for (int i = item; i < LENGTH * LINE_TILE; i += FIT_GROUP) {
      const int vector = min(first + i % LINE_TILE, VECTORS_OF(LINES) - 1);
      const int from = i / LINE_TILE * LINE_STRIDE(LINES) + vector * LANES;
      re[BEFORE * LINE_TILE + i] = TO_FLOATS(LOAD_REALS(sample_re + from));
      im[BEFORE * LINE_TILE + i] = TO_FLOATS(LOAD_REALS(sample_im + from));
    }
    SYNC(FIT_GROUP);
    extend_wings(re, im, taps, window, item, FIT_GROUP, LINE_TILE);
    SYNC(FIT_GROUP);
    outer_forward(re, im, roots, item, FIT_GROUP, LINE_TILE);
    SYNC(FIT_GROUP);
    for (int i = item; i < OUTER * LINE_TILE; i += FIT_GROUP) {
      const int k1 = i / LINE_TILE;
      const int line = (first + i % LINE_TILE) * LANES;
      __global float2* to = row_spectra + (image * LINES + line) * STRIDE + k1;
      FLOATV x_re[INNER];
      FLOATV x_im[INNER];
      inner_forward(re, im, x_re, x_im, k1, i % LINE_TILE, LINE_TILE);
#pragma unroll
      for (int q = 0; q < INNER; ++q) {
        store_lines(to + OUTER * INNER_BIN(q), STRIDE, LINES - line, x_re[q], x_im[q]);
      }
    }
    SYNC(FIT_GROUP);
  }
}
