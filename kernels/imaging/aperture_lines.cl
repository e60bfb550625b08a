// An aperture's lines along one axis in local memory, [position][line]: loaded, calibrated, and unusable microphones
// filled as defined in microphones.cl.
//
//   masked, mask, neighbours, weights  as in microphones.cl
//   spectra  float2 [frequency][row][column], Pa
//   gains    float2 [row][column]
//   usable   uchar [row][column], 1 = used
//   status   uint [4]: 0 = flags, 1 = microphones that are not finite
//   re, im   REAL [position][LINE_STRIDE(lines)]; REAL is double where predictors are fitted by Gram sums
//
// All FIT_GROUP items of a group call each function, which ends without a barrier.

//! needs common/complex.cl
//! needs common/groups.cl
//! needs common/join.cl
//! needs common/local_helper.cl
//! needs imaging/fill.cl

//! default LINES 32  // rows
//! default LENGTH 32  // columns
//! default LANES 1  // lines that an item processes side by side
//! default PREDICT 1  // 1: Burg's predictors, 0: none
//! default CHECK_HERE 1  // 1: every group checks all frequencies of its frame for values that are not finite
//! default INPUT_IS_FINITE 0  // 1: nothing needs to be checked
//! default FIT_GROUP 256  // items per group
#define COLUMNS LENGTH
#define ROWS LINES
#define CHANNELS (ROWS * COLUMNS)
#define MAX_LENGTH (ROWS > COLUMNS ? ROWS : COLUMNS)
// Floats checked together; the number in a frame is a multiple of it for any number of frequencies.
#if CHANNELS % 4 == 0 && LANES > 1
#define CHECK_WIDTH 8
#elif CHANNELS % 2 == 0
#define CHECK_WIDTH 4
#else
#define CHECK_WIDTH 2
#endif
#define CHECK_INT JOIN(int, CHECK_WIDTH)
#define VECTORS_OF(lines) (((lines) + LANES - 1) / LANES)
// Scalars from one position to the next; odd on GPUs, so that neighbours lie in different banks.
#define LINE_STRIDE(lines) (VECTORS_OF(lines) * LANES + (LANES == 1 ? 1 - (lines) % 2 : 0))
#define MAX_SAMPLES                                                                        \
  (COLUMNS * LINE_STRIDE(ROWS) > ROWS * LINE_STRIDE(COLUMNS) ? COLUMNS * LINE_STRIDE(ROWS) \
                                                             : ROWS * LINE_STRIDE(COLUMNS))
// A group of one item fits by Gram sums, in double; one of many by lattices, in single.
#define GRAM (PREDICT && FIT_GROUP == 1)
#if GRAM
#pragma OPENCL EXTENSION cl_khr_fp64 : enable
#define REAL double
#define REAL2 double2
#else
#define REAL float
#define REAL2 float2
#endif
#if LANES == 1
#define REALV REAL
#define LOAD_REALS(from) (*(from))
#else
#define REALV JOIN(REAL, LANES)
#define LOAD_REALS(from) JOIN(vload, LANES)(0, from)
#endif

// True if this item's share of the frame's spectra, at all frequencies, holds values that are not finite.
static int finds_bad(__global const float2* spectra, int frequencies) {
  __global const float* values = (__global const float*)spectra;
  CHECK_INT fine = -1;
  for (int i = (int)get_local_id(0); i < 2 * frequencies * CHANNELS / CHECK_WIDTH; i += FIT_GROUP) {
    fine &= fabs(JOIN(vload, CHECK_WIDTH)(i, values)) < LARGEST;
  }
  return !all(fine);
}

// Marks the usable microphones by all frequencies of a frame; called only for values that are not finite, which are
// rare.
LOCAL_HELPER void mark_finite(__global const float2* spectra, __local uchar* usable, __global uint* status,
                              int frequencies, int report) {
  for (int i = (int)get_local_id(0); i < CHANNELS; i += FIT_GROUP) {
    int finite = 1;
    for (int f = 0; f < frequencies; ++f) {
      finite &= is_finite(spectra[f * CHANNELS + i]);
    }
    if (usable[i] && !finite) {
      usable[i] = 0;
      if (report) {
        atomic_or(&status[0], (uint)FLAG_NON_FINITE);
        atomic_inc(&status[1]);
      }
    }
  }
}

DEFINE_FILL_RADIUS(LOCAL_HELPER, __local)

// Position of microphone (row, column) in the lines of an axis.
static int place(int row, int column, int along_x) {
  return along_x ? column * LINE_STRIDE(ROWS) + row : row * LINE_STRIDE(COLUMNS) + column;
}

// Loads the lines of the axis into local memory, [position][line]; padding of the last vector is 0.
LOCAL_HELPER void load_samples(__global const float2* spectra, __global const float2* gains, __local REAL* re,
                               __local REAL* im, int along_x) {
  const int item = (int)get_local_id(0);
  const int lines = along_x ? ROWS : COLUMNS;
  const int stride = along_x ? LINE_STRIDE(ROWS) : LINE_STRIDE(COLUMNS);
  for (int i = item; i < CHANNELS; i += FIT_GROUP) {
#if HAS_GAINS
    const float2 value = complex_multiply(spectra[i], gains[i]);
#else
    const float2 value = spectra[i];
#endif
    const int to = place(i / COLUMNS, i % COLUMNS, along_x);
    re[to] = value.x;
    im[to] = value.y;
  }
  for (int i = item; i < (along_x ? COLUMNS : ROWS) * (stride - lines); i += FIT_GROUP) {
    const int to = i / (stride - lines) * stride + lines + i % (stride - lines);
    re[to] = 0;
    im[to] = 0;
  }
}

// Fills the microphones that are neither usable nor masked.
LOCAL_HELPER void fill_samples(__local const uchar* usable, __global const uchar* masked, __local REAL* re,
                               __local REAL* im, int along_x) {
  for (int i = (int)get_local_id(0); i < CHANNELS; i += FIT_GROUP) {
    if (usable[i] || masked[i]) {
      continue;
    }
    const int row = i / COLUMNS;
    const int column = i % COLUMNS;
    const int radius = fill_radius(usable, row, column);
    float2 sum = (float2)(0.0f, 0.0f);
    float weights = 0.0f;
    for (int y = max(row - radius, 0); y <= min(row + radius, ROWS - 1); ++y) {
      for (int x = max(column - radius, 0); x <= min(column + radius, COLUMNS - 1); ++x) {
        if (usable[y * COLUMNS + x]) {
          const float dx = (float)(x - column) * PITCH_X;
          const float dy = (float)(y - row) * PITCH_Y;
          const float weight = 1.0f / (dx * dx + dy * dy);
          const int from = place(y, x, along_x);
          sum += weight * (float2)((float)re[from], (float)im[from]);
          weights += weight;
        }
      }
    }
    const int to = place(row, column, along_x);
    re[to] = weights > 0.0f ? sum.x / weights : 0.0f;
    im[to] = weights > 0.0f ? sum.y / weights : 0.0f;
  }
}

// Predicts the masked microphones; weights [masked][frequencies][FILL_NEIGHBOURS], from this frequency on.
LOCAL_HELPER void predict_masked(__global const int* mask, __global const int* neighbours,
                                 __global const float* weights, __local REAL* re, __local REAL* im, int frequencies,
                                 int along_x) {
  const int count = mask[0];
  for (int i = (int)get_local_id(0); i < count; i += FIT_GROUP) {
    float2 sum = (float2)(0.0f, 0.0f);
    for (int n = 0; n < FILL_NEIGHBOURS; ++n) {
      const float weight = weights[i * frequencies * FILL_NEIGHBOURS + n];
      const int neighbour = neighbours[i * FILL_NEIGHBOURS + n];
      const int from = place(neighbour / COLUMNS, neighbour % COLUMNS, along_x);
      if (weight != 0.0f) {
        sum += weight * (float2)((float)re[from], (float)im[from]);
      }
    }
    const int to = place(mask[1 + i] / COLUMNS, mask[1 + i] % COLUMNS, along_x);
    re[to] = sum.x;
    im[to] = sum.y;
  }
}

// Stores the conditioned samples, [column][row].
LOCAL_HELPER void store_samples(__local const REAL* re, __local const REAL* im, __global float2* samples) {
  for (int i = (int)get_local_id(0); i < CHANNELS; i += FIT_GROUP) {
    const int from = i / ROWS * LINE_STRIDE(ROWS) + i % ROWS;
    samples[i] = (float2)((float)re[from], (float)im[from]);
  }
}
