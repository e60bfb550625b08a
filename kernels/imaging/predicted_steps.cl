// From predictors to their extension.
//
// A predictor a of order p extends its lines by x[n] = -sum_{i=1..p} a_i x[n-i]. Step s past the edge as a sum over the
// p outermost samples is row e_s of the extension: e_s = -sum_i a_i e_{s-i}, e_{-t} the unit vector t, and, from p
// known steps on, e_{q+s}[j] = sum_t e_s[t] e_{q-t}[j], which doubles their number in each pass.
//
//   a      REAL2 [SIZE], a_0 = 1, 0 past its order
//   steps  REAL2 [step][MAX_TAPS]

//! needs imaging/aperture_lines.cl

//! default TAPS 8  // order of the predictor along x
//! default STEPS 32  // along x
//! default OTHER_TAPS 8  // along y
//! default OTHER_STEPS 32  // along y
//! default RUNAWAY 1e6
//! default FLAG_FELL_BACK 1
#define MAX_TAPS (TAPS > OTHER_TAPS ? TAPS : OTHER_TAPS)
#define SIZE (MAX_TAPS + 1)
#define MAX_STEPS (STEPS > OTHER_STEPS ? STEPS : OTHER_STEPS)
#define STEP_VALUES ((MAX_STEPS > MAX_TAPS ? MAX_STEPS : MAX_TAPS) * MAX_TAPS)

static REAL2 times(REAL2 a, REAL2 b) { return (REAL2)(a.x * b.x - a.y * b.y, a.x * b.y + a.y * b.x); }
static REAL2 conjugate(REAL2 a) { return (REAL2)(a.x, -a.y); }

// sum + a b, in statements that compile to one fused multiply-add each.
static REAL2 plus_product(REAL2 sum, REAL2 a, REAL2 b) {
  sum.x += a.x * b.x;
  sum.y += a.x * b.y;
  sum.x -= a.y * b.y;
  sum.y += a.y * b.x;
  return sum;
}

// Computes the extension over `count` steps. Called by all items of a group; ends with a barrier.
LOCAL_HELPER void predict_steps(__local const REAL2* a, __local REAL2* steps, int count) {
  const int item = (int)get_local_id(0);
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

// Writes the extension of usable predictors, else 0, and flags these. Called by all items of a group.
LOCAL_HELPER void store_extension(__local const REAL2* steps, __local int* fell_back, __global float2* extension,
                                  __global uint* status, int order, int count) {
  const int item = (int)get_local_id(0);
  for (int i = item; i < count * MAX_TAPS; i += FIT_GROUP) {
    const REAL2 value = steps[i];
    if (!(value.x * value.x + value.y * value.y <= (REAL)RUNAWAY * (REAL)RUNAWAY)) {
      *fell_back = 1;
    }
  }
  SYNC(FIT_GROUP);
  for (int i = item; i < count * MAX_TAPS; i += FIT_GROUP) {
    if (i % MAX_TAPS < order) {
      extension[i / MAX_TAPS * order + i % MAX_TAPS] =
          *fell_back ? (float2)(0.0f, 0.0f) : (float2)((float)steps[i].x, (float)steps[i].y);
    }
  }
  if (item == 0 && *fell_back) {
    atomic_or(status, (uint)FLAG_FELL_BACK);
  }
}
