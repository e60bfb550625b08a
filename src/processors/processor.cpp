#include "processors/processor.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "core/error.hpp"

namespace nearfield {

std::vector<int> subset_of(const ResultHeader& header) {
  const Axis* const channels = header.axis("channel");
  return channels == nullptr ? std::vector<int>() : std::vector<int>(channels->values.begin(), channels->values.end());
}

namespace reference {

std::vector<Outcome> Processor::compute(std::span<const WindowInput> windows) {
  std::vector<Outcome> outcomes;
  products_.clear();
  for (WindowInput window : windows) {
    window.window = products_.size();
    WindowResult result = compute(window);
    products_.push_back(std::move(result.products));
    outcomes.push_back(result.outcome);
  }
  return outcomes;
}

WindowProducts Processor::products(const WindowToRead& of) {
  OwnedProducts& products = products_.at(of.window);
  const std::uint64_t missing_bit_times = complete(of, products);
  views_.assign(products.begin(), products.end());
  return {.products = views_, .missing_bit_times = missing_bit_times};
}

}  // namespace reference

#define NEARFIELD_PROCESSOR(kind) ProcessorEntry kind##_entry();
#include "processors/kinds.def"
#undef NEARFIELD_PROCESSOR

namespace {

std::vector<ProcessorEntry>& entries() {
#define NEARFIELD_PROCESSOR(kind) kind##_entry(),
  static std::vector<ProcessorEntry> table = {
#include "processors/kinds.def"
  };
#undef NEARFIELD_PROCESSOR
  return table;
}

}  // namespace

std::span<const ProcessorEntry> processor_table() { return entries(); }
void add_processor(const ProcessorEntry& entry) { entries().push_back(entry); }

const ProcessorEntry& processor_entry(std::string_view kind) {
  const std::span<const ProcessorEntry> table = processor_table();
  const auto entry = std::find_if(table.begin(), table.end(), [&](const ProcessorEntry& e) { return e.kind == kind; });
  if (entry == table.end()) {
    throw ConfigError(fmt::format("processors: there is no kind \"{}\"", kind));
  }
  return *entry;
}

}  // namespace nearfield
