#include "control/metrics/memory_use.hpp"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <string_view>

namespace nearfield::control {
namespace {

/// Prefix of memory that the process shares with readers of its frames; it has a name but is not on a disk.
constexpr std::string_view kSharedMemory = "/memfd:";

/// Pages of files that the process has not written to; pages that it has written to count as heap.
struct FilePages {
  std::uint64_t of_driver_bytes = 0;
  std::uint64_t of_program_bytes = 0;
};

FilePages file_pages(const std::set<std::string>& driver_files, const MappedMemory& mapped) {
  FilePages pages;
  for (const auto& [path, file] : mapped.files) {
    if (path.starts_with(kSharedMemory)) {
      continue;
    }
    const std::uint64_t bytes = file.resident_bytes - std::min(file.anonymous_bytes, file.resident_bytes);
    (driver_files.contains(path) ? pages.of_driver_bytes : pages.of_program_bytes) += bytes;
  }
  return pages;
}

}  // namespace

MemoryUse memory_use(const MemoryFigures& figures, const MappedMemory& mapped) {
  MemoryUse use;
  use.total_bytes = mapped.resident_bytes;
  use.device_bytes = figures.device_bytes;
  const FilePages pages = file_pages(figures.driver_files, mapped);
  use.parts = {{"ring", figures.ring_bytes},
               {"history", figures.history_bytes},
               {"device_buffers", figures.buffers_bytes},
               {"driver", figures.driver_heap_bytes + pages.of_driver_bytes},
               {"program", pages.of_program_bytes}};
  std::uint64_t known_bytes = 0;
  for (const auto& [part, bytes] : use.parts) {
    known_bytes += bytes;
  }
  use.parts.emplace_back("own", use.total_bytes - std::min(known_bytes, use.total_bytes));
  return use;
}

std::optional<MemoryUse> memory_use(const MemoryFigures& figures) {
  const std::optional<MappedMemory> mapped = read_mapped_memory();
  return mapped ? std::optional(memory_use(figures, *mapped)) : std::nullopt;
}

nlohmann::json memory_status(const MemoryFigures& figures) {
  const std::optional<MemoryUse> use = memory_use(figures);
  if (!use) {
    return nullptr;
  }
  nlohmann::json parts = nlohmann::json::object();
  for (const auto& [part, bytes] : use->parts) {
    parts[part] = bytes;
  }
  return {{"total_bytes", use->total_bytes}, {"parts_bytes", parts}, {"device_bytes", use->device_bytes}};
}

void add_memory_metrics(Metrics& metrics, const std::function<MemoryFigures()>& figures) {
  metrics.add_readers("memory_bytes", "Resident memory by part; the parts add up to all of it", "part", [figures] {
    Metrics::Labelled values;
    if (const std::optional<MemoryUse> use = memory_use(figures())) {
      for (const auto& [part, bytes] : use->parts) {
        values.emplace_back(part, static_cast<double>(bytes));
      }
    }
    return values;
  });
  metrics.add_reader("device_memory_bytes", "OpenCL buffers in the memory of GPUs",
                     [figures] { return static_cast<double>(figures().device_bytes); });
}

}  // namespace nearfield::control
