// Processor srp_phat: removes a found source from the spectra, so that the next one is searched for in the remainder.
// srp_phat/weights.cl documents the other formulas, buffers and launches.
//
//   a_m = r_0 / r_m e^{-j 2 pi f_k path_m / c}, for plane waves e^{-j 2 pi f_k path_m / c}: the source's field, 1 at
//         the array's centre; 0 at microphones whose P is 0; with REJECT_COMMON minus its mean
//   b = a - sum_j b_j (b_j^H a), over the sources j removed before (Gram and Schmidt), divided by its length; 0 if
//       |b|^2 is below LEAST_OWN_FIELD |a|^2 before the division: the earlier ones have removed this source, too
//   P <- P - b (b^H P),  orthogonal to the fields of all sources so far, as in orthogonal matching pursuit (Y. C. Pati,
//       R. Rezaiifar, P. S. Krishnaprasad, "Orthogonal matching pursuit", Asilomar Conf. 1993)
//   Z is weighted from it again, as in srp_weights; 0 if the bin's power is below LEAST_REMAINDER of the window's, or
//       SNR dropped the bin
//
// The position is the top of the parabola through the logarithms of p at the points around the source, for which
// refinement has written the numerators. The remainder of a source grows with the square of the position's error: half
// of the last round's spacing, a thirty-second of a step, would leave a hundred times more than the top does.
//
//   peeled       float2 [window][source but the last][tile][channel, padded to PADDED_CHANNELS][TILE_BINS], b
//
// Launch, for W windows: srp_peel: local GROUP, global (GROUP BINS, W).

//! needs common/complex.cl
//! needs processors/srp_phat/weights.cl

//! default LEAST_OWN_FIELD 1e-4f
//! default LEAST_REMAINDER 1e-5f

static float3 normalized(const float3 v) { return v / sqrt(dot(v, v)); }

// A position moved by so many steps along each direction of refinement.
static float3 moved_by(const float3 centre, const float3 steps) {
#if DIMENSIONS == 0
  return centre;
#elif ROUND
  const float distance = sqrt(dot(centre, centre));
  const float3 u = centre / distance;
#if DIMENSIONS == 1
  const float3 along = normalized(cross(AXIS == 0 ? (float3)(0.0f, 1.0f, 0.0f) : (float3)(1.0f, 0.0f, 0.0f), u));
  const float3 moved = u + STEP * steps.x * along;
#else
  const float3 along = normalized(cross(fabs(u.y) < 0.9f ? (float3)(0.0f, 1.0f, 0.0f) : (float3)(1.0f, 0.0f, 0.0f), u));
  const float3 across = cross(u, along);
  const float3 moved = u + STEP * (steps.x * along + steps.y * across);
#endif
  return distance * normalized(moved);
#else
  return centre + STEP * steps;
#endif
}

#if DIMENSIONS > 0
// ln p at a point around a maximum, so many points from it along two of the directions.
LOCAL_HELPER float log_power(__local const float* numerators, const int a, const int of_a, const int b,
                             const int of_b) {
  const int strides[3] = {1, 5, 25};
  return log(numerators[POINTS / 2 + of_a * strides[a] + of_b * strides[b]]);
}

// Vector from a maximum to the top of its peak, in steps; 0 if the values around it are NaN.
LOCAL_HELPER float3 steps_to_top(__local const float* numerators) {
  const float h = 0.5f;                 // part of a step from point to point: kCurvatureFraction
  const float farthest = 1.0f / 16.0f;  // spacing of the last round
  float gradient[3] = {0.0f, 0.0f, 0.0f};
  float curvature[3][3];
  float top[3] = {0.0f, 0.0f, 0.0f};
  for (int a = 0; a < DIMENSIONS; ++a) {
    const float before = log_power(numerators, a, -1, a, 0);
    const float after = log_power(numerators, a, 1, a, 0);
    gradient[a] = (after - before) / (2.0f * h);
    curvature[a][a] = -(after - 2.0f * log_power(numerators, a, 0, a, 0) + before) / (h * h);
    for (int b = 0; b < a; ++b) {
      const float mixed = log_power(numerators, a, 1, b, 1) - log_power(numerators, a, 1, b, -1) -
                          log_power(numerators, a, -1, b, 1) + log_power(numerators, a, -1, b, -1);
      curvature[a][b] = -mixed / (4.0f * h * h);
      curvature[b][a] = curvature[a][b];
    }
  }
  // Gaussian elimination; pivots of a positive definite matrix are > 0.
  for (int pivot = 0; pivot < DIMENSIONS; ++pivot) {
    if (!(curvature[pivot][pivot] > 0.0f)) {
      return (float3)(0.0f, 0.0f, 0.0f);
    }
    for (int row = pivot + 1; row < DIMENSIONS; ++row) {
      const float factor = curvature[row][pivot] / curvature[pivot][pivot];
      for (int column = pivot; column < DIMENSIONS; ++column) {
        curvature[row][column] -= factor * curvature[pivot][column];
      }
      gradient[row] -= factor * gradient[pivot];
    }
  }
  for (int row = DIMENSIONS - 1; row >= 0; --row) {
    float rest = gradient[row];
    for (int column = row + 1; column < DIMENSIONS; ++column) {
      rest -= curvature[row][column] * top[column];
    }
    top[row] = rest / curvature[row][row];
  }
  return clamp((float3)(top[0], top[1], top[2]), -farthest, farthest);
}
#endif

// The field of a source at q, 1 at the array's centre.
static float2 field_at(const float3 q, const float4 x, const float waves_per_m) {
#if PLANE_WAVE
  const float path = -dot(q, x.xyz);
  const float spread = 1.0f;
#else
  const float3 d = q - x.xyz;
  const float length = sqrt(dot(q, q));
  const float path = (x.w - 2.0f * dot(q, x.xyz)) / (sqrt(dot(d, d)) + length);
  const float spread = length / (length + path);
#endif
  const float turns = path * waves_per_m;
  const float angle = 6.28318531f * (turns - rint(turns));
  return spread * (float2)(cos(angle), -sin(angle));
}

// conj(one) other
static float2 inner(const float2 one, const float2 other) { return complex_multiply((float2)(one.x, -one.y), other); }

// The sum of a group's values, for all items.
LOCAL_HELPER float2 pair_of_group(__local float* sums, __local float* others, const float2 value, const int item) {
  sums[item] = value.x;
  others[item] = value.y;
  sum_of_group(sums, item);
  sum_of_group(others, item);
  const float2 sum = (float2)(sums[0], others[0]);
  barrier(CLK_LOCAL_MEM_FENCE);
  return sum;
}

// Removes source number `source` from a bin. An item reads and writes only its own channels.
__kernel void srp_peel(__global const float4* restrict positions, __global const float* restrict waves_per_m,
                       __global float2* restrict pressures, __global float2* restrict phases,
                       __global float* restrict results, __global float2* restrict peeled, const int source) {
  __local float sums[GROUP];
  __local float others[GROUP];
  __local float top[3];
  const int item = get_local_id(0);
  const int k = get_group_id(0);
  const int window = get_global_id(1);
  pressures += (size_t)window * OF_WINDOW;
  phases += (size_t)window * OF_WINDOW;
  results += (size_t)window * RESULTS;
  peeled += (size_t)window * (SOURCES - 1) * OF_WINDOW;
  __global float2* own = peeled + (size_t)source * OF_WINDOW;
  __global const float* of_source = results + BEFORE_SOURCES + source * SOURCE_RESULTS;
  const float3 refined = (float3)(of_source[5], of_source[6], of_source[7]);
  if (isnan(refined.x)) {  // there is no source, and no next one
    return;
  }
#if DIMENSIONS > 0
  if (item < POINTS) {
    float sum = 0.0f;
    for (int t = 0; t < TILES; ++t) {
      sum += of_source[8 + TILES + t * POINT_STRIDE + item];
    }
    sums[item] = sum;
  }
  barrier(CLK_LOCAL_MEM_FENCE);
  if (item == 0) {
    const float3 place = moved_by(refined, steps_to_top(sums));
    top[0] = place.x;
    top[1] = place.y;
    top[2] = place.z;
  }
  barrier(CLK_LOCAL_MEM_FENCE);
  const float3 q = (float3)(top[0], top[1], top[2]);
#else
  const float3 q = refined;
#endif
  float2 total = (float2)(0.0f, 0.0f);
  float heard = 0.0f;
  for (int channel = item; channel < CHANNELS; channel += GROUP) {
    const int place = place_of(k, channel);
    const float2 pressure = pressures[place];
    const int is_silent = pressure.x == 0.0f && pressure.y == 0.0f;
    const float2 field = is_silent ? (float2)(0.0f, 0.0f) : field_at(q, positions[channel], waves_per_m[k]);
    own[place] = field;
    total += field;
    heard += is_silent ? 0.0f : 1.0f;
  }
#if REJECT_COMMON
  total = pair_of_group(sums, others, total, item);
  heard = pair_of_group(sums, others, (float2)(heard, 0.0f), item).x;
#endif
  float squares = 0.0f;
  for (int channel = item; channel < CHANNELS; channel += GROUP) {
    const int place = place_of(k, channel);
    float2 field = own[place];
#if REJECT_COMMON
    if (field.x != 0.0f || field.y != 0.0f) {
      field -= total / heard;
      own[place] = field;
    }
#endif
    squares += squared_magnitude(field);
  }
  const float before = pair_of_group(sums, others, (float2)(squares, 0.0f), item).x;
  for (int other = 0; other < source; ++other) {
    __global const float2* taken = peeled + (size_t)other * OF_WINDOW;
    float2 product = (float2)(0.0f, 0.0f);
    for (int channel = item; channel < CHANNELS; channel += GROUP) {
      const int place = place_of(k, channel);
      product += inner(taken[place], own[place]);
    }
    product = pair_of_group(sums, others, product, item);
    for (int channel = item; channel < CHANNELS; channel += GROUP) {
      const int place = place_of(k, channel);
      own[place] -= complex_multiply(product, taken[place]);
    }
  }
  squares = 0.0f;
  float2 product = (float2)(0.0f, 0.0f);
  for (int channel = item; channel < CHANNELS; channel += GROUP) {
    const int place = place_of(k, channel);
    squares += squared_magnitude(own[place]);
    product += inner(own[place], pressures[place]);
  }
  const float after = pair_of_group(sums, others, (float2)(squares, 0.0f), item).x;
  product = pair_of_group(sums, others, product, item);
  const float scale = after > LEAST_OWN_FIELD * before ? 1.0f / sqrt(after) : 0.0f;
  for (int channel = item; channel < CHANNELS; channel += GROUP) {
    const int place = place_of(k, channel);
    const float2 unit = scale * own[place];
    own[place] = unit;
    pressures[place] -= complex_multiply(scale * product, unit);
  }
  const float3 of_bin = weigh_bin(pressures, phases, sums, others, k, item);
  const float of_window = results[2 + k];
  const int is_sound = of_window > 0.0f && of_bin.x > LEAST_REMAINDER * of_window;
  if (!is_sound) {
    for (int channel = item; channel < CHANNELS; channel += GROUP) {
      phases[place_of(k, channel)] = (float2)(0.0f, 0.0f);
    }
  }
  if (item == 0) {
    results[2 + 2 * BINS + k] = is_sound ? of_bin.z : 0.0f;
    results[BEFORE_REMAINDERS + source * BINS + k] = is_sound ? of_bin.x : 0.0f;
  }
}
