// Burg's pooled predictors of predictor.cl, for groups of many items.
//
// Stage m forms k = -2 sum f[n] conj(g[n-m]) / (sum |f[n]|^2 + |g[n-m]|^2 + FLOOR * E) over n = m..N-1 and all lines,
// with E that sum of squares at m = 1, and updates f[n] += k g[n-m], g[n-m] += conj(k) f[n]. The backward error g keeps
// the slot in which it began, so an item keeps its own in registers; the forward error f lies in local memory and is
// combined with the slot m before it. Errors never grow, so single precision suffices: coefficients within 3e-6, the
// extension within 2e-4 of double's (docs/studies/burg_lattice.py).

//! needs common/warp_sum.cl
//! needs imaging/predicted_steps.cl

#if PREDICT && !GRAM

//! default FLOOR 3e-4f  // floor of the error power, relative
#define SUMS_BY_WARPS (HAS_WARPS && FIT_GROUP % (4 * WARP) == 0)
#define WARPS (FIT_GROUP / WARP)
#define SUM_ITEMS 16  // without warps: items sharing each of the three sums; divides FIT_GROUP, which is at least 48
#define SUM_STRIDE (FIT_GROUP + SUM_ITEMS)
#define SHARE ((CHANNELS + FIT_GROUP - 1) / FIT_GROUP)

typedef struct {
#if SUMS_BY_WARPS
  float4 sums[3 * WARPS / 4];  // per warp: numerator's parts, denominator
#else
  float shares[3 * SUM_STRIDE];  // numerator's parts, denominator; [item]
  float4 sums[3 * SUM_ITEMS / 4];
#endif
  float2 predictors[2 * SIZE];  // before and after a stage
} Fit;

// The three sums of all items' shares, returned to each of them. A barrier comes before the next call.
#if SUMS_BY_WARPS
LOCAL_HELPER float3 sum_of_shares(__local Fit* fit, float3 share) {
  const int item = (int)get_local_id(0);
  const float of_warp[3] = {warp_sum(share.x), warp_sum(share.y), warp_sum(share.z)};
  if (item % WARP == 0) {
#pragma unroll
    for (int i = 0; i < 3; ++i) {
      ((__local float*)fit->sums)[i * WARPS + item / WARP] = of_warp[i];
    }
  }
  SYNC(FIT_GROUP);
  float total[3];
#pragma unroll
  for (int i = 0; i < 3; ++i) {
    float4 sum = fit->sums[i * WARPS / 4];
#pragma unroll
    for (int j = 1; j < WARPS / 4; ++j) {
      sum += fit->sums[i * WARPS / 4 + j];
    }
    total[i] = (sum.x + sum.y) + (sum.z + sum.w);
  }
  return (float3)(total[0], total[1], total[2]);
}
#else
LOCAL_HELPER float3 sum_of_shares(__local Fit* fit, const float3 share) {
  const int item = (int)get_local_id(0);
  fit->shares[item] = share.x;
  fit->shares[item + SUM_STRIDE] = share.y;
  fit->shares[item + 2 * SUM_STRIDE] = share.z;
  SYNC(FIT_GROUP);
  if (item < 3 * SUM_ITEMS) {
    __local const float* from = fit->shares + item / SUM_ITEMS * SUM_STRIDE + item % SUM_ITEMS;
    float4 sum = 0.0f;
#pragma unroll
    for (int i = 0; i < FIT_GROUP / SUM_ITEMS; i += 4) {
      sum += (float4)(from[i * SUM_ITEMS], from[(i + 1) * SUM_ITEMS], from[(i + 2) * SUM_ITEMS],
                      from[(i + 3) * SUM_ITEMS]);
    }
    ((__local float*)fit->sums)[item] = (sum.x + sum.y) + (sum.z + sum.w);
  }
  SYNC(FIT_GROUP);
  float total[3];
#pragma unroll
  for (int i = 0; i < 3; ++i) {
    const float4 sum = (fit->sums[4 * i] + fit->sums[4 * i + 1]) + (fit->sums[4 * i + 2] + fit->sums[4 * i + 3]);
    total[i] = (sum.x + sum.y) + (sum.z + sum.w);
  }
  return (float3)(total[0], total[1], total[2]);
}
#endif

// Burg's predictor of all lines, [SIZE]; `energy` is that of stage 1, 0 for silence. Replaces the lines by the errors.
LOCAL_HELPER __local const float2* fit_predictor(__local Fit* fit, __local float* re, __local float* im, int length,
                                                 int lines, int stride, int order, float* energy) {
  const int item = (int)get_local_id(0);
  int position[SHARE];
  int slot[SHARE];
  float g_re[SHARE];
  float g_im[SHARE];
#pragma unroll
  for (int r = 0; r < SHARE; ++r) {
    const int i = min(item + r * FIT_GROUP, CHANNELS - 1);
    position[r] = i == item + r * FIT_GROUP ? i / lines : length;
    slot[r] = i / lines * stride + i % lines;
    g_re[r] = re[slot[r]];
    g_im[r] = im[slot[r]];
  }
  if (item < 2 * SIZE) {
    fit->predictors[item] = (float2)(item % SIZE == 0 ? 1.0f : 0.0f, 0.0f);
  }
  __local float2* a = fit->predictors;
  __local float2* next = fit->predictors + SIZE;
  for (int m = 1; m <= order; ++m) {
    float f_re[SHARE];
    float f_im[SHARE];
    float3 share = 0.0f;
#pragma unroll
    for (int r = 0; r < SHARE; ++r) {
      const int counts = position[r] < length - m;
      f_re[r] = counts ? re[slot[r] + m * stride] : 0.0f;
      f_im[r] = counts ? im[slot[r] + m * stride] : 0.0f;
      g_re[r] = counts ? g_re[r] : 0.0f;
      g_im[r] = counts ? g_im[r] : 0.0f;
      share.x += f_re[r] * g_re[r] + f_im[r] * g_im[r];
      share.y += f_im[r] * g_re[r] - f_re[r] * g_im[r];
      share.z += (f_re[r] * f_re[r] + f_im[r] * f_im[r]) + (g_re[r] * g_re[r] + g_im[r] * g_im[r]);
    }
    const float3 sums = sum_of_shares(fit, share);
    *energy = m == 1 ? sums.z : *energy;
    const float whole = sums.z + FLOOR * *energy;
    const float2 k = (whole > 0.0f ? -2.0f / whole : 0.0f) * sums.xy;
#pragma unroll
    for (int r = 0; r < SHARE; ++r) {
      if (position[r] < length - m) {
        re[slot[r] + m * stride] = f_re[r] + k.x * g_re[r] - k.y * g_im[r];
        im[slot[r] + m * stride] = f_im[r] + k.x * g_im[r] + k.y * g_re[r];
      }
      g_re[r] += k.x * f_re[r] + k.y * f_im[r];
      g_im[r] += k.x * f_im[r] - k.y * f_re[r];
    }
    if (item < SIZE) {
      next[item] = item > 0 && item <= m ? a[item] + times(k, conjugate(a[m - item])) : a[item];
    }
    SYNC(FIT_GROUP);
    __local float2* swapped = a;
    a = next;
    next = swapped;
  }
  return a;
}
#endif  // PREDICT && !GRAM
