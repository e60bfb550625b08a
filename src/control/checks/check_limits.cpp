#include <fmt/format.h>
#include <sys/mman.h>
#include <sys/resource.h>

#include <future>

#include "control/checks/check_parts.hpp"
#include "control/service/realtime.hpp"
#include "core/daemon_settings.hpp"

namespace nearfield::control {
namespace {

/// Descriptors for 64 readers of the ring, 16 control connections, the metrics' server, the device's driver and the
/// daemon's own.
constexpr rlim_t kFewestDescriptors = 192;

}  // namespace

void look_at_limits(CheckUp& up) {
  const DaemonSettings::Realtime& realtime = up.settings.daemon->realtime;
  // On a separate thread, since the priority ends with it.
  for (std::string& lack : std::async(std::launch::async, [&] { return apply_realtime(realtime); }).get()) {
    up.problem(std::move(lack));
  }
  if (realtime.lock_memory) {
    munlockall();
  }
  rlimit descriptors{};
  if (getrlimit(RLIMIT_NOFILE, &descriptors) == 0 && descriptors.rlim_cur < kFewestDescriptors) {
    up.problem(
        fmt::format("open files: expected a limit of at least {}, for readers and clients, found {}; ulimit -n {}, "
                    "or LimitNOFILE of the unit",
                    kFewestDescriptors, descriptors.rlim_cur, kFewestDescriptors));
  }
}

}  // namespace nearfield::control
