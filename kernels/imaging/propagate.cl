// K-space: filter times propagator, zero padding for finer pictures, and the crop after the inverse transform.
//
// Phasors are e^{+jwt}, z grows from the surface (0) to the array (standoff), so an outgoing wave is e^{-j kz z} and the way
// back over d = standoff - z is e^{+j kz d}, kz = sqrt(k^2 - kr^2) inside the radiation circle and -j sqrt(kr^2 - k^2)
// outside (Williams 1999, ch. 3; the thesis's eq. 2.11 is for e^{-jwt}). Normal velocity multiplies by kz / (rho c k),
// displacement by that over j w. Active intensity takes pressure and velocity, FIELDS to a plane, to Re(p v*)/2 in `crop`.
// Filters H(kr):
//   cos       1 - exp(-(1 - kr/kc)/phi)/2 for kr <= kc, exp((1 - kr/kc)/phi)/2 above (thesis 3.1; research notes, 2)
//   tikhonov  |A|^2 / (|A|^2 + lambda), A = exp(-|Im kz| d)
//   none      1
//   measured  1 here; growth is cut where H has vanished, and the measured H is applied later (spectrum_record.cl)
// Exponents of growth and filter decay are added, so that neither overflows alone.
//
//   wavenumber   float [frequency], k, rad/m
//   cutoff       float [frequency], kc, rad/m        slope float [frequency], phi
//   distance     float [plane], d, m
//   transfer     float2 [plane][field][frequency][padded row][TRANSFER_STRIDE]; columns past the spectrum's are 0
//   spectrum     float2 [frame][frequency][padded row][padded column], the forward transform
//   filtered     float2 [frame][plane][field][frequency][UPSAMPLE * PADDED_ROWS][UPSAMPLE * PADDED_COLUMNS]
//   reports      float4 [frame][frequency]: kc, phi, ..., of the measured filter
//   taken, status  uint [frame][4], see status.cl
//   images       float2 [frame][plane][frequency][IMAGE_ROWS][IMAGE_COLUMNS], Pa, m/s, m or W/m^2
//
// Launch: (round_up(columns of the output, 32), round_up(rows of the output, 4), images), groups of 32 x 4.

//! needs common/complex.cl
//! needs common/status.cl
//! needs imaging/padded_sizes.cl
//! needs imaging/spectrum_record.cl

//! default PLANES 1  // images per frequency
//! default TRANSFER_STRIDE PADDED_COLUMNS  // columns of `transfer`
//! default SCALE 1.0f  // factor of `transfer`
//! default UPSAMPLE 1  // pixels per pitch
//! default STEP_KX 3.2724923f  // rad/m between columns of the spectrum
//! default STEP_KY 3.2724923f  // rad/m between rows of the spectrum
//! default FILTER 0  // 0 cos, 1 tikhonov, 2 none, 3 measured
//! default MOST_GROWTH 75.0f  // nepers; velocity's factor must fit above it into float's range
//! default LAMBDA 1e-3f  // regularisation of tikhonov
//! default QUANTITY 0  // 0 pressure, 1 normal velocity, 2 displacement, 3 active intensity
//! default SOUND_SPEED 343.0f  // m/s
//! default IMPEDANCE 413.0063f  // rho c, Pa s/m
#define FIELDS (QUANTITY == 3 ? 2 : 1)  // fields per plane
#define FINE_ROWS (UPSAMPLE * PADDED_ROWS)
#define FINE_COLUMNS (UPSAMPLE * PADDED_COLUMNS)
#define IMAGE_ROWS (UPSAMPLE * (ROWS - 1) + 1)  // from the first microphone to the last
#define IMAGE_COLUMNS (UPSAMPLE * (COLUMNS - 1) + 1)

// Signed bin of an FFT's index.
static int signed_bin(int index, int size) { return index < (size + 1) / 2 ? index : index - size; }

// exp(growth) * H(kr): the magnitude of filter and propagator together.
static float filtered_gain(float kr, float growth, float cutoff, float slope) {
#if FILTER == 0
  const float x = (1.0f - kr / cutoff) / slope;
  return x >= 0.0f ? (1.0f - 0.5f * exp(-x)) * exp(growth) : 0.5f * exp(x + growth);
#elif FILTER == 1
  return 1.0f / (exp(-growth) + LAMBDA * exp(growth));
#elif FILTER == 3
  return exp(fmin(growth, MOST_GROWTH));
#else
  return exp(growth);
#endif
}

__kernel void build_transfer(__global const float* wavenumber, __global const float* cutoff,
                             __global const float* slope, __global const float* distance, __global float2* transfer) {
  const int column = (int)get_global_id(0);
  const int row = (int)get_global_id(1);
  const int image = (int)get_global_id(2);
  if (column >= TRANSFER_STRIDE || row >= PADDED_ROWS) {
    return;
  }
  if (column >= PADDED_COLUMNS) {
    transfer[(image * PADDED_ROWS + row) * TRANSFER_STRIDE + column] = (float2)(0.0f, 0.0f);
    return;
  }
  const int frequency = image % FREQUENCIES;
  const float k = wavenumber[frequency];
  const float d = distance[image / (FIELDS * FREQUENCIES)];
  const float kx = STEP_KX * (float)signed_bin(column, PADDED_COLUMNS);
  const float ky = STEP_KY * (float)signed_bin(row, PADDED_ROWS);
  const float kr = sqrt(kx * kx + ky * ky);
  // (k - kr)(k + kr) is accurate if k and kr are close.
  const float kz_squared = (k - kr) * (k + kr);
  const int propagating = kz_squared >= 0.0f;
  const float kz = sqrt(fabs(kz_squared));
  const float gain = filtered_gain(kr, propagating ? 0.0f : kz * d, cutoff[frequency], slope[frequency]);
  float2 value = propagating ? gain * (float2)(cos(kz * d), sin(kz * d)) : (float2)(gain, 0.0f);
  const int is_pressure = QUANTITY == 0 || (QUANTITY == 3 && image / FREQUENCIES % FIELDS == 0);
  if (!is_pressure) {
    const float admittance = kz / (IMPEDANCE * k);
    value = propagating ? admittance * value : (float2)(0.0f, -admittance * gain);
  }
#if QUANTITY == 2
  value = (float2)(value.y, -value.x) / (SOUND_SPEED * k);
#endif
  transfer[(image * PADDED_ROWS + row) * TRANSFER_STRIDE + column] = SCALE * value;
}

// Coarse index of a fine bin, or -1 where the fine spectrum is zero. A coarse grid of even size has one bin at +- half
// its size, whose energy is split in halves on the fine grid.
static int coarse_index(int fine_index, int size) {
  const int bin = signed_bin(fine_index, UPSAMPLE * size);
  if (2 * abs(bin) > size) {
    return -1;
  }
  return bin >= 0 ? bin % size : bin + size;
}

static float coarse_weight(int fine_index, int size) {
  return UPSAMPLE > 1 && 2 * abs(signed_bin(fine_index, UPSAMPLE * size)) == size ? 0.5f : 1.0f;
}

__kernel void apply_transfer(__global const float2* spectrum, __global const float2* transfer, __global float2* filtered
#if FILTER == 3
                             ,
                             __global const float4* reports
#endif
) {
  const int column = (int)get_global_id(0);
  const int row = (int)get_global_id(1);
  const int image = (int)get_global_id(2);
  if (column >= FINE_COLUMNS || row >= FINE_ROWS) {
    return;
  }
  const int coarse_row = coarse_index(row, PADDED_ROWS);
  const int coarse_column = coarse_index(column, PADDED_COLUMNS);
  float2 value = (float2)(0.0f, 0.0f);
  if (coarse_row >= 0 && coarse_column >= 0) {
    const int bin = coarse_row * PADDED_COLUMNS + coarse_column;
    float weight = coarse_weight(row, PADDED_ROWS) * coarse_weight(column, PADDED_COLUMNS);
    const int from = image / (PLANES * FIELDS * FREQUENCIES) * FREQUENCIES + image % FREQUENCIES;
    const int factor = image % (PLANES * FIELDS * FREQUENCIES);
#if FILTER == 3
    const float kx = STEP_KX * (float)signed_bin(coarse_column, PADDED_COLUMNS);
    const float ky = STEP_KY * (float)signed_bin(coarse_row, PADDED_ROWS);
    const float4 report = reports[from];
    weight *= kept_at(sqrt(kx * kx + ky * ky), report.x, report.y);
#endif
    value = weight * complex_multiply(spectrum[from * PADDED_ROWS * PADDED_COLUMNS + bin],
                                      transfer[factor * PADDED_ROWS * PADDED_COLUMNS + bin]);
  }
  filtered[(image * FINE_ROWS + row) * FINE_COLUMNS + column] = value;
}

__kernel void crop(__global const float2* field, __global float2* images, __global uint* taken, __global uint* status) {
  const int column = (int)get_global_id(0);
  const int row = (int)get_global_id(1);
  const int image = (int)get_global_id(2);
  if (image % (PLANES * FREQUENCIES) == 0 && column == 0 && row == 0) {
    take_status(status, taken, image / (PLANES * FREQUENCIES), 0, 1);
  }
  if (column >= IMAGE_COLUMNS || row >= IMAGE_ROWS) {
    return;
  }
  const int first = image / FREQUENCIES * FIELDS * FREQUENCIES + image % FREQUENCIES;
  const int from =
      (first * FINE_ROWS + UPSAMPLE * BEFORE_ROWS + row) * FINE_COLUMNS + UPSAMPLE * BEFORE_COLUMNS + column;
  const float scale = 1.0f / ((float)PADDED_ROWS * (float)PADDED_COLUMNS);
  float2 value = scale * field[from];
#if QUANTITY == 3
  const float2 velocity = scale * field[from + FREQUENCIES * FINE_ROWS * FINE_COLUMNS];
  value = (float2)(0.5f * (value.x * velocity.x + value.y * velocity.y), 0.0f);
#endif
  images[(image * IMAGE_ROWS + row) * IMAGE_COLUMNS + column] = value;
}
