#include "core/system/host.hpp"

#include <sched.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <fstream>
#include <limits>
#include <random>
#include <string_view>
#include <system_error>

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

std::uint64_t random_id() {
  std::random_device random;
  return (std::uint64_t{random()} << 32U) | random();
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

std::filesystem::path folder_of_this_program() {
  std::error_code ignored;
  return std::filesystem::read_symlink("/proc/self/exe", ignored).parent_path();
}

std::string program_to_run(const std::string& name) {
  const std::filesystem::path beside = folder_of_this_program() / name;
  std::error_code ignored;
  return std::filesystem::exists(beside, ignored) ? beside.string() : name;
}

std::vector<char*> argv_of(std::vector<std::string>& words) {
  std::vector<char*> argv(words.size() + 1, nullptr);
  std::transform(words.begin(), words.end(), argv.begin(), [](std::string& word) { return word.data(); });
  return argv;
}

namespace {

std::string_view environment(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? std::string_view() : std::string_view(value);
}

}  // namespace

bool can_redraw(int descriptor) { return isatty(descriptor) == 1 && environment("TERM") != "dumb"; }

bool takes_colours(int descriptor) { return can_redraw(descriptor) && environment("NO_COLOR").empty(); }

TextSize terminal_size(int descriptor) {
  constexpr TextSize kUsual{.columns = 80, .lines = 24};
  winsize size{};
  if (ioctl(descriptor, TIOCGWINSZ, &size) != 0 || size.ws_col == 0 || size.ws_row == 0) {
    return kUsual;
  }
  return {.columns = size.ws_col, .lines = size.ws_row};
}

}  // namespace nearfield
