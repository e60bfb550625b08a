// Factors of maps: for each pixel, from the weights of the microphones alone.
//
//   FORMULATION  w    scale                              G = sum g, A = sum g / r^2 over microphones with g > 0
//   0 (I)        1    1 / G
//   1 (II)       r    1 / (G r_0)
//   2 (III)      1/r  1 / (r_0 A)
//   3 (IV)       1/r  1 / sqrt(G A)
//   restoring = t^2 / (t^2 - sum (g w / r)^2), t = sum g w / r; 1/r is 1 for plane waves, which are FORMULATION 0.
// The scale is NaN with fewer than FEWEST_MICROPHONES, within NEAREST of a microphone, and for a pixel that is NaN.

//! needs processors/beamform/das_lanes.cl
//! needs processors/beamform/sizes.cl

// Pixels (x, y, z) from the array's centre, `length` their distance from it; positions and weights as in beamform.cl.
static inline void norms_of(const FLOATV x, const FLOATV y, const FLOATV z, const FLOATV length,
                            __global const float4* restrict positions, __global const float* restrict weights,
                            FLOATV* scale, FLOATV* restoring) {
  int used = 0;
  float sum_g = 0.0f;
  FLOATV sum_inverse = 0.0f;   // g / r^2
  FLOATV sum_source = 0.0f;    // g w / r
  FLOATV sum_source_2 = 0.0f;  // sum of squares
  FLOATV nearest = INFINITY;
  for (int channel = 0; channel < CHANNELS; ++channel) {
    const float g = weights[channel];
    if (g == 0.0f) {
      continue;
    }
    ++used;
    sum_g += g;
#if PLANE_WAVE
    const FLOATV of_source = g;
#else
    const float4 place = positions[channel];
    const FLOATV d_x = x - place.x;
    const FLOATV d_y = y - place.y;
    const FLOATV d_z = z - place.z;
    const FLOATV r = sqrt(d_x * d_x + d_y * d_y + d_z * d_z);
    const FLOATV inverse = 1.0f / r;
    nearest = r < nearest ? r : nearest;
    sum_inverse += g * inverse * inverse;
#if FORMULATION == 0
    const FLOATV of_source = g * inverse;
#elif FORMULATION == 1
    const FLOATV of_source = g;
#else
    const FLOATV of_source = g * inverse * inverse;
#endif
#endif
    sum_source += of_source;
    sum_source_2 += of_source * of_source;
  }
#if HAS_REFERENCE
  const FLOATV r_0 = REFERENCE;
#else
  const FLOATV r_0 = length;
#endif
#if FORMULATION == 0 || PLANE_WAVE
  const FLOATV value = 1.0f / sum_g;
#elif FORMULATION == 1
  const FLOATV value = 1.0f / (sum_g * r_0);
#elif FORMULATION == 2
  const FLOATV value = 1.0f / (r_0 * sum_inverse);
#else
  const FLOATV value = 1.0f / sqrt(sum_g * sum_inverse);
#endif
  const FLOATV nothing = used < FEWEST_MICROPHONES ? NAN : 0.0f;
  *scale = ((nearest < NEAREST) | isnan(x) ? (FLOATV)(NAN) : value) + nothing;
  const FLOATV square = sum_source * sum_source;
  *restoring = square / (square - sum_source_2);
}
