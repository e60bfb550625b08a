#pragma once
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "processors/processor.hpp"

/// Processors on some of an array's microphones.
namespace nearfield::far_field {

/// The microphones of a subset, ascending, without those that the plan masks. `key` is the setting, for messages.
/// Throws ConfigError where there are fewer than a map needs, or than are asked for.
///   grid RxC: the rows and columns nearest to R and C evenly spaced ones, the outermost included.
///   spiral N: for n = 0 to N - 1 the unused microphone nearest to the point at radius 0.97 h sqrt((n + 1/2)/N) and
///     angle n pi (3 - sqrt 5) about the centre, h half the shorter side of a grid, or the largest distance from the
///     mean place (H. Vogel, "A better way to construct the sunflower head", Math. Biosci. 44 (1979)).
///   random N: without replacement, seed 1.
std::vector<int> chosen_channels(const SubsetSettings& subset, const ArrayPlan& array, const std::string& key);

/// The array of these microphones alone, in their order.
ArrayPlan part_of(const ArrayPlan& array, const std::vector<int>& channels);

/// What the plan of a processor says of its microphones.
struct PlanOfSubset {
  /// `own` is the processor's own subset, where it has one.
  PlanOfSubset(const ProcessorPlan& whole, const std::optional<SubsetSettings>& own);
  [[nodiscard]] bool is_whole() const { return channels.empty(); }
  std::vector<int> channels;  ///< empty: all
  ProcessorPlan plan;         ///< of the array of these alone
};

/// What `make` makes of the plan's subset, fed with their spectra. Its header has the axis `channel` beside the others,
/// of the microphones' channels in the array, and its frames have flag 64 where they are more than half a wavelength
/// apart.
std::unique_ptr<Processor> on_subset(
    const ocl::Device& device, const ProcessorPlan& plan, const std::optional<SubsetSettings>& own,
    const std::function<std::unique_ptr<Processor>(const ocl::Device&, const ProcessorPlan&)>& make);
std::unique_ptr<reference::Processor> on_subset_reference(
    const ProcessorPlan& plan, const std::optional<SubsetSettings>& own,
    const std::function<std::unique_ptr<reference::Processor>(const ProcessorPlan&)>& make);

/// The microphones that are used where these are not all, and from which angle on grating lobes appear where the
/// microphones are more than half a wavelength apart.
Remarks remarks_of(const ProcessorPlan& plan, const std::optional<SubsetSettings>& own);

}  // namespace nearfield::far_field
