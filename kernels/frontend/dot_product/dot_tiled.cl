// Front end dot_product, channels across work-items: n dot products of a window in two stages.
//
// Formulas: planes[p][f][channel] = sum over part p's t of c[f][t] y[first + t];  spectra = sum_p planes[p]
//   dot_tiled      a work-item holds the sums of BLOCK frequencies and ITEM_CHANNELS channels in registers, so a sample
//                  is read once for BLOCK dot products and a coefficient once for ITEM_CHANNELS. Work-items of a row
//                  (LANES) process neighbouring channels: reads of [slot][channel] are whole cache lines, and
//                  coefficients are shared by all of them. Rows (SLICES) and parts divide the samples; the rows of a
//                  group are added in local memory.
//   sum_parts      second stage, of sum_parts.cl: adds the parts
//
// Buffers:
//   samples       float  [slot][channel], channel fastest, full scale 1 or pascal; a ring
//   coefficients  float4 [block of frequencies][t][pair of frequencies in block], real and imaginary parts of both,
//                 pascal per unit of samples, 0 in padding; pairs, because this halves the loads with 16 bytes each
//   is_alive      uint   [channel], 0 for a channel whose clipping does not count
//   planes        float  [part][2 frequency + (0 real, 1 imaginary)][channel], channel fastest, pascal peak
//   spectra       float2 [frequency][channel], channel fastest, pascal peak
//   status        uint   [4], word 0 gathers the flags of the frame
// Launch of dot_tiled: local (LANES, SLICES, 1), global (LANES * ceil(CHANNELS / (LANES ITEM_CHANNELS)), SLICES * parts,
//   blocks).
// Assumes: SLICES a power of two. Local memory: 4 SLICES BLOCK ITEM_CHANNELS LANES bytes, at most 16 KiB.

//! needs frontend/dot_product/sum_parts.cl
//! needs frontend/window_samples.cl

//! default BLOCK 2  // frequencies summed by a work-item at once, even
//! default ITEM_CHANNELS 2  // channels summed by a work-item at once
//! default LANES 32  // work-items of a group along the channels
//! default SLICES 8  // work-items of a group along the samples

__kernel __attribute__((reqd_work_group_size(LANES, SLICES, 1))) void dot_tiled(
    __global const float* restrict samples, __global const uint* restrict is_alive,
    __global const float4* restrict coefficients, __global float* restrict planes, const uint parts, const uint slots,
    const uint first_slot, __global float2* restrict spectra, __global uint* restrict status) {
  __local float2 shared_sums[SLICES / 2][BLOCK * ITEM_CHANNELS][LANES];
  const uint lane = get_local_id(0);
  const uint slice = get_local_id(1);
  const uint part = get_group_id(1);
  const uint block = get_group_id(2);
  const uint first_channel = get_group_id(0) * LANES * ITEM_CHANNELS + lane;

  float2 sums[BLOCK * ITEM_CHANNELS];
  uint channels[ITEM_CHANNELS];
  float peaks[ITEM_CHANNELS];
#pragma unroll
  for (uint c = 0; c < ITEM_CHANNELS; ++c) {
    channels[c] = min(first_channel + c * LANES, (uint)(CHANNELS - 1));
    peaks[c] = 0.0f;
  }
#pragma unroll
  for (uint i = 0; i < BLOCK * ITEM_CHANNELS; ++i) {
    sums[i] = (float2)(0.0f, 0.0f);
  }

// PoCL's compiler cannot unroll it, and would warn at each build.
#ifndef POCL_DEVICE_ADDRESS_BITS
#pragma unroll 4
#endif
  for (uint t = part * SLICES + slice; t < WINDOW; t += parts * SLICES) {
    __global const float* row = samples + (size_t)ring_slot(first_slot, t, slots) * CHANNELS;
    __global const float4* factors = coefficients + ((size_t)block * WINDOW + t) * (BLOCK / 2);
#pragma unroll
    for (uint c = 0; c < ITEM_CHANNELS; ++c) {
      const float sample = row[channels[c]];
      peaks[c] = fmax(peaks[c], fabs(sample));
#pragma unroll
      for (uint f = 0; f < BLOCK; f += 2) {
        sums[f * ITEM_CHANNELS + c] += factors[f / 2].xy * sample;
        sums[(f + 1) * ITEM_CHANNELS + c] += factors[f / 2].zw * sample;
      }
    }
  }
  if (block == 0) {
#pragma unroll
    for (uint c = 0; c < ITEM_CHANNELS; ++c) {
      flag_clipping(peaks[c], is_alive[channels[c]], status);
    }
  }

  for (uint active = SLICES / 2; active > 0; active /= 2) {
    if (slice >= active && slice < 2 * active) {
#pragma unroll
      for (uint i = 0; i < BLOCK * ITEM_CHANNELS; ++i) {
        shared_sums[slice - active][i][lane] = sums[i];
      }
    }
    barrier(CLK_LOCAL_MEM_FENCE);
    if (slice < active) {
#pragma unroll
      for (uint i = 0; i < BLOCK * ITEM_CHANNELS; ++i) {
        sums[i] += shared_sums[slice][i][lane];
      }
    }
    barrier(CLK_LOCAL_MEM_FENCE);
  }

  if (slice == 0) {
#pragma unroll
    for (uint i = 0; i < BLOCK * ITEM_CHANNELS; ++i) {
      const uint frequency = block * BLOCK + i / ITEM_CHANNELS;
      const uint channel = first_channel + i % ITEM_CHANNELS * LANES;
      if (frequency < FREQUENCIES && channel < CHANNELS) {
        if (parts == 1) {
          spectra[(size_t)frequency * CHANNELS + channel] = finite_or_nan(sums[i]);
        } else {
          const size_t plane = ((size_t)part * FREQUENCIES + frequency) * 2;
          planes[plane * CHANNELS + channel] = sums[i].x;
          planes[(plane + 1) * CHANNELS + channel] = sums[i].y;
        }
      }
    }
  }
}
