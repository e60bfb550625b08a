// Largest of several values, with its index; among equal ones the lowest index.

//! needs common/local_helper.cl

static inline int is_better(const float value, const int index, const float best, const int best_index) {
  return value > best || (value == best && index < best_index);
}

// Finds the best of a group's values, in values[0] and indices[0]. Begins and ends with a barrier. Each kernel file
// defines it once for its groups of `group` items, a power of 2.
#define DEFINE_BEST_OF_GROUP(group)                                                                    \
  LOCAL_HELPER void best_of_group(__local float* values, __local int* indices, const int item) {       \
    for (int half_size = (group) / 2; half_size > 0; half_size /= 2) {                                 \
      barrier(CLK_LOCAL_MEM_FENCE);                                                                    \
      const int other = item + half_size;                                                              \
      if (item < half_size && is_better(values[other], indices[other], values[item], indices[item])) { \
        values[item] = values[other];                                                                  \
        indices[item] = indices[other];                                                                \
      }                                                                                                \
    }                                                                                                  \
    barrier(CLK_LOCAL_MEM_FENCE);                                                                      \
  }
