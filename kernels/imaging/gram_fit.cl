// Burg's pooled predictors of predictor.cl by other sums, for groups of one item.
//
// The errors of stage m are linear in the samples x[n-i], i = 0..m, so the sums of their products follow from
// C_ij = sum_{n=m}^{N-1} sum_lines x[n-i] conj(x[n-j]) alone,
//   sum f[n] conj(g[n-1])     = sum_ij a_i a_j C_{i,m-j}
//   sum |f[n]|^2 + |g[n-1]|^2 = sum_ij a_i conj(a_j) C_ij + conj(a_i) a_j C_{m-i,m-j},    i, j = 0..m-1,
// and C from the banded Gram matrix G[n][d] = sum_lines x[n] conj(x[n-d]): one pass over the samples. It needs double
// precision; the floor keeps denominators above 3e-4 of the power, so that cancellation costs at most about 1e-10 of a
// coefficient (docs/studies/burg_gram.py).

//! default FIT_GROUP 1  // items per group; larger groups use lattice_fit.cl instead

//! needs imaging/predicted_steps.cl

#if GRAM

//! default FLOOR 3e-4  // floor of the error power, relative

typedef struct {
  REAL2 gram[MAX_LENGTH * SIZE];  // [position][lag], SIZE lags
  REAL2 products[SIZE * SIZE];    // C
  REAL2 predictors[2 * SIZE];     // before and after a stage
} Fit;

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

LOCAL_HELPER void fill_gram(__local Fit* fit, __local const REAL* re, __local const REAL* im, int length, int stride,
                            int order) {
  for (int i = 0; i < length * SIZE; ++i) {
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
    fit->gram[i] = (REAL2)(sum_of_lanes(sum_re), sum_of_lanes(sum_im));
  }
}

// Sets C_ij for the first stage that uses it, m = max(j, 1) for i <= j, and the predictor 1. Values past the order are
// 0.
LOCAL_HELPER void start_fit(__local Fit* fit, int length, int order) {
  for (int lag = 0; lag < SIZE; ++lag) {
    REAL2 sum = (REAL2)(0, 0);
    for (int n = 0; n < length; ++n) {
      sum += fit->gram[n * SIZE + lag];
    }
    for (int i = 0; i + lag < SIZE; ++i) {
      const int j = i + lag;
      const REAL2 value = j == 0 ? sum - fit->gram[0] : sum;
      fit->products[i * SIZE + j] = j <= order ? value : (REAL2)(0, 0);
      fit->products[j * SIZE + i] = j <= order ? conjugate(value) : (REAL2)(0, 0);
      sum -= i < length ? fit->gram[(length - 1 - i) * SIZE + lag] : (REAL2)(0, 0);
    }
  }
  for (int i = 0; i < 2 * SIZE; ++i) {
    fit->predictors[i] = (REAL2)(i % SIZE == 0 ? 1 : 0, 0);
  }
}

// Sums of stage m: numerator in x and y, denominator in z. The predictor is 0 from m on, so all loops have one length.
LOCAL_HELPER double3 stage_sums(__local const Fit* fit, __local const REAL2* a, int m) {
  double3 sums = (double3)(0, 0, 0);
  for (int t = 0; t < SIZE; ++t) {
    REAL2 plain = (REAL2)(0, 0);
    REAL2 reversed = (REAL2)(0, 0);
#pragma unroll
    for (int j = 0; j < MAX_TAPS; ++j) {
      plain = plus_product(plain, conjugate(a[j]), fit->products[t * SIZE + j]);
      reversed = plus_product(reversed, a[j], fit->products[t * SIZE + max(m - j, 0)]);
    }
    const REAL2 mirrored = t > 0 && t <= m ? a[m - t] : (REAL2)(0, 0);
    sums.xy += times(a[t], reversed);
    sums.z += (a[t].x * plain.x - a[t].y * plain.y) + (mirrored.x * reversed.x + mirrored.y * reversed.y);
  }
  return sums;
}

// Updates C of stage m to that of the next: samples m - i and m - j leave.
LOCAL_HELPER void advance_products(__local Fit* fit, int m) {
  for (int i = 0; i <= min(m, MAX_TAPS); ++i) {
    for (int j = 0; j <= min(m, MAX_TAPS); ++j) {
      const REAL2 gone = fit->gram[(m - min(i, j)) * SIZE + max(i, j) - min(i, j)];
      fit->products[i * SIZE + j] -= i <= j ? gone : conjugate(gone);
    }
  }
}

// Burg's predictor of all lines, [SIZE]; `energy` is that of stage 1, 0 for silence.
LOCAL_HELPER __local const REAL2* fit_predictor(__local Fit* fit, __local const REAL* re, __local const REAL* im,
                                                int length, int lines, int stride, int order, REAL* energy) {
  fill_gram(fit, re, im, length, stride, order);
  start_fit(fit, length, order);
  __local REAL2* a = fit->predictors;
  __local REAL2* next = fit->predictors + SIZE;
  for (int m = 1; m <= order; ++m) {
    const double3 sums = stage_sums(fit, a, m);
    *energy = m == 1 ? sums.z : *energy;
    const REAL whole = sums.z + FLOOR * *energy;
    const REAL2 k = (whole > 0 ? -2 / whole : 0) * sums.xy;
    for (int i = 0; i < SIZE; ++i) {
      next[i] = i > 0 && i <= m ? a[i] + times(k, conjugate(a[m - i])) : a[i];
    }
    advance_products(fit, m);
    __local REAL2* swapped = a;
    a = next;
    next = swapped;
  }
  return a;
}
#endif  // GRAM
