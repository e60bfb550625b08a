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
#include "core/system/memory.hpp"

namespace nearfield::control {

/// Known memory of a daemon, for status and metrics.
struct MemoryFigures {
  std::uint64_t ring_bytes = 0;             ///< the ingest ring
  std::uint64_t history_bytes = 0;          ///< pre-trigger history and queues of the recorder
  std::uint64_t buffers_bytes = 0;          ///< OpenCL buffers in the host's memory
  std::uint64_t device_bytes = 0;           ///< OpenCL buffers in the memory of GPUs
  std::uint64_t driver_heap_bytes = 0;      ///< allocations of the OpenCL driver, without buffers
  std::set<std::string> driver_files = {};  ///< libraries and programs that the driver has mapped
};

/// Resident memory of the process by part, which add up to the total. If a part's pages are not resident, such as
/// swapped-out ones, "own" is too small by them, but not below 0.
struct MemoryUse {
  std::uint64_t total_bytes = 0;
  std::vector<std::pair<std::string, std::uint64_t>> parts;
  std::uint64_t device_bytes = 0;
};
MemoryUse memory_use(const MemoryFigures& figures, const MappedMemory& mapped);

/// Current use of this process: reads /proc. Nullopt if that cannot be read.
std::optional<MemoryUse> memory_use(const MemoryFigures& figures);

/// Status entry; null if /proc cannot be read.
nlohmann::json memory_status(const MemoryFigures& figures);
/// `figures` is called at each scrape, by its thread.
void add_memory_metrics(Metrics& metrics, const std::function<MemoryFigures()>& figures);

}  // namespace nearfield::control
