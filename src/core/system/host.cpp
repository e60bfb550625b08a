#include "core/system/host.hpp"

#include <sched.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <fstream>
#include <limits>

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

double available_memory_bytes() {
  constexpr double kKilobyte = 1024.0;
  std::ifstream meminfo("/proc/meminfo");
  for (std::string word; meminfo >> word;) {
    if (double kilobytes = 0.0; word == "MemAvailable:" && meminfo >> kilobytes) {
      return kilobytes * kKilobyte;
    }
  }
  return std::numeric_limits<double>::infinity();
}

int usable_processors() {
  cpu_set_t processors;
  CPU_ZERO(&processors);
  return sched_getaffinity(0, sizeof processors, &processors) == 0 ? std::max(CPU_COUNT(&processors), 1) : 1;
}

}  // namespace nearfield
