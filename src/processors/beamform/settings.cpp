#include "processors/beamform/settings.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <complex>

#include "config/contradictions.hpp"
#include "config/schema/processor_kinds.hpp"
#include "config/schema/section.hpp"

namespace nearfield {

namespace {

/// Of the processor whose section is `path`, with the final point.
int every_hops_of(const Settings& settings, const std::string& path) {
  const auto own = std::find_if(
      settings.processors.begin(), settings.processors.end(),
      [&](const ProcessorSettings& processor) { return fmt::format("processors.{}.", processor.name) == path; });
  return own == settings.processors.end() ? 1 : own->every_hops;
}

}  // namespace

std::string_view name_of(AverageKind kind) {
  constexpr std::array<std::string_view, 3> kNames = {"none", "linear", "exponential"};
  return kNames.at(static_cast<std::size_t>(kind));
}

void BeamformSettings::describe(schema::Section& section) {
  section.add("method", method, schema::word({{"das", "delay and sum"}}), "how it maps");
  section.add("diagonal_removal", diagonal_removal, schema::boolean(),
              "leave out each microphone's own power, with its noise; with an average only");
  far_field::describe(section.section("grid", "The pixels of its maps, at most 4194304 in all planes together."), grid);
  far_field::describe(section.section("steering", "What it expects of a source at a pixel."), steering);
  schema::Section& of_average = section.section("average", "Of powers; its snapshots are half a window apart or more.");
  of_average.add("kind", average.kind,
                 schema::choice<AverageKind>({{AverageKind::kNone, "complex pressures of each window"},
                                              {AverageKind::kLinear, "the mean of each block"},
                                              {AverageKind::kExponential, "a mean that forgets"}}),
                 "what maps are");
  of_average.add("seconds", average.seconds, schema::number({"a time", 0.0, 3600.0, "s", true}),
                 "length of a block, or the time constant");
}

void BeamformSettings::check(const Settings& settings, const std::string& path, const IsSettled& is_settled,
                             std::vector<Contradiction>& found) const {
  far_field::check(settings, grid, steering, value_bytes(), path, is_settled, found);
  if (diagonal_removal && average.kind == AverageKind::kNone && is_settled(path + "diagonal_removal") &&
      is_settled(path + "average.kind")) {
    found.push_back({path + "diagonal_removal", "",
                     "expected false with average.kind: none, as a complex map has no diagonal to remove, found true"});
  }
  const bool is_settled_here = is_settled(path + "average.kind") && is_settled(path + "every_hops");
  if (average.kind != AverageKind::kNone && settings.device.batch > 1 && every_hops_of(settings, path) > 1 &&
      is_settled_here) {
    found.push_back({path + "average.kind", "",
                     fmt::format("expected none, or every_hops: 1, with device.batch {}, as all windows of a batch are "
                                 "computed for a processor that is due in one of them, found {}",
                                 settings.device.batch, name_of(average.kind))});
  }
}

double BeamformSettings::frame_bytes(const Settings& settings) const {
  return far_field::estimated_pixels(grid) * static_cast<double>(settings.front_end.frequencies_hz.size()) *
         value_bytes();
}

double BeamformSettings::value_bytes() const {
  return average.kind == AverageKind::kNone ? sizeof(std::complex<float>) : sizeof(float);
}

namespace schema {

ProcessorKind beamform_kind() {
  return {.name = "beamform",
          .meaning = "maps of sources by beamforming, near and far",
          .make = []() -> std::unique_ptr<KindSettings> { return std::make_unique<BeamformSettings>(); }};
}

}  // namespace schema
}  // namespace nearfield
