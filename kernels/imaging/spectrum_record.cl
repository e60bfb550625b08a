// What aperture_spectrum.cl measures in a hologram, and the state that is updated from it from frame to frame
// (docs/pnah.md, Filters; the reference is src/imaging/pnah/auto_cutoff_reference.cpp).
//
// In the arena, at the bytes NAME_AT:
//   spectra    float [frame][frequency][RECORD]: the cut-off measured in this frame alone, rad/m; the noise of a
//              microphone, E|n|^2, Pa^2; mean power of the aperture, Pa^2; where the rings sink below the threshold, in
//              rings, 0 for nowhere; their power over the noise there, Pa^2; mean power of each ring, Pa^2
//   ring_bins  float [RINGS], bins in a ring
//   limits     float2 [frequency]: k and the largest cut-off, rad/m
//   figures    float4 [frame][frequency], report_of()
//   state      float4 [frequency]: cut-off (0: there was no frame yet), noise and level after the last frame before

#ifndef MEASURES_CUTOFF  // 1: a hologram's cut-off is measured; 0: nothing of this file is used
#define MEASURES_CUTOFF 1
#endif
#ifndef HAS_ARENA  // bytes from the arena's start; an owner with an arena defines each
#define SPECTRA_AT 0
#define RING_BINS_AT 0
#define LIMITS_AT 0
#define FIGURES_AT 0
#define STATE_AT 0
#endif
#ifndef RINGS  // a multiple of 4; those past the corner have no bins
#define RINGS 24
#endif
#ifndef RING_WIDTH  // rad/m
#define RING_WIDTH 9.8174770f
#endif
#ifndef SLOPE  // the largest phi
#define SLOPE 0.1f
#endif
#ifndef DISTANCE  // from the microphones to the lowest plane, m
#define DISTANCE 0.03f
#endif
#ifndef BAND  // a cut-off moves when it is off by more than this factor
#define BAND 1.05f
#endif
#ifndef JUMP  // of the level, up or down: the state is reset
#define JUMP 4.0f
#endif
#ifndef LEAST_DECAY  // nepers a ring by which the power decays faster than the gain grows, beyond the edge
#define LEAST_DECAY 0.2f
#endif
#ifndef ESTIMATES_ERROR  // 0: the images are of a quantity that this estimate, the pressure's, does not hold for
#define ESTIMATES_ERROR 1
#endif
#define LARGEST_EXPONENT 80.0f
#define RECORD_CUTOFF 0
#define RECORD_NOISE 1
#define RECORD_LEVEL 2
#define RECORD_EDGE 3
#define RECORD_EDGE_POWER 4
#define RECORD_RINGS 5
#define RECORD (RECORD_RINGS + RINGS)

// The state after frame `frame` of a batch; w is phi. A cut-off that moves goes halfway, geometrically, the noise a
// quarter of the way.
static float4 settled_state(__global const float* spectra, __global const float4* state, const int frame,
                            const int frequency, const int frequencies) {
  float4 now = state[frequency];
  for (int i = 0; i <= frame; ++i) {
    __global const float* record = spectra + (i * frequencies + frequency) * RECORD;
    float cutoff = record[RECORD_CUTOFF];
    float noise = record[RECORD_NOISE];
    const float level = record[RECORD_LEVEL];
    if (now.x > 0.0f && level <= JUMP * now.z && JUMP * level >= now.z) {
      cutoff = cutoff > BAND * now.x || BAND * cutoff < now.x ? sqrt(now.x) * sqrt(cutoff) : now.x;
      noise = now.y > 0.0f && noise > 0.0f ? now.y * sqrt(sqrt(noise / now.y)) : noise;
    }
    now = (float4)(cutoff, noise, level, 0.0f);
  }
  now.w = fmin(SLOPE, 0.5f / (now.x * DISTANCE));
  return now;
}

// The filter's H at kr.
static float kept_at(const float kr, const float cutoff, const float slope) {
  const float x = (1.0f - kr / cutoff) / slope;
  return x >= 0.0f ? 1.0f - 0.5f * exp(-x) : 0.5f * exp(x);
}

static float growth_at(const float kr, const float k) { return sqrt(fmax((kr - k) * (kr + k), 0.0f)) * DISTANCE; }

// The contribution of four rings from `ring` on to the image's squared error, and to its power, relative to the gain at
// the cut-off.
static float2 error_of_rings(const int ring, __global const float* record, __global const float* ring_bins,
                             const float4 state, const float k) {
  const float noise = record[RECORD_NOISE];
  const float edge = record[RECORD_EDGE];
  const float edge_power = record[RECORD_EDGE_POWER];
  if (!(edge > 0.0f)) {
    return 0.0f;
  }
  const int inside = (int)edge;
  const float over = fmax(record[RECORD_RINGS + inside - 1] - noise, edge_power);
  const float decay =
      fmax(log(over / edge_power) / (edge - (float)inside + 1.0f), 2.0f * DISTANCE * RING_WIDTH + LEAST_DECAY);
  const float4 place = (float)ring + (float4)(0.0f, 1.0f, 2.0f, 3.0f);
  const float4 kr = place * RING_WIDTH;
  const float4 beyond = place - edge;
  const float4 measured = fmax(vload4(0, record + RECORD_RINGS + ring) - noise, 0.0f);
  const float4 signal = select(measured, edge_power * exp(-decay * fmax(beyond, 0.0f)), beyond > 0.0f);
  const float4 x = (1.0f - kr / state.x) / state.w;
  const float4 half_decay = 0.5f * exp(-fabs(x));
  const float4 kept = select(half_decay, 1.0f - half_decay, x >= 0.0f);
  const float4 growth = sqrt(fmax((kr - k) * (kr + k), 0.0f)) * DISTANCE;
  const float4 gain =
      vload4(0, ring_bins + ring) * exp(fmin(2.0f * (growth - growth_at(state.x, k)), LARGEST_EXPONENT));
  return (float2)(dot(gain, kept * kept * noise + (1.0f - kept) * (1.0f - kept) * signal),
                  dot(gain, kept * kept * signal));
}

// The published report of a frame: cut-off, phi, rms noise, relative error: 1 where nothing lies above the noise, NaN (by
// its bits, as fast mathematics know none) where it is not estimated.
static float4 report_of(const float4 state, const float2 error) {
#if ESTIMATES_ERROR
  const float relative = error.y > 0.0f ? sqrt(error.x / error.y) : 1.0f;
#else
  const float relative = as_float(0x7fc00000);
#endif
  return (float4)(state.x, state.w, sqrt(state.y), relative);
}

#if MEASURES_CUTOFF
// By one item of a launch after all that read the state: a hologram's report moves on, and a batch's last frame leaves
// its state.
static void take_report(__global uchar* arena, __global float4* reports, const int hologram, const int frequency,
                        const int is_last) {
  const float4 report = ((__global const float4*)(arena + FIGURES_AT))[hologram];
  reports[hologram] = report;
  if (is_last) {
    const float level = ((__global const float*)(arena + SPECTRA_AT))[hologram * RECORD + RECORD_LEVEL];
    ((__global float4*)(arena + STATE_AT))[frequency] = (float4)(report.x, report.z * report.z, level, report.y);
  }
}
#endif
