// Costs of the steps of noise in a frame, shared by sonah's kernels. docs/how/sonah.md has the derivation, sonah.cl
// documents the arrays, noise_memory.cl the memory of earlier frames.
//
// With w a mode's prior power and t the prior's power, the noise, relative to t, is the one of GRID steps with the
// least cost,
//   t = sum |y|^2 / (w + noise) / CHANNELS,   cost = sum ln(w + noise) + CHANNELS ln t.

//! needs common/groups.cl
//! needs common/local_helper.cl
//! needs imaging/noise_memory.cl

//! default ROWS 32
//! default COLUMNS 32
#define CHANNELS (ROWS * COLUMNS)
#define SHARERS (GROUP > 64 ? GROUP / 64 : 1)  // items per step of noise, for 64 steps of which GRID are used

#if GROUP > 1
// Adds all SHARERS' sums to sums[step]. Begins and ends with a barrier.
LOCAL_HELPER void join_sharers(__local float* sums, const int item) {
  SYNC(GROUP);
  if (item < GRID) {
    float sum = sums[item];
    for (int other = 1; other < SHARERS; ++other) {
      sum += sums[other * GRID + item];
    }
    sums[item] = sum;
  }
  SYNC(GROUP);
}
#endif

// Computes sums[step] of energies / (powers + noises[step]) over `count` modes, a multiple of 16. `sums` has room for
// GRID * SHARERS. Ends with a barrier.
LOCAL_HELPER void sum_shares(__local const float* powers, __local const float* energies, const int count,
                             __global const float* restrict noises, __local float* sums, const int item) {
#if GROUP == 1
  // Modes of noise alone form whole vectors, with few exceptions.
  float16 rest = 0.0f;
  for (int i = 0; i < count / 16; ++i) {
    rest += powers[16 * i] > 0.0f ? (float16)(0.0f) : vload16(i, energies);
  }
  for (int step = 0; step < GRID; ++step) {
    const float noise = noises[step];
    float16 sum = rest / noise;
    for (int i = 0; i < count / 16; ++i) {
      if (powers[16 * i] > 0.0f) {
        sum += vload16(i, energies) / (vload16(i, powers) + noise);
      }
    }
    const float8 eight = sum.lo + sum.hi;
    const float4 four = eight.lo + eight.hi;
    sums[step] = four.x + four.y + four.z + four.w;
  }
#else
  const int step = item % 64;
  const int sharer = item / 64;
  if (step < GRID) {
    const float noise = noises[step];
    float sum = 0.0f;
#pragma unroll 4
    for (int i = sharer; i < count; i += SHARERS) {
      sum += native_divide(energies[i], powers[i] + noise);
    }
    sums[sharer * GRID + step] = sum;
  }
  join_sharers(sums, item);
#endif
}

// Computes sums[step] over all parts [part][GRID] of a hologram. `sums` as above. Ends with a barrier.
LOCAL_HELPER void sum_parts(__global const float* restrict parts, const int count, __local float* sums,
                            const int item) {
#if GROUP == 1
  for (int step = 0; step < GRID; ++step) {
    float sum = 0.0f;
    for (int part = 0; part < count; ++part) {
      sum += parts[part * GRID + step];
    }
    sums[step] = sum;
  }
#else
  const int step = item % 64;
  if (step < GRID) {
    float sum = 0.0f;
#pragma unroll 8
    for (int part = item / 64; part < count; part += SHARERS) {
      sum += parts[part * GRID + step];
    }
    sums[item / 64 * GRID + step] = sum;
  }
  join_sharers(sums, item);
#endif
}
