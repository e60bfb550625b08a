#pragma once
#include <memory>
#include <span>
#include <string_view>

#include "nearfield/processor_settings.hpp"

namespace nearfield::schema {

/// What a configuration has to know of a kind of processor.
struct ProcessorKind {
  std::string_view name;     ///< the word of the setting `kind`
  std::string_view meaning;  ///< in a few words
  std::unique_ptr<KindSettings> (*make)();
};

/// One a line of src/processors/kinds.def.
std::span<const ProcessorKind> processor_kinds();
/// Null where there is none of this name.
const ProcessorKind* processor_kind(std::string_view name);

}  // namespace nearfield::schema
