// sonah's plane waves and point sources beside the prior, which are subtracted from its modes. sonah.cl documents the
// formulas and the arrays.

//! needs imaging/sonah_sizes.cl
//! needs imaging/sources.cl

#if HAS_WAVES
// Subtracts the waves of frequencies that have any: writes their amplitudes, y without them, and the shares of that y,
// all in the first part.
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
  const Waves waves = {(int)table[0], table[1], table + WAVE_HEADER, amplitudes, 0, 0.0f, 0};
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
