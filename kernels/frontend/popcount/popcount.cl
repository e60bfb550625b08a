// Front end popcount: spectra straight from packed one-bit words, through the moments of each word's bits.
//
// Formulas, moments m_q of a word as in kernels/common/moments.cl:
//   word_sums, sum_slices   spectra[f] = sum_word sum_q C_q[f][word] m_q[word]
//   moment_lines, combine   these sums from the FFT X_q of each moment's sequence: of the bins b = k-1, k, k+1, 0, 1
//        spectra[f] = sum_q sum_b direct[f][q][b] X_q[b] + mirrored[f][q][b] conj(X_q[b])
// Clipping: a block of 8 words (256 bits), counted from the window's first, with |sum m0| >= CLIP_SUM.
//
// Buffers:
//   packed        uint   [slot][channel], channel fastest; first bit-time in the least significant bit; a ring
//   coefficients  float2 [tile][word][frequency of the tile][q], pascal; SLICES * 64 BLOCKS words, 0 beyond the window
//   is_alive      uint   [channel], 0 for a channel whose clipping does not count
//   partial       float2 [slice][frequency][channel], pascal
//   status        uint   [4], word 0 gathers the flags of the frame
//   lines         float  [q][channel][word], word fastest
//   bins          float2 [q][channel][bin], WINDOW / 2 + 1 bins, bin fastest
//   wanted        uint   [frequency], k
//   weights       float4 [frequency][q][b], direct in xy and mirrored in zw, pascal
//   spectra       float2 [frequency][channel], channel fastest, pascal peak
// Launches: word_sums: local (32, 8, 1), global (32 * ceil(CHANNELS / 64), 8 * slices, tiles).
//   sum_slices, combine: local (64, 1), global (channels rounded up to 64, frequencies).
//   moment_lines: local (32, 4), global (channels rounded up to 32, 4 * ceil(WINDOW / 32)).
// Assumes: WINDOW <= slots; coefficients hold tiles * FREQUENCY_TILE frequencies. Local memory: word_sums 2 KiB *
//   FREQUENCY_TILE, moment_lines 4.2 KiB per moment.

//! needs common/complex.cl
//! needs common/moments.cl
//! needs common/ring.cl

//! default CHANNELS 1024  // microphones
//! default WINDOW 1024  // words of a window
//! default ORDER 1  // highest moment, 0 to 2
//! default FREQUENCIES 2  // frequencies of the plan
//! default FREQUENCY_TILE 2  // frequencies that one work-item sums, at most 12
//! default BLOCKS 1  // blocks of 8 words per work-item of word_sums
//! default SLICES 16  // slices of the window, of 8 * 8 * BLOCKS words
//! default CLIP_SUM 244  // sum of a block's signs at or above which it counts as clipped
//! default FLAG_CLIPPED 32u  // bit set in a clipped frame's flags (FrameFlag of frame.hpp)

#define MOMENTS (ORDER + 1)
#define BLOCK_WORDS 8
#define SLICE_LANES 8
#define SLICE_WORDS (SLICE_LANES * BLOCKS * BLOCK_WORDS)
#define PADDED_WORDS (SLICES * SLICE_WORDS)
#define ITEM_CHANNELS 2
#define LANE_CHANNELS 32
#define GROUP_CHANNELS (LANE_CHANNELS * ITEM_CHANNELS)
#define TILE 32
#define BINS (WINDOW / 2 + 1)
#define USED_BINS 5

// Sums over one lane's words, for two channels and a tile of frequencies; lanes are then added.
__kernel __attribute__((reqd_work_group_size(LANE_CHANNELS, SLICE_LANES, 1))) void word_sums(
    __global const uint* restrict packed, __global const float2* restrict coefficients,
    __global const uint* restrict is_alive, __global float2* restrict partial, __global uint* restrict status,
    const uint first_slot, const uint slots) {
  __local float2 folded[SLICE_LANES / 2][FREQUENCY_TILE][GROUP_CHANNELS];
  __local uint clipped;
  const uint lane = get_local_id(1);
  const uint slice = get_group_id(1);
  const uint tile = get_group_id(2);
  const uint first_word = (slice * SLICE_LANES + lane) * (BLOCKS * BLOCK_WORDS);
  uint channels[ITEM_CHANNELS];
  float2 sums[ITEM_CHANNELS][FREQUENCY_TILE];
#pragma unroll
  for (uint c = 0; c < ITEM_CHANNELS; ++c) {
    channels[c] = get_group_id(0) * GROUP_CHANNELS + c * LANE_CHANNELS + get_local_id(0);
#pragma unroll
    for (uint f = 0; f < FREQUENCY_TILE; ++f) {
      sums[c][f] = (float2)(0.0f, 0.0f);
    }
  }
  if (lane == 0 && get_local_id(0) == 0) {
    clipped = 0u;
  }
  barrier(CLK_LOCAL_MEM_FENCE);

  for (uint block = 0; block < BLOCKS; ++block) {
    const uint block_word = first_word + block * BLOCK_WORDS;
    uint words[BLOCK_WORDS][ITEM_CHANNELS];
#pragma unroll
    for (uint j = 0; j < BLOCK_WORDS; ++j) {
      const size_t row = (size_t)ring_slot(first_slot, min(block_word + j, (uint)(WINDOW - 1)), slots) * CHANNELS;
#pragma unroll
      for (uint c = 0; c < ITEM_CHANNELS; ++c) {
        words[j][c] = packed[row + min(channels[c], (uint)(CHANNELS - 1))];
      }
    }
    int signs[ITEM_CHANNELS] = {0, 0};
#pragma unroll
    for (uint j = 0; j < BLOCK_WORDS; ++j) {
      // Words beyond the window have no weight: their coefficients are 0.
      __global const float2* restrict row =
          coefficients + ((size_t)tile * PADDED_WORDS + block_word + j) * (FREQUENCY_TILE * MOMENTS);
#pragma unroll
      for (uint c = 0; c < ITEM_CHANNELS; ++c) {
        const uint bits = words[j][c];
        const int sum = sign_sum(bits);
        signs[c] += sum;
        const float m0 = (float)sum;
#if ORDER >= 1
        const float m1 = (float)first_moment(bits);
#endif
#if ORDER >= 2
        const float m2 = (float)second_moment(bits);
#endif
#pragma unroll
        for (uint f = 0; f < FREQUENCY_TILE; ++f) {
          sums[c][f] += row[f * MOMENTS] * m0;
#if ORDER >= 1
          sums[c][f] += row[f * MOMENTS + 1] * m1;
#endif
#if ORDER >= 2
          sums[c][f] += row[f * MOMENTS + 2] * m2;
#endif
        }
      }
    }
#pragma unroll
    for (uint c = 0; c < ITEM_CHANNELS; ++c) {
      const bool whole = block_word + BLOCK_WORDS <= WINDOW && channels[c] < CHANNELS;
      if (whole && abs(signs[c]) >= CLIP_SUM && is_alive[channels[c]] != 0u) {
        atomic_or(&clipped, 1u);
      }
    }
  }

  for (uint half_lanes = SLICE_LANES / 2; half_lanes > 0; half_lanes /= 2) {
    if (lane >= half_lanes && lane < 2 * half_lanes) {
#pragma unroll
      for (uint f = 0; f < FREQUENCY_TILE; ++f) {
#pragma unroll
        for (uint c = 0; c < ITEM_CHANNELS; ++c) {
          folded[lane - half_lanes][f][c * LANE_CHANNELS + get_local_id(0)] = sums[c][f];
        }
      }
    }
    barrier(CLK_LOCAL_MEM_FENCE);
    if (lane < half_lanes) {
#pragma unroll
      for (uint f = 0; f < FREQUENCY_TILE; ++f) {
#pragma unroll
        for (uint c = 0; c < ITEM_CHANNELS; ++c) {
          sums[c][f] += folded[lane][f][c * LANE_CHANNELS + get_local_id(0)];
        }
      }
    }
    barrier(CLK_LOCAL_MEM_FENCE);
  }
  if (lane == 0) {
#pragma unroll
    for (uint f = 0; f < FREQUENCY_TILE; ++f) {
      const uint frequency = tile * FREQUENCY_TILE + f;
#pragma unroll
      for (uint c = 0; c < ITEM_CHANNELS; ++c) {
        if (channels[c] < CHANNELS && frequency < FREQUENCIES) {
          partial[((size_t)slice * FREQUENCIES + frequency) * CHANNELS + channels[c]] = sums[c][f];
        }
      }
    }
    if (get_local_id(0) == 0 && clipped != 0u) {
      atomic_or(&status[0], FLAG_CLIPPED);
    }
  }
}

__kernel void sum_slices(__global const float2* restrict partial, __global float2* restrict spectra) {
  const uint channel = get_global_id(0);
  const uint frequency = get_global_id(1);
  if (channel < CHANNELS) {
    float2 sum = (float2)(0.0f, 0.0f);
#pragma unroll 16
    for (uint slice = 0; slice < SLICES; ++slice) {
      sum += partial[((size_t)slice * FREQUENCIES + frequency) * CHANNELS + channel];
    }
    spectra[(size_t)frequency * CHANNELS + channel] = sum;
  }
}

// Each item processes one block of 8 words of one channel.
__kernel __attribute__((reqd_work_group_size(TILE, TILE / BLOCK_WORDS, 1))) void moment_lines(
    __global const uint* restrict packed, __global const uint* restrict is_alive, __global float* restrict lines,
    __global uint* restrict status, const uint first_slot, const uint slots) {
  __local float moments[MOMENTS][TILE][TILE + 1];  // [q][word][channel], a column of padding against bank conflicts
  __local uint clipped;
  const uint lane = get_local_id(0);
  const uint first_channel = get_group_id(0) * TILE;
  const uint tile_word = get_group_id(1) * TILE;
  if (lane == 0 && get_local_id(1) == 0) {
    clipped = 0u;
  }
  barrier(CLK_LOCAL_MEM_FENCE);

  const uint channel = first_channel + lane;
  const uint block_word = tile_word + get_local_id(1) * BLOCK_WORDS;
  int signs = 0;
  for (uint j = 0; j < BLOCK_WORDS; ++j) {
    const uint word = block_word + j;
    if (word < WINDOW && channel < CHANNELS) {
      const uint bits = packed[(size_t)ring_slot(first_slot, word, slots) * CHANNELS + channel];
      const uint row = get_local_id(1) * BLOCK_WORDS + j;
      const int sum = sign_sum(bits);
      signs += sum;
      moments[0][row][lane] = (float)sum;
#if ORDER >= 1
      moments[1][row][lane] = (float)first_moment(bits);
#endif
#if ORDER >= 2
      moments[2][row][lane] = (float)second_moment(bits);
#endif
    }
  }
  const bool whole = block_word + BLOCK_WORDS <= WINDOW && channel < CHANNELS;
  if (whole && abs(signs) >= CLIP_SUM && is_alive[channel] != 0u) {
    atomic_or(&clipped, 1u);
  }
  barrier(CLK_LOCAL_MEM_FENCE);

  for (uint row = get_local_id(1); row < TILE; row += TILE / BLOCK_WORDS) {
    const uint word = tile_word + lane;
    if (word < WINDOW && first_channel + row < CHANNELS) {
#pragma unroll
      for (uint q = 0; q < MOMENTS; ++q) {
        lines[((size_t)q * CHANNELS + first_channel + row) * WINDOW + word] = moments[q][lane][row];
      }
    }
  }
  if (lane == 0 && get_local_id(1) == 0 && clipped != 0u) {
    atomic_or(&status[0], FLAG_CLIPPED);
  }
}

__kernel void combine(__global const float2* restrict bins, __global const uint* restrict wanted,
                      __global const float4* restrict weights, __global float2* restrict spectra) {
  const uint channel = get_global_id(0);
  const uint frequency = get_global_id(1);
  if (channel < CHANNELS) {
    const uint middle = wanted[frequency];
    const uint used[USED_BINS] = {middle - 1, middle, min(middle + 1, (uint)(BINS - 1)), 0, 1};
    float2 sum = (float2)(0.0f, 0.0f);
    for (uint q = 0; q < MOMENTS; ++q) {
      __global const float2* restrict line = bins + ((size_t)q * CHANNELS + channel) * BINS;
#pragma unroll
      for (uint b = 0; b < USED_BINS; ++b) {
        const float2 value = line[used[b]];
        const float4 weight = weights[(frequency * MOMENTS + q) * USED_BINS + b];
        sum += complex_multiply(weight.xy, value) + complex_multiply(weight.zw, (float2)(value.x, -value.y));
      }
    }
    spectra[(size_t)frequency * CHANNELS + channel] = sum;
  }
}
