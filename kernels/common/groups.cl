// What kernels share that are cut for groups of many items and for groups of one with vectors of lines.

#define JOIN_TOKENS(a, b) a##b
#define JOIN(a, b) JOIN_TOKENS(a, b)

// A group of one item needs no barrier.
#define SYNC(group)                 \
  do {                              \
    if ((group) > 1) {              \
      barrier(CLK_LOCAL_MEM_FENCE); \
    }                               \
  } while (0)
