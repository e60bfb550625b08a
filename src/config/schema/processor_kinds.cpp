#include "config/schema/processor_kinds.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <limits>

#include "config/device_choice.hpp"
#include "config/schema/section.hpp"

namespace nearfield::schema {

#define NEARFIELD_PROCESSOR(kind) ProcessorKind kind##_kind();
#include "processors/kinds.def"
#undef NEARFIELD_PROCESSOR

namespace {

std::vector<ProcessorKind>& known_kinds() {
#define NEARFIELD_PROCESSOR(kind) kind##_kind(),
  static std::vector<ProcessorKind> kinds = {
#include "processors/kinds.def"
  };
#undef NEARFIELD_PROCESSOR
  return kinds;
}

}  // namespace

std::span<const ProcessorKind> processor_kinds() { return known_kinds(); }
void add_processor_kind(const ProcessorKind& kind) { known_kinds().push_back(kind); }

const ProcessorKind* processor_kind(std::string_view name) {
  const std::span<const ProcessorKind> kinds = processor_kinds();
  const auto found =
      std::find_if(kinds.begin(), kinds.end(), [&](const ProcessorKind& kind) { return kind.name == name; });
  return found == kinds.end() ? nullptr : &*found;
}

void describe(Section& section, ProcessorSettings& processor) {
  std::vector<Word> words;
  for (const ProcessorKind& kind : processor_kinds()) {
    words.push_back({std::string(kind.name), std::string(kind.meaning)});
  }
  section.add("kind", processor.kind, word(std::move(words)), "what it makes of the spectra");
  section.add("every_hops", processor.every_hops, integer(1, std::numeric_limits<int>::max(), "hops"),
              "how often it does so");
  section.add(
      "device", processor.device,
      or_none(where(text(), is_device_choice, std::string(kDeviceChoice)), "the run's, of the section device"),
      "where it does so: the index of an OpenCL device among those of device.platform, or a part of a platform's "
      "or a device's name, with an index behind a colon where several have it");
  if (processor.own) {
    processor.own->describe(section);
  }
  describe(section.section("front_end", "Spectra of its own, where a value is given; else it shares those of the run."),
           processor.front_end);
}

namespace {

std::string about(const ProcessorSettings& processor) {
  const ProcessorKind* const kind = processor_kind(processor.kind);
  return kind == nullptr ? "" : fmt::format("Of kind {}: {}.", kind->name, kind->meaning);
}

}  // namespace

void describe(Section& section, std::vector<ProcessorSettings>& processors) {
  for (ProcessorSettings& processor : processors) {
    describe(section.section(processor.name, about(processor)), processor);
  }
}

}  // namespace nearfield::schema
