// From spectra to rows in K-space, and to what continues the columns: conditioning, predictors, the transform along x.
// Include after pooled_fit.cl.
//
//   spectra     float2 [frame][frequency][row][column], Pa
//   gains       float2 [frequency][row][column]
//   masked      uchar [row][column], 1 = do not use
//   usable      uchar [frame][row][column] from microphone_check, read when CHECK_HERE is 0
//   fixed       float2 [step][tap], the extension along x when PREDICT is 0
//   window, roots of padded_lines.cl
//   extension   float2 [frame][frequency][OTHER_STEPS][OTHER_TAPS], along y, written when PREDICT is 1
//   row_spectra float2 [frame][frequency][row][STRIDE], transforms along x, Pa
//   status      uint [frame][4]: 0 = flags, 1 = microphones that are not finite
//   frequencies of a frame
//
// Launch: (FIT_GROUP * (1 + PREDICT), frames * frequencies), FIT_GROUP items a group; group 0 works along x, 1 along y.

#ifndef STRIDE  // columns of row_spectra
#define STRIDE 96
#endif
#ifndef LINE_TILE  // vectors of lines that are transformed at a time
#define LINE_TILE 16
#endif

__kernel __attribute__((reqd_work_group_size(FIT_GROUP, 1, 1))) void aperture(
    __global const float2* restrict spectra, __global const float2* restrict gains,
    __global const uchar* restrict masked, __global const uchar* restrict usable_microphones,
    __global const float2* restrict fixed, __global const float* restrict window, __global const float2* restrict roots,
    __global float2* restrict extension, __global float2* restrict row_spectra, __global uint* restrict status,
    const int frequencies) {
  __local REAL sample_re[MAX_SAMPLES];
  __local REAL sample_im[MAX_SAMPLES];
  __local FLOATV re[PLACES * LINE_TILE];
  __local FLOATV im[PLACES * LINE_TILE];
  __local float2 taps[STEPS * TAPS + 1];
  __local uchar usable[CHANNELS];
  __local int some_bad;
  __local int some_unusable;
  const int item = (int)get_local_id(0);
  const int along_x = get_group_id(0) == 0;
  const int image = (int)get_group_id(1);
  const int frame = image / frequencies;
  const int frequency = image % frequencies;

  __global const float2* frame_spectra = spectra + frame * frequencies * CHANNELS;
  const int report = along_x && frequency == 0;
  if (item == 0) {
    some_bad = 0;
    some_unusable = 0;
  }
  SYNC(FIT_GROUP);
  load_samples(spectra + image * CHANNELS, gains + HAS_GAINS * frequency * CHANNELS, sample_re, sample_im, along_x);
#if CHECK_HERE && !INPUT_IS_FINITE
  if (finds_bad(frame_spectra, frequencies)) {
    some_bad = 1;
  }
#endif
  for (int i = item; i < CHANNELS; i += FIT_GROUP) {
    usable[i] = CHECK_HERE ? !masked[i] : usable_microphones[frame * CHANNELS + i];
    if (!usable[i]) {
      some_unusable = 1;
    }
  }
  SYNC(FIT_GROUP);
  if (CHECK_HERE && report && item == 0 && some_unusable) {
    atomic_or(&status[4 * frame], (uint)FLAG_MASKED);
  }
  if (some_bad) {
    mark_finite(frame_spectra, usable, status + 4 * frame, frequencies, report);
    SYNC(FIT_GROUP);
  }
  if (some_bad || some_unusable) {
    fill_samples(usable, sample_re, sample_im, along_x);
    SYNC(FIT_GROUP);
  }
#if PREDICT
  __local REAL2 gram[MAX_LENGTH * SIZE];
  __local REAL2 products[SIZE * SIZE];
  __local REAL2 predictors[2 * SIZE];
  __local REAL2 numerators[SIZE];
  __local REAL denominators[SIZE];
  __local REAL2 steps[(MAX_STEPS > MAX_TAPS ? MAX_STEPS : MAX_TAPS) * MAX_TAPS];
  __local int fell_back;
  Fit fit = {gram, products, predictors, numerators, denominators, steps};
  make_extension(fit, sample_re, sample_im, &fell_back, taps, extension + image * OTHER_STEPS * OTHER_TAPS,
                 status + 4 * frame, along_x);
#else
  for (int i = item; i < STEPS * TAPS; i += FIT_GROUP) {
    taps[i] = fixed[i];
  }
#endif

  for (int first = along_x ? 0 : VECTORS_OF(LINES); first < VECTORS_OF(LINES); first += LINE_TILE) {
    for (int i = item; i < LENGTH * LINE_TILE; i += FIT_GROUP) {
      const int vector = min(first + i % LINE_TILE, VECTORS_OF(LINES) - 1);
      const int from = i / LINE_TILE * LINE_STRIDE(LINES) + vector * LANES;
      const int to = PLACE_OF(BEFORE + i / LINE_TILE) * LINE_TILE + i % LINE_TILE;
      re[to] = TO_FLOATS(LOAD_REALS(sample_re + from));
      im[to] = TO_FLOATS(LOAD_REALS(sample_im + from));
    }
    SYNC(FIT_GROUP);
    extend_wings(re, im, taps, window, item, FIT_GROUP, LINE_TILE);
    SYNC(FIT_GROUP);
    outer_forward(re, im, roots, item, FIT_GROUP, LINE_TILE);
    SYNC(FIT_GROUP);
    for (int i = item; i < OUTER * LINE_TILE; i += FIT_GROUP) {
      const int k1 = i / LINE_TILE;
      const int line = (first + i % LINE_TILE) * LANES;
      __global float2* to = row_spectra + (image * LINES + line) * STRIDE + k1;
      FLOATV x_re[INNER];
      FLOATV x_im[INNER];
      inner_forward(re, im, x_re, x_im, k1, i % LINE_TILE, LINE_TILE);
#pragma unroll
      for (int q = 0; q < INNER; ++q) {
        store_lines(to + OUTER * INNER_BIN(q), STRIDE, LINES - line, x_re[q], x_im[q]);
      }
    }
    SYNC(FIT_GROUP);
  }
}
