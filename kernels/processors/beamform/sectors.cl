// Mean squares of the sources in sectors, rectangles of pixels on each plane: the map's sum over a sector over the same
// sum for a source with the value 1 at the sector's centre (integration of maps: T. F. Brooks, W. M. Humphreys, "Effect
// of directional array size on the measurement of airframe noise components", AIAA 99-1958, 1999).
//
//   powers[s] = sum_{q in s} b(q) / answers[s],   answers[s] = sum_{q in s} psf(q | c)
//   psf(q | c) = scale_q^2 |sum_m g w_q(r_m) e^{+jk (path_q - path_c)} / r_cm|^2 / the same at q = c
// with scale, w, path and r of beamform.cl; with REMOVAL minus its diagonal and times `restoring`, like maps; with
// FUNCTIONAL (beams of formulation IV) psf^EXPONENT, times the ratio of the levels of history.cl if these depend on the
// pixel (TRUE_LEVEL). A pixel that is NaN is not counted; a sector of no others is NaN.
//
//   maps         VALUE [image][PLANES * PLANE_PIXELS]: float Pa^2, or float2 Pa peak with IS_COMPLEX, |B|^2 / 2 of it
//   sectors      int4  [SECTORS]: first row, rows, first column, columns
//   centres      int   [SECTORS], pixels of a plane
//   answers      float [frequency][PLANES * SECTORS]; image i belongs to frequency i % FREQUENCIES
//   powers       float [image][PLANES * SECTORS], Pa^2
//   pixels, norms, positions, shading, waves_per_m as in beamform.cl
//
// Launches: beamform_sectors: (GROUP * PLANES * SECTORS, images). sector_answers: (GROUP * PLANES * SECTORS,
//   FREQUENCIES). GROUP items per group.

//! needs common/groups.cl
//! needs processors/beamform/das_norms.cl

//! default PLANES 1
//! default PLANE_PIXELS 64
//! default PLANE_COLUMNS 8
//! default SECTORS 1
//! default IS_COMPLEX 0
//! default FUNCTIONAL 0
//! default TRUE_LEVEL 0
//! default GROUP 64

#if IS_COMPLEX
#define VALUE float2
#define POWER_OF(value) (0.5f * ((value).x * (value).x + (value).y * (value).y))
#else
#define VALUE float
#define POWER_OF(value) (value)
#endif

DEFINE_SUM_OF_ITEMS(GROUP)

// Pixel number `i` of a sector on a plane.
static inline int pixel_of_sector(const int4 sector, const int i) {
  return (sector.x + i / sector.w) * PLANE_COLUMNS + sector.z + i % sector.w;
}

__kernel __attribute__((reqd_work_group_size(GROUP, 1, 1))) void beamform_sectors(
    __global const VALUE* restrict maps, __global const int4* restrict sectors, __global const float* restrict answers,
    __global float* restrict powers) {
  __local float parts[GROUP];
  const int item = get_local_id(0);
  const int place = get_group_id(0);
  const int image = get_global_id(1);
  const int4 sector = sectors[place % SECTORS];
  maps += ((size_t)image * PLANES + place / SECTORS) * PLANE_PIXELS;
  float part = 0.0f;
  float part_count = 0.0f;
  for (int i = item; i < sector.y * sector.w; i += GROUP) {
    const float power = POWER_OF(maps[pixel_of_sector(sector, i)]);
    if (!isnan(power)) {
      part += power;
      part_count += 1.0f;
    }
  }
  const float sum = sum_of_items(part, parts, item);
  const float count = sum_of_items(part_count, parts, item);
  if (item == 0) {
    const float answer = answers[(image % FREQUENCIES) * PLANES * SECTORS + place];
    powers[(size_t)image * PLANES * SECTORS + place] = count > 0.0f && answer > 0.0f ? sum / answer : NAN;
  }
}

// Distance from a pixel to a microphone, and its excess over that to the array's centre.
static inline void path_to(const float4 pixel, const float4 microphone, float* r, float* path) {
#if PLANE_WAVE
  *r = 1.0f;
  *path = -(pixel.x * microphone.x + pixel.y * microphone.y + pixel.z * microphone.z);
#else
  const float inner = pixel.x * microphone.x + pixel.y * microphone.y + pixel.z * microphone.z;
  const float x = pixel.x - microphone.x;
  const float y = pixel.y - microphone.y;
  const float z = pixel.z - microphone.z;
  *r = sqrt(x * x + y * y + z * z + 1e-20f);
  *path = (microphone.w - 2.0f * inner) / (*r + pixel.w);
#endif
}

static inline float weight_at(const float r) {
#if PLANE_WAVE || FORMULATION == 0
  return 1.0f;
#elif FORMULATION == 1
  return r;
#else
  return 1.0f / r;
#endif
}

static inline float4 pixel_at(__global const float* restrict pixels, const int pixel) {
  return (float4)(pixels[pixel], pixels[PIXEL_STRIDE + pixel], pixels[2 * PIXEL_STRIDE + pixel],
                  pixels[3 * PIXEL_STRIDE + pixel]);
}

// Factor of the levels of functional beamforming, without the part common to all pixels.
static inline float root_of_level(const float scale, const float length) {
#if TRUE_LEVEL && !PLANE_WAVE && HAS_REFERENCE
  return scale;
#elif TRUE_LEVEL && !PLANE_WAVE
  return scale / length;
#else
  return 1.0f;
#endif
}

__kernel __attribute__((reqd_work_group_size(GROUP, 1, 1))) void sector_answers(
    __global const float* restrict pixels, __global const float4* restrict positions,
    __global const float* restrict shading, __global const float2* restrict waves_per_m,
    __global const float* restrict norms, __global const int4* restrict sectors, __global const int* restrict centres,
    __global float* restrict answers) {
  __local float parts[GROUP];
  const int item = get_local_id(0);
  const int place = get_group_id(0);
  const int f = get_global_id(1);
  const int4 sector = sectors[place % SECTORS];
  const int first = place / SECTORS * PLANE_PIXELS;
  const int of_centre = first + centres[place % SECTORS];
  const float4 centre = pixel_at(pixels, of_centre);
  const float waves = waves_per_m[f].x;
  float part = 0.0f;
  for (int i = item; i < sector.y * sector.w; i += GROUP) {
    const int of_pixel = first + pixel_of_sector(sector, i);
    const float4 pixel = pixel_at(pixels, of_pixel);
    float re = 0.0f;
    float im = 0.0f;
    float diagonal = 0.0f;
    float at_centre = 0.0f;
    for (int m = 0; m < CHANNELS; ++m) {
      const float4 microphone = positions[m];
      float r;
      float r_centre;
      float path;
      float path_centre;
      path_to(pixel, microphone, &r, &path);
      path_to(centre, microphone, &r_centre, &path_centre);
      const float of_source = shading[m] / r_centre;
      const float amplitude = weight_at(r) * of_source;
      float c;
      float s;
      exact_phasor((path - path_centre) * waves, &c, &s);
      re += amplitude * c;
      im += amplitude * s;
      diagonal += amplitude * amplitude;
      at_centre += weight_at(r_centre) * of_source;
    }
    const float scale = norms[of_pixel] / (norms[of_centre] * at_centre);
    float answer = scale * scale * (re * re + im * im);
#if REMOVAL
    answer = max(0.0f, norms[PIXEL_STRIDE + of_pixel] * (answer - scale * scale * diagonal));
#endif
#if FUNCTIONAL
    const float level = root_of_level(norms[of_pixel], pixel.w) / root_of_level(norms[of_centre], centre.w);
    answer = level * level * pow(answer, EXPONENT);
#endif
    if (!isnan(scale)) {  // NaN also for a pixel without direction
      part += answer;
    }
  }
  const float sum = sum_of_items(part, parts, item);
  if (item == 0) {
    answers[f * PLANES * SECTORS + place] = sum;
  }
}
