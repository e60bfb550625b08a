#pragma once
#include <cstdlib>

namespace nearfield::test {

/// While it lives, PoCL builds kernels without vectorising over the items of a group. PoCL 3.1 does that wrongly for
/// some sizes of the fused kernels (padded_lines.cl, 4 x 9 microphones, order 5, 64 items: a lane's masked store
/// reaches into its neighbours'); CPUs take groups of one item there, so that only tests of a GPU's groups need this.
class PlainWorkGroups {
 public:
  PlainWorkGroups() { setenv("POCL_WORK_GROUP_METHOD", "loops", 1); }
  PlainWorkGroups(const PlainWorkGroups&) = delete;
  PlainWorkGroups& operator=(const PlainWorkGroups&) = delete;
  ~PlainWorkGroups() { unsetenv("POCL_WORK_GROUP_METHOD"); }
};

}  // namespace nearfield::test
