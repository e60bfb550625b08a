// The measured cut-off stage by stage. The arena is that of spectrum_record.cl and aperture_spectrum.cl.
//
//   conditioned  float2 [frame][frequency][row][column], Pa
//   reports      float4 [frame][frequency]: cut-off, phi, rms noise, relative error
//   half_number, age  of the first frame's hop, see spectrum_record.cl
//
// Launches: measure_cutoff (FIT_GROUP, frames * frequencies), FIT_GROUP items per group; settle_cutoff one item per
// hologram; keep_cutoff, one item per frequency, moves the reports on. A filter reads `reports`, so keep_cutoff comes
// before it and after settle_cutoff.

//! needs imaging/aperture_lines.cl
//! needs imaging/aperture_spectrum.cl
//! needs imaging/spectrum_record.cl

__kernel __attribute__((reqd_work_group_size(FIT_GROUP, 1, 1))) void measure_cutoff(__global const float2* conditioned,
                                                                                    __global uchar* arena,
                                                                                    const int frequencies) {
  __local REAL re[MAX_SAMPLES];
  __local REAL im[MAX_SAMPLES];
  __local Spectrum spectrum;
  const int image = (int)get_group_id(1);
  load_samples(conditioned + image * CHANNELS, conditioned, re, im, 1);
  SYNC(FIT_GROUP);
  measure_spectrum(&spectrum, re, im, arena, (__global float*)(arena + SPECTRA_AT) + image * RECORD,
                   image % frequencies);
}

__kernel void settle_cutoff(__global uchar* arena, const int frequencies, const int half_number, const int age) {
  const int image = (int)get_global_id(0);
  const int frequency = image % frequencies;
  __global const float* records = (__global const float*)(arena + SPECTRA_AT);
  __global const float* ring_bins = (__global const float*)(arena + RING_BINS_AT);
  const float k = ((__global const float2*)(arena + LIMITS_AT))[frequency].x;
  const float4 state = settled_state(arena, image / frequencies, half_number, age, frequency, frequencies);
  float8 error = 0.0f;
  for (int ring = 0; ring < RINGS; ring += 4) {
    error += error_of_rings(ring, records + image * RECORD, ring_bins, state, k);
  }
  ((__global float4*)(arena + FIGURES_AT))[image] = report_of(state, error);
}

__kernel void keep_cutoff(__global uchar* arena, __global float4* reports, const int frequencies, const int frames,
                          const int half_number, const int age) {
  const int frequency = (int)get_global_id(0);
  for (int frame = 0; frame < frames; ++frame) {
    take_report(arena, reports, frame, frames, half_number, age, frequency, frequencies);
  }
}
