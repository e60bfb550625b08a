// Processor srp_phat in the time domain: the map as a sum over pairs of microphones n = (i, j), each of whose lags is
// computed once and looked up for every pixel (C. H. Knapp, G. C. Carter 1976; DiBiase 2000, eq. 6.12).
// srp_phat/weights.cl documents the other formulas, buffers and launches.
//
//   R[n][l] = sum_k Re(Z[k][i] conj(Z[k][j]) e^{+j 2 pi f_k l / lag rate}),     l = -CENTRE to CENTRE
//   p[q] = (sum_k sum_m |Z|^2 + (M^2 - M) mean_n R[n][l_n(q)]) / scale,      l_n = (path_i - path_j) LAGS_PER_M
// The mean is over the pairs with both microphones in use. LINEAR 0: the nearest lag; 1: linear interpolation between
// the two nearest.
// A look-up costs a path, as the other microphone's is kept over successive pairs, and one value of a row that the
// pixels of a group read next to each other: rows need no copy in local memory. R is a product of real matrices,
// [pairs][2 bins] and [2 bins][lags], of which an item computes 4 rows of 2 vectors of lags over its share of the bins;
// the LAG_WAYS shares are added in local memory, in a fixed order.
//
//   pairs        int2   [pair], microphones i < j; sorted
//   cross        float2 [window][pair, padded to PADDED_PAIRS][bin], Z_i conj(Z_j); 0 past the last pair
//   turns        float  [bin][2][LAG_STRIDE], cosine and minus sine of 2 pi f l / lag rate
//   lags         float  [window][PADDED_PAIRS][LAG_STRIDE], R
//   powers       float  [window][part of pairs][PIXEL_STRIDE], sums of R
//
// Launches, for W windows: srp_cross: local GROUP, global (BINS PADDED_PAIRS rounded up to GROUP, W). srp_lags: local
//   (LAG_GROUP, LAG_WAYS, 1), global (LAG_STRIDE / (2 LANES), LAG_WAYS PADDED_PAIRS / 4, W). srp_td: local MAP_GROUP,
//   global (PIXEL_STRIDE / LANES, PAIR_PARTS, W).

//! needs processors/srp_phat/terms.cl

//! default PADDED_PAIRS 4
//! default PART_PAIRS 1  // pairs of MICROPHONE_PAIRS summed by an item
//! default LAG_STRIDE 128
//! default CENTRE 10
//! default LAGS_PER_M 100.0f
//! default LINEAR 0
//! default LAG_GROUP 64
//! default LAG_WAYS 1  // shares into which a group divides the bins; above 1 a vector has one lane
//! default MAP_GROUP 256
//! default PIXEL_STRIDE 512
#define ROWS_OF_ITEM 4
#define WAY_BINS ((BINS + LAG_WAYS - 1) / LAG_WAYS)

__kernel void srp_cross(__global const float2* restrict phases, __global const int2* restrict pairs,
                        __global float2* restrict cross) {
  const int k = (int)get_global_id(0) % BINS;
  const int n = (int)get_global_id(0) / BINS;
  const int window = get_global_id(1);
  float2 product = (float2)(0.0f, 0.0f);
  if (n < MICROPHONE_PAIRS) {
    phases += (size_t)window * OF_WINDOW;
    const float2 one = phases[place_of(k, pairs[n].x)];
    const float2 other = phases[place_of(k, pairs[n].y)];
    product = complex_multiply(one, (float2)(other.x, -other.y));
  }
  if (n < PADDED_PAIRS) {
    cross[((size_t)window * PADDED_PAIRS + n) * BINS + k] = product;
  }
}

__kernel __attribute__((reqd_work_group_size(LAG_GROUP, LAG_WAYS, 1))) void srp_lags(
    __global const float2* restrict cross, __global const float* restrict turns, __global float* restrict lags) {
  const int first = ((int)get_group_id(0) * 2 * LAG_GROUP + (int)get_local_id(0)) * LANES;
  const int second = first + LAG_GROUP * LANES;
  const size_t row = (size_t)get_global_id(2) * PADDED_PAIRS + (size_t)get_group_id(1) * ROWS_OF_ITEM;
  cross += row * BINS;
  lags += row * LAG_STRIDE;
  FLOATV of_first[ROWS_OF_ITEM];
  FLOATV of_second[ROWS_OF_ITEM];
#pragma unroll
  for (int i = 0; i < ROWS_OF_ITEM; ++i) {
    of_first[i] = 0.0f;
    of_second[i] = 0.0f;
  }
  const int way = get_local_id(1);
  const int last_bin = min((way + 1) * WAY_BINS, BINS);
  turns += (size_t)way * WAY_BINS * 2 * LAG_STRIDE;
  for (int k = way * WAY_BINS; k < last_bin; ++k) {
    const FLOATV first_re = LOAD_FLOATS(turns + first);
    const FLOATV second_re = LOAD_FLOATS(turns + second);
    const FLOATV first_im = LOAD_FLOATS(turns + LAG_STRIDE + first);
    const FLOATV second_im = LOAD_FLOATS(turns + LAG_STRIDE + second);
    turns += 2 * LAG_STRIDE;
#pragma unroll
    for (int i = 0; i < ROWS_OF_ITEM; ++i) {
      const float2 value = cross[i * BINS + k];
      of_first[i] += value.x * first_re;
      of_second[i] += value.x * second_re;
      of_first[i] += value.y * first_im;
      of_second[i] += value.y * second_im;
    }
  }
#if LAG_WAYS > 1
  __local float shares[LAG_WAYS][2 * ROWS_OF_ITEM][LAG_GROUP];
  const int item = get_local_id(0);
#pragma unroll
  for (int i = 0; i < ROWS_OF_ITEM; ++i) {
    shares[way][2 * i][item] = of_first[i];
    shares[way][2 * i + 1][item] = of_second[i];
  }
  barrier(CLK_LOCAL_MEM_FENCE);
  for (int i = way; i < 2 * ROWS_OF_ITEM; i += LAG_WAYS) {
    float sum = 0.0f;
    for (int share = 0; share < LAG_WAYS; ++share) {
      sum += shares[share][i][item];
    }
    lags[(i / 2) * LAG_STRIDE + (i % 2 == 0 ? first : second)] = sum;
  }
#else
#pragma unroll
  for (int i = 0; i < ROWS_OF_ITEM; ++i) {
    STORE_FLOATS(of_first[i], lags + i * LAG_STRIDE + first);
    STORE_FLOATS(of_second[i], lags + i * LAG_STRIDE + second);
  }
#endif
}

__kernel __attribute__((reqd_work_group_size(MAP_GROUP, 1, 1))) void srp_td(__global const float4* restrict pixels,
                                                                            __global const float4* restrict positions,
                                                                            __global const int2* restrict pairs,
                                                                            __global const float* restrict lags,
                                                                            __global float* restrict powers) {
  const int first_pixel = (int)get_global_id(0) * LANES;
  const int part = get_global_id(1);
  const int window = get_global_id(2);
  lags += (size_t)window * PADDED_PAIRS * LAG_STRIDE;
  float x[LANES], y[LANES], z[LANES], sums[LANES], places[LANES];
  for (int lane = 0; lane < LANES; ++lane) {
    const float4 q = pixels[min(first_pixel + lane, PIXELS - 1)];
    x[lane] = q.x;
    y[lane] = q.y;
    z[lane] = q.z;
    sums[lane] = 0.0f;
  }
  const FLOATV q_x = LOAD_FLOATS(x);
  const FLOATV q_y = LOAD_FLOATS(y);
  const FLOATV q_z = LOAD_FLOATS(z);
  const FLOATV length = sqrt(q_x * q_x + q_y * q_y + q_z * q_z);
  int one = -1;
  FLOATV path = 0.0f;
  const int last = min((part + 1) * PART_PAIRS, MICROPHONE_PAIRS);
  for (int n = part * PART_PAIRS; n < last; ++n) {
    const int2 pair = pairs[n];
    if (pair.x != one) {
      one = pair.x;
      path = path_of(q_x, q_y, q_z, length, positions[one]);
    }
    const FLOATV other = path_of(q_x, q_y, q_z, length, positions[pair.y]);
    STORE_FLOATS((path - other) * LAGS_PER_M + (float)CENTRE, places);
    __global const float* of_pair = lags + (size_t)n * LAG_STRIDE;
    for (int lane = 0; lane < LANES; ++lane) {
      // NaN becomes 0, and the pixel NaN below.
      const float place = fmin(fmax(places[lane], 0.0f), 2.0f * CENTRE);
#if LINEAR
      const int before = min((int)place, 2 * CENTRE - 1);
      const float share = place - (float)before;
      sums[lane] += of_pair[before] * (1.0f - share) + of_pair[before + 1] * share;
#else
      sums[lane] += of_pair[convert_int_rte(place)];
#endif
    }
  }
  FLOATV sum = LOAD_FLOATS(sums);
  if (part == 0) {
    for (int m = 0; m < CHANNELS; ++m) {  // a pixel at any microphone, or a NaN pixel
      const FLOATV to_pixel = path_of(q_x, q_y, q_z, length, positions[m]);
      sum = isnan(to_pixel) ? to_pixel : sum;
    }
  }
  STORE_FLOATS(sum, powers + ((size_t)window * PAIR_PARTS + part) * PIXEL_STRIDE + first_pixel);
}
