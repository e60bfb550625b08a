// Short discrete Fourier transforms in registers, of LANES lines at once, and the steps of a transform of two factors.
//
// A length PADDED = OUTER * INNER with n = INNER n1 + n2 and k = k1 + OUTER k2 is transformed as (Cooley and Tukey 1965)
//   X[k] = sum_n2 w_INNER^(n2 k2) [ w_PADDED^(n2 k1) sum_n1 w_OUTER^(n1 k1) x[n] ],   w_N = e^(-+2 pi j / N),
// the bracket by one item for each n2, the outer sum by one item for each k1; the inverse runs in the opposite order.
// Both lengths are products A * B of two of the radices 1, 2, 3, 4, 5, 7, done in the same way within an item, whose
// results are in the order of OUTER_BIN and INNER_BIN.
//
// Everything is unrolled: lengths, roots and signs are constants.

//! default LANES 1  // lines in a vector: 1, 4 or 8
#define WIDTH LANES

//! needs common/vectors.cl

//! default OUTER_A 4
//! default OUTER_B 3
//! default INNER_A 4
//! default INNER_B 2
// clang-format's result on these lines is not stable.
// clang-format off
#ifndef OUTER_ROOTS  // V(cos) V(-sin) of 2 pi i / OUTER, i = 0..OUTER-1
#define OUTER_ROOTS \
  V(1.0f) V(0.0f) V(0.8660254f) V(-0.5f) V(0.5f) V(-0.8660254f) V(0.0f) V(-1.0f) \
  V(-0.5f) V(-0.8660254f) V(-0.8660254f) V(-0.5f) V(-1.0f) V(0.0f) V(-0.8660254f) V(0.5f) \
  V(-0.5f) V(0.8660254f) V(0.0f) V(1.0f) V(0.5f) V(0.8660254f) V(0.8660254f) V(0.5f)
#endif
#ifndef INNER_ROOTS
#define INNER_ROOTS \
  V(1.0f) V(0.0f) V(0.70710677f) V(-0.70710677f) V(0.0f) V(-1.0f) V(-0.70710677f) V(-0.70710677f) \
  V(-1.0f) V(0.0f) V(-0.70710677f) V(0.70710677f) V(0.0f) V(1.0f) V(0.70710677f) V(0.70710677f)
#endif
// clang-format on
//! default PADDED 96  // OUTER * INNER
#define OUTER (OUTER_A * OUTER_B)
#define INNER (INNER_A * INNER_B)

#define FORWARD (1.0f)
#define BACKWARD (-1.0f)

#define V(value) value,
__constant float outer_roots[] = {OUTER_ROOTS};
__constant float inner_roots[] = {INNER_ROOTS};

// (re, im) *= (c, direction * s)
#define TURN(re, im, c, s)                         \
  do {                                             \
    const FLOATV turned = (re) * (c) - (im) * (s); \
    (im) = (re) * (s) + (im) * (c);                \
    (re) = turned;                                 \
  } while (0)

static inline void dft_1(FLOATV* re, FLOATV* im, const int step, const float direction) {}

static inline void dft_2(FLOATV* re, FLOATV* im, const int step, const float direction) {
  const FLOATV r = re[0] - re[step];
  const FLOATV i = im[0] - im[step];
  re[0] += re[step];
  im[0] += im[step];
  re[step] = r;
  im[step] = i;
}

// Sums and differences for bins +k and -k: a = even part, b = odd part, bins a -+ j b.
#define BIN_PAIR(low, high, a_re, a_im, b_re, b_im) \
  do {                                              \
    re[low] = (a_re) + direction * (b_im);          \
    im[low] = (a_im)-direction * (b_re);            \
    re[high] = (a_re)-direction * (b_im);           \
    im[high] = (a_im) + direction * (b_re);         \
  } while (0)

static inline void dft_3(FLOATV* re, FLOATV* im, const int step, const float direction) {
  const float s = 0.866025404f;
  const FLOATV sum_re = re[step] + re[2 * step];
  const FLOATV sum_im = im[step] + im[2 * step];
  const FLOATV b_re = s * (re[step] - re[2 * step]);
  const FLOATV b_im = s * (im[step] - im[2 * step]);
  const FLOATV a_re = re[0] - 0.5f * sum_re;
  const FLOATV a_im = im[0] - 0.5f * sum_im;
  re[0] += sum_re;
  im[0] += sum_im;
  BIN_PAIR(step, 2 * step, a_re, a_im, b_re, b_im);
}

static inline void dft_4(FLOATV* re, FLOATV* im, const int step, const float direction) {
  const FLOATV even_re = re[0] + re[2 * step];
  const FLOATV even_im = im[0] + im[2 * step];
  const FLOATV a_re = re[0] - re[2 * step];
  const FLOATV a_im = im[0] - im[2 * step];
  const FLOATV odd_re = re[step] + re[3 * step];
  const FLOATV odd_im = im[step] + im[3 * step];
  const FLOATV b_re = re[step] - re[3 * step];
  const FLOATV b_im = im[step] - im[3 * step];
  re[0] = even_re + odd_re;
  im[0] = even_im + odd_im;
  re[2 * step] = even_re - odd_re;
  im[2 * step] = even_im - odd_im;
  BIN_PAIR(step, 3 * step, a_re, a_im, b_re, b_im);
}

static inline void dft_5(FLOATV* re, FLOATV* im, const int step, const float direction) {
  const float c1 = 0.309016994f;
  const float c2 = -0.809016994f;
  const float s1 = 0.951056516f;
  const float s2 = 0.587785252f;
  const FLOATV p_re = re[step] + re[4 * step];
  const FLOATV p_im = im[step] + im[4 * step];
  const FLOATV q_re = re[2 * step] + re[3 * step];
  const FLOATV q_im = im[2 * step] + im[3 * step];
  const FLOATV u_re = re[step] - re[4 * step];
  const FLOATV u_im = im[step] - im[4 * step];
  const FLOATV v_re = re[2 * step] - re[3 * step];
  const FLOATV v_im = im[2 * step] - im[3 * step];
  const FLOATV first_re = re[0];
  const FLOATV first_im = im[0];
  re[0] += p_re + q_re;
  im[0] += p_im + q_im;
  BIN_PAIR(step, 4 * step, first_re + c1 * p_re + c2 * q_re, first_im + c1 * p_im + c2 * q_im, s1 * u_re + s2 * v_re,
           s1 * u_im + s2 * v_im);
  BIN_PAIR(2 * step, 3 * step, first_re + c2 * p_re + c1 * q_re, first_im + c2 * p_im + c1 * q_im,
           s2 * u_re - s1 * v_re, s2 * u_im - s1 * v_im);
}

static inline void dft_7(FLOATV* re, FLOATV* im, const int step, const float direction) {
  const float c1 = 0.623489802f;
  const float c2 = -0.222520934f;
  const float c3 = -0.900968868f;
  const float s1 = 0.781831482f;
  const float s2 = 0.974927912f;
  const float s3 = 0.433883739f;
  const FLOATV p_re = re[step] + re[6 * step];
  const FLOATV p_im = im[step] + im[6 * step];
  const FLOATV q_re = re[2 * step] + re[5 * step];
  const FLOATV q_im = im[2 * step] + im[5 * step];
  const FLOATV r_re = re[3 * step] + re[4 * step];
  const FLOATV r_im = im[3 * step] + im[4 * step];
  const FLOATV u_re = re[step] - re[6 * step];
  const FLOATV u_im = im[step] - im[6 * step];
  const FLOATV v_re = re[2 * step] - re[5 * step];
  const FLOATV v_im = im[2 * step] - im[5 * step];
  const FLOATV w_re = re[3 * step] - re[4 * step];
  const FLOATV w_im = im[3 * step] - im[4 * step];
  const FLOATV first_re = re[0];
  const FLOATV first_im = im[0];
  re[0] += p_re + q_re + r_re;
  im[0] += p_im + q_im + r_im;
  BIN_PAIR(step, 6 * step, first_re + c1 * p_re + c2 * q_re + c3 * r_re, first_im + c1 * p_im + c2 * q_im + c3 * r_im,
           s1 * u_re + s2 * v_re + s3 * w_re, s1 * u_im + s2 * v_im + s3 * w_im);
  BIN_PAIR(2 * step, 5 * step, first_re + c2 * p_re + c3 * q_re + c1 * r_re,
           first_im + c2 * p_im + c3 * q_im + c1 * r_im, s2 * u_re - s3 * v_re - s1 * w_re,
           s2 * u_im - s3 * v_im - s1 * w_im);
  BIN_PAIR(3 * step, 4 * step, first_re + c3 * p_re + c1 * q_re + c2 * r_re,
           first_im + c3 * p_im + c1 * q_im + c2 * r_im, s3 * u_re - s1 * v_re + s2 * w_re,
           s3 * u_im - s1 * v_im + s2 * w_im);
}

// Bin at position q of an item's result.
#define OUTER_BIN(q) ((q) / OUTER_B + OUTER_A * ((q) % OUTER_B))
#define INNER_BIN(q) ((q) / INNER_B + INNER_A * ((q) % INNER_B))

static inline void outer_dft(FLOATV* re, FLOATV* im, const float direction) {
#pragma unroll
  for (int n = 0; n < OUTER_B; ++n) {
    JOIN(dft_, OUTER_A)(re + n, im + n, OUTER_B, direction);
#pragma unroll
    for (int k = 1; k < OUTER_A; ++k) {
      if (n > 0) {
        TURN(re[OUTER_B * k + n], im[OUTER_B * k + n], outer_roots[2 * n * k], direction * outer_roots[2 * n * k + 1]);
      }
    }
  }
#pragma unroll
  for (int k = 0; k < OUTER_A; ++k) {
    JOIN(dft_, OUTER_B)(re + OUTER_B * k, im + OUTER_B * k, 1, direction);
  }
}

static inline void inner_dft(FLOATV* re, FLOATV* im, const float direction) {
#pragma unroll
  for (int n = 0; n < INNER_B; ++n) {
    JOIN(dft_, INNER_A)(re + n, im + n, INNER_B, direction);
#pragma unroll
    for (int k = 1; k < INNER_A; ++k) {
      if (n > 0) {
        TURN(re[INNER_B * k + n], im[INNER_B * k + n], inner_roots[2 * n * k], direction * inner_roots[2 * n * k + 1]);
      }
    }
  }
#pragma unroll
  for (int k = 0; k < INNER_A; ++k) {
    JOIN(dft_, INNER_B)(re + INNER_B * k, im + INNER_B * k, 1, direction);
  }
}
