// The last launch: rows of images from columns of K-space. Include after row_images.cl and status.cl.
//
// In the arena, at the bytes NAME_AT:
//   slices  float2 [image][STRIDE columns kx][ROW_STRIDE], as in row_images.cl
//   roots   of padded_lines.cl
//
//   images  float2 [image][row][column], Pa or m/s
//   taken, status  uint [frame][4], as in status.cl; images_per_frame images make a frame
//
// Launch: (ROW_GROUP * vectors of rows / ROW_TILE, images), ROW_GROUP items a group, each group with ROW_TILE vectors of
// LANES rows.

#ifndef ROW_TILE  // vectors a group
#define ROW_TILE 4
#endif
#ifndef ROW_GROUP  // items a group
#define ROW_GROUP 64
#endif

__kernel __attribute__((reqd_work_group_size(ROW_GROUP, 1, 1))) void rows(__global const uchar* arena,
                                                                          __global float2* restrict images,
                                                                          __global uint* restrict taken,
                                                                          const int images_per_frame,
                                                                          __global uint* restrict status) {
  __global const float2* restrict slices = (__global const float2*)(arena + SLICES_AT);
  __global const float2* restrict roots = (__global const float2*)(arena + ROOTS_X_AT);
  __local FLOATV re[PLACES * ROW_TILE];
  __local FLOATV im[PLACES * ROW_TILE];
  const int item = (int)get_local_id(0);
  const int first_row = (int)get_group_id(0) * ROW_TILE * LANES;
  const int image = (int)get_group_id(1);
  if (image % images_per_frame == 0 && first_row == 0) {
    take_status(status, taken, image / images_per_frame, item, ROW_GROUP);
  }
  make_rows(re, im, slices + image * STRIDE * ROW_STRIDE, roots, images + image * LINES * LENGTH, first_row, item,
            ROW_GROUP, ROW_TILE);
}
