// The columns of K-space: the aperture's rows transformed along x, then columns extended and transformed along y,
// filtered and propagated, and transformed back for the rows of the aperture. The macros of padded_lines.cl are set for
// y.
//
// Along x each row needs only a few kx, so extension, taper and transform are one sum over the measured samples:
//   X[row][kx] = sum_c p[row][c] W[c][kx],   W[c] = D[X_BEFORE + c] + sum_steps conj(e[step][c]) D[X_BEFORE - 1 - step]
// at the left edge, and likewise, not conjugated, at the right; D[x][kx] is window(x) e^{-2 pi j x kx / X_PADDED}.
//
// In the arena, at the bytes NAME_AT:
//   samples      float2 [frame][frequency][column][row], Pa
//   extension_x  float2 [frame][frequency][step][tap], or [step][tap] when EXTENSION_PER_IMAGE is 0
//   ramps        float2 [X_PADDED][STRIDE], D
//   extension    like extension_x, along y
//   window, roots of padded_lines.cl
//   transfer     float2 [plane][frequency][ky][STRIDE], filter times propagator, scaled by 1 / padded points
//   kr           float [PADDED / 2 + 1 ky][STRIDE], rad/m, and the arrays of spectrum_record.cl, when MEASURES_CUTOFF
//                is 1: then the filter is not part of `transfer`, and the first group of a hologram writes its figures
//   slices       float2 [frame][plane][frequency][STRIDE columns kx][ROW_STRIDE], rows fastest
//
//   half_number, age  of the first frame's hop, see spectrum_record.cl; otherwise not used
//
// Launch: (COLUMN_GROUP * vectors of columns / COLUMN_TILE, frames * frequencies), COLUMN_GROUP items per group, each
// group with COLUMN_TILE vectors of LANES columns.

//! needs imaging/columns_part.cl

__kernel __attribute__((reqd_work_group_size(COLUMN_GROUP, 1, 1))) void columns(__global uchar* arena,
                                                                                const int frequencies,
                                                                                const int half_number, const int age) {
  __local ColumnsSpace space;
  begin_columns(&space, arena, (int)get_group_id(0));
  make_columns(&space, arena, frequencies, half_number, age, (int)get_group_id(0), (int)get_group_id(1));
}
