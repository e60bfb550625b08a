#pragma once
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "processors/processor.hpp"

/// Processors on some of an array's microphones.
namespace nearfield::far_field {

/// Microphones of a subset, ascending, without those that the plan masks. `key` is the setting, for messages. Throws
/// ConfigError if there are fewer than a map needs, or than requested. grid RxC: the rows and columns nearest to R and
/// C evenly spaced ones, the outermost included. spiral N: for n = 0 to N - 1 the unused microphone nearest to the
/// point at radius 0.97 h sqrt((n + 1/2)/N) and angle n pi (3 - sqrt 5) about the centre, h half the shorter side of a
/// grid, or the largest distance from the mean position (H. Vogel, "A better way to construct the sunflower head",
/// Math. Biosci. 44 (1979)). random N: without replacement, seed 1.
std::vector<int> chosen_channels(const SubsetSettings& subset, const ArrayPlan& array, const std::string& key);

/// Array of these microphones alone, in their order.
ArrayPlan part_of(const ArrayPlan& array, const std::vector<int>& channels);

/// Plan of a processor reduced to its microphones.
struct PlanOfSubset {
  /// `own` is the processor's own subset, if it has one.
  PlanOfSubset(const ProcessorPlan& whole, const std::optional<SubsetSettings>& own);
  [[nodiscard]] bool is_whole() const { return channels.empty(); }
  std::vector<int> channels;  ///< empty: all
  ProcessorPlan plan;         ///< for the array of these alone
};

/// Wraps the processor that `make` makes for the plan's subset, and feeds it their spectra. Its header has the
/// additional axis `channel`, the microphones' channels in the array, and its frames have flag 64 if they are more than
/// half a wavelength apart.
std::unique_ptr<Processor> on_subset(
    const ocl::Device& device, const ProcessorPlan& plan, const std::optional<SubsetSettings>& own,
    const std::function<std::unique_ptr<Processor>(const ocl::Device&, const ProcessorPlan&)>& make);
std::unique_ptr<reference::Processor> on_subset_reference(
    const ProcessorPlan& plan, const std::optional<SubsetSettings>& own,
    const std::function<std::unique_ptr<reference::Processor>(const ProcessorPlan&)>& make);

/// Notes the microphones used if they are not all, and the angle from which grating lobes appear if the microphones are
/// more than half a wavelength apart.
Remarks remarks_of(const ProcessorPlan& plan, const std::optional<SubsetSettings>& own);

}  // namespace nearfield::far_field
