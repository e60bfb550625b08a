#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "core/error.hpp"
#include "processors/processor.hpp"

namespace nearfield {

#define NEARFIELD_PROCESSOR(kind) ProcessorEntry kind##_entry();
#include "processors/kinds.def"
#undef NEARFIELD_PROCESSOR

std::span<const ProcessorEntry> processor_table() {
#define NEARFIELD_PROCESSOR(kind) kind##_entry(),
  static const std::array kTable = {
#include "processors/kinds.def"
  };
#undef NEARFIELD_PROCESSOR
  return kTable;
}

const ProcessorEntry& processor_entry(std::string_view kind) {
  const std::span<const ProcessorEntry> table = processor_table();
  const auto entry = std::find_if(table.begin(), table.end(), [&](const ProcessorEntry& e) { return e.kind == kind; });
  if (entry == table.end()) {
    throw ConfigError(fmt::format("processors: there is no kind \"{}\"", kind));
  }
  return *entry;
}

}  // namespace nearfield
