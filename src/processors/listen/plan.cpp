#include "processors/listen/plan.hpp"

#include <algorithm>
#include <numeric>
#include <utility>

#include "frontend/samples/decimator_design.hpp"
#include "processors/far_field/array.hpp"
#include "processors/far_field/shading.hpp"
#include "processors/far_field/subset.hpp"

namespace nearfield {

ListenPlan::ListenPlan(const ProcessorPlan& plan)
    : name(plan.name),
      geometry(plan.array.geometry),
      sound_speed_m_s(plan.array.medium.sound_speed_m_s),
      shading(static_cast<std::size_t>(plan.array.geometry.channels())),
      sample_rate_hz(plan.sample_rate_hz),
      pascal(plan.input_is_finite ? full_scale_pa(plan.settings->array.sensitivity_dbfs) : 1.0),
      is_full_scale(plan.input_is_finite),
      hop_samples(static_cast<std::size_t>(plan.settings->front_end.hop_samples)),
      batch(static_cast<std::size_t>(plan.batch)) {
  const auto& own = dynamic_cast<const ListenSettings&>(*plan.own);
  beams = own.beams;
  reference_m = own.steering.reference_m;
  Settings settings = *plan.settings;
  settings.array.geometry = geometry;
  settings.medium = plan.array.medium;
  sizes = own.sizes(settings, plan.every_hops, sample_rate_hz);
  const far_field::PlanOfSubset of(plan, own.steering.subset);
  has_subset = !of.is_whole();
  channels = of.channels;
  if (!has_subset) {
    channels.resize(shading.size());
    std::iota(channels.begin(), channels.end(), 0);
  }
  const std::vector<double> weights = far_field::array_shading(own.steering, of.plan.array.geometry);
  for (std::size_t i = 0; i < channels.size(); ++i) {
    shading[static_cast<std::size_t>(channels[i])] = weights[i];
  }
}

std::vector<int> ListenPlan::used(const MicrophoneMask& mask) const {
  std::vector<int> remaining = channels;
  std::erase_if(remaining,
                [&](int channel) { return std::binary_search(mask.channels.begin(), mask.channels.end(), channel); });
  return remaining;
}

bool ListenPlan::is_masked(const MicrophoneMask& mask) const { return used(mask).size() < channels.size(); }

double ListenPlan::first_sample_at() const {
  constexpr double kCicDelayBits = kCicOrder * (kCicFactor - 1) / 2.0;
  constexpr double kFirDelayBits = kCicFactor * (kFirTaps - 1) / 2.0;
  // The newest bit of a sample is the last one of its word.
  constexpr double kOfBits = (kDecimation - 1 - kCicDelayBits - kFirDelayBits) / kDecimation;
  return kListenTapsBefore + (is_full_scale ? kOfBits : 0.0);
}

double ListenPlan::latency_s() const {
  return (sizes.window_samples - first_sample_at() - (sizes.new_samples - 1)) / sample_rate_hz;
}

ResultHeader ListenPlan::header() const {
  Axis of_beams{.name = "beam", .unit = "1", .values = {}};
  Axis of_samples{.name = "sample", .unit = "s", .values = {}};
  Axis of_places{.name = "focus", .unit = "m", .values = {}, .components = 3};
  for (std::size_t beam = 0; beam < beams.size(); ++beam) {
    of_beams.values.push_back(static_cast<double>(beam));
    const far_field::Position at = beams[beam].focus();
    of_places.values.insert(of_places.values.end(), {at.x, at.y, at.z});
  }
  for (int n = 0; n < sizes.new_samples; ++n) {
    of_samples.values.push_back((first_sample_at() + n) / sample_rate_hz);
  }
  ResultHeader header;
  header.processor = name;
  header.kind = "listen";
  header.memory_hops = 0;
  header.axes = {std::move(of_beams), std::move(of_samples), std::move(of_places)};
  header.products = {{.name = "beams",
                      .quantity = "pressure",
                      .unit = "Pa",
                      .type = ElementType::kFloat32,
                      .axes = {"beam", "sample"}}};
  far_field::add_places(geometry, header);
  if (has_subset) {
    header.axes.push_back({.name = "channel", .unit = "1", .values = {channels.begin(), channels.end()}});
  }
  return header;
}

}  // namespace nearfield
