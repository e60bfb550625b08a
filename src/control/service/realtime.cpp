#include "control/service/realtime.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <pthread.h>
#include <sched.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "core/daemon_settings.hpp"

namespace nearfield::control {
namespace {

void set_priority(int priority, std::vector<std::string>& warnings) {
  sched_param parameters{};
  parameters.sched_priority = priority;
  const int error = pthread_setschedparam(pthread_self(), SCHED_FIFO, &parameters);
  if (error == EPERM) {
    warnings.push_back(fmt::format(
        "daemon.realtime.priority: expected the right to run at SCHED_FIFO {0}, found none; give CAP_SYS_NICE "
        "or LimitRTPRIO={0}. Running at ordinary priority",
        priority));
  } else if (error != 0) {
    warnings.push_back(fmt::format("daemon.realtime.priority: SCHED_FIFO {} failed: {}. Running at ordinary priority",
                                   priority, std::strerror(error)));
  }
}

void set_affinity(const std::vector<int>& cpus, std::vector<std::string>& warnings) {
  cpu_set_t wanted;
  CPU_ZERO(&wanted);
  for (const int cpu : cpus) {
    CPU_SET(static_cast<std::size_t>(cpu), &wanted);
  }
  const int error = pthread_setaffinity_np(pthread_self(), sizeof wanted, &wanted);
  if (error != 0) {
    warnings.push_back(fmt::format(
        "daemon.realtime.cpus: expected processors that this process may use, found [{}]: {}. Running on any",
        fmt::join(cpus, ", "), std::strerror(error)));
  }
}

void lock_memory(std::vector<std::string>& warnings) {
  if (mlockall(MCL_CURRENT | MCL_FUTURE) != 0) {
    warnings.push_back(fmt::format(
        "daemon.realtime.lock_memory: locking failed: {}; give CAP_IPC_LOCK or LimitMEMLOCK=infinity. Memory may be "
        "swapped out",
        std::strerror(errno)));
  }
}

}  // namespace

std::vector<std::string> apply_realtime(const DaemonSettings::Realtime& settings) {
  std::vector<std::string> warnings;
  if (!settings.cpus.empty()) {
    set_affinity(settings.cpus, warnings);
  }
  if (settings.lock_memory) {
    lock_memory(warnings);
  }
  if (settings.priority > 0) {
    set_priority(settings.priority, warnings);
  }
  return warnings;
}

void leave_realtime() {
  const sched_param parameters{};
  pthread_setschedparam(pthread_self(), SCHED_OTHER, &parameters);  // lowering is always permitted
}

void lower_priority() {
  constexpr int kNice = 10;  // a weight of 110, against the usual 1024
  const auto thread = static_cast<id_t>(gettid());
  setpriority(PRIO_PROCESS, thread, std::max(kNice, getpriority(PRIO_PROCESS, thread)));  // always permitted
}

}  // namespace nearfield::control
