// Processor srp_phat: the search for the maxima of the map, and their refinement. srp_phat/weights.cl documents
// formulas, buffers and launches.

//! needs processors/srp_phat/map.cl
//! needs processors/srp_phat/lags.cl
//! needs processors/srp_phat/peel.cl

// True if a pixel is at least the separation away from `found` maxima, and no neighbour in its plane is larger.
static int is_next_maximum(__global const float4* restrict pixels, __global const float* restrict map,
                           __global const float* restrict results, const int pixel, const int found) {
  const float3 q = pixels[pixel].xyz;
  for (int s = 0; s < found; ++s) {
    __global const float* centre = results + BEFORE_SOURCES + s * SOURCE_RESULTS;
    const float3 c = (float3)(centre[0], centre[1], centre[2]);
    if (all(q == c) || dot(q, c) > SEPARATION * sqrt(dot(q, q) * dot(c, c))) {
      return 0;
    }
  }
#if COLUMNS > 0
  const int column = pixel % COLUMNS;
  const int row = pixel / COLUMNS % ROWS;
  for (int y = max(row - 1, 0); y <= min(row + 1, ROWS - 1); ++y) {
    for (int right = -1; right <= 1; ++right) {
#if WRAPS
      const int x = (column + right + COLUMNS) % COLUMNS;
#else
      const int x = min(max(column + right, 0), COLUMNS - 1);
#endif
      if (map[pixel + (y - row) * COLUMNS + x - column] > map[pixel]) {
        return 0;
      }
    }
  }
#endif
  return 1;
}

// Finds the maximum of each group; with `found` > 0 the next one.
__kernel void srp_maximum(__global const float4* restrict pixels, __global const float* restrict map,
                          __global const float* restrict results, __global float* restrict best_values,
                          __global int* restrict best_indices, const int found) {
  __local float values[GROUP];
  __local int indices[GROUP];
  const int item = get_local_id(0);
  const int pixel = get_global_id(0);
  const int window = get_global_id(1);
  map += (size_t)window * PIXELS;
  results += (size_t)window * RESULTS;
  const float value = pixel < PIXELS ? map[min(pixel, PIXELS - 1)] : NAN;
  int counts = !isnan(value);
  if (counts && found > 0) {
    counts = is_next_maximum(pixels, map, results, pixel, found);
  }
  values[item] = counts ? value : -INFINITY;
  indices[item] = pixel;
  best_of_group(values, indices, item);
  if (item == 0) {
    best_values[window * GROUPS + get_group_id(0)] = values[0];
    best_indices[window * GROUPS + get_group_id(0)] = indices[0];
  }
}

// Stores the best of all groups as source number `source`.
__kernel void srp_found(__global const float4* restrict pixels, __global const float* restrict best_values,
                        __global const int* restrict best_indices, __global float* restrict results, const int source) {
  __local float values[GROUP];
  __local int indices[GROUP];
  const int item = get_local_id(0);
  const int window = get_global_id(1);
  best_values += (size_t)window * GROUPS;
  best_indices += (size_t)window * GROUPS;
  results += (size_t)window * RESULTS + BEFORE_SOURCES + source * SOURCE_RESULTS;
  float best = -INFINITY;
  int best_index = INT_MAX;
  for (int group = item; group < GROUPS; group += GROUP) {
    if (is_better(best_values[group], best_indices[group], best, best_index)) {
      best = best_values[group];
      best_index = best_indices[group];
    }
  }
  values[item] = best;
  indices[item] = best_index;
  best_of_group(values, indices, item);
  if (item == 0) {
    const int is_there = values[0] > -INFINITY;
    const float4 q = pixels[is_there ? indices[0] : 0];
    results[0] = is_there ? q.x : NAN;
    results[1] = is_there ? q.y : NAN;
    results[2] = is_there ? q.z : NAN;
    results[3] = 0.0f;
    results[4] = is_there ? (float)indices[0] : -1.0f;
  }
}

static float offset_of(const int point, const int divisor, const float fraction) {
  return fraction * (float)(point / divisor % 5 - 2);
}

// One of the points around a maximum, `fraction` of the grid's step apart.
static float3 point_at(const float3 centre, const int point, const float fraction) {
  return moved_by(centre, (float3)(DIMENSIONS > 0 ? offset_of(point, 1, fraction) : 0.0f,
                                   DIMENSIONS > 1 ? offset_of(point, 5, fraction) : 0.0f,
                                   DIMENSIONS > 2 ? offset_of(point, 25, fraction) : 0.0f));
}

// Items per group of srp_refine, which divide the microphones: a multiple of RUN, 1 if not TILED.
//! default POINT_GROUP 128
#define ROUND_RESULTS (4 + TILES * POINT_STRIDE)
#if DIMENSIONS > 0
#define ROUNDS 4  // without the last one
#else
#define ROUNDS 0
#endif
// float4 from microphone to microphone in local memory: any eight neighbours lie in different banks.
#define APART (PAIRS + 1)

// Best of a round's points: among equal ones the middle, or the first.
LOCAL_HELPER int best_point(__local const float* numerators) {
  int best = POINTS / 2;
  for (int point = 0; point < POINTS; ++point) {
    best = numerators[point] > numerators[best] ? point : best;
  }
  return best;
}

// Numerators of p at the points around each source; in the last round also the power of its beam, by a further group.
// Round 0 is around the source's pixel, each other one around the best point of the round before, which each group
// finds from the results of the launch before. A group sums a tile of bins. Sources are those from `first_source` on.
__kernel __attribute__((reqd_work_group_size(POINT_GROUP, 1, 1))) void srp_refine(
    __global const float4* restrict positions, __global const float* restrict waves_per_m,
    __global const float2* restrict phases, __global const float2* restrict pressures, __global float* restrict results,
    __global float* restrict rounds, const int first_source, const int round, const float fraction) {
  __local float numerators[POINT_STRIDE];
  __local float centre[3];
#if TILED
  __local float4 tile[POINT_GROUP * APART];
  __local float2 exchange[RUN * (POINT_GROUP + 1)];
#endif
  const int item = get_local_id(0);
  const int vector = get_group_id(0);
  const int t = (int)get_global_id(1) % TILES;
  const int source = first_source + (int)get_global_id(1) / TILES;
  const int window = get_global_id(2);
  const int is_level = vector == POINT_VECTORS;
  phases = (is_level ? pressures : phases) + (size_t)window * OF_WINDOW + (size_t)t * PADDED_CHANNELS * TILE_BINS;
  waves_per_m += t * TILE_BINS;
  __global float* of_source = results + (size_t)window * RESULTS + BEFORE_SOURCES + source * SOURCE_RESULTS;
#if ROUNDS > 0
  rounds += ((size_t)window * SOURCES + source) * ROUNDS * ROUND_RESULTS;
#endif

  if (round == 0) {
    for (int i = item; i < 3; i += POINT_GROUP) {
      centre[i] = of_source[i];
    }
  }
#if ROUNDS > 0
  if (round > 0) {
    __global const float* before = rounds + (round - 1) * ROUND_RESULTS;
    for (int point = item; point < POINTS; point += POINT_GROUP) {
      float sum = 0.0f;
      for (int i = 0; i < TILES; ++i) {
        sum += before[4 + i * POINT_STRIDE + point];
      }
      numerators[point] = sum;
    }
    barrier(CLK_LOCAL_MEM_FENCE);
    if (item == 0) {
      const float fraction_before = 1.0f / (float)(1 << round);
      const float3 moved = point_at((float3)(before[0], before[1], before[2]), best_point(numerators), fraction_before);
      centre[0] = moved.x;
      centre[1] = moved.y;
      centre[2] = moved.z;
    }
  }
#endif
  barrier(CLK_LOCAL_MEM_FENCE);
  const float3 middle = (float3)(centre[0], centre[1], centre[2]);

  FLOATV q_x[VECTORS], q_y[VECTORS], q_z[VECTORS], lengths[VECTORS], power[VECTORS];
#pragma unroll
  for (int v = 0; v < VECTORS; ++v) {
    float x[LANES], y[LANES], z[LANES];
    for (int lane = 0; lane < LANES; ++lane) {
      const int point = min(vector * ITEM_POINTS + v * LANES + lane, POINTS - 1);
      const float3 q = is_level ? middle : point_at(middle, point, fraction);
      x[lane] = q.x;
      y[lane] = q.y;
      z[lane] = q.z;
    }
    q_x[v] = LOAD_FLOATS(x);
    q_y[v] = LOAD_FLOATS(y);
    q_z[v] = LOAD_FLOATS(z);
    lengths[v] = sqrt(q_x[v] * q_x[v] + q_y[v] * q_y[v] + q_z[v] * q_z[v]);
    power[v] = 0.0f;
  }
  FLOATV sum_re[VECTORS * TILE_BINS];
  FLOATV sum_im[VECTORS * TILE_BINS];
#pragma unroll
  for (int i = 0; i < VECTORS * TILE_BINS; ++i) {
    sum_re[i] = 0.0f;
    sum_im[i] = 0.0f;
  }
#if TILED
  for (int first = 0; first < PADDED_CHANNELS; first += POINT_GROUP) {
    const int count = min(POINT_GROUP, PADDED_CHANNELS - first);
    barrier(CLK_LOCAL_MEM_FENCE);
    for (int i = item; i < count * PAIRS; i += POINT_GROUP) {
      tile[i / PAIRS * APART + i % PAIRS] = ((__global const float4*)phases)[first * PAIRS + i];
    }
    barrier(CLK_LOCAL_MEM_FENCE);
    if (item < count) {
      FLOATV paths[STATES];
#pragma unroll
      for (int v = 0; v < VECTORS; ++v) {
        paths[v] = path_of(q_x[v], q_y[v], q_z[v], lengths[v], positions[first + item]);
      }
      add_terms(tile + item * APART, APART, paths, waves_per_m, sum_re, sum_im);
    }
  }
  // RUN sums at a time: each item adds those of RUN others, then one item per bin adds their results.
#pragma unroll
  for (int i = 0; i < VECTORS * TILE_BINS; i += RUN) {
    barrier(CLK_LOCAL_MEM_FENCE);
#pragma unroll
    for (int k = 0; k < RUN; ++k) {
      exchange[k * (POINT_GROUP + 1) + item] = (float2)(sum_re[i + k], sum_im[i + k]);
    }
    barrier(CLK_LOCAL_MEM_FENCE);
    const int k = item % RUN * (POINT_GROUP + 1);
    float2 sum = (float2)(0.0f, 0.0f);
    for (int other = item / RUN * RUN; other < item / RUN * RUN + RUN; ++other) {
      sum += exchange[k + other];
    }
    barrier(CLK_LOCAL_MEM_FENCE);
    exchange[k + item / RUN] = sum;
    barrier(CLK_LOCAL_MEM_FENCE);
    sum = (float2)(0.0f, 0.0f);
    if (item < RUN) {
      for (int other = 0; other < POINT_GROUP / RUN; ++other) {
        sum += exchange[k + other];
      }
    }
    barrier(CLK_LOCAL_MEM_FENCE);
    if (item < RUN) {
      exchange[k] = (float2)(squared_magnitude(sum), 0.0f);
    }
    barrier(CLK_LOCAL_MEM_FENCE);
    if (item == 0) {
      for (int bin = 0; bin < RUN; ++bin) {
        power[i / TILE_BINS] += exchange[bin * (POINT_GROUP + 1)].x;
      }
    }
  }
#else
  for (int m = 0; m < PADDED_CHANNELS; m += AT_ONCE) {
    FLOATV paths[STATES];
#pragma unroll
    for (int s = 0; s < STATES; ++s) {
      const int v = s % VECTORS;
      paths[s] = path_of(q_x[v], q_y[v], q_z[v], lengths[v], positions[m + s / VECTORS]);
    }
    add_terms((__global const float4*)phases + m * PAIRS, PAIRS, paths, waves_per_m, sum_re, sum_im);
  }
#pragma unroll
  for (int v = 0; v < VECTORS; ++v) {
    for (int k = v * TILE_BINS; k < (v + 1) * TILE_BINS; ++k) {
      power[v] += sum_re[k] * sum_re[k] + sum_im[k] * sum_im[k];
    }
  }
#endif
  if (item != 0) {
    return;
  }
  float values[ITEM_POINTS];
#pragma unroll
  for (int v = 0; v < VECTORS; ++v) {
    STORE_FLOATS(power[v], values + v * LANES);
  }
  const int is_last = round == ROUNDS;
  __global float* place = is_last ? of_source + 5 : rounds + round * ROUND_RESULTS;
  if (vector == 0 && t == 0) {
    place[0] = middle.x;
    place[1] = middle.y;
    place[2] = middle.z;
  }
  if (is_level) {
    of_source[8 + t] = values[0];
    return;
  }
  __global float* to = (is_last ? of_source + 8 + TILES : place + 4) + t * POINT_STRIDE + vector * ITEM_POINTS;
  for (int i = 0; i < ITEM_POINTS; ++i) {
    to[i] = values[i];
  }
}
