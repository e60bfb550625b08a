// Processor srp_phat, the map: each pixel's power; srp_phat/weights.cl documents its formulas, buffers and launches.
//
// A group's items are PIXEL_ITEMS of pixels times WAYS, which divide the microphones if pixels and bins alone do not
// occupy the device; their sums are added in local memory, in the order of the ways, at 4 words for each of VECTORS
// TILE_BINS sums. Local memory: MICROPHONE_TILE (16 + 8 TILE_BINS) bytes, and 8 WAYS MAP_GROUP.

//! needs common/best.cl
//! needs processors/srp_phat/terms.cl

//! default MAP_GROUP 256  // items per group; 1 if not TILED
//! default WAYS 1  // a divisor of MAP_GROUP and of TILE_BINS
//! default PIXEL_STRIDE 512  // pixels, padded to whole groups
//! default PART_TILES 1  // tiles of bins that an item sums one after the other
//! default MICROPHONE_TILE 64  // microphones in local memory: a multiple of WAYS AT_ONCE, a divisor of PADDED_CHANNELS
#define PARTS ((TILES + PART_TILES - 1) / PART_TILES)
#define PIXEL_ITEMS (MAP_GROUP / WAYS)
#define GROUP_PIXELS (PIXEL_ITEMS * VECTORS * LANES)

__kernel __attribute__((reqd_work_group_size(MAP_GROUP, 1, 1))) void srp_fd(__global const float4* restrict pixels,
                                                                            __global const float4* restrict positions,
                                                                            __global const float* restrict waves_per_m,
                                                                            __global const float2* restrict phases,
                                                                            __global float* restrict powers) {
#if TILED
  __local float4 places[MICROPHONE_TILE];
  __local float4 tile[MICROPHONE_TILE * PAIRS];
#endif
#if WAYS > 1
  __local float2 exchange[WAYS * MAP_GROUP];
#endif
  const int item = get_local_id(0);
  const int way = item / PIXEL_ITEMS;
  const int column = item % PIXEL_ITEMS;
  const int part = get_global_id(1);
  const int window = get_global_id(2);
  const int first_pixel = (int)get_group_id(0) * GROUP_PIXELS + column * LANES;
  phases += (size_t)window * OF_WINDOW;
  FLOATV q_x[VECTORS], q_y[VECTORS], q_z[VECTORS], lengths[VECTORS], power[VECTORS];
#pragma unroll
  for (int v = 0; v < VECTORS; ++v) {
    float x[LANES], y[LANES], z[LANES];
    for (int lane = 0; lane < LANES; ++lane) {
      const float4 q = pixels[min(first_pixel + v * PIXEL_ITEMS * LANES + lane, PIXELS - 1)];
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
  const int last_tile = min((part + 1) * PART_TILES, TILES);
  for (int t = part * PART_TILES; t < last_tile; ++t) {
    FLOATV sum_re[VECTORS * TILE_BINS];
    FLOATV sum_im[VECTORS * TILE_BINS];
#pragma unroll
    for (int i = 0; i < VECTORS * TILE_BINS; ++i) {
      sum_re[i] = 0.0f;
      sum_im[i] = 0.0f;
    }
    __global const float4* of_tile = (__global const float4*)phases + (size_t)t * PADDED_CHANNELS * PAIRS;
    for (int first = 0; first < PADDED_CHANNELS; first += MICROPHONE_TILE) {
#if TILED
      barrier(CLK_LOCAL_MEM_FENCE);
      for (int i = item; i < MICROPHONE_TILE * PAIRS; i += MAP_GROUP) {
        tile[i] = of_tile[first * PAIRS + i];
      }
      for (int i = item; i < MICROPHONE_TILE; i += MAP_GROUP) {
        places[i] = positions[first + i];
      }
      barrier(CLK_LOCAL_MEM_FENCE);
#else
      __global const float4* places = positions + first;
      __global const float4* tile = of_tile + first * PAIRS;
#endif
      for (int m = way * AT_ONCE; m < MICROPHONE_TILE; m += WAYS * AT_ONCE) {
        FLOATV paths[STATES];
#pragma unroll
        for (int s = 0; s < STATES; ++s) {
          const int v = s % VECTORS;
          paths[s] = path_of(q_x[v], q_y[v], q_z[v], lengths[v], places[m + s / VECTORS]);
        }
        add_terms(tile + m * PAIRS, PAIRS, paths, waves_per_m + t * TILE_BINS, sum_re, sum_im);
      }
    }
#if WAYS == 1
#pragma unroll
    for (int v = 0; v < VECTORS; ++v) {
#pragma unroll
      for (int k = v * TILE_BINS; k < (v + 1) * TILE_BINS; ++k) {
        power[v] += sum_re[k] * sum_re[k] + sum_im[k] * sum_im[k];
      }
    }
#else
#pragma unroll
    for (int i = 0; i < VECTORS * TILE_BINS; i += WAYS) {
      barrier(CLK_LOCAL_MEM_FENCE);
#pragma unroll
      for (int k = 0; k < WAYS; ++k) {
        exchange[k * MAP_GROUP + item] = (float2)(sum_re[i + k], sum_im[i + k]);
      }
      barrier(CLK_LOCAL_MEM_FENCE);
      float2 sum = (float2)(0.0f, 0.0f);
#pragma unroll
      for (int w = 0; w < WAYS; ++w) {
        sum += exchange[way * MAP_GROUP + w * PIXEL_ITEMS + column];
      }
      power[i / TILE_BINS] += squared_magnitude(sum);
    }
#endif
  }
  powers += ((size_t)window * PARTS + part) * PIXEL_STRIDE + first_pixel;
#pragma unroll
  for (int v = 0; v < VECTORS; ++v) {
#if WAYS > 1
    __local float* of_ways = (__local float*)exchange;
    barrier(CLK_LOCAL_MEM_FENCE);
    of_ways[item] = power[v];
    barrier(CLK_LOCAL_MEM_FENCE);
    float sum = 0.0f;
    for (int w = 0; w < WAYS; ++w) {
      sum += of_ways[w * PIXEL_ITEMS + column];
    }
    power[v] = sum;
#endif
    if (way == 0) {
      STORE_FLOATS(power[v], powers + v * PIXEL_ITEMS * LANES);
    }
  }
}

DEFINE_BEST_OF_GROUP(GROUP)

// Computes the map from its powers, and the maximum of each group.
__kernel void srp_map(__global const float* restrict powers, __global const float* restrict results,
                      __global float* restrict map, __global float* restrict best_values,
                      __global int* restrict best_indices) {
  __local float values[GROUP];
  __local int indices[GROUP];
  const int item = get_local_id(0);
  const int pixel = get_global_id(0);
  const int window = get_global_id(1);
#if MICROPHONE_PAIRS > 0
  const int parts = PAIR_PARTS;
#else
  const int parts = PARTS;
#endif
  powers += (size_t)window * parts * PIXEL_STRIDE + min(pixel, PIXELS - 1);
  results += (size_t)window * RESULTS;
  float power = 0.0f;
  for (int part = 0; part < parts; ++part) {
    power += powers[(size_t)part * PIXEL_STRIDE];
  }
#if MICROPHONE_PAIRS > 0
  // The sum is common to all pixels of a group, whose items divide the bins.
  values[item] = 0.0f;
  for (int k = item; k < BINS; k += GROUP) {
    values[item] += results[2 + 2 * BINS + k];
  }
  sum_of_group(values, item);
  power = power * ((results[0] * results[0] - results[0]) / results[1]) + values[0];
  barrier(CLK_LOCAL_MEM_FENCE);  // all have read what they overwrite
#endif
  const float value = power / scale_of(results);
  const int is_there = pixel < PIXELS;
  if (is_there) {
    map[(size_t)window * PIXELS + pixel] = value;
  }
  values[item] = is_there && !isnan(value) ? value : -INFINITY;
  indices[item] = pixel;
  best_of_group(values, indices, item);
  if (item == 0) {
    best_values[window * GROUPS + get_group_id(0)] = values[0];
    best_indices[window * GROUPS + get_group_id(0)] = indices[0];
  }
}
