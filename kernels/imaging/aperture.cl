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
#define SIZE (MAX_TAPS + 1)
#define MAX_STEPS (STEPS > OTHER_STEPS ? STEPS : OTHER_STEPS)
#define FIT_OFFSET (FIT_GROUP > 64 ? 32 : 0)  // of items that have other work
// Floats that are looked at together; their number in a frame of any frequencies is a multiple of it.
#if CHANNELS % 4 == 0 && LANES > 1
#define CHECK_WIDTH 8
#elif CHANNELS % 2 == 0
#define CHECK_WIDTH 4
#else
#define CHECK_WIDTH 2
#endif
#define CHECK_INT JOIN(int, CHECK_WIDTH)
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

// Whether this item's share of the frame's spectra, of all frequencies, holds values that are not finite.
static int finds_bad(__global const float2* spectra, int frequencies) {
  __global const float* values = (__global const float*)spectra;
  CHECK_INT fine = -1;
  for (int i = (int)get_local_id(0); i < 2 * frequencies * CHANNELS / CHECK_WIDTH; i += FIT_GROUP) {
    fine &= fabs(JOIN(vload, CHECK_WIDTH)(i, values)) < LARGEST;
  }
  return !all(fine);
}

// Marks the usable microphones by all frequencies of a frame; for values that are not finite, which are rare.
static void mark_finite(__global const float2* spectra, __local uchar* usable, __global uint* status, int frequencies,
                        int report) {
  for (int i = (int)get_local_id(0); i < CHANNELS; i += FIT_GROUP) {
    int finite = 1;
    for (int f = 0; f < frequencies; ++f) {
      finite &= is_finite(spectra[f * CHANNELS + i]);
    }
    if (usable[i] && !finite) {
      usable[i] = 0;
      if (report) {
        atomic_or(&status[0], (uint)FLAG_NON_FINITE);
        atomic_inc(&status[1]);
      }
    }
  }
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
static void load_samples(__global const float2* spectra, __global const float2* gains, __local REAL* re,
                         __local REAL* im, int along_x) {
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
    re[to] = value.x;
    im[to] = value.y;
  }
  for (int i = item; i < (along_x ? COLUMNS : ROWS) * (stride - lines); i += FIT_GROUP) {
    const int to = i / (stride - lines) * stride + lines + i % (stride - lines);
    re[to] = 0;
    im[to] = 0;
  }
}

// Replaces the microphones that are not usable.
static void fill_samples(__local const uchar* usable, __local REAL* re, __local REAL* im, int along_x) {
  for (int i = (int)get_local_id(0); i < CHANNELS; i += FIT_GROUP) {
    if (usable[i]) {
      continue;
    }
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

#if PREDICT
static REAL2 times(REAL2 a, REAL2 b) { return (REAL2)(a.x * b.x - a.y * b.y, a.x * b.y + a.y * b.x); }
static REAL2 conjugate(REAL2 a) { return (REAL2)(a.x, -a.y); }

// sum + a b, in statements that become one fused multiply-add each.
static REAL2 plus_product(REAL2 sum, REAL2 a, REAL2 b) {
  sum.x += a.x * b.x;
  sum.y += a.x * b.y;
  sum.x -= a.y * b.y;
  sum.y += a.y * b.x;
  return sum;
}

static REAL sum_of_lanes(REALV values) {
#if LANES == 1
  return values;
#elif LANES == 4
  const REAL2 pair = values.lo + values.hi;
  return pair.x + pair.y;
#else
  const double4 four = values.lo + values.hi;
  const REAL2 pair = four.lo + four.hi;
  return pair.x + pair.y;
#endif
}

typedef struct {
  __local REAL2* gram;        // [position][lag], SIZE lags
  __local REAL2* products;    // C, [SIZE][SIZE]
  __local REAL2* a;           // [2][SIZE], the predictor before and after a stage
  __local REAL2* numerators;  // [SIZE]
  __local REAL* denominators;
  __local REAL2* steps;  // extension, [step][MAX_TAPS]
} Fit;

static void fill_gram(Fit fit, __local const REAL* re, __local const REAL* im, int length, int stride, int order) {
  for (int i = (int)get_local_id(0); i < length * SIZE; i += FIT_GROUP) {
    const int lag = i % SIZE;
    const int n = i / SIZE;
    REALV sum_re = 0;
    REALV sum_im = 0;
    if (n >= lag && lag <= order) {
      for (int line = 0; line < stride / LANES * LANES; line += LANES) {
        const REALV x_re = LOAD_REALS(re + n * stride + line);
        const REALV x_im = LOAD_REALS(im + n * stride + line);
        const REALV y_re = LOAD_REALS(re + (n - lag) * stride + line);
        const REALV y_im = LOAD_REALS(im + (n - lag) * stride + line);
        sum_re += x_re * y_re;
        sum_im += x_im * y_re;
        sum_re += x_im * y_im;
        sum_im -= x_re * y_im;
      }
    }
    fit.gram[i] = (REAL2)(sum_of_lanes(sum_re), sum_of_lanes(sum_im));
  }
  SYNC(FIT_GROUP);
}

// C_ij at the first stage that uses it, m = max(j, 1) for i <= j, and the predictor 1. What lies past the order is 0.
static void start_fit(Fit fit, int length, int order) {
  const int item = (int)get_local_id(0);
  for (int lag = item; lag < SIZE; lag += FIT_GROUP) {
    REAL2 sums[4] = {(REAL2)(0, 0), (REAL2)(0, 0), (REAL2)(0, 0), (REAL2)(0, 0)};
    for (int n = 0; n + 3 < length; n += 4) {
#pragma unroll
      for (int i = 0; i < 4; ++i) {
        sums[i] += fit.gram[(n + i) * SIZE + lag];
      }
    }
    for (int n = length / 4 * 4; n < length; ++n) {
      sums[0] += fit.gram[n * SIZE + lag];
    }
    REAL2 sum = (sums[0] + sums[1]) + (sums[2] + sums[3]);
    for (int i = 0; i + lag < SIZE; ++i) {
      const int j = i + lag;
      const REAL2 value = j == 0 ? sum - fit.gram[0] : sum;
      fit.products[i * SIZE + j] = j <= order ? value : (REAL2)(0, 0);
      fit.products[j * SIZE + i] = j <= order ? conjugate(value) : (REAL2)(0, 0);
      sum -= i < length ? fit.gram[(length - 1 - i) * SIZE + lag] : (REAL2)(0, 0);
    }
  }
  for (int i = item; i < 2 * SIZE; i += FIT_GROUP) {
    fit.a[i] = (REAL2)(i % SIZE == 0 ? 1 : 0, 0);
  }
  SYNC(FIT_GROUP);
}

// What row t of C, for each t, adds to the sums of stage m. The predictor is 0 from m on, so all loops have one length.
static void stage_shares(Fit fit, __local const REAL2* a, int m) {
  for (int t = (int)get_local_id(0); t < SIZE; t += FIT_GROUP) {
    REAL2 plain = (REAL2)(0, 0);
    REAL2 reversed = (REAL2)(0, 0);
#pragma unroll
    for (int j = 0; j < MAX_TAPS; ++j) {
      plain = plus_product(plain, conjugate(a[j]), fit.products[t * SIZE + j]);
      reversed = plus_product(reversed, a[j], fit.products[t * SIZE + max(m - j, 0)]);
    }
    const REAL2 mirrored = t > 0 && t <= m ? a[m - t] : (REAL2)(0, 0);
    fit.numerators[t] = times(a[t], reversed);
    fit.denominators[t] = (a[t].x * plain.x - a[t].y * plain.y) + (mirrored.x * reversed.x + mirrored.y * reversed.y);
  }
}

// From C of stage m to that of the next: samples m - i and m - j leave.
static void advance_products(Fit fit, int m) {
  for (int t = (int)((get_local_id(0) + FIT_GROUP - FIT_OFFSET) % FIT_GROUP); t < SIZE * SIZE; t += FIT_GROUP) {
    const int i = t / SIZE;
    const int j = t % SIZE;
    if (max(i, j) <= m) {
      const REAL2 gone = fit.gram[(m - min(i, j)) * SIZE + max(i, j) - min(i, j)];
      fit.products[t] -= i <= j ? gone : conjugate(gone);
    }
  }
}

// Burg's predictor; `energy` is that of stage 1 for item 0, 0 for silence.
static __local REAL2* run_fit(Fit fit, int order, REAL* energy) {
  const int item = (int)get_local_id(0);
  __local REAL2* a = fit.a;
  __local REAL2* next = fit.a + SIZE;
  for (int m = 1; m <= order; ++m) {
    stage_shares(fit, a, m);
    SYNC(FIT_GROUP);
    if (item < SIZE) {
      REAL2 numerator = (REAL2)(0, 0);
      REAL denominator = 0;
#pragma unroll
      for (int t = 0; t < SIZE; ++t) {
        numerator += fit.numerators[t];
        denominator += fit.denominators[t];
      }
      *energy = m == 1 ? denominator : *energy;
      const REAL whole = denominator + FLOOR * *energy;
      const REAL scale = whole > 0 ? -2 / whole : 0;
      const REAL2 k = scale * numerator;
      for (int i = item; i < SIZE; i += FIT_GROUP) {
        next[i] = i > 0 && i <= m ? a[i] + times(k, conjugate(a[m - i])) : a[i];
      }
    }
    advance_products(fit, m);
    SYNC(FIT_GROUP);
    __local REAL2* swapped = a;
    a = next;
    next = swapped;
  }
  return a;
}

// The predictor's extension over `count` steps.
static void predict_steps(Fit fit, __local const REAL2* a, int count) {
  const int item = (int)get_local_id(0);
  __local REAL2* steps = fit.steps;
  for (int j = item; j < MAX_TAPS; j += FIT_GROUP) {
    REAL2 made[MAX_TAPS];
#pragma unroll
    for (int s = 0; s < MAX_TAPS; ++s) {
      REAL2 sum = s + 1 + j < SIZE ? -a[s + 1 + j] : (REAL2)(0, 0);
#pragma unroll
      for (int i = 1; i <= s; ++i) {
        sum = plus_product(sum, -a[i], made[s - i]);
      }
      made[s] = sum;
      steps[s * MAX_TAPS + j] = sum;
    }
  }
  SYNC(FIT_GROUP);
  for (int known = MAX_TAPS; known < count; known *= 2) {
    for (int i = item; i < min(known, count - known) * MAX_TAPS; i += FIT_GROUP) {
      const int s = i / MAX_TAPS;
      const int j = i % MAX_TAPS;
      REAL2 sum = (REAL2)(0, 0);
#pragma unroll
      for (int t = 0; t < MAX_TAPS; ++t) {
        sum = plus_product(sum, steps[s * MAX_TAPS + t], steps[(known - 1 - t) * MAX_TAPS + j]);
      }
      steps[known * MAX_TAPS + i] = sum;
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
  const int count = along_x ? STEPS : OTHER_STEPS;
  fill_gram(fit, re, im, length, along_x ? LINE_STRIDE(ROWS) : LINE_STRIDE(COLUMNS), order);
  start_fit(fit, length, order);
  REAL energy = 0;
  __local const REAL2* a = run_fit(fit, order, &energy);
  if (item == 0) {
    *fell_back = !(energy > 0 && isfinite(energy));
  }
  predict_steps(fit, a, count);
  for (int i = item; i < count * MAX_TAPS; i += FIT_GROUP) {
    const REAL2 value = fit.steps[i];
    if (!(value.x * value.x + value.y * value.y <= (REAL)RUNAWAY * (REAL)RUNAWAY)) {
      *fell_back = 1;
    }
  }
  SYNC(FIT_GROUP);
  for (int i = item; i < count * MAX_TAPS; i += FIT_GROUP) {
    const float2 value = *fell_back ? (float2)(0.0f, 0.0f) : (float2)((float)fit.steps[i].x, (float)fit.steps[i].y);
    if (i % MAX_TAPS < order) {
      if (along_x) {
        local_table[i / MAX_TAPS * TAPS + i % MAX_TAPS] = value;
      } else {
        global_table[i / MAX_TAPS * OTHER_TAPS + i % MAX_TAPS] = value;
      }
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
  __local FLOATV re[PLACES * LINE_TILE];
  __local FLOATV im[PLACES * LINE_TILE];
  __local float2 taps[STEPS * TAPS + 1];
  __local uchar usable[CHANNELS];
  __local int some_bad;
  __local int some_unusable;
  const int item = (int)get_local_id(0);
  const int along_x = get_group_id(0) == 0;
  const int image = (int)get_group_id(1);
  const int frame = image / frequencies;
  const int frequency = image % frequencies;

  __global const float2* frame_spectra = spectra + frame * frequencies * CHANNELS;
  const int report = along_x && frequency == 0;
  if (item == 0) {
    some_bad = 0;
    some_unusable = 0;
  }
  SYNC(FIT_GROUP);
  load_samples(spectra + image * CHANNELS, gains + HAS_GAINS * frequency * CHANNELS, sample_re, sample_im, along_x);
#if CHECK_HERE
  if (finds_bad(frame_spectra, frequencies)) {
    some_bad = 1;
  }
#endif
  for (int i = item; i < CHANNELS; i += FIT_GROUP) {
    usable[i] = CHECK_HERE ? !masked[i] : usable_microphones[frame * CHANNELS + i];
    if (!usable[i]) {
      some_unusable = 1;
    }
  }
  SYNC(FIT_GROUP);
  if (CHECK_HERE && report && item == 0 && some_unusable) {
    atomic_or(&status[4 * frame], (uint)FLAG_MASKED);
  }
  if (some_bad) {
    mark_finite(frame_spectra, usable, status + 4 * frame, frequencies, report);
    SYNC(FIT_GROUP);
  }
  if (some_bad || some_unusable) {
    fill_samples(usable, sample_re, sample_im, along_x);
    SYNC(FIT_GROUP);
  }
#if PREDICT
  __local REAL2 gram[MAX_LENGTH * SIZE];
  __local REAL2 products[SIZE * SIZE];
  __local REAL2 predictors[2 * SIZE];
  __local REAL2 numerators[SIZE];
  __local REAL denominators[SIZE];
  __local REAL2 steps[(MAX_STEPS > MAX_TAPS ? MAX_STEPS : MAX_TAPS) * MAX_TAPS];
  __local int fell_back;
  Fit fit = {gram, products, predictors, numerators, denominators, steps};
  make_extension(fit, sample_re, sample_im, &fell_back, taps, extension + image * OTHER_STEPS * OTHER_TAPS,
                 status + 4 * frame, along_x);
#else
  for (int i = item; i < STEPS * TAPS; i += FIT_GROUP) {
    taps[i] = fixed[i];
  }
#endif

  for (int first = along_x ? 0 : VECTORS_OF(LINES); first < VECTORS_OF(LINES); first += LINE_TILE) {
    for (int i = item; i < LENGTH * LINE_TILE; i += FIT_GROUP) {
      const int vector = min(first + i % LINE_TILE, VECTORS_OF(LINES) - 1);
      const int from = i / LINE_TILE * LINE_STRIDE(LINES) + vector * LANES;
      const int to = PLACE_OF(BEFORE + i / LINE_TILE) * LINE_TILE + i % LINE_TILE;
      re[to] = TO_FLOATS(LOAD_REALS(sample_re + from));
      im[to] = TO_FLOATS(LOAD_REALS(sample_im + from));
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
