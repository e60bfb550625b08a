// Measured cut-off: the wavenumber at which a hologram's spectrum falls into its noise (docs/how/pnah.md, Filters; the
// reference is src/imaging/pnah/auto_cutoff_reference.cpp).
//
// The first SPECTRUM_ROWS x SPECTRUM_COLUMNS microphones under a Hann window are transformed along both axes, each of
// length FIRST * SECOND in two steps in place (short_dft.cl has the formula): position SECOND k1 + k2 is bin
// k1 + FIRST k2. Their powers give the noise (median of the shell of bins beyond the largest wavenumber) and the mean
// power of rings around kr = 0 with triangular weights.
//
// In the arena, at the bytes NAME_AT:
//   hann_x, hann_y  float [COLUMNS], [LINE_STRIDE(ROWS)]; their product's mean square over the transform is 1 / its
//                   points; 0 past the transform
//   bin_places      int [bin], in the order of kr; bin_rings float [bin], kr in rings
//   ring_starts     int [RINGS + 1]: the first bin of at least that many rings
//   ring_bins       float [RINGS], sum of a ring's weights
//   shell_places    int [SHELL]
//   limits          float2 [frequency]: k and the largest cut-off, rad/m
//   spectra         float [frame][frequency][RECORD], see spectrum_record.cl
//
// All of a group's items take part.

//! needs imaging/aperture_lines.cl
#define WIDTH LANES
//! needs common/vectors.cl
//! needs imaging/spectrum_record.cl

#if MEASURES_CUTOFF
//! default SPECTRUM_ROWS 32
//! default SPECTRUM_COLUMNS 32
//! default X_FIRST 8  // factor of SPECTRUM_COLUMNS
//! default X_SECOND 4
//! default Y_FIRST 8  // factor of SPECTRUM_ROWS
//! default Y_SECOND 4
//! arena HANN_X HANN_Y BIN_PLACES BIN_RINGS RING_STARTS SHELL_PLACES
//! default SHELL 138  // bins
//! default LAST_RING 16  // last ring at which the cut-off can lie
//! default OVER_NOISE 3.0f  // power over the noise at the cut-off, for a field that fills the aperture evenly
//! default MOST_HIDDEN 4.0f  // share of the power that the window is assumed to hide
#define LARGEST_FACTOR 10
#define POINTS (SPECTRUM_ROWS * SPECTRUM_COLUMNS)
// A group of one item has its samples in double if predictors are fitted, so it works on copies, the second one
// transposed.
#define APART (FIT_GROUP == 1)
#define ROW_STEP LINE_STRIDE(ROWS)
#define COLUMN_STEP (VECTORS_OF(SPECTRUM_COLUMNS) * LANES)
#define SHELL_STEP ((SHELL + 7) / 8 * 8)
#define LAST_BIT 0x1000u                    // for a median found by one item: 2^-11 of it
#define RING_ITEMS (FIT_GROUP > 1 ? 8 : 1)  // items that share a ring's sum

#define V(value) value,
//! default X_ROOTS V(1.0f) V(0.0f)  // V(cos) V(-sin) of 2 pi i / SPECTRUM_COLUMNS
//! default Y_ROOTS V(1.0f) V(0.0f)
__constant float x_roots[] = {X_ROOTS};
__constant float y_roots[] = {Y_ROOTS};

typedef struct {
#if APART
  float x_re[COLUMNS * ROW_STEP];  // [column][row]
  float x_im[COLUMNS * ROW_STEP];
  float y_re[SPECTRUM_ROWS * COLUMN_STEP];  // [row][column]
  float y_im[SPECTRUM_ROWS * COLUMN_STEP];
#endif
  float shares[FIT_GROUP];
  float ring_shares[RINGS * RING_ITEMS];
  float shell[SHELL_STEP];
  float rings[RINGS];  // sums of power
  float noise;
} Spectrum;

// sum_n x[n] e^{-2 pi j n k / length}, length <= LARGEST_FACTOR. roots[2 i turns]: e^{-2 pi j i / length}. Samples n and
// length - n are combined as sum and difference, whose even part a and odd part b make the bins k and length - k: a -+ j
// b.
static inline __attribute__((always_inline)) void dense_dft(const FLOATV* x_re, const FLOATV* x_im, FLOATV* y_re,
                                                            FLOATV* y_im, const int length,
                                                            __constant const float* roots, const int turns) {
#pragma unroll
  for (int k = 0; k <= length / 2; ++k) {
    FLOATV a_re = x_re[0];
    FLOATV a_im = x_im[0];
    FLOATV b_re = 0.0f;
    FLOATV b_im = 0.0f;
    if (length % 2 == 0) {
      a_re += k % 2 == 0 ? x_re[length / 2] : -x_re[length / 2];
      a_im += k % 2 == 0 ? x_im[length / 2] : -x_im[length / 2];
    }
#pragma unroll
    for (int n = 1; n <= (length - 1) / 2; ++n) {
      const float c = roots[2 * (n * k % length) * turns];
      const float s = -roots[2 * (n * k % length) * turns + 1];
      a_re += (x_re[n] + x_re[length - n]) * c;
      a_im += (x_im[n] + x_im[length - n]) * c;
      b_re += (x_re[n] - x_re[length - n]) * s;
      b_im += (x_im[n] - x_im[length - n]) * s;
    }
    y_re[k] = a_re + b_im;
    y_im[k] = a_im - b_re;
    if (k > 0) {
      y_re[length - k] = a_re - b_im;
      y_im[length - k] = a_im + b_re;
    }
  }
}

// First or second step of a transform: `count` samples `step` apart, of the transform that begins at `at`. Results are
// multiplied by root^(by * k).
LOCAL_HELPER void dft_step(__local float* re, __local float* im, const int at, const int step, const int count,
                           __constant const float* roots, const int turns, const int by) {
  FLOATV x_re[LARGEST_FACTOR];
  FLOATV x_im[LARGEST_FACTOR];
  FLOATV y_re[LARGEST_FACTOR];
  FLOATV y_im[LARGEST_FACTOR];
#pragma unroll
  for (int n = 0; n < count; ++n) {
    x_re[n] = LOAD_FLOATS(re + at + n * step);
    x_im[n] = LOAD_FLOATS(im + at + n * step);
  }
  dense_dft(x_re, x_im, y_re, y_im, count, roots, turns);
#pragma unroll
  for (int k = 0; k < count; ++k) {
    const float c = roots[2 * by * k];
    const float s = roots[2 * by * k + 1];
    STORE_FLOATS(y_re[k] * c - y_im[k] * s, re + at + k * step);
    STORE_FLOATS(y_re[k] * s + y_im[k] * c, im + at + k * step);
  }
}

// Transforms vectors of lines, `next` apart, samples `step` apart. Ends with a barrier.
LOCAL_HELPER void split_dft(__local float* re, __local float* im, const int vectors, const int next, const int step,
                            const int first, const int second, __constant const float* roots) {
  for (int i = (int)get_local_id(0); i < vectors * second; i += FIT_GROUP) {
    const int n2 = i % second;
    dft_step(re, im, i / second * next + n2 * step, second * step, first, roots, second, n2);
  }
  SYNC(FIT_GROUP);
  for (int i = (int)get_local_id(0); i < vectors * first; i += FIT_GROUP) {
    dft_step(re, im, i / first * next + i % first * second * step, step, second, roots, first, 0);
  }
  SYNC(FIT_GROUP);
}

DEFINE_SUM_OF_ITEMS(FIT_GROUP)

// Applies the window to the samples, in place or to a copy; returns this item's share of their power before it.
LOCAL_HELPER float weigh_samples(__local REAL* re, __local REAL* im, __local float* to_re, __local float* to_im,
                                 __global const float* hann_x, __global const float* hann_y) {
  FLOATV power = 0.0f;
  for (int i = (int)get_local_id(0); i < COLUMNS * VECTORS_OF(ROWS); i += FIT_GROUP) {
    const int column = i / VECTORS_OF(ROWS);
    const int row = i % VECTORS_OF(ROWS) * LANES;
    const int at = column * ROW_STEP + row;
    const FLOATV x_re = TO_FLOATS(LOAD_REALS(re + at));
    const FLOATV x_im = TO_FLOATS(LOAD_REALS(im + at));
    const FLOATV weight = hann_x[column] * LOAD_FLOATS(hann_y + row);
    power += x_re * x_re + x_im * x_im;
    STORE_FLOATS(weight * x_re, to_re + at);
    STORE_FLOATS(weight * x_im, to_im + at);
  }
#if LANES == 1
  return power;
#else
  float lanes[LANES];
  STORE_FLOATS(power, lanes);
  float sum = 0.0f;
  for (int lane = 0; lane < LANES; ++lane) {
    sum += lanes[lane];
  }
  return sum;
#endif
}

#if APART
LOCAL_HELPER void transpose(__local const float* from, __local float* to) {
  for (int row = 0; row < SPECTRUM_ROWS; ++row) {
    for (int column = 0; column < SPECTRUM_COLUMNS; ++column) {
      to[row * COLUMN_STEP + column] = from[column * ROW_STEP + row];
    }
  }
}
#endif

// The power of each of white noise's bins is exponentially distributed: its median is ln 2 of its mean. A group finds
// the bin with half of the others below it; one item finds the bits of the largest number with no more than that below
// it.
LOCAL_HELPER void find_noise(__local Spectrum* spectrum) {
#if APART
  uint median = 0;
  for (uint bit = 0x40000000u; bit >= LAST_BIT; bit >>= 1) {
    const float tried = as_float(median | bit);
    int8 below = 0;
    for (int i = 0; i < SHELL_STEP; i += 8) {
      below -= vload8(0, spectrum->shell + i) < tried;
    }
    const int4 four = below.lo + below.hi;
    median |= four.x + four.y + four.z + four.w <= SHELL / 2 ? bit : 0u;
  }
  spectrum->noise = median > 0 ? as_float(median | LAST_BIT >> 1) / 0.693147181f : 0.0f;
#else
  for (int i = (int)get_local_id(0); i < SHELL; i += FIT_GROUP) {
    const float power = spectrum->shell[i];
    int below = 0;
    for (int j = 0; j < SHELL; ++j) {
      const float other = spectrum->shell[j];
      below += (other < power) | ((other == power) & (j < i));
    }
    if (below == SHELL / 2) {
      spectrum->noise = power / 0.693147181f;
    }
  }
#endif
}

// A ring's bins lie between its neighbours. Items of a group share each ring's sum and read each bin twice; one item
// makes one pass over the bins between two rings, four at a time.
LOCAL_HELPER void sum_rings(__local Spectrum* spectrum, __local const float* power, __global const int* bin_places,
                            __global const float* bin_rings, __global const int* ring_starts) {
#if APART
  float carried = 0.0f;
  for (int ring = 0; ring < RINGS; ++ring) {
    float4 sums = 0.0f;
    float4 aboves = 0.0f;
    int bin = ring_starts[ring];
    for (; bin + 4 <= ring_starts[ring + 1]; bin += 4) {
      const int4 places = vload4(0, bin_places + bin);
      const float4 powers = (float4)(power[places.x], power[places.y], power[places.z], power[places.w]);
      sums += powers;
      aboves += powers * (vload4(0, bin_rings + bin) - (float)ring);
    }
    float sum = (sums.x + sums.y) + (sums.z + sums.w);
    float above = (aboves.x + aboves.y) + (aboves.z + aboves.w);
    for (; bin < ring_starts[ring + 1]; ++bin) {
      sum += power[bin_places[bin]];
      above += power[bin_places[bin]] * (bin_rings[bin] - (float)ring);
    }
    spectrum->ring_shares[ring] = carried + sum - above;
    carried = above;
  }
#else
  for (int i = (int)get_local_id(0); i < RINGS * RING_ITEMS; i += FIT_GROUP) {
    const int ring = i / RING_ITEMS;
    float sum = 0.0f;
    for (int bin = ring_starts[max(ring - 1, 0)] + i % RING_ITEMS; bin < ring_starts[ring + 1]; bin += RING_ITEMS) {
      sum += fmax(1.0f - fabs(bin_rings[bin] - (float)ring), 0.0f) * power[bin_places[bin]];
    }
    spectrum->ring_shares[i] = sum;
  }
#endif
}

// Finds where the rings fall below the threshold and writes the record; called by one item.
LOCAL_HELPER void write_record(__local const Spectrum* spectrum, __global const float* ring_bins, const float level,
                               const float2 limits, __global float* record) {
  float seen = 0.0f;
  for (int ring = 0; ring < RINGS; ++ring) {
    seen += spectrum->rings[ring];
  }
  seen /= (float)POINTS;
  const float hidden = seen > 0.0f ? fmin(level / seen, MOST_HIDDEN) : 1.0f;
  const float noise = spectrum->noise;
  const float threshold = noise * (1.0f + OVER_NOISE / hidden);
  float edge = 0.0f;
  float edge_power = 0.0f;
  float next = 0.0f;
  for (int ring = LAST_RING; ring > 0 && edge == 0.0f; --ring) {
    const float power = spectrum->rings[ring] / fmax(ring_bins[ring], 1e-6f);
    if (power > threshold) {
      const int inside = ring < LAST_RING;
      edge = (float)ring + (inside ? log(power / threshold) / log(power / next) : 0.0f);
      edge_power = (inside ? threshold : power) - noise;
    }
    next = power;
  }
  record[RECORD_CUTOFF] = fmax(limits.x, fmin(edge * RING_WIDTH, limits.y));
  record[RECORD_NOISE] = noise;
  record[RECORD_LEVEL] = level;
  record[RECORD_EDGE] = edge;
  record[RECORD_EDGE_POWER] = edge_power;
  record[RECORD_HIDDEN] = hidden;
  __global int* steps = (__global int*)record + RECORD_STEPS;
  steps[0] = as_steps(record[RECORD_CUTOFF]);
  steps[1] = as_steps(noise);
  steps[2] = as_steps(level);
}

// Measures the spectrum from the aperture's lines along x, [column][row], which it overwrites.
LOCAL_HELPER void measure_spectrum(__local Spectrum* spectrum, __local REAL* re, __local REAL* im,
                                   __global const uchar* arena, __global float* record, const int frequency) {
  const int item = (int)get_local_id(0);
  __global const int* bin_places = (__global const int*)(arena + BIN_PLACES_AT);
  __global const float* bin_rings = (__global const float*)(arena + BIN_RINGS_AT);
  __global const int* ring_starts = (__global const int*)(arena + RING_STARTS_AT);
  __global const float* ring_bins = (__global const float*)(arena + RING_BINS_AT);
  __global const int* shell_places = (__global const int*)(arena + SHELL_PLACES_AT);
#if APART
  __local float* x_re = spectrum->x_re;
  __local float* x_im = spectrum->x_im;
  __local float* y_re = spectrum->y_re;
  __local float* y_im = spectrum->y_im;
#else
  __local float* x_re = re;
  __local float* x_im = im;
  __local float* y_re = re;
  __local float* y_im = im;
#endif
  if (item == 0) {
    spectrum->noise = 0.0f;
  }
  const float share = weigh_samples(re, im, x_re, x_im, (__global const float*)(arena + HANN_X_AT),
                                    (__global const float*)(arena + HANN_Y_AT));
  const float level = sum_of_items(share, spectrum->shares, item) / (float)CHANNELS;
  split_dft(x_re, x_im, VECTORS_OF(ROWS), LANES, ROW_STEP, X_FIRST, X_SECOND, x_roots);
#if APART
  transpose(x_re, y_re);
  transpose(x_im, y_im);
  split_dft(y_re, y_im, VECTORS_OF(SPECTRUM_COLUMNS), LANES, COLUMN_STEP, Y_FIRST, Y_SECOND, y_roots);
  for (int i = 0; i < SPECTRUM_ROWS * COLUMN_STEP; ++i) {
    y_re[i] = y_re[i] * y_re[i] + y_im[i] * y_im[i];
  }
#else
  split_dft(y_re, y_im, SPECTRUM_COLUMNS, ROW_STEP, 1, Y_FIRST, Y_SECOND, y_roots);
  for (int i = item; i < SPECTRUM_COLUMNS * ROW_STEP; i += FIT_GROUP) {
    y_re[i] = y_re[i] * y_re[i] + y_im[i] * y_im[i];
  }
#endif
  SYNC(FIT_GROUP);
  sum_rings(spectrum, y_re, bin_places, bin_rings, ring_starts);
  SYNC(FIT_GROUP);  // PoCL 3.1 lost the sums of 8 x 8 microphones without it
  // Two loops: with one that stores both the bins and the padding of the last vector, PoCL 3.1 loses bins of 8 x 8
  // microphones (docs/decisions/0023-kernels-that-pocl-compiles-wrongly.md).
  for (int i = item; i < SHELL; i += FIT_GROUP) {
    spectrum->shell[i] = y_re[shell_places[i]];
  }
#if APART
  for (int i = SHELL; i < SHELL_STEP; ++i) {
    spectrum->shell[i] = INFINITY;
  }
#endif
  SYNC(FIT_GROUP);
  find_noise(spectrum);
  for (int ring = item; ring < RINGS; ring += FIT_GROUP) {
    float sum = 0.0f;
    for (int i = 0; i < RING_ITEMS; ++i) {
      sum += spectrum->ring_shares[ring * RING_ITEMS + i];
    }
    spectrum->rings[ring] = sum;
    record[RECORD_RINGS + ring] = sum / fmax(ring_bins[ring], 1e-6f);
  }
  SYNC(FIT_GROUP);
  if (item == 0) {
    write_record(spectrum, ring_bins, level, ((__global const float2*)(arena + LIMITS_AT))[frequency], record);
  }
}
#endif  // MEASURES_CUTOFF
