#include "core/system/threads.hpp"

#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <climits>
#include <csignal>
#include <cstddef>
#include <ctime>
#include <memory>

#include "core/system/clocks.hpp"

namespace nearfield {
namespace {

static_assert(sizeof(std::atomic<std::uint32_t>) == sizeof(std::uint32_t), "a futex is a plain word");

class SignalStack {
 public:
  SignalStack() {
    const stack_t stack{.ss_sp = memory_.get(), .ss_flags = 0, .ss_size = kBytes};
    ::sigaltstack(&stack, nullptr);
  }
  SignalStack(const SignalStack&) = delete;
  SignalStack& operator=(const SignalStack&) = delete;
  ~SignalStack() {
    const stack_t none{.ss_sp = nullptr, .ss_flags = SS_DISABLE, .ss_size = 0};
    ::sigaltstack(&none, nullptr);
  }

 private:
  static constexpr std::size_t kBytes = 65536;
  std::unique_ptr<std::byte[]> memory_ = std::make_unique_for_overwrite<std::byte[]>(kBytes);
};

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

void give_signal_stack() {
  stack_t present{};
  if (::sigaltstack(nullptr, &present) == 0 && (present.ss_flags & SS_DISABLE) != 0) {
    thread_local const SignalStack kStack;
  }
}

}  // namespace nearfield
