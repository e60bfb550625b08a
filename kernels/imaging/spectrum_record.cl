// Record of a hologram measured by aperture_spectrum.cl, and the state that is updated from it from frame to frame
// (docs/how/pnah.md, Filters; the reference is src/imaging/pnah/auto_cutoff_reference.cpp).
//
// In the arena, at the bytes NAME_AT:
//   spectra    float [frame][frequency][RECORD]: the cut-off measured in this frame alone, rad/m; the noise of a
//              microphone, E|n|^2, Pa^2; mean power of the aperture, Pa^2; position at which the rings fall below the
//              threshold, in rings, 0 for nowhere; their power over the noise there, Pa^2; as int the logarithms of
//              cut-off, noise and level, as_steps(); the aperture's mean power over the windowed one; mean power of
//              each ring, Pa^2
//   ring_bins  float [RINGS], bins in a ring
//   limits     float2 [frequency]: k and the largest cut-off, rad/m
//   figures    float4 [frame][frequency], report_of()
//   incomplete int [frame], 1: bits of its window are missing, so it is not remembered
//   state      int [frequency][2][MEMORY_WORDS], the two memories after the frame before the batch
//
// A memory restarts every 2 HALF hops, the second one HALF hops after the first: of the two, the one that began in
// the half that contains a hop settles in it, and the other one is used for its frames. So a frame depends on 2 HALF
// hops at most, wherever a run began. Everything remembered is an integer, so that frames are equal to the last bit
// whatever kernel, batch or device adds them: steps of 2^-20 of the logarithm to the base 2.

//! default MEASURES_CUTOFF 1  // 1: a hologram's cut-off is measured; 0: nothing of this file is used
//! arena SPECTRA RING_BINS LIMITS FIGURES STATE INCOMPLETE
//! default RINGS 24  // a multiple of 4; those past the corner have no bins
//! default RING_WIDTH 9.8174770f  // rad/m
//! default SLOPE 0.1f  // the largest phi
//! default DISTANCE 0.03f  // from the microphones to the lowest plane, m
//! default HALF 30  // hops from one memory's beginning to the other's
#define STEPS_OF_TWO 1048576  // steps of the logarithm per factor of 2
//! default BAND 73806  // steps by which a cut-off may be off before it moves: a factor of 1.05
//! default JUMP (2 * STEPS_OF_TWO)  // steps of the level, up or down, that reset a memory: a factor of 4
#define NO_STEPS INT_MIN  // value for 0
#define PRESSURE_ERROR 0
#define VELOCITY_ERROR 1  // also for a displacement
#define INTENSITY_ERROR 2
//! default ERROR_OF PRESSURE_ERROR  // quantity whose error is estimated
//! default STANDOFF 0.03f  // standoff of the microphones, m
//! default SIDE_RAD_PER_M 9.8174770f  // one period over the array, 2 pi over the root of its area
// Error from parts beyond the edges, for a field that fills the aperture evenly at k STANDOFF = 1.
//! default TRUNCATED 0.05f
//! default CALIBRATION 1.0f  // factor of the estimate
#define LEAST_ACTIVE 1e-6f
#define LARGEST_EXPONENT 80.0f
#define RECORD_CUTOFF 0
#define RECORD_NOISE 1
#define RECORD_LEVEL 2
#define RECORD_EDGE 3
#define RECORD_EDGE_POWER 4
#define RECORD_STEPS 5   // offset of cut-off, noise and level
#define RECORD_HIDDEN 8  // 9 to 11 are not used
#define RECORD_RINGS 12
#define RECORD (RECORD_RINGS + RINGS)
#define MEMORY_WORDS 6

typedef struct {
  int begun;   // the half in which it began
  int frames;  // frames in the mean cut-off; 0: nothing is remembered
  int cutoff;  // steps, like the others
  int noise;
  int level;
  int side;  // sign of the last frame's deviation by more than BAND: 1 above, -1 below, 0 within
} Memory;

static int as_steps(const float value) {
  return value > 0.0f ? convert_int_rte(clamp(log2(value), -500.0f, 500.0f) * (float)STEPS_OF_TWO) : NO_STEPS;
}

static float of_steps(const int steps) {
  return steps == NO_STEPS ? 0.0f : exp2((float)steps * (1.0f / (float)STEPS_OF_TWO));
}

static Memory load_memory(__global const int* state, const int frequency, const int which) {
  __global const int* from = state + (2 * frequency + which) * MEMORY_WORDS;
  const Memory memory = {from[0], from[1], from[2], from[3], from[4], from[5]};
  return memory;
}

static void store_memory(__global int* state, const int frequency, const int which, const Memory memory) {
  __global int* to = state + (2 * frequency + which) * MEMORY_WORDS;
  to[0] = memory.begun;
  to[1] = memory.frames;
  to[2] = memory.cutoff;
  to[3] = memory.noise;
  to[4] = memory.level;
  to[5] = memory.side;
}

// Memory `which` after a frame of this half with the steps of `record`. While it settles, the cut-off is the mean of
// the frames; then it is constant. When two frames in a row are off by more than BAND, on one side, it moves halfway.
// The noise moves a quarter of the way. Silence is not remembered.
static Memory remembered(Memory memory, const int which, const int half_number, __global const float* record) {
  __global const int* steps = (__global const int*)record + RECORD_STEPS;
  const int cutoff = steps[0];
  const int noise = steps[1];
  const int level = steps[2];
  const int begun = half_number - ((half_number ^ which) & 1);
  if (level == NO_STEPS) {
    return memory;
  }
  if (memory.begun != begun || memory.frames == 0 || abs(level - memory.level) > JUMP) {
    const Memory anew = {begun, 1, cutoff, noise, level, 0};
    return anew;
  }
  const int off = cutoff - memory.cutoff;
  const int side = (off > BAND) - (off < -BAND);
  if (side != 0 && side == memory.side) {
    memory.cutoff += off / 2;
    memory.frames = 1;
  } else if (side == 0 && begun == half_number) {
    memory.frames += 1;
    memory.cutoff += off / memory.frames;
  }
  memory.noise = memory.noise != NO_STEPS && noise != NO_STEPS ? memory.noise + (noise - memory.noise) / 4 : noise;
  memory.level = level;
  memory.side = side;
  return memory;
}

#if MEASURES_CUTOFF
// Memory `which` after the frames 0 to `last` of a batch whose first one is `age` hops into a half. Only whole frames
// count; with `takes_last` the last one always counts.
static Memory memory_after(__global const uchar* arena, const int last, const int takes_last, const int which,
                           const int half_number, const int age, const int frequency, const int frequencies) {
  __global const float* spectra = (__global const float*)(arena + SPECTRA_AT);
  __global const int* incomplete = (__global const int*)(arena + INCOMPLETE_AT);
  Memory memory = load_memory((__global const int*)(arena + STATE_AT), frequency, which);
  for (int i = 0; i <= last; ++i) {
    if (!incomplete[i] || (takes_last && i == last)) {
      memory =
          remembered(memory, which, half_number + (age + i) / HALF, spectra + (i * frequencies + frequency) * RECORD);
    }
  }
  return memory;
}

// Cut-off, noise, level (0) and phi of a frame of a batch.
static float4 settled_state(__global const uchar* arena, const int frame, const int half_number, const int age,
                            const int frequency, const int frequencies) {
  __global const float* record =
      (__global const float*)(arena + SPECTRA_AT) + (frame * frequencies + frequency) * RECORD;
  float4 now = (float4)(record[RECORD_CUTOFF], record[RECORD_NOISE], 0.0f, 0.0f);
  if (((__global const int*)record)[RECORD_STEPS + 2] != NO_STEPS) {
    const int which = (half_number + (age + frame) / HALF + 1) & 1;  // memory begun in the previous half
    const Memory memory = memory_after(arena, frame, 1, which, half_number, age, frequency, frequencies);
    now.x = of_steps(memory.cutoff);
    now.y = of_steps(memory.noise);
  }
  now.w = fmin(SLOPE, 0.5f / (now.x * DISTANCE));
  return now;
}

#endif

// The filter's H at kr.
static float kept_at(const float kr, const float cutoff, const float slope) {
  const float x = (1.0f - kr / cutoff) / slope;
  return x >= 0.0f ? 1.0f - 0.5f * exp(-x) : 0.5f * exp(x);
}

static float4 evanescence_of(const float4 kr, const float k) { return sqrt(fmax((kr - k) * (kr + k), 0.0f)); }

// Contribution of four rings from `ring` on to sums over the image's waves, relative to the gain at the cut-off, with
// kz in units of k: the power of the pressure, of kz pressure, and pressure times its conjugate kz pressure (re, im),
// then the same three of the image's error, whose waves are noise through the filter, parts removed by the filter, and
// parts cut off by the aperture's edges.
static float8 error_of_rings(const int ring, __global const float* record, __global const float* ring_bins,
                             const float4 state, const float k) {
  const float noise = record[RECORD_NOISE];
  const float edge = record[RECORD_EDGE];
  if (!(edge > 0.0f)) {
    return 0.0f;
  }
  const float4 place = (float)ring + (float4)(0.0f, 1.0f, 2.0f, 3.0f);
  const float4 kr = place * RING_WIDTH;
  const float4 decay = evanescence_of(kr, k);
  // Beyond the edge the power decays like that of monopoles as far behind the surface as the microphones are before it.
  const float rounding = 0.3f * k + SIDE_RAD_PER_M;
  const float edge_decay = evanescence_of((float4)(edge * RING_WIDTH), k).x;
  const float4 tail = record[RECORD_EDGE_POWER] * exp(4.0f * STANDOFF * fmin(edge_decay - decay, 0.0f)) *
                      (edge_decay * edge_decay + rounding * rounding) / (decay * decay + rounding * rounding);
  const float4 measured = fmax(vload4(0, record + RECORD_RINGS + ring) - noise, 0.0f);
  const float4 signal = select(measured, tail, place > edge);
  const float4 x = (1.0f - kr / state.x) / state.w;
  const float4 half_decay = 0.5f * exp(-fabs(x));
  const float4 kept = select(half_decay, 1.0f - half_decay, x >= 0.0f);
  const float cutoff_decay = evanescence_of((float4)(state.x), k).x;
  const float4 gain =
      vload4(0, ring_bins + ring) * exp(fmin(2.0f * DISTANCE * (decay - cutoff_decay), LARGEST_EXPONENT));
  const float truncated = TRUNCATED * TRUNCATED * record[RECORD_HIDDEN] * k * STANDOFF;
  const float4 image = gain * kept * kept * signal;
  const float4 error = gain * (kept * kept * noise + (1.0f - kept) * (1.0f - kept) * signal) + truncated * image;
  const float4 kz_squared = (k - kr) * (k + kr) / (k * k);  // negative: kz = -j sqrt(-kz_squared)
  const float4 magnitude = sqrt(fabs(kz_squared));
  const float4 re = select((float4)(0.0f), magnitude, kz_squared > 0.0f);
  const float4 im = magnitude - re;
  const float4 one = 1.0f;
  return (float8)(dot(image, one), dot(image, fabs(kz_squared)), dot(image, re), dot(image, im), dot(error, one),
                  dot(error, fabs(kz_squared)), dot(error, re), dot(error, im));
}

// Relative error of the image, from error_of_rings() over all rings; 1 if nothing is above the noise.
static float relative_error(const float8 sums) {
#if ERROR_OF == PRESSURE_ERROR
  return sums.s0 > 0.0f ? CALIBRATION * sqrt(sums.s4 / sums.s0) : 1.0f;
#elif ERROR_OF == VELOCITY_ERROR
  return sums.s1 > 0.0f ? CALIBRATION * sqrt(sums.s5 / sums.s1) : 1.0f;
#else
  // Error of Re(p v*), where p, v and their errors are complex normal: fourth moments are products of second ones.
  if (!(sums.s0 > 0.0f && sums.s1 > 0.0f)) {
    return 1.0f;
  }
  const float unit = 1.0f / (sqrt(sums.s0) * sqrt(sums.s1));
  const float of_p = sums.s4 / sums.s0;
  const float of_v = sums.s5 / sums.s1;
  const float2 both = sums.s23 * unit;
  const float2 error = sums.s67 * unit;
  const float squared = of_p + of_v + 2.0f * (both.x * error.x - both.y * error.y) + of_p * of_v +
                        3.0f * error.x * error.x - error.y * error.y;
  const float power = 1.0f + 3.0f * both.x * both.x - both.y * both.y;
  return CALIBRATION * sqrt(fmax(squared, 0.0f) / fmax(power, LEAST_ACTIVE));
#endif
}

// Published report of a frame: cut-off, phi, rms noise, relative error.
static float4 report_of(const float4 state, const float8 error) {
  return (float4)(state.x, state.w, sqrt(state.y), relative_error(error));
}

#if MEASURES_CUTOFF
// Moves a hologram's report on, and stores the memories after the last of a batch's frames; called by one item of a
// launch after all launches that read the state.
static void take_report(__global uchar* arena, __global float4* reports, const int frame, const int frames,
                        const int half_number, const int age, const int frequency, const int frequencies) {
  const int hologram = frame * frequencies + frequency;
  reports[hologram] = ((__global const float4*)(arena + FIGURES_AT))[hologram];
  if (frame == frames - 1) {
    for (int which = 0; which < 2; ++which) {
      store_memory((__global int*)(arena + STATE_AT), frequency, which,
                   memory_after(arena, frame, 0, which, half_number, age, frequency, frequencies));
    }
  }
}
#endif
