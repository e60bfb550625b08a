// From spectra to usable samples, and the predictors that extend them along both axes.
//
//   spectra     float2 [frame][frequency][row][column], Pa
//   status      uint [frame][4]: 0 = flags, 1 = microphones that are not finite
//   frequencies  number in a frame
//
// In the arena, at the bytes NAME_AT:
//   gains       float2 [frequency][row][column]
//   masked      uchar [row][column], 1 = do not use
//   mask        int [1 + masked], number of masked microphones, then their channels
//   neighbours  int [masked][FILL_NEIGHBOURS], from which they are predicted
//   weights     float [masked][frequency][FILL_NEIGHBOURS]
//   usable      uchar [frame][row][column] from microphone_check, read when CHECK_HERE is 0
//   samples     float2 [frame][frequency][column][row], Pa
//   extension_x, extension_y  float2 [frame][frequency][step][tap], written when PREDICT is 1
//   arrays of aperture_spectrum.cl, when MEASURES_CUTOFF is 1
//
// Launch: (FIT_GROUP * (1 + PREDICT + MEASURES_CUTOFF), frames * frequencies), FIT_GROUP items per group; group 0 works
// along x, 1 along y, and the last one measures the spectrum. With groups of one item group 0 does that, which has
// loaded the samples anyway.

//! needs imaging/aperture_part.cl

// Repeats make_aperture(), with the arrays as the kernel's own: PoCL 3.1 compiles that function wrongly for groups of
// 256 items of 8 x 8 microphones (docs/decisions/0023-kernels-that-pocl-compiles-wrongly.md).
__kernel __attribute__((reqd_work_group_size(FIT_GROUP, 1, 1))) void aperture(__global const float2* restrict spectra,
                                                                              __global uchar* arena,
                                                                              __global uint* restrict status,
                                                                              const int frequencies) {
  __global const float2* restrict gains = (__global const float2*)(arena + GAINS_AT);
  __global const uchar* restrict masked = arena + MASKED_AT;
  __global const int* restrict mask = (__global const int*)(arena + MASK_AT);
  __global const int* restrict neighbours = (__global const int*)(arena + NEIGHBOURS_AT);
  __global const float* restrict weights = (__global const float*)(arena + WEIGHTS_AT);
  __global const uchar* restrict usable_microphones = arena + USABLE_AT;
  __global float2* restrict samples = (__global float2*)(arena + SAMPLES_AT);
  __global float2* restrict extension_x = (__global float2*)(arena + EXTENSION_X_AT);
  __global float2* restrict extension_y = (__global float2*)(arena + EXTENSION_Y_AT);
  __local REAL re[MAX_SAMPLES];
  __local REAL im[MAX_SAMPLES];
  const int kind = (int)get_group_id(0);
  const int along_x = !(PREDICT && kind == 1);
  const int image = (int)get_group_id(1);
  const int frame = image / frequencies;
  const int frequency = image % frequencies;
  load_samples(spectra + image * CHANNELS, gains + HAS_GAINS * frequency * CHANNELS, re, im, along_x);
  const int report = kind == 0 && frequency == 0;
#if !IS_FINITE
  __local uchar usable[CHANNELS];
  __local int some_bad;
  const int item = (int)get_local_id(0);
  __global const float2* frame_spectra = spectra + frame * frequencies * CHANNELS;
  if (item == 0) {
    some_bad = 0;
  }
  SYNC(FIT_GROUP);
  if (CHECK_HERE && finds_bad(frame_spectra, frequencies)) {
    some_bad = 1;
  }
  for (int i = item; i < CHANNELS; i += FIT_GROUP) {
    usable[i] = CHECK_HERE ? !masked[i] : usable_microphones[frame * CHANNELS + i];
    if (!usable[i] && !masked[i]) {
      some_bad = 1;
    }
  }
  SYNC(FIT_GROUP);
  if (some_bad) {
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
  __local Spectrum spectrum;
  if (kind == SPECTRUM_KIND) {
    measure_spectrum(&spectrum, re, im, arena, (__global float*)(arena + SPECTRA_AT) + image * RECORD, frequency);
    if (!APART) {
      return;
    }
  }
#endif
#if PREDICT
  __local Fit fit;
  __local REAL2 steps[STEP_VALUES];
  __local int fell_back;
  make_extension(&fit, steps, &fell_back, re, im, along_x ? extension_x : extension_y, status + 4 * frame, along_x,
                 image);
#endif
}
