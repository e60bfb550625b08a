// The last transform: the part of one work-group in one image. rows.cl documents the buffers.

//! needs common/groups.cl
//! needs common/status.cl
//! needs imaging/padded_lines.cl
//! needs imaging/spectrum_record.cl

//! arena SLICES ROOTS_X
//! default LINES 32  // rows
//! default STRIDE 96
//! default ROW_STRIDE 32
//! default INTENSITY 0  // 1: an image has two fields
#define FIELDS (INTENSITY ? 2 : 1)
//! default ROW_TILE 4  // vectors per group
//! default ROW_GROUP 64  // items per group

#if MEASURES_CUTOFF
#define REPORT_ARGUMENTS , __global float4 *reports, const int half_number, const int age
#define REPORTS , reports, half_number, age
#else
#define REPORT_ARGUMENTS
#define REPORTS
#endif

// Local memory of a group.
typedef struct {
  FLOATV re[FIELDS * PLACES * ROW_TILE];
  FLOATV im[FIELDS * PLACES * ROW_TILE];
} RowsSpace;

// Computes ROW_TILE vectors of rows of one image. One group of a frame takes its status, once all stages that may
// change it are done.
LOCAL_HELPER void make_rows(__local RowsSpace* space, __global uchar* arena, __global float2* restrict images,
                            __global uint* restrict taken, const int images_per_frame, const int frequencies,
                            __global uint* restrict status, const int frames, const int takes_status, const int part,
                            const int image REPORT_ARGUMENTS) {
  __global const float2* slices = (__global const float2*)(arena + SLICES_AT);
  __global const float2* restrict roots = (__global const float2*)(arena + ROOTS_X_AT);
  __local FLOATV* re = space->re;
  __local FLOATV* im = space->im;
  const int item = (int)get_local_id(0);
  const int first_row = part * ROW_TILE * LANES;
  if (takes_status) {
    take_status(status, taken, image / images_per_frame, item, ROW_GROUP);
  }
#if MEASURES_CUTOFF
  if (image % images_per_frame < frequencies && first_row == 0 && item == 0) {
    const int frequency = image % images_per_frame;
    take_report(arena, reports, image / images_per_frame, frames, half_number, age, frequency, frequencies);
  }
#endif
  const int first_slice = INTENSITY ? image / frequencies * FIELDS * frequencies + image % frequencies : image;
  for (int i = item; i < FIELDS * OUTER * ROW_TILE; i += ROW_GROUP) {
    const int vector = i % ROW_TILE;
    const int k1 = i / ROW_TILE % OUTER;
    const int field = i / (ROW_TILE * OUTER);
    __global const float2* slice =
        slices + (size_t)(first_slice + field * frequencies) * STRIDE * ROW_STRIDE + first_row;
    const int places = field * PLACES * ROW_TILE;
    FLOATV x_re[INNER];
    FLOATV x_im[INNER];
#pragma unroll
    for (int k2 = 0; k2 < INNER; ++k2) {
      const COMPLEXV value = LOAD_COMPLEX(slice + (k1 + OUTER * k2) * ROW_STRIDE + vector * LANES);
      x_re[k2] = value.even;
      x_im[k2] = value.odd;
    }
    inner_backward(re + places, im + places, x_re, x_im, roots, k1, vector, ROW_TILE);
  }
  SYNC(ROW_GROUP);
  for (int i = item; i < INNER * ROW_TILE; i += ROW_GROUP) {
    const int vector = i % ROW_TILE;
    const int n2 = i / ROW_TILE;
    FLOATV x_re[OUTER];
    FLOATV x_im[OUTER];
    outer_backward(re, im, x_re, x_im, n2, vector, ROW_TILE);
#if INTENSITY
    FLOATV v_re[OUTER];
    FLOATV v_im[OUTER];
    outer_backward(re + PLACES * ROW_TILE, im + PLACES * ROW_TILE, v_re, v_im, n2, vector, ROW_TILE);
#pragma unroll
    for (int q = 0; q < OUTER; ++q) {
      x_re[q] = 0.5f * (x_re[q] * v_re[q] + x_im[q] * v_im[q]);
      x_im[q] = 0.0f;
    }
#endif
    const int row = first_row + vector * LANES;
#pragma unroll
    for (int q = 0; q < OUTER; ++q) {
      const int column = INNER * OUTER_BIN(q) + n2 - BEFORE;
      if (column >= 0 && column < LENGTH) {
        store_lines(images + (image * LINES + row) * LENGTH + column, LENGTH, LINES - row, x_re[q], x_im[q]);
      }
    }
  }
}
