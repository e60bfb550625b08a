// Shared by kernels for groups of many items and for groups of one with vectors of lines.

//! needs common/local_helper.cl
//! needs common/warp_sum.cl

// A group of one item needs no barrier.
#define SYNC(group)                 \
  do {                              \
    if ((group) > 1) {              \
      barrier(CLK_LOCAL_MEM_FENCE); \
    }                               \
  } while (0)

// SYNC() that also orders the group's reads and writes of global memory.
#define SYNC_ALL(group)                                    \
  do {                                                     \
    if ((group) > 1) {                                     \
      barrier(CLK_LOCAL_MEM_FENCE | CLK_GLOBAL_MEM_FENCE); \
    }                                                      \
  } while (0)

// Sum of all items' values, returned to each of them; `parts` has room for one value per item. Begins and ends with a
// barrier. Each kernel defines it once for its groups of `group` items, 1 or a multiple of 16.
#define DEFINE_SUM_OF_ITEMS(group)                                                           \
  LOCAL_HELPER float sum_of_items(const float value, __local float* parts, const int item) { \
    if ((group) == 1) {                                                                      \
      return value;                                                                          \
    }                                                                                        \
    if (HAS_WARPS && (group) % WARP == 0) {                                                  \
      SYNC(group);                                                                           \
      const float of_warp = warp_sum(value);                                                 \
      if (item % WARP == 0) {                                                                \
        parts[item / WARP] = of_warp;                                                        \
      }                                                                                      \
    } else {                                                                                 \
      SYNC(group);                                                                           \
      parts[item] = value;                                                                   \
      SYNC(group);                                                                           \
      float part = 0.0f;                                                                     \
      if (item < 16) {                                                                       \
        for (int i = item; i < (group); i += 16) {                                           \
          part += parts[i];                                                                  \
        }                                                                                    \
      }                                                                                      \
      SYNC(group);                                                                           \
      if (item < 16) {                                                                       \
        parts[item] = part;                                                                  \
      }                                                                                      \
    }                                                                                        \
    SYNC(group);                                                                             \
    float sum = 0.0f;                                                                        \
    for (int i = 0; i < (HAS_WARPS && (group) % WARP == 0 ? (group) / WARP : 16); ++i) {     \
      sum += parts[i];                                                                       \
    }                                                                                        \
    SYNC(group);                                                                             \
    return sum;                                                                              \
  }
