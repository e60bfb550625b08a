#pragma once
#include <algorithm>
#include <cstdlib>

namespace nearfield::test {

/// Random cases that a test draws: NEARFIELD_DRAWS where that is set, as in long runs, otherwise the suite's own
/// number.
inline int draws(int of_suite) {
  const char* asked = std::getenv("NEARFIELD_DRAWS");
  return asked == nullptr ? of_suite : std::max(1, std::atoi(asked));
}

}  // namespace nearfield::test
