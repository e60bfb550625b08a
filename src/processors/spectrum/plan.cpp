#include "processors/spectrum/plan.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

namespace nearfield {

SpectrumPlan::SpectrumPlan(const ProcessorPlan& plan)
    : name(plan.name),
      array(plan.array),
      sample_rate_hz(plan.sample_rate_hz),
      sensitivity_dbfs(plan.settings->array.sensitivity_dbfs),
      is_full_scale(plan.input_is_finite),
      hop_samples(static_cast<std::size_t>(plan.settings->front_end.hop_samples)),
      batch(static_cast<std::size_t>(plan.batch)) {
  const auto& own = dynamic_cast<const SpectrumSettings&>(*plan.own);
  points = own.places();
  window_samples = static_cast<std::size_t>(own.window_samples);
  taper = own.taper;
}

std::vector<std::uint32_t> SpectrumPlan::nearest(const MicrophoneMask& mask) const {
  std::vector<std::uint32_t> microphones;
  for (const PlanePoint& point : points) {
    std::uint32_t best = kNoMicrophone;
    double best_m = std::numeric_limits<double>::infinity();
    for (int channel = 0; channel < array.geometry.channels(); ++channel) {
      const MicrophonePosition at = array.geometry.position_m(channel);
      const double distance_m = std::hypot(at.x_m - point.x_m, at.y_m - point.y_m);
      if (distance_m < best_m && !std::binary_search(mask.channels.begin(), mask.channels.end(), channel)) {
        best = static_cast<std::uint32_t>(channel);
        best_m = distance_m;
      }
    }
    microphones.push_back(best);
  }
  return microphones;
}

ResultHeader SpectrumPlan::header() const {
  Axis axis_of_points{.name = "point", .unit = "m", .values = {}, .components = 2};
  for (const PlanePoint& point : points) {
    axis_of_points.values.push_back(point.x_m);
    axis_of_points.values.push_back(point.y_m);
  }
  Axis frequencies{.name = "frequency", .unit = "Hz", .values = {}};
  for (std::size_t bin = 0; bin < bins(); ++bin) {
    frequencies.values.push_back(frequency_hz(bin));
  }
  ResultHeader header;
  header.processor = name;
  header.kind = "spectrum";
  header.memory_hops = 0;
  header.axes = {std::move(axis_of_points), std::move(frequencies)};
  header.products = {{.name = "spectrum",
                      .quantity = "amplitude of pressure",
                      .unit = "Pa",
                      .type = ElementType::kFloat32,
                      .axes = {"point", "frequency"}},
                     {.name = "microphone",
                      .quantity = "row * columns + column of the microphone",
                      .unit = "1",
                      .form = Product::Form::kFigure,
                      .type = ElementType::kUint32,
                      .axes = {"point"}}};
  return header;
}

}  // namespace nearfield
