// Mean squares of bands: the sums of the maps of their bins, each times its share that lies inside the band, over the
// noise bandwidth of the window in bins (docs/use/quantities.md); maps of single frequencies are bands of one bin with the
// weight 1.
//
//   maps     float [frequency][pixel], Pa^2
//   ends     int   [PUBLISHED + 1], begin and end of the bins of each
//   bins     int   [ends[PUBLISHED]], indices of frequencies
//   weights  float [ends[PUBLISHED]], likewise
//   sums     float [PUBLISHED][pixel], Pa^2
//
// Launch: (PIXELS rounded up to the group, PUBLISHED).

//! default PIXELS 64

__kernel void beamform_publish(__global const float* restrict maps, __global const int* restrict ends,
                               __global const int* restrict bins, __global const float* restrict weights,
                               __global float* restrict sums) {
  const int pixel = get_global_id(0);
  const int band = get_global_id(1);
  if (pixel >= PIXELS) {
    return;
  }
  float sum = 0.0f;
  for (int i = ends[band]; i < ends[band + 1]; ++i) {
    sum += weights[i] * maps[(size_t)bins[i] * PIXELS + pixel];
  }
  sums[(size_t)band * PIXELS + pixel] = sum;
}
