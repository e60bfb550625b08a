// The last transform: along x, for the columns of the aperture. The macros of padded_lines.cl are set for x.
//
// In the arena, at the bytes NAME_AT:
//   slices  float2 [frame][plane][field][frequency][STRIDE columns kx][ROW_STRIDE], rows fastest, scaled; an active
//           intensity has two fields, pressure and velocity: Re(p v*)/2
//   roots   of padded_lines.cl
//
// and, if the cut-off is measured (MEASURES_CUTOFF: the last frame's state is kept, and reports are moved on),
//   figures, spectra, state  of spectrum_record.cl
//   reports  float4 [frame][frequency], figures moved on
//   half_number, age  of the first frame's hop, see spectrum_record.cl
//
//   images  float2 [frame][plane][frequency][row][column], Pa, m/s, m or W/m^2
//   taken, status  uint [frame][4], see status.cl; a frame has images_per_frame images
//
// Launch: (ROW_GROUP * vectors of rows / ROW_TILE, images), ROW_GROUP items per group, each group with ROW_TILE vectors
// of LANES rows.

//! needs imaging/rows_part.cl

__kernel __attribute__((reqd_work_group_size(ROW_GROUP, 1, 1))) void rows(
    __global uchar* arena, __global float2* restrict images, __global uint* restrict taken, const int images_per_frame,
    const int frequencies, __global uint* restrict status
#if MEASURES_CUTOFF
    ,
    __global float4* restrict reports, const int half_number, const int age
#endif
) {
  __local RowsSpace space;
  const int part = (int)get_group_id(0);
  const int image = (int)get_group_id(1);
  make_rows(&space, arena, images, taken, images_per_frame, frequencies, status,
            (int)get_num_groups(1) / images_per_frame, part == 0 && image % images_per_frame == 0, part, image REPORTS);
}
