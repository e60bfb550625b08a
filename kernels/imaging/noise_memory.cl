// What kernels share that choose the noise of a frame by its probability, of GRID steps, and remember those of the frames
// before: sonah.cl and operators.cl.
//
//   noise_records  int [frame][frequency][NOISE_RECORD], a frame's cost above the least one in COST_UNITs of a nat for
//                  each step of noise, then the step of the least one, then 0 for silence and 1 otherwise
//   memories       int [2][frequency][2][MEMORY_WORDS], what is remembered of the frames before: the half in which a
//                  memory began, its frames, the step that it holds, or -1, and the sums of the costs while it settled;
//                  read from the first index `turn`, written to the other
//   incomplete     int [frame], 1: bits of its window are missing, so that nothing is remembered of it
//
// A memory begins anew every 2 HALF hops, the second one HALF hops after the first: that of the half of a memory in
// which a hop lies settles in it, and the other one, which holds the step of the least sum of costs, serves its frames. So
// a frame depends on 2 HALF hops at most, wherever a run began. All that is remembered is in whole numbers, so that frames
// come out the same to the last bit whatever batch they are in.

//! needs common/groups.cl
//! needs common/local_helper.cl

#ifndef GRID
#define GRID 48
#endif
#ifndef LEAST_NOISE  // of step 0
#define LEAST_NOISE 1e-7f
#endif
#ifndef NOISE_RATIO  // from step to step
#define NOISE_RATIO 1.5f
#endif
#ifndef HALF  // hops from one memory's beginning to the other's
#define HALF 30
#endif
#define COST_UNITS 1024
#ifndef HOLD  // by how many COST_UNITs of ln of the probability another noise must be better before it is taken
#define HOLD (3 * COST_UNITS)
#endif
#define LARGEST_COST 30000.0f  // nats; HALF of it in COST_UNITs are an int
#define NOISE_RECORD (GRID + 2)
#define MEMORY_WORDS (GRID + 3)
#ifndef GROUP
#define GROUP 256
#endif

static float noise_of(const int step) { return LEAST_NOISE * pown(NOISE_RATIO, step); }

// What is remembered of the frames before, but for the sums of costs.
typedef struct {
  int begun;
  int frames;
  int held;
} Memory;

// Of a launch's batch and one of its frequencies.
typedef struct {
  __global const int* restrict records;  // of the first frame
  __global const int* restrict incomplete;
  int record_step;  // from frame to frame
  int half_number;
  int age;
} Batch;

static int step_of_least(__local const int* sums) {
  int best = 0;
  for (int step = 1; step < GRID; ++step) {
    best = sums[step] < sums[best] ? step : best;
  }
  return best;
}

// Memory number `which` after frames 0 to `last` of the batch, of which only whole ones count, and the last one where
// takes_last is set; its sums of costs in `sums`. Begins and ends with a barrier.
LOCAL_HELPER Memory memory_after(const Batch* batch, __global const int* restrict before, const int which,
                                 const int last, const int takes_last, __local int* sums, const int item) {
  SYNC(GROUP);
  Memory memory = {before[0], before[1], before[2]};
  for (int step = item; step < GRID; step += GROUP) {
    int begun = memory.begun;
    int frames = memory.frames;
    int sum = before[3 + step];
    for (int i = 0; i <= last; ++i) {
      __global const int* restrict record = batch->records + i * batch->record_step;
      const int now = batch->half_number + (batch->age + i) / HALF;
      const int begins = now - ((now ^ which) & 1);
      if (record[GRID + 1] && (!batch->incomplete[i] || (takes_last && i == last))) {
        sum = begins != begun || frames == 0 ? 0 : sum;
        sum += begins == now ? record[step] : 0;
        begun = begins;
        frames = 1;
      }
    }
    sums[step] = sum;
  }
  SYNC(GROUP);
  for (int i = 0; i <= last; ++i) {
    __global const int* restrict record = batch->records + i * batch->record_step;
    const int now = batch->half_number + (batch->age + i) / HALF;
    const int begins = now - ((now ^ which) & 1);
    if (record[GRID + 1] && (!batch->incomplete[i] || (takes_last && i == last))) {
      if (begins != memory.begun || memory.frames == 0) {
        memory.begun = begins;
        memory.frames = 0;
        memory.held = -1;
      }
      if (begins == now) {
        memory.frames += 1;
      } else {
        if (memory.held < 0) {
          memory.held = memory.frames > 0 ? step_of_least(sums) : record[GRID];
        }
        memory.held = record[memory.held] < HOLD ? memory.held : record[GRID];
        memory.frames = max(memory.frames, 1);
      }
    }
  }
  SYNC(GROUP);
  return memory;
}
