// Kernels for the limits of a device: nothing, copies, and multiply-adds.

kernel void empty(global float* out) {}

// Copies float4 values, one per item.
kernel void copy(global const float4* from, global float4* to) {
  const size_t i = get_global_id(0);
  to[i] = from[i];
}

// Four independent chains of float4 multiply-adds, so that neither latency nor memory is the limit. Values stay near 1.
kernel void mad_rounds(global float4* out, int rounds) {
  const size_t i = get_global_id(0);
  float4 a = out[i];
  float4 b = a + 0.1f;
  float4 c = a + 0.2f;
  float4 d = a + 0.3f;
  for (int round = 0; round < rounds; ++round) {
    a = fma(a, 0.999f, 0.001f);
    b = fma(b, 0.999f, 0.001f);
    c = fma(c, 0.999f, 0.001f);
    d = fma(d, 0.999f, 0.001f);
  }
  out[i] = a + b + c + d;
}

// Eight chains of float16, which processors need to fill their vectors and hide latency.
kernel void wide_mad_rounds(global float4* out, int rounds) {
  const size_t i = get_global_id(0);
  float16 chain[8];
#pragma unroll
  for (int j = 0; j < 8; ++j) {
    chain[j] = (float16)(out[i].x + 0.1f * j);
  }
  for (int round = 0; round < rounds; ++round) {
#pragma unroll
    for (int j = 0; j < 8; ++j) {
      chain[j] = fma(chain[j], 0.999f, 0.001f);
    }
  }
  float16 sum = chain[0];
#pragma unroll
  for (int j = 1; j < 8; ++j) {
    sum += chain[j];
  }
  out[i] = sum.s0123 + sum.s4567 + sum.s89ab + sum.scdef;
}
