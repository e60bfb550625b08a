// From spectra to samples that can be used, and the predictors that continue them along both axes.
//
//   spectra     float2 [frame][frequency][row][column], Pa
//   status      uint [frame][4]: 0 = flags, 1 = microphones that are not finite
//   frequencies of a frame
//
// In the arena, at the bytes NAME_AT:
//   gains       float2 [frequency][row][column]
//   masked      uchar [row][column], 1 = do not use
//   mask        int [1 + masked], how many are masked and which
//   neighbours  int [masked][FILL_NEIGHBOURS], what they are predicted from
//   weights     float [masked][frequency][FILL_NEIGHBOURS]
//   usable      uchar [frame][row][column] from microphone_check, read when CHECK_HERE is 0
//   samples     float2 [frame][frequency][column][row], Pa
//   extension_x, extension_y  float2 [frame][frequency][step][tap], written when PREDICT is 1
//   what aperture_spectrum.cl has, when MEASURES_CUTOFF is 1
//
// Launch: (FIT_GROUP * (1 + PREDICT + MEASURES_CUTOFF), frames * frequencies), FIT_GROUP items a group; group 0 works along
// x, 1 along y, and the last one measures the spectrum. A group of one item has that done by group 0, which has loaded
// the samples anyway.

//! needs imaging/aperture_part.cl

__kernel __attribute__((reqd_work_group_size(FIT_GROUP, 1, 1))) void aperture(__global const float2* restrict spectra,
                                                                              __global uchar* arena,
                                                                              __global uint* restrict status,
                                                                              const int frequencies) {
  __local ApertureSpace space;
  make_aperture(&space, spectra, arena, status, frequencies, (int)get_group_id(0), (int)get_group_id(1));
}
