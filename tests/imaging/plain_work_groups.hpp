#pragma once
#include <cstdlib>

namespace nearfield::test {

/// While it lives, PoCL builds kernels without vectorising over the items of a group. With that, PoCL 3.1 gives wrong
/// images for some sizes (aperture.cl, 4 x 9 microphones, order 5, 64 or 128 items of one line), right ones without and
/// right ones as soon as the kernel prints; why was not found. CPUs take groups of one item, so that only tests of a
/// GPU's groups need this.
class PlainWorkGroups {
 public:
  PlainWorkGroups() { setenv("POCL_WORK_GROUP_METHOD", "loops", 1); }
  PlainWorkGroups(const PlainWorkGroups&) = delete;
  PlainWorkGroups& operator=(const PlainWorkGroups&) = delete;
  ~PlainWorkGroups() { unsetenv("POCL_WORK_GROUP_METHOD"); }
};

}  // namespace nearfield::test
