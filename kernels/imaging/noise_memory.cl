// Shared by kernels that choose the noise of a frame, one of GRID steps, by its likelihood, and remember that of
// earlier frames: sonah.cl and operators.cl.
//
//   noise_records  int [frame][frequency][NOISE_RECORD], a frame's cost above the least one in COST_UNITs of a nat for
//                  each step of noise, then the step of the least one, then 0 for silence and 1 otherwise
//   memories       int [2][frequency][2][MEMORY_WORDS], memory of earlier frames: the half in which a memory began,
//                  its frames, the step that it holds, or -1, and the sums of the costs while it settled; read from the
//                  first index `turn`, written to the other
//   incomplete     int [frame], 1: bits of its window are missing, so it is not remembered
//
// A memory restarts every 2 HALF hops, the second one HALF hops after the first: of the two, the one that began in
// the half that contains a hop settles in it, and the other one, which holds the step of the least sum of costs, is
// used for its frames. So a frame depends on 2 HALF hops at most, wherever a run began. Everything remembered is an
// integer, so that frames are equal to the last bit whatever batch they are in.

// A record of a frame is made by a group of its own, or by each group that needs it, by the same sums: `own` below is
// the record of the present frame, in local memory.

//! needs common/groups.cl
//! needs common/local_helper.cl

//! default GRID 48
//! default HALF 30  // hops from one memory's beginning to the other's
#define COST_UNITS 1024
// COST_UNITs of ln of the likelihood by which another noise must be better to be taken.
//! default HOLD (3 * COST_UNITS)
#define LARGEST_COST 30000.0f  // nats; HALF of it in COST_UNITs are an int
#define NOISE_RECORD (GRID + 2)
#define MEMORY_WORDS (GRID + 3)
//! default GROUP 256

// Makes a frame's record of the steps' costs ln of the determinant, in `log_sums`, + channels ln(sums[step]), and of
// whether there is any signal. Ends with a barrier.
LOCAL_HELPER void make_record(__local const float* sums, __global const float* restrict log_sums, const float channels,
                              __local float* costs, __local int* record, const int item) {
  for (int step = item; step < GRID; step += GROUP) {
    costs[step] = fma(channels, log(max(sums[step], 1e-37f)), log_sums[step]);
  }
  SYNC(GROUP);
  int best = 0;
  float least = costs[0];
  for (int step = 1; step < GRID; ++step) {
    const float cost = costs[step];
    best = cost < least ? step : best;
    least = cost < least ? cost : least;
  }
  for (int step = item; step < GRID; step += GROUP) {
    record[step] = convert_int_rte(min(costs[step] - least, LARGEST_COST) * (float)COST_UNITS);
  }
  if (item == 0) {
    record[GRID] = best;
    record[GRID + 1] = sums[best] > 0.0f ? 1 : 0;
  }
  SYNC(GROUP);
}

// Memory of earlier frames, without the sums of costs.
typedef struct {
  int begun;
  int frames;
  int held;
} Memory;

// Batch of a launch, at one of its frequencies.
typedef struct {
  __global const int* restrict records;  // from the first frame on; that of the present frame is in local memory
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

// Value of frame i's record; `own` is that of frame `last`.
LOCAL_HELPER int record_at(const Batch* batch, __local const int* own, const int last, const int i, const int index) {
  return i == last ? own[index] : batch->records[i * batch->record_step + index];
}

// Memory number `which` after frames 0 to `last` of the batch, with its sums of costs in `sums`. Only whole frames
// count, and the last one if takes_last is set. `own` is the record of the last one. Begins and ends with a barrier.
LOCAL_HELPER Memory memory_after(const Batch* batch, __local const int* own, __global const int* restrict before,
                                 const int which, const int last, const int takes_last, __local int* sums,
                                 const int item) {
  SYNC(GROUP);
  Memory memory = {before[0], before[1], before[2]};
  for (int step = item; step < GRID; step += GROUP) {
    int begun = memory.begun;
    int frames = memory.frames;
    int sum = before[3 + step];
    for (int i = 0; i <= last; ++i) {
      const int now = batch->half_number + (batch->age + i) / HALF;
      const int begins = now - ((now ^ which) & 1);
      if (record_at(batch, own, last, i, GRID + 1) && (!batch->incomplete[i] || (takes_last && i == last))) {
        sum = begins != begun || frames == 0 ? 0 : sum;
        sum += begins == now ? record_at(batch, own, last, i, step) : 0;
        begun = begins;
        frames = 1;
      }
    }
    sums[step] = sum;
  }
  SYNC(GROUP);
  for (int i = 0; i <= last; ++i) {
    const int now = batch->half_number + (batch->age + i) / HALF;
    const int begins = now - ((now ^ which) & 1);
    if (record_at(batch, own, last, i, GRID + 1) && (!batch->incomplete[i] || (takes_last && i == last))) {
      if (begins != memory.begun || memory.frames == 0) {
        memory.begun = begins;
        memory.frames = 0;
        memory.held = -1;
      }
      if (begins == now) {
        memory.frames += 1;
      } else {
        if (memory.held < 0) {
          memory.held = memory.frames > 0 ? step_of_least(sums) : record_at(batch, own, last, i, GRID);
        }
        memory.held =
            record_at(batch, own, last, i, memory.held) < HOLD ? memory.held : record_at(batch, own, last, i, GRID);
        memory.frames = max(memory.frames, 1);
      }
    }
  }
  SYNC(GROUP);
  return memory;
}

// Step of noise of frame `frame` of the batch, by `memories` [2][MEMORY_WORDS] of its frequency: the step held by the
// memory that began in the previous half; for silence its own. Begins and ends with a barrier.
LOCAL_HELPER int step_of_frame(const Batch* batch, __local const int* own, __global const int* restrict memories,
                               const int frame, __local int* sums, const int item) {
  const int serving = (batch->half_number + (batch->age + frame) / HALF + 1) & 1;
  const Memory memory = memory_after(batch, own, memories + serving * MEMORY_WORDS, serving, frame, 1, sums, item);
  return own[GRID + 1] ? memory.held : own[GRID];
}

// Writes the memory after frame `last` of the batch, from memories `before` to `after`, [2][MEMORY_WORDS] each.
LOCAL_HELPER void remember(const Batch* batch, __local const int* own, __global const int* restrict before,
                           __global int* restrict after, const int last, __local int* sums, const int item) {
  for (int which = 0; which < 2; ++which) {
    const Memory left = memory_after(batch, own, before + which * MEMORY_WORDS, which, last, 0, sums, item);
    __global int* to = after + which * MEMORY_WORDS;
    for (int i = item; i < GRID; i += GROUP) {
      to[3 + i] = sums[i];
    }
    if (item == 0) {
      to[0] = left.begun;
      to[1] = left.frames;
      to[2] = left.held;
    }
  }
}
