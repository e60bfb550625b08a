// The largest value of each pixel over the planes of a map, and the distance of its plane.
//
//   largest[q] = map[p][q] with p the plane with the largest power |map[p][q]|^2; among equal ones the first, and NaN
//   only if all values are NaN.
// A depth is valid if the depth of focus 2 lambda (d/D)^2 of an aperture of side D is below d/2 (M. Born, E. Wolf,
// "Principles of Optics", section 8.8.2, focal tolerance): d < D^2 / (4 lambda), the limit of the image. Otherwise, and
// if no value is above 0, it is NaN.
//
//   maps       VALUE [image][PLANES][PLANE_PIXELS]: float Pa^2, or float2 Pa peak with IS_COMPLEX
//   distances  float [PLANES], m
//   limits     float [LIMITS], m; image i has limit i % LIMITS
//   largest    VALUE [image][PLANE_PIXELS]
//   focus      float [image][PLANE_PIXELS], m
//
// Launch: (PLANE_PIXELS rounded up to the group, images).

//! default PLANES 2
//! default PLANE_PIXELS 64
//! default LIMITS 1  // frequencies, or published maps
//! default IS_COMPLEX 0

#if IS_COMPLEX
#define VALUE float2
#define POWER_OF(value) ((value).x * (value).x + (value).y * (value).y)
#else
#define VALUE float
#define POWER_OF(value) (value)
#endif

__kernel void beamform_focus(__global const VALUE* restrict maps, __global const float* restrict distances,
                             __global const float* restrict limits, __global VALUE* restrict largest,
                             __global float* restrict focus) {
  const int pixel = get_global_id(0);
  const int image = get_global_id(1);
  if (pixel >= PLANE_PIXELS) {
    return;
  }
  maps += (size_t)image * PLANES * PLANE_PIXELS + pixel;
  int place = 0;
  float most = POWER_OF(maps[0]);
  for (int plane = 1; plane < PLANES; ++plane) {
    const float power = POWER_OF(maps[(size_t)plane * PLANE_PIXELS]);
    if (power > most || (isnan(most) && !isnan(power))) {
      most = power;
      place = plane;
    }
  }
  const size_t to = (size_t)image * PLANE_PIXELS + pixel;
  largest[to] = maps[(size_t)place * PLANE_PIXELS];
  const int is_trusted = most > 0.0f && distances[place] < limits[image % LIMITS];
  focus[to] = is_trusted ? distances[place] : NAN;
}
