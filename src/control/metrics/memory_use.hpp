#pragma once
#include <cstdint>
#include <functional>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "control/metrics/metrics.hpp"
#include "core/system/mapped_memory.hpp"

namespace nearfield::control {

/// What a daemon knows of its memory, and hands to status and metrics.
struct MemoryFigures {
  std::uint64_t ring_bytes = 0;             ///< the ingest ring
  std::uint64_t history_bytes = 0;          ///< of the recorder: pre-trigger history and queues
  std::uint64_t buffers_bytes = 0;          ///< OpenCL buffers in the host's memory
  std::uint64_t device_bytes = 0;           ///< OpenCL buffers in the memory of GPUs
  std::uint64_t driver_heap_bytes = 0;      ///< what the OpenCL driver has allocated, without buffers
  std::set<std::string> driver_files = {};  ///< libraries and programs that the driver has mapped
};

/// The resident memory of the process by part, which add up to the total. Where a part's pages are not resident, such
/// as those that were swapped out, "own" is too small by them, but not below 0.
struct MemoryUse {
  std::uint64_t total_bytes = 0;
  std::vector<std::pair<std::string, std::uint64_t>> parts;
  std::uint64_t device_bytes = 0;
};
MemoryUse memory_use(const MemoryFigures& figures, const MappedMemory& mapped);

/// Of this process, now: reads /proc. Nothing where that cannot be read.
std::optional<MemoryUse> memory_use(const MemoryFigures& figures);

/// For the status; null where /proc cannot be read.
nlohmann::json memory_status(const MemoryFigures& figures);
/// `figures` is called at each scrape, by its thread.
void add_memory_metrics(Metrics& metrics, const std::function<MemoryFigures()>& figures);

}  // namespace nearfield::control
