// sonah's plane waves and point sources beside the prior, called waves: fitted to the modes and subtracted from them, and
// their images. sonah.cl has the formulas and the arrays.

//! needs common/complex.cl
//! needs common/groups.cl
//! needs common/local_helper.cl
//! needs imaging/sonah_sizes.cl

// The plane waves and point sources of a frequency.
typedef struct {
  int count;
  float error;  // expected, squared, that they add to an image where the prior's power is 1
  __global const float* restrict first;
  __local float2* amplitudes;  // [MOST_WAVES]
  int plane;                   // that is imaged
} Waves;

static float2 pair_at(__global const float* restrict values, const int index) {
  return (float2)(values[2 * index], values[2 * index + 1]);
}

// The share of `lane` of `lanes` in a wave's amplitude.
static float2 amplitude_share(__global const float* restrict factors, __global const float2* restrict coefficients,
                              const int lane, const int lanes) {
#if GROUP == 1
  float8 re = 0.0f;
  float8 im = 0.0f;
  for (int i = 0; i < CLASSES * MODES / LANES; ++i) {
    const float16 factor = vload16(i, factors);
    const float16 value = vload16(i, (__global const float*)coefficients);
    re += factor.even * value.even - factor.odd * value.odd;
    im += factor.even * value.odd + factor.odd * value.even;
  }
  const float4 half_re = re.lo + re.hi;
  const float4 half_im = im.lo + im.hi;
  return (float2)(half_re.x + half_re.y + half_re.z + half_re.w, half_im.x + half_im.y + half_im.z + half_im.w);
#else
  float2 sum = 0.0f;
  for (int mode = lane; mode < CLASSES * MODES; mode += lanes) {
    sum += complex_multiply(pair_at(factors, mode), coefficients[mode]);
  }
  return sum;
#endif
}

// Fits the waves to all modes. Ends with a barrier, behind which the coefficients may be written.
LOCAL_HELPER void fit_waves(const Waves* waves, __global const float2* restrict coefficients, __local float2* parts,
                            const int item) {
#if HAS_WAVES
  const int lanes = GROUP == 1 ? 1 : 32;
  for (int wave = item / lanes; wave < waves->count; wave += GROUP / lanes) {
    parts[wave * lanes + item % lanes] =
        amplitude_share(waves->first + wave * WAVE_STRIDE, coefficients, item % lanes, lanes);
  }
  SYNC(GROUP);
  for (int wave = item; wave < waves->count; wave += GROUP) {
    float2 sum = 0.0f;
    for (int i = 0; i < lanes; ++i) {
      sum += parts[wave * lanes + (wave + i) % lanes];
    }
    waves->amplitudes[wave] = sum;
  }
  SYNC_ALL(GROUP);
#endif
}

// y of a mode, [class][MODES], without the waves.
LOCAL_HELPER float2 without_waves(const Waves* waves, float2 value, const int mode) {
  for (int wave = 0; wave < waves->count; ++wave) {
    value -= complex_multiply(pair_at(waves->first + wave * WAVE_STRIDE + WAVE_MODES, mode), waves->amplitudes[wave]);
  }
  return value;
}

// This item's share of the energy of the waves' image on the first plane.
LOCAL_HELPER float wave_energy(const Waves* waves, const int item) {
  float energy = 0.0f;
  for (int i = item; i < waves->count * waves->count; i += GROUP) {
    const int wave = i / waves->count;
    const int other = i % waves->count;
    const float2 shared =
        complex_multiply(pair_at(waves->first + wave * WAVE_STRIDE + WAVE_ENERGIES, other), waves->amplitudes[other]);
    energy += waves->amplitudes[wave].x * shared.x + waves->amplitudes[wave].y * shared.y;
  }
  return energy;
}

// At a pixel of the image.
LOCAL_HELPER float2 waves_at(const Waves* waves, const int pixel) {
  float2 sum = 0.0f;
  for (int wave = 0; wave < waves->count; ++wave) {
    __global const float* restrict image = waves->first + wave * WAVE_STRIDE + WAVE_IMAGES;
    sum += complex_multiply(waves->amplitudes[wave], pair_at(image, waves->plane * IMAGE_PIXELS + pixel));
  }
  return sum;
}

#if HAS_WAVES
// Subtracts the waves of frequencies that have any: their amplitudes, y without them, and the shares of that, all in the
// first part.
__kernel __attribute__((reqd_work_group_size(GROUP, 1, 1))) void sonah_waves(__global uchar* arena,
                                                                             const int frequencies) {
  __local float sums[GRID * SHARERS];
  __local float2 amplitudes[MOST_WAVES];
  __local float2 wave_parts[MOST_WAVES * (GROUP == 1 ? 1 : 32)];
  __local float powers[SLOTS];
  __local float energies[SLOTS];
  const int item = (int)get_local_id(0);
  const int hologram = (int)get_group_id(1);
  const int frequency = hologram % frequencies;
  __global float2* coefficients = (__global float2*)(arena + COEFFICIENTS_AT) + (size_t)hologram * CLASSES * MODES;
  __global const float* table = (__global const float*)(arena + WAVES_AT) + (size_t)frequency * WAVE_SIZE;
  const Waves waves = {(int)table[0], table[1], table + WAVE_HEADER, amplitudes, 0};
  const int slots = waves.count > 0 ? SLOTS : 0;
  fit_waves(&waves, coefficients, wave_parts, item);
  for (int wave = item; wave < waves.count; wave += GROUP) {
    ((__global float2*)(arena + AMPLITUDES_AT))[hologram * MOST_WAVES + wave] = amplitudes[wave];
  }
  for (int slot = item; slot < slots; slot += GROUP) {
    const int i = ((__global const int*)(arena + SLOT_MODES_AT))[frequency * SLOTS + slot];
    const int classes = SQUARE && slot >= SLOTS - MODES ? 2 : 1;
    float energy = 0.0f;
    for (int class = 0; class < classes && i >= 0; ++class) {
      const int mode = i + class * MODES;
      const float2 value = without_waves(&waves, coefficients[mode], mode);
      coefficients[mode] = value;
      energy += value.x * value.x + value.y * value.y;
    }
    powers[slot] = ((__global const float*)(arena + SLOT_POWERS_AT))[frequency * SLOTS + slot];
    energies[slot] = energy;
  }
  SYNC(GROUP);
  sum_shares(powers, energies, slots, (__global const float*)(arena + NOISES_AT), sums, item);
  __global float* restrict shares = (__global float*)(arena + SHARES_AT) + (size_t)hologram * MODE_PARTS * GRID;
  for (int i = item; i < (slots > 0 ? MODE_PARTS * GRID : 0); i += GROUP) {
    shares[i] = i < GRID ? sums[i] : 0.0f;
  }
}
#endif
