#include "core/system/threads.hpp"

#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <climits>
#include <ctime>

#include "core/system/clocks.hpp"

namespace nearfield {
namespace {

static_assert(sizeof(std::atomic<std::uint32_t>) == sizeof(std::uint32_t), "a futex is a plain word");

}  // namespace

bool WakeUp::sleep(std::uint32_t ticket, std::int64_t deadline_ns) {
  if (deadline_ns <= monotonic_ns()) {
    awake();
    return false;
  }
  const timespec deadline{deadline_ns / kNsPerSecond, deadline_ns % kNsPerSecond};
  // FUTEX_WAIT_BITSET takes its time as an absolute one, of CLOCK_MONOTONIC.
  const long result =
      syscall(SYS_futex, &calls_, FUTEX_WAIT_BITSET_PRIVATE, ticket, &deadline, nullptr, FUTEX_BITSET_MATCH_ANY);
  const bool timed_out = result != 0 && errno == ETIMEDOUT;
  awake();
  return !timed_out;
}

void WakeUp::wake() {
  calls_.fetch_add(1);
  syscall(SYS_futex, &calls_, FUTEX_WAKE_PRIVATE, INT_MAX, nullptr, nullptr, 0);
}

}  // namespace nearfield
