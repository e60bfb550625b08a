#include "imaging/imager_table.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "core/error.hpp"
#include "imaging/operators/operators.hpp"
#include "imaging/pnah/pnah.hpp"
#include "imaging/sonah/sonah.hpp"

namespace nearfield {

std::span<const ImagerEntry> imager_table() {
  static const std::array kTable = {
      pnah_imager(),
      sonah_imager(),
      operators_imager(),
  };
  return kTable;
}

const ImagerEntry& imager_entry(ImagerKind kind) {
  const std::span<const ImagerEntry> table = imager_table();
  const auto entry = std::find_if(table.begin(), table.end(), [&](const ImagerEntry& e) { return e.kind == kind; });
  if (entry == table.end()) {
    throw Error(ExitCode::kInternal, fmt::format("no processor {}", name_of(kind)));
  }
  return *entry;
}

std::unique_ptr<Imager> make_imager(const ocl::Device& device, const ImagePlan& plan) {
  validate(plan);
  const ImagerEntry& entry = imager_entry(resolve_imager(plan));
  if (const std::string obstacle = entry.obstacle(device.info(), plan); !obstacle.empty()) {
    const bool is_first = plan.section == ImagePlan().section;
    throw ConfigError(fmt::format("{}{}: {} cannot do {}{}", plan.section, is_first ? "imager" : "kind",
                                  name_of(entry.kind), obstacle,
                                  plan.surface              ? fmt::format(", with {}surface", plan.section)
                                  : plan.geometry.is_grid() ? "; use pnah"
                                                            : ""));
  }
  return entry.make(device, plan);
}

}  // namespace nearfield
