// Hand-over of results between work-groups of one launch: the writes of a group before it announces are visible to a
// group that has waited for it. A group that waits occupies its place on the device, so it may only wait for groups
// with lower numbers, which devices start first.
//
//   counter  uint, number of announcements by groups since it was 0, in all launches; it may wrap
//
// NVIDIA's mem_fence() orders memory for the group alone, so its own instructions are used there (PTX ISA 6.0, compute
// capability 7.0). Elsewhere the fence and the atomics of OpenCL 1.2 are enough if caches are coherent, as on
// processors. Only NVIDIA's devices use kernels that need this file, and PoCL in tests.

//! needs common/local_helper.cl

static inline uint announced(__global uint* counter) {
#ifdef __NV_CL_C_VERSION
  uint value;
  asm volatile("ld.acquire.gpu.u32 %0, [%1];" : "=r"(value) : "l"(counter) : "memory");
  return value;
#else
  const uint value = atomic_add(counter, 0u);
  mem_fence(CLK_GLOBAL_MEM_FENCE);
  return value;
#endif
}

// Announces the group's preceding writes; called by all items of the group.
static inline void announce(__global uint* counter) {
  barrier(CLK_LOCAL_MEM_FENCE | CLK_GLOBAL_MEM_FENCE);
  if (get_local_id(0) == 0) {
#ifdef __NV_CL_C_VERSION
    asm volatile("red.release.gpu.add.u32 [%0], 1;" ::"l"(counter) : "memory");
#else
    mem_fence(CLK_GLOBAL_MEM_FENCE);
    atomic_inc(counter);
#endif
  }
}

// Waits until each of `counters` counters has reached `count`, which wraps like them; called by all items of a group.
static inline void wait_until_all(__global uint* counter, const int counters, const uint count) {
  for (int i = (int)get_local_id(0); i < counters; i += (int)get_local_size(0)) {
    while ((int)(announced(counter + i) - count) < 0) {
    }
  }
  barrier(CLK_LOCAL_MEM_FENCE | CLK_GLOBAL_MEM_FENCE);
}

static inline void wait_until(__global uint* counter, const uint count) { wait_until_all(counter, 1, count); }
