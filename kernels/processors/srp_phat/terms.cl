// Sum over bins and microphones of the formulas in srp_phat/weights.cl: the terms of one or two microphones at the
// pixels of a work-item, sum[k] += Z[k][m] e^{+j 2 pi f_k path_m / c} for a tile of bins.
//
// If bins are equally spaced, phasors follow from the recurrence e[k+1] = 2 cos(a) e[k] - e[k-1], a = 2 pi SPACING
// path, outwards from two of them in the middle of each run of RUN bins. Its n-th step multiplies the rounding errors
// before it by at most n: with runs of 16, n <= 8, by 8^2/2 times the rounding of 2 cos(a), 4e-6 of a term at the run's
// ends. The middles of further runs need one multiplication each, from middle to middle.
// A term (pixel, microphone, bin) costs 6 multiply-adds: 4 for the complex product, 2 for the recurrence. Its share of
// a microphone's path and of three phasors is some 40 of them over RUN. Z comes from local memory, once for all VECTORS
// pixels of an item: 2/VECTORS words per term. A compute unit of NVIDIA's GPUs has 128 multiply-adds and 32 words of
// local memory per clock, so that with 2 pixels per item, at 6/128 against 1/32 clocks per term, arithmetic is the
// bottleneck. On processors a vector of 8 pixels is an item, its sums of a tile lie in the first-level cache, and two
// microphones at a time halve their loads and stores.

//! needs common/local_helper.cl
//! needs processors/srp_phat/weights.cl

//! default AT_ONCE 1  // microphones whose terms are added together; 1 on GPUs
//! default RUN 16  // bins per recurrence, a multiple of 4
//! default EVEN 0  // 1: bins are equally spaced by SPACING
//! default TILED 1  // 1: groups of many items, with phases in local memory; 0: groups of one, in global memory
#if TILED
#define PHASE_SPACE __local
#else
#define PHASE_SPACE __global
#endif
#define RUNS (TILE_BINS / RUN)
#define STATES (AT_ONCE * VECTORS)
// Pairs of bins in a tile.
#define PAIRS (TILE_BINS / 2)

// Distance from q to a microphone, minus that to the array's centre; NaN if they are too near to each other.
static inline FLOATV path_of(const FLOATV q_x, const FLOATV q_y, const FLOATV q_z, const FLOATV length,
                             const float4 x) {
  const FLOATV inner = q_x * x.x + q_y * x.y + q_z * x.z;
#if PLANE_WAVE
  return -inner;
#else
  const FLOATV d_x = q_x - x.x;
  const FLOATV d_y = q_y - x.y;
  const FLOATV d_z = q_z - x.z;
  const FLOATV square = d_x * d_x + d_y * d_y + d_z * d_z;
  const FLOATV path = (x.w - 2.0f * inner) / (sqrt(square) + length);
  return square < NEAREST * NEAREST ? (FLOATV)(NAN) : path;
#endif
}

// Adds the complex product of z with each phasor to the sums of its pixel.
static inline void add_product(const float2 z, const FLOATV* phasor_re, const FLOATV* phasor_im, FLOATV* sum_re,
                               FLOATV* sum_im) {
#pragma unroll
  for (int v = 0; v < VECTORS; ++v) {
    sum_re[v * TILE_BINS] += z.x * phasor_re[v];
    sum_re[v * TILE_BINS] -= z.y * phasor_im[v];
    sum_im[v * TILE_BINS] += z.x * phasor_im[v];
    sum_im[v * TILE_BINS] += z.y * phasor_re[v];
  }
}

// Adds a bin, z of each microphone, and advances the recurrence to the next one.
static inline void add_bin(const float2* z, const FLOATV* twice, FLOATV* before_re, FLOATV* before_im, FLOATV* here_re,
                           FLOATV* here_im, FLOATV* sum_re, FLOATV* sum_im) {
#pragma unroll
  for (int a = 0; a < AT_ONCE; ++a) {
    add_product(z[a], here_re + a * VECTORS, here_im + a * VECTORS, sum_re, sum_im);
  }
#pragma unroll
  for (int s = 0; s < STATES; ++s) {
    const FLOATV re = twice[s] * here_re[s] - before_re[s];
    const FLOATV im = twice[s] * here_im[s] - before_im[s];
    before_re[s] = here_re[s];
    before_im[s] = here_im[s];
    here_re[s] = re;
    here_im[s] = im;
  }
}

// `z` has the pairs of bins of the first microphone, `apart` before those of the next. `paths` [microphone][vector],
// `waves_per_m` of the tile's bins, `sum_re` and `sum_im` [vector][bin].
LOCAL_HELPER void add_terms(PHASE_SPACE const float4* z, const int apart, const FLOATV* paths,
                            __global const float* waves_per_m, FLOATV* sum_re, FLOATV* sum_im) {
#if EVEN
  FLOATV twice[STATES];
  FLOATV middle_re[STATES], middle_im[STATES], next_re[STATES], next_im[STATES];
#if RUNS > 1
  FLOATV on_re[STATES], on_im[STATES];
#endif
  const float middle = waves_per_m[RUN / 2 - 1];
#pragma unroll
  for (int s = 0; s < STATES; ++s) {
    FLOATV step_re;
    FLOATV step_im;
    exact_phasor(paths[s] * SPACING, &step_re, &step_im);
    phasor(paths[s] * middle, middle_re + s, middle_im + s);
    next_re[s] = PRODUCT_RE(middle_re[s], middle_im[s], step_re, step_im);
    next_im[s] = PRODUCT_IM(middle_re[s], middle_im[s], step_re, step_im);
    twice[s] = 2.0f * step_re;
#if RUNS > 1
    exact_phasor(paths[s] * (RUN * SPACING), on_re + s, on_im + s);
#endif
  }
  for (int run = 0; run < RUNS; ++run) {
    FLOATV before_re[STATES], before_im[STATES], here_re[STATES], here_im[STATES];
    float2 even[AT_ONCE], odd[AT_ONCE];
#pragma unroll
    for (int s = 0; s < STATES; ++s) {
      before_re[s] = middle_re[s];
      before_im[s] = middle_im[s];
      here_re[s] = next_re[s];
      here_im[s] = next_im[s];
    }
#pragma unroll
    for (int i = RUN / 4; i < RUN / 2; ++i) {
#pragma unroll
      for (int a = 0; a < AT_ONCE; ++a) {
        const float4 pair = z[a * apart + run * (RUN / 2) + i];
        even[a] = pair.xy;
        odd[a] = pair.zw;
      }
      FLOATV* to_re = sum_re + run * RUN + 2 * i;
      FLOATV* to_im = sum_im + run * RUN + 2 * i;
      add_bin(even, twice, before_re, before_im, here_re, here_im, to_re, to_im);
      add_bin(odd, twice, before_re, before_im, here_re, here_im, to_re + 1, to_im + 1);
    }
#pragma unroll
    for (int s = 0; s < STATES; ++s) {
      before_re[s] = next_re[s];
      before_im[s] = next_im[s];
      here_re[s] = middle_re[s];
      here_im[s] = middle_im[s];
    }
#pragma unroll
    for (int i = RUN / 4 - 1; i >= 0; --i) {
#pragma unroll
      for (int a = 0; a < AT_ONCE; ++a) {
        const float4 pair = z[a * apart + run * (RUN / 2) + i];
        even[a] = pair.xy;
        odd[a] = pair.zw;
      }
      FLOATV* to_re = sum_re + run * RUN + 2 * i;
      FLOATV* to_im = sum_im + run * RUN + 2 * i;
      add_bin(odd, twice, before_re, before_im, here_re, here_im, to_re + 1, to_im + 1);
      add_bin(even, twice, before_re, before_im, here_re, here_im, to_re, to_im);
    }
#if RUNS > 1
#pragma unroll
    for (int s = 0; s < STATES; ++s) {
      const FLOATV re = middle_re[s];
      const FLOATV next = next_re[s];
      middle_re[s] = PRODUCT_RE(re, middle_im[s], on_re[s], on_im[s]);
      middle_im[s] = PRODUCT_IM(re, middle_im[s], on_re[s], on_im[s]);
      next_re[s] = PRODUCT_RE(next, next_im[s], on_re[s], on_im[s]);
      next_im[s] = PRODUCT_IM(next, next_im[s], on_re[s], on_im[s]);
    }
#endif
  }
#else
#pragma unroll
  for (int i = 0; i < PAIRS; ++i) {
#pragma unroll
    for (int a = 0; a < AT_ONCE; ++a) {
      const float4 pair = z[a * apart + i];
      FLOATV re[VECTORS], im[VECTORS];
#pragma unroll
      for (int v = 0; v < VECTORS; ++v) {
        phasor(paths[a * VECTORS + v] * waves_per_m[2 * i], re + v, im + v);
      }
      add_product(pair.xy, re, im, sum_re + 2 * i, sum_im + 2 * i);
#pragma unroll
      for (int v = 0; v < VECTORS; ++v) {
        phasor(paths[a * VECTORS + v] * waves_per_m[2 * i + 1], re + v, im + v);
      }
      add_product(pair.zw, re, im, sum_re + 2 * i + 1, sum_im + 2 * i + 1);
    }
  }
#endif
}
