#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "imaging/pnah.hpp"
#include "imaging/processor.hpp"
#include "imaging/sonah.hpp"
#include "nearfield/error.hpp"

namespace nearfield {

std::span<const ProcessorEntry> processor_table() {
  static const std::array kTable = {
      pnah_entry(),
      sonah_entry(),
  };
  return kTable;
}

const ProcessorEntry& processor_entry(ImagerKind kind) {
  const std::span<const ProcessorEntry> table = processor_table();
  const auto entry = std::find_if(table.begin(), table.end(), [&](const ProcessorEntry& e) { return e.kind == kind; });
  if (entry == table.end()) {
    throw Error(ExitCode::kInternal, fmt::format("no processor {}", name_of(kind)));
  }
  return *entry;
}

std::unique_ptr<Processor> make_processor(const ocl::Device& device, const PnahPlan& plan) {
  validate(plan);
  const ProcessorEntry& entry = processor_entry(resolve_imager(plan));
  if (const std::string obstacle = entry.obstacle(device.info(), plan); !obstacle.empty()) {
    throw ConfigError(fmt::format("holography.imager: {} cannot do {}; use pnah", name_of(entry.kind), obstacle));
  }
  return entry.make(device, plan);
}

}  // namespace nearfield
