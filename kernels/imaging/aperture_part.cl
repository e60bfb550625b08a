// From spectra to usable samples, and the predictors that extend them along both axes: the part of one work-group in
// one hologram, for frame.cl. aperture.cl, which computes the same, documents the buffers.

//! needs imaging/aperture_lines.cl
//! needs imaging/predicted_steps.cl
//! needs imaging/gram_fit.cl
//! needs imaging/lattice_fit.cl
//! needs imaging/aperture_spectrum.cl

//! arena GAINS MASKED MASK NEIGHBOURS WEIGHTS USABLE SAMPLES EXTENSION_X EXTENSION_Y
#if MEASURES_CUTOFF
#define SPECTRUM_KIND (APART ? 0 : 1 + PREDICT)
#endif
#define IS_FINITE (CHECK_HERE && INPUT_IS_FINITE)

#if PREDICT
LOCAL_HELPER void make_extension(__local Fit* fit, __local REAL2* steps, __local int* fell_back, __local REAL* re,
                                 __local REAL* im, __global float2* extension, __global uint* status, int along_x,
                                 int image) {
  const int lines = along_x ? ROWS : COLUMNS;
  const int stride = along_x ? LINE_STRIDE(ROWS) : LINE_STRIDE(COLUMNS);
  const int order = along_x ? TAPS : OTHER_TAPS;
  const int count = along_x ? STEPS : OTHER_STEPS;
  REAL energy = 0;
  __local const REAL2* a = fit_predictor(fit, re, im, along_x ? COLUMNS : ROWS, lines, stride, order, &energy);
  if (get_local_id(0) == 0) {
    *fell_back = !(energy > 0 && isfinite(energy));
  }
  predict_steps(a, steps, count);
  store_extension(steps, fell_back, extension + image * count * order, status, order, count);
}
#endif

// Local memory of a group.
typedef struct {
  REAL re[MAX_SAMPLES];
  REAL im[MAX_SAMPLES];
#if !IS_FINITE
  uchar usable[CHANNELS];
  int some_bad;
#endif
#if MEASURES_CUTOFF
  Spectrum spectrum;
#endif
#if PREDICT
  Fit fit;
  REAL2 steps[STEP_VALUES];
  int fell_back;
#endif
} ApertureSpace;

// Work of group `kind` on one hologram: 0 along x, 1 along y, SPECTRUM_KIND the spectrum.
LOCAL_HELPER void make_aperture(__local ApertureSpace* space, __global const float2* restrict spectra,
                                __global uchar* arena, __global uint* restrict status, const int frequencies,
                                const int kind, const int image) {
  __global const float2* restrict gains = (__global const float2*)(arena + GAINS_AT);
  __global const uchar* restrict masked = arena + MASKED_AT;
  __global const int* restrict mask = (__global const int*)(arena + MASK_AT);
  __global const int* restrict neighbours = (__global const int*)(arena + NEIGHBOURS_AT);
  __global const float* restrict weights = (__global const float*)(arena + WEIGHTS_AT);
  __global const uchar* restrict usable_microphones = arena + USABLE_AT;
  __global float2* samples = (__global float2*)(arena + SAMPLES_AT);
  __global float2* extension_x = (__global float2*)(arena + EXTENSION_X_AT);
  __global float2* extension_y = (__global float2*)(arena + EXTENSION_Y_AT);
  __local REAL* re = space->re;
  __local REAL* im = space->im;
  const int along_x = !(PREDICT && kind == 1);
  const int frame = image / frequencies;
  const int frequency = image % frequencies;
  load_samples(spectra + image * CHANNELS, gains + HAS_GAINS * frequency * CHANNELS, re, im, along_x);
  const int report = kind == 0 && frequency == 0;
#if !IS_FINITE
  __local uchar* usable = space->usable;
  const int item = (int)get_local_id(0);
  __global const float2* frame_spectra = spectra + frame * frequencies * CHANNELS;
  if (item == 0) {
    space->some_bad = 0;
  }
  SYNC(FIT_GROUP);
  if (CHECK_HERE && finds_bad(frame_spectra, frequencies)) {
    space->some_bad = 1;
  }
  for (int i = item; i < CHANNELS; i += FIT_GROUP) {
    usable[i] = CHECK_HERE ? !masked[i] : usable_microphones[frame * CHANNELS + i];
    if (!usable[i] && !masked[i]) {
      space->some_bad = 1;
    }
  }
  SYNC(FIT_GROUP);
  if (space->some_bad) {
    if (CHECK_HERE) {
      mark_finite(frame_spectra, usable, status + 4 * frame, frequencies, report);
    }
    SYNC(FIT_GROUP);
    fill_samples(usable, masked, re, im, along_x);
  }
#endif
  SYNC(FIT_GROUP);
  predict_masked(mask, neighbours, weights + frequency * FILL_NEIGHBOURS, re, im, frequencies, along_x);
  if (report && mask[0] > 0 && get_local_id(0) == 0) {
    atomic_or(&status[4 * frame], (uint)FLAG_MASKED);
  }
  SYNC(FIT_GROUP);
  if (kind == 0) {
    store_samples(re, im, samples + image * CHANNELS);
  }
#if MEASURES_CUTOFF
  if (kind == SPECTRUM_KIND) {
    measure_spectrum(&space->spectrum, re, im, arena, (__global float*)(arena + SPECTRA_AT) + image * RECORD,
                     frequency);
    if (!APART) {
      return;
    }
  }
#endif
#if PREDICT
  make_extension(&space->fit, space->steps, &space->fell_back, re, im, along_x ? extension_x : extension_y,
                 status + 4 * frame, along_x, image);
#endif
}
