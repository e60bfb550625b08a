// Lines of one axis in local memory, [PLACES][vector of lines], real and imaginary parts apart: extended past the
// aperture, tapered and transformed by a work-group. Position INNER i + j of a line lies at PLACE(i, j); on GPUs these
// leave gaps, so that neighbouring i lie in different banks.
//
//   extension  float2 [step][tap]: the sample `step` + 1 past the aperture is the sum over taps of extension times the
//              samples from the edge inwards; conjugated on the side of the lower positions
//   window     float [PADDED]
//   roots      float2 [PADDED], e^(-2 pi j i / PADDED)

//! needs common/local_helper.cl
//! needs imaging/short_dft.cl

//! default LENGTH 32  // measured samples of a line
//! default BEFORE 32  // padding in front of them
//! default TAPS 8  // taps of the extension
#define AFTER (PADDED - BEFORE - LENGTH)
#define STEPS (BEFORE > AFTER ? BEFORE : AFTER)

#define PITCH (INNER + (LANES == 1 ? 1 : 0))
#define PLACE(i, j) (PITCH * (i) + (j))
#define PLACE_OF(position) PLACE((position) / INNER, (position) % INNER)
#define PLACES (PITCH * OUTER)

// Extends the aperture, at positions BEFORE..BEFORE + LENGTH - 1, to both sides. An item keeps the outermost TAPS
// samples of one side and makes some of its steps from them.
LOCAL_HELPER void extend_wings(__local FLOATV* re, __local FLOATV* im, __local const float2* extension,
                               __global const float* window, const int item, const int group, const int tile) {
  const int parts = max(group / (2 * tile), 1);
  for (int i = item; i < 2 * tile * parts; i += group) {
    const int vector = i % tile;
    const int behind = i / tile % 2;
    const int edge = behind ? BEFORE + LENGTH - 1 : BEFORE;
    const int inwards = behind ? -1 : 1;
    const float side = behind ? 1.0f : -1.0f;
    FLOATV sample_re[TAPS];
    FLOATV sample_im[TAPS];
#pragma unroll
    for (int tap = 0; tap < TAPS; ++tap) {
      sample_re[tap] = re[PLACE_OF(edge + inwards * tap) * tile + vector];
      sample_im[tap] = side * im[PLACE_OF(edge + inwards * tap) * tile + vector];
    }
    for (int first = 0; first < STEPS; first += parts) {
      const int step = first + i / (2 * tile);
      if (step >= (behind ? AFTER : BEFORE)) {
        break;
      }
      FLOATV sum_re = 0.0f;
      FLOATV sum_im = 0.0f;
#pragma unroll
      for (int tap = 0; tap < TAPS; ++tap) {
        const float2 factor = extension[step * TAPS + tap];
        sum_re += factor.x * sample_re[tap];
        sum_im += factor.x * sample_im[tap];
        sum_re -= factor.y * sample_im[tap];
        sum_im += factor.y * sample_re[tap];
      }
      const int position = edge - inwards * (step + 1);
      re[PLACE_OF(position) * tile + vector] = window[position] * sum_re;
      im[PLACE_OF(position) * tile + vector] = side * window[position] * sum_im;
    }
  }
}

// The forward transform's first half: PLACE(k1, n2) holds the bracket of short_dft.cl.
LOCAL_HELPER void outer_forward(__local FLOATV* re, __local FLOATV* im, __global const float2* roots, const int item,
                                const int group, const int tile) {
  for (int i = item; i < INNER * tile; i += group) {
    const int vector = i % tile;
    const int n2 = i / tile;
    FLOATV x_re[OUTER];
    FLOATV x_im[OUTER];
#pragma unroll
    for (int n1 = 0; n1 < OUTER; ++n1) {
      x_re[n1] = re[PLACE(n1, n2) * tile + vector];
      x_im[n1] = im[PLACE(n1, n2) * tile + vector];
    }
    outer_dft(x_re, x_im, FORWARD);
#pragma unroll
    for (int q = 0; q < OUTER; ++q) {
      const int k1 = OUTER_BIN(q);
      const float2 root = roots[n2 * k1];
      TURN(x_re[q], x_im[q], root.x, root.y);
      re[PLACE(k1, n2) * tile + vector] = x_re[q];
      im[PLACE(k1, n2) * tile + vector] = x_im[q];
    }
  }
}

// The second half, for one k1 of one vector of lines: position q is bin k1 + OUTER INNER_BIN(q).
LOCAL_HELPER void inner_forward(__local const FLOATV* re, __local const FLOATV* im, FLOATV* x_re, FLOATV* x_im,
                                const int k1, const int vector, const int tile) {
#pragma unroll
  for (int n2 = 0; n2 < INNER; ++n2) {
    x_re[n2] = re[PLACE(k1, n2) * tile + vector];
    x_im[n2] = im[PLACE(k1, n2) * tile + vector];
  }
  inner_dft(x_re, x_im, FORWARD);
}

// The inverse transform's first half, for one k1: x[k2] is bin k1 + OUTER k2.
LOCAL_HELPER void inner_backward(__local FLOATV* re, __local FLOATV* im, FLOATV* x_re, FLOATV* x_im,
                                 __global const float2* roots, const int k1, const int vector, const int tile) {
  inner_dft(x_re, x_im, BACKWARD);
#pragma unroll
  for (int q = 0; q < INNER; ++q) {
    const int n2 = INNER_BIN(q);
    const float2 root = roots[n2 * k1];
    TURN(x_re[q], x_im[q], root.x, -root.y);
    re[PLACE(k1, n2) * tile + vector] = x_re[q];
    im[PLACE(k1, n2) * tile + vector] = x_im[q];
  }
}

// The second half, for one n2: position q is sample INNER OUTER_BIN(q) + n2.
LOCAL_HELPER void outer_backward(__local const FLOATV* re, __local const FLOATV* im, FLOATV* x_re, FLOATV* x_im,
                                 const int n2, const int vector, const int tile) {
#pragma unroll
  for (int k1 = 0; k1 < OUTER; ++k1) {
    x_re[k1] = re[PLACE(k1, n2) * tile + vector];
    x_im[k1] = im[PLACE(k1, n2) * tile + vector];
  }
  outer_dft(x_re, x_im, BACKWARD);
}

// Writes the vector's lines to line-major memory: line `lane` at to[lane * stride], only those below `lines`.
static inline void store_lines(__global float2* to, const int stride, const int lines, const FLOATV re,
                               const FLOATV im) {
#if LANES == 1
  if (lines > 0) {
    *to = (float2)(re, im);
  }
#else
  float lane_re[LANES];
  float lane_im[LANES];
  STORE_FLOATS(re, lane_re);
  STORE_FLOATS(im, lane_im);
#pragma unroll
  for (int lane = 0; lane < LANES; ++lane) {
    if (lane < lines) {
      to[lane * stride] = (float2)(lane_re[lane], lane_im[lane]);
    }
  }
#endif
}
