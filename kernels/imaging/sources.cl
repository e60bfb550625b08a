// Plane waves and point sources beside a prior, called waves: fitted to a field and subtracted from it, and their images.
// The field has the values that an imager weights: modes, or microphones. Its owner defines SOURCE_VALUES, the values
// of a field, PLANES and IMAGE_PIXELS, the pixels of an image; src/imaging/sources/source_table.hpp defines the table.

//! needs common/complex.cl
//! needs common/groups.cl
//! needs common/local_helper.cl

//! default GROUP 256
//! default SOURCE_VALUES 1024
//! default IMAGE_PIXELS 1024
//! default PLANES 1
//! default HAS_WAVES 1  // 1: arrays have room for plane waves and point sources in addition to the prior
//! default MOST_WAVES 8  // most waves per frequency
//! default WAVE_HEADER 8  // floats before the first wave
#define LANES 8  // lanes per vector on processors
#define WAVE_FIELD (2 * SOURCE_VALUES)
#define WAVE_ENERGIES (2 * WAVE_FIELD)
#define WAVE_IMAGES (WAVE_ENERGIES + 2 * MOST_WAVES)
#define WAVE_STRIDE (WAVE_IMAGES + 2 * PLANES * IMAGE_PIXELS)
#define WAVE_SIZE (WAVE_HEADER + MOST_WAVES * WAVE_STRIDE)

// The plane waves and point sources of a frequency.
typedef struct {
  int count;
  float error;  // expected squared error that they add to an image for prior power 1
  __global const float* restrict first;
  __local float2* amplitudes;  // [MOST_WAVES]
  int plane;                   // imaged plane
  float of_used;               // 1: fitted to the microphones that are used, and to no predicted one; else 0
  int of_either_side;          // bits of the waves that may come from behind the array just as well
} Waves;

static float2 pair_at(__global const float* restrict values, const int index) {
  return (float2)(values[2 * index], values[2 * index + 1]);
}

// Share of `lane` of `lanes` in a wave's amplitude.
static float2 amplitude_share(__global const float* restrict factors, __global const float2* restrict field,
                              const int lane, const int lanes) {
#if GROUP == 1
  float8 re = 0.0f;
  float8 im = 0.0f;
  for (int i = 0; i < SOURCE_VALUES / LANES; ++i) {
    const float16 factor = vload16(i, factors);
    const float16 value = vload16(i, (__global const float*)field);
    re += factor.even * value.even - factor.odd * value.odd;
    im += factor.even * value.odd + factor.odd * value.even;
  }
  const float4 half_re = re.lo + re.hi;
  const float4 half_im = im.lo + im.hi;
  float2 sum = (float2)(half_re.x + half_re.y + half_re.z + half_re.w, half_im.x + half_im.y + half_im.z + half_im.w);
  for (int i = SOURCE_VALUES / LANES * LANES; i < SOURCE_VALUES; ++i) {
    sum += complex_multiply(pair_at(factors, i), field[i]);
  }
  return sum;
#else
  float2 sum = 0.0f;
  for (int i = lane; i < SOURCE_VALUES; i += lanes) {
    sum += complex_multiply(pair_at(factors, i), field[i]);
  }
  return sum;
#endif
}

// Fits the waves to a field. Ends with a barrier, after which the field may be written.
LOCAL_HELPER void fit_waves(const Waves* waves, __global const float2* restrict field, __local float2* parts,
                            const int item) {
#if HAS_WAVES
  const int lanes = GROUP == 1 ? 1 : 32;
  for (int wave = item / lanes; wave < waves->count; wave += GROUP / lanes) {
    parts[wave * lanes + item % lanes] = amplitude_share(waves->first + wave * WAVE_STRIDE, field, item % lanes, lanes);
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

// Value number `i` of a field, minus the waves.
LOCAL_HELPER float2 without_waves(const Waves* waves, float2 value, const int i) {
  for (int wave = 0; wave < waves->count; ++wave) {
    value -= complex_multiply(pair_at(waves->first + wave * WAVE_STRIDE + WAVE_FIELD, i), waves->amplitudes[wave]);
  }
  return value;
}

// This item's share of the energy of an image on the first plane: x, of all waves, y, of those of either side.
LOCAL_HELPER float2 wave_energies(const Waves* waves, const int item) {
  float2 energies = 0.0f;
  for (int i = item; i < waves->count * waves->count; i += GROUP) {
    const int wave = i / waves->count;
    const int other = i % waves->count;
    const float2 shared =
        complex_multiply(pair_at(waves->first + wave * WAVE_STRIDE + WAVE_ENERGIES, other), waves->amplitudes[other]);
    const float energy = waves->amplitudes[wave].x * shared.x + waves->amplitudes[wave].y * shared.y;
    const int both = (1 << wave) | (1 << other);
    energies += (float2)(energy, (waves->of_either_side & both) == both ? energy : 0.0f);
  }
  return energies;
}

// Sum of the waves at a pixel of the image.
LOCAL_HELPER float2 waves_at(const Waves* waves, const int pixel) {
  float2 sum = 0.0f;
  for (int wave = 0; wave < waves->count; ++wave) {
    __global const float* restrict image = waves->first + wave * WAVE_STRIDE + WAVE_IMAGES;
    sum += complex_multiply(waves->amplitudes[wave], pair_at(image, waves->plane * IMAGE_PIXELS + pixel));
  }
  return sum;
}
