#include "processors/beamform/plan.hpp"

#include <fmt/format.h>

#include "nearfield/error.hpp"
#include "processors/far_field/shading.hpp"

namespace nearfield {
namespace {

using far_field::Position;

std::vector<Position> positions_of(const ArrayGeometry& geometry) {
  std::vector<Position> positions;
  for (int row = 0; row < geometry.rows; ++row) {
    for (int column = 0; column < geometry.columns; ++column) {
      positions.push_back({geometry.x_m(column), geometry.y_m(row), 0.0});
    }
  }
  return positions;
}

Snapshots snapshots_of(const ProcessorPlan& plan, const AverageSettings& average) {
  const FrontEndSettings& front_end = plan.settings->front_end;
  return {average, front_end.window, front_end.window_samples,
          static_cast<double>(front_end.hop_samples) * plan.every_hops, plan.sample_rate_hz};
}

std::string reference_of(const BeamformPlan& plan) {
  const double reference_m = plan.settings.steering.reference_m;
  return reference_m == 0.0 ? "at the array's centre" : fmt::format("{} m from its source", reference_m);
}

}  // namespace

BeamformPlan::BeamformPlan(const ProcessorPlan& plan)
    : name(plan.name),
      settings(dynamic_cast<const BeamformSettings&>(*plan.own)),
      array(plan.array),
      frequencies_hz(plan.frequencies_hz),
      microphones(positions_of(array.geometry)),
      shading(far_field::array_shading(settings.steering, array.geometry)),
      grid(far_field::make_grid(settings.grid, array.standoff_m, fmt::format("processors.{}.grid", name))),
      is_plane_wave(grid.is_far || settings.steering.model == far_field::Model::kPlaneWave),
      snapshots(snapshots_of(plan, settings.average)),
      batch(plan.batch) {
  const double frame_bytes = static_cast<double>(frequencies() * pixels()) * settings.value_bytes();
  if (frame_bytes >= far_field::kMostFrameBytes) {  // of points, whose file the settings' check has not read
    throw ConfigError(
        fmt::format("processors.{}.grid: expected maps of less than 2 GiB a frame, found {} pixels at {} frequencies",
                    name, pixels(), frequencies()));
  }
  if (is_plane_wave && !grid.is_far) {
    for (Position& pixel : grid.pixels) {
      const double length = norm(pixel);
      pixel = {pixel.x / length, pixel.y / length, pixel.z / length};
    }
  }
}

ResultHeader header_of(const BeamformPlan& plan) {
  ResultHeader header;
  header.processor = plan.name;
  header.kind = "beamform";
  header.axes = {{.name = "frequency", .unit = "Hz", .values = plan.frequencies_hz}};
  Product map = {
      .name = "map",
      .quantity = fmt::format("{} {}", plan.is_averaged() ? "mean square pressure" : "pressure", reference_of(plan)),
      .unit = plan.is_averaged() ? "Pa^2" : "Pa",
      .type = plan.is_averaged() ? ElementType::kFloat32 : ElementType::kComplex64,
      .axes = {"frequency"}};
  for (const Axis& axis : plan.grid.axes) {
    header.axes.push_back(axis);
    map.axes.push_back(axis.name);
  }
  if (plan.is_averaged()) {
    header.products.push_back({.name = "effective_snapshots",
                               .quantity = "effective number of independent snapshots",
                               .unit = "1",
                               .form = Product::Form::kFigure,
                               .type = ElementType::kFloat32,
                               .axes = {"frequency"}});
  }
  header.products.push_back(std::move(map));
  return header;
}

}  // namespace nearfield
