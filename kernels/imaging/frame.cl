// One frame in one launch: the groups of aperture.cl, columns.cl and rows.cl, which document the buffers. The groups of
// columns wait for the aperture of their frequency, those of rows for the columns of theirs. The macros are those of
// all three, so both axes must be cut alike: one `LENGTH`, one `PADDED`.
//
// In the arena, at the byte COUNTERS_AT:
//   counters  uint [3][frequency], number of finished groups of the aperture, the columns and the rows, since the arena
//             was made
//
//   number    of the launch, from 1 on; it may wrap
//
// Launch: FRAME_GROUP items per group, (PARTS_OF_APERTURE + PARTS_OF_COLUMNS + planes * PARTS_OF_ROWS) * frequencies
// groups: first all apertures, then, for each frequency, its columns and the rows of its planes, so that images are
// transferred to the host while others are computed.

//! needs common/hand_over.cl
//! needs imaging/aperture_part.cl
#undef STEPS  // along x; padded_lines.cl has as many along y
//! needs imaging/columns_part.cl
//! needs imaging/rows_part.cl

//! arena COUNTERS
//! default FRAME_GROUP FIT_GROUP  // FIT_GROUP, COLUMN_GROUP and ROW_GROUP
#define PARTS_OF_APERTURE (1 + PREDICT + MEASURES_CUTOFF)
#define PARTS_OF_COLUMNS (STRIDE / (LANES * COLUMN_TILE))
#define PARTS_OF_ROWS (ROW_STRIDE / (LANES * ROW_TILE))

// A group uses one of these at a time.
typedef union {
  ApertureSpace aperture;
  ColumnsSpace columns;
  RowsSpace rows;
} FrameSpace;

__kernel __attribute__((reqd_work_group_size(FRAME_GROUP, 1, 1))) void frame(
    __global const float2* spectra, __global uchar* arena, __global uint* status, __global float2* images,
    __global uint* taken, const int frequencies, const int planes, const uint number, const int half_number,
    const int age
#if MEASURES_CUTOFF
    ,
    __global float4* reports
#endif
) {
  __local FrameSpace space;
  __global uint* apertures = (__global uint*)(arena + COUNTERS_AT);
  __global uint* columns = apertures + frequencies;
  const int group = (int)get_group_id(0);
  const int slot_parts = PARTS_OF_COLUMNS + PARTS_OF_ROWS * planes;
  const int is_aperture = group < PARTS_OF_APERTURE * frequencies;
  const int slot = group - PARTS_OF_APERTURE * frequencies;
  const int frequency = is_aperture ? group / PARTS_OF_APERTURE : slot / slot_parts;
  const int part = slot % slot_parts;
  if (is_aperture) {
    make_aperture(&space.aperture, spectra, arena, status, frequencies, group % PARTS_OF_APERTURE, frequency);
  } else if (part < PARTS_OF_COLUMNS) {
    begin_columns(&space.columns, arena, part);
    wait_until(apertures + frequency, number * PARTS_OF_APERTURE);
    make_columns(&space.columns, arena, frequencies, half_number, age, part, frequency);
  } else {
    const int plane = (part - PARTS_OF_COLUMNS) / PARTS_OF_ROWS;
    const int rows_part = (part - PARTS_OF_COLUMNS) % PARTS_OF_ROWS;
    const int takes_status = frequency == frequencies - 1 && plane == 0 && rows_part == 0;
    if (takes_status) {
      wait_until_all(apertures, frequencies, number * PARTS_OF_APERTURE);
    }
    wait_until(columns + frequency, number * PARTS_OF_COLUMNS);
    make_rows(&space.rows, arena, images, taken, frequencies * planes, frequencies, status, 1, takes_status, rows_part,
              plane * frequencies + frequency REPORTS);
  }
  // Rows announce too, although nothing waits for them: PoCL loses a call that only some groups reach
  // (docs/decisions/0023).
  announce(apertures + (is_aperture ? 0 : part < PARTS_OF_COLUMNS ? 1 : 2) * frequencies + frequency);
}
