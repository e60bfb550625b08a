// Burg's pooled predictors of predictor.cl from other sums, and the extension that they give. Include after
// aperture_lines.cl.
//
// The errors of stage m are linear in the samples x[n-i], i = 0..m, so the sums of their products follow from
// C_ij = sum_{n=m}^{N-1} sum_lines x[n-i] conj(x[n-j]) alone,
//   sum f[n] conj(g[n-1])     = sum_ij a_i a_j C_{i,m-j}
//   sum |f[n]|^2 + |g[n-1]|^2 = sum_ij a_i conj(a_j) C_ij + conj(a_i) a_j C_{m-i,m-j},    i, j = 0..m-1,
// and C from the banded Gram matrix G[n][d] = sum_lines x[n] conj(x[n-d]): one pass over the samples. It needs double
// precision; the floor keeps denominators above 3e-4 of the power, so that what cancels costs no more than about 1e-10
// of a coefficient (docs/studies/burg_gram.py).
// The predictor then becomes `extension` (padded_lines.cl): e_s = -sum_i a_i e_{s-i}, e_{-t} the unit vector t, and, from
// `order` known steps on, e_{q+s}[j] = sum_t e_s[t] e_{q-t}[j], which doubles their number in each pass.
//
// Each function is for all FIT_GROUP items of a group and ends with a barrier, but for those that say otherwise.

#ifndef OTHER_TAPS  // TAPS of y
#define OTHER_TAPS 8
#endif
#ifndef OTHER_STEPS  // STEPS of y
#define OTHER_STEPS 32
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
#define MAX_TAPS (TAPS > OTHER_TAPS ? TAPS : OTHER_TAPS)
#define SIZE (MAX_TAPS + 1)
#define MAX_STEPS (STEPS > OTHER_STEPS ? STEPS : OTHER_STEPS)
#define FIT_OFFSET (FIT_GROUP > 64 ? 32 : 0)  // of items that have other work

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
// No barrier.
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

// From C of stage m to that of the next: samples m - i and m - j leave. No barrier.
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
