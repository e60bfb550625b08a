#include "control/metrics/process_metrics.hpp"

#include <sys/resource.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <optional>
#include <sstream>
#include <string>
#include <system_error>

namespace nearfield::control {
namespace {

using prometheus::MetricFamily;
using prometheus::MetricType;

/// Fields of /proc/self/stat after the program's name, which may contain any character; proc(5) numbers them from 3 on.
struct ProcessStatus {
  double processor_ticks = 0.0;  ///< user and kernel time
  double threads = 0.0;
  double start_ticks = 0.0;  ///< time from boot
  double virtual_bytes = 0.0;
  double resident_pages = 0.0;
};

std::optional<ProcessStatus> process_status() {
  constexpr std::size_t kFirst = 3;
  std::ifstream file("/proc/self/stat");
  const std::string text{std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
  const std::size_t name_end = text.rfind(')');
  if (name_end == std::string::npos) {
    return std::nullopt;
  }
  std::istringstream stream(text.substr(name_end + 1));
  const std::vector<std::string> fields{std::istream_iterator<std::string>(stream),
                                        std::istream_iterator<std::string>()};
  constexpr std::size_t kLast = 24;
  if (fields.size() <= kLast - kFirst) {
    return std::nullopt;
  }
  const auto field = [&](std::size_t number) { return std::stod(fields[number - kFirst]); };
  return ProcessStatus{.processor_ticks = field(14) + field(15),
                       .threads = field(20),
                       .start_ticks = field(22),
                       .virtual_bytes = field(23),
                       .resident_pages = field(24)};
}

/// Boot time, Unix time; with the ticks since then, it gives a process's start.
std::optional<double> boot_time_s() {
  std::ifstream file("/proc/stat");
  for (std::string word; file >> word;) {
    if (word == "btime") {
      double seconds = 0.0;
      file >> seconds;
      return seconds;
    }
  }
  return std::nullopt;
}

std::optional<double> open_descriptors() {
  std::error_code error;
  double count = 0.0;
  const std::filesystem::directory_iterator end;
  for (std::filesystem::directory_iterator entry("/proc/self/fd", error); !error && entry != end;
       entry.increment(error)) {
    count += 1.0;
  }
  return error ? std::nullopt : std::optional(count - 1.0);  // without the descriptor of the folder itself
}

void add(std::vector<MetricFamily>& families, const char* name, const char* help, double value,
         MetricType type = MetricType::Gauge) {
  families.push_back({name, help, type, {}});
  prometheus::ClientMetric& metric = families.back().metric.emplace_back();
  (type == MetricType::Counter ? metric.counter.value : metric.gauge.value) = value;
}

}  // namespace

std::vector<MetricFamily> process_metrics() {
  std::vector<MetricFamily> families;
  if (const std::optional<ProcessStatus> status = process_status()) {
    const auto ticks_hz = static_cast<double>(::sysconf(_SC_CLK_TCK));
    add(families, "process_cpu_seconds_total", "Processor time of user and kernel", status->processor_ticks / ticks_hz,
        MetricType::Counter);
    add(families, "process_resident_memory_bytes", "Resident memory",
        status->resident_pages * static_cast<double>(::sysconf(_SC_PAGESIZE)));
    add(families, "process_virtual_memory_bytes", "Virtual memory", status->virtual_bytes);
    add(families, "process_threads", "Threads", status->threads);
    if (const std::optional<double> boot_s = boot_time_s()) {
      add(families, "process_start_time_seconds", "When the process started, Unix time",
          *boot_s + status->start_ticks / ticks_hz);
    }
  }
  if (const std::optional<double> open = open_descriptors()) {
    add(families, "process_open_fds", "Open file descriptors", *open);
  }
  rlimit limit{};
  if (::getrlimit(RLIMIT_NOFILE, &limit) == 0) {
    add(families, "process_max_fds", "Most file descriptors that may be open", static_cast<double>(limit.rlim_cur));
  }
  return families;
}

}  // namespace nearfield::control
