// Vectors of LANES pixels side by side, or single values if it is 1, and their phases.

//! default LANES 1  // 1 or 8
#define WIDTH LANES

//! needs common/vectors.cl

#define LOAD_PAIR(re, im, from)               \
  {                                           \
    const COMPLEXV pair = LOAD_COMPLEX(from); \
    re = pair.even;                           \
    im = pair.odd;                            \
  }

// Writes the first `count` lanes, real and imaginary parts side by side.
static inline void store_pairs(__global float2* to, const int count, const FLOATV re, const FLOATV im) {
#if LANES == 1
  if (count > 0) {
    *to = (float2)(re, im);
  }
#else
  COMPLEXV pairs;
  pairs.even = re;
  pairs.odd = im;
  if (count >= LANES) {
    vstore16(pairs, 0, (__global float*)to);
    return;
  }
  float values[16];
  vstore16(pairs, 0, values);
  for (int lane = 0; lane < count; ++lane) {
    to[lane] = (float2)(values[2 * lane], values[2 * lane + 1]);
  }
#endif
}

static inline void store_floats(__global float* to, const int count, const FLOATV value) {
#if LANES == 1
  if (count > 0) {
    *to = value;
  }
#else
  if (count >= LANES) {
    STORE_FLOATS(value, to);
    return;
  }
  float values[LANES];
  STORE_FLOATS(value, values);
  for (int lane = 0; lane < count; ++lane) {
    to[lane] = values[lane];
  }
#endif
}

// The nearest whole number, for less than 2^22: adding 3 * 2^22 leaves no bits for a fraction.
#define WHOLE(value) (((value) + 12582912.0f) - 12582912.0f)

// e^{+j 2 pi turns}: sine and cosine of half the angle by polynomials (minimax over a quarter turn either way, 1.2e-8
// and 4.7e-8), then the double angle: plain arithmetic, as a library computes one lane after the other.
static inline void exact_phasor(const FLOATV turns, FLOATV* re, FLOATV* im) {
  const FLOATV part = turns - WHOLE(turns);
  const FLOATV square = part * part;
  FLOATV sine = square * 7.787740581e-2f + -5.984234994e-1f;
  sine = sine * square + 2.550102054f;
  sine = sine * square + -5.167711483f;
  sine = sine * square + 3.141592651f;
  sine = sine * part;
  FLOATV cosine = square * 2.196968020e-1f + -1.331880163f;
  cosine = cosine * square + 4.058411914f;
  cosine = cosine * square + -4.934792859f;
  cosine = cosine * square + 9.999999535e-1f;
  const FLOATV twice = sine + sine;
  *re = 1.0f - twice * sine;
  *im = twice * cosine;
}

// e^{+j 2 pi turns} with an error of 4e-7: single values by the device's own functions.
static inline void phasor(const FLOATV turns, FLOATV* re, FLOATV* im) {
#if LANES == 1
  const float angle = 6.28318531f * (turns - rint(turns));
  *re = native_cos(angle);
  *im = native_sin(angle);
#else
  exact_phasor(turns, re, im);
#endif
}
