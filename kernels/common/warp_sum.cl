// Sums over the 32 items that an NVIDIA device runs in step, without local memory and without a barrier: shfl.sync of
// inline PTX (ISA 6.0, compute capability 3.0). OpenCL 1.2 has no equivalent: elsewhere HAS_WARPS is 0, and kernels sum
// in local memory.

#ifdef __NV_CL_C_VERSION
#define HAS_WARPS 1
#define WARP 32

// Sum over the warp, equal for each of its items. All items of a group call it, as many as a multiple of WARP, along
// the group's first dimension.
static inline float warp_sum(float value) {
#pragma unroll
  for (uint step = WARP / 2; step > 0; step /= 2) {
    uint other;
    asm volatile("shfl.sync.bfly.b32 %0, %1, %2, 31, 0xffffffff;" : "=r"(other) : "r"(as_uint(value)), "r"(step));
    value += as_float(other);
  }
  return value;
}
#else
#define HAS_WARPS 0
#define WARP 1
static inline float warp_sum(const float value) { return value; }
#endif
