#include "recording/host.hpp"

#include <unistd.h>

#include <array>
#include <fstream>

namespace nearfield {

std::string host_name() {
  std::array<char, 256> name{};
  return ::gethostname(name.data(), name.size() - 1) == 0 ? std::string(name.data()) : std::string();
}

std::string boot_id() {
  std::ifstream file("/proc/sys/kernel/random/boot_id");
  std::string id;
  std::getline(file, id);
  return id;
}

std::int64_t clock_ns(clockid_t clock) {
  constexpr std::int64_t kNsPerSecond = 1'000'000'000;
  std::timespec time{};
  ::clock_gettime(clock, &time);
  return time.tv_sec * kNsPerSecond + time.tv_nsec;
}

}  // namespace nearfield
