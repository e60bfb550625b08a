#include "processors/beamform/plan.hpp"

#include <fmt/format.h>

#include "nearfield/error.hpp"
#include "processors/beamform/measured_steering.hpp"
#include "processors/far_field/shading.hpp"

namespace nearfield {
namespace {

using far_field::Position;

Snapshots snapshots_of(const ProcessorPlan& plan, const AverageSettings& average) {
  const FrontEndSettings& front_end = plan.settings->front_end;
  return {average, front_end.window, front_end.window_samples,
          static_cast<double>(front_end.hop_samples) * plan.every_hops, plan.sample_rate_hz};
}

/// 0 of spectra, which have no times.
double windows_per_s_of(const ProcessorPlan& plan) {
  return plan.sample_rate_hz / (static_cast<double>(plan.settings->front_end.hop_samples) * plan.every_hops);
}

std::string reference_of(const BeamformPlan& plan) {
  const double reference_m = plan.settings.steering.reference_m;
  return reference_m == 0.0 ? "at the array's centre" : fmt::format("{} m from its source", reference_m);
}

std::string quantity_of(const BeamformPlan& plan) {
  if (plan.settings.method == Method::kMusic) {
    return "nearness to the fields of sources";
  }
  return fmt::format("{} {}", plan.has_powers() ? "mean square pressure" : "pressure", reference_of(plan));
}

/// Third octaves of the processor's own, in place of single frequencies; else the front end's bands, beside these.
void plan_bands_of(BeamformPlan& maps, const ProcessorPlan& plan) {
  FrontEndSettings front_end = plan.settings->front_end;
  const bool has_own = !maps.settings.third_octave_hz.empty();
  maps.bands_hz = has_own ? maps.settings.bands_hz() : front_end.bands_hz;
  if (maps.bands_hz.empty() || !maps.has_powers() || maps.settings.method == Method::kMusic) {
    maps.bands_hz.clear();
    return;
  }
  if (plan.sample_rate_hz > 0.0) {
    front_end.frequencies_hz = plan.array.frequencies_hz;
    front_end.bands_hz = maps.bands_hz;
    maps.bands = plan_bands(front_end, Quantity::kPressure, plan.sample_rate_hz);
  }
  if (plan.sample_rate_hz <= 0.0 || maps.bands.frequencies_hz.size() != plan.array.frequencies_hz.size()) {
    throw ConfigError(
        fmt::format("processors.{}.bands.third_octave: expected bits or time data, and no front_end.frequencies_hz, so "
                    "that all bins of a band are there, found {} frequencies",
                    maps.name, plan.array.frequencies_hz.size()));
  }
  maps.frequencies_hz = plan.array.frequencies_hz;
  maps.lines = has_own ? 0 : plan.frequencies_hz.size();
}

}  // namespace

BeamformPlan::BeamformPlan(const ProcessorPlan& plan)
    : name(plan.name),
      settings(dynamic_cast<const BeamformSettings&>(*plan.own)),
      array(plan.array),
      frequencies_hz(plan.frequencies_hz),
      microphones(far_field::microphones_of(array.geometry)),
      shading(far_field::array_shading(settings.steering, array.geometry)),
      grid(is_measured()
               ? far_field::Grid()
               : far_field::make_grid(settings.grid, array.standoff_m, fmt::format("processors.{}.grid", name))),
      is_plane_wave(grid.is_far || settings.steering.model == far_field::Model::kPlaneWave),
      snapshots(snapshots_of(plan, settings.average)),
      history(settings, snapshots, windows_per_s_of(plan)),
      batch(plan.batch),
      lines(frequencies_hz.size()) {
  plan_bands_of(*this, plan);
  if (is_measured()) {
    use_templates(*this);
  }
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

PublishedMaps::PublishedMaps(const BeamformPlan& plan) {
  for (std::size_t f = 0; f < plan.lines; ++f) {
    bins.push_back({f});
    weights.push_back(1.0);
  }
  for (const std::vector<std::size_t>& band : plan.bands.bins) {
    bins.push_back(band);
    weights.push_back(2.0 * plan.bands.weight);  // maps are mean squares already
  }
}

ResultHeader header_of(const BeamformPlan& plan) {
  ResultHeader header;
  header.processor = plan.name;
  header.kind = "beamform";
  if (plan.lines > 0) {
    const auto end = plan.frequencies_hz.begin() + static_cast<std::ptrdiff_t>(plan.lines);
    header.axes.push_back({.name = "frequency", .unit = "Hz", .values = {plan.frequencies_hz.begin(), end}});
  }
  if (!plan.bands_hz.empty()) {
    Axis bands{.name = "band", .unit = "Hz", .values = {}, .components = 2};
    for (const Band& band : plan.bands_hz) {
      bands.values.insert(bands.values.end(), {band.low_hz, band.high_hz});
    }
    header.axes.push_back(std::move(bands));
  }
  const std::string first_axis = header.axes.front().name;
  Product map = {.name = "map",
                 .quantity = quantity_of(plan),
                 .unit = plan.settings.method == Method::kMusic ? "1"
                         : plan.has_powers()                    ? "Pa^2"
                                                                : "Pa",
                 .type = plan.has_powers() ? ElementType::kFloat32 : ElementType::kComplex64,
                 .axes = {"frequency"}};
  for (const Axis& axis : plan.grid.axes) {
    header.axes.push_back(axis);
    map.axes.push_back(axis.name);
  }
  if (plan.has_powers()) {
    header.products.push_back({.name = "effective_snapshots",
                               .quantity = "effective number of independent snapshots",
                               .unit = "1",
                               .form = Product::Form::kFigure,
                               .type = ElementType::kFloat32,
                               .axes = {first_axis}});
  }
  Product bands = map;
  if (plan.lines > 0) {
    header.products.push_back(std::move(map));
  }
  if (!plan.bands_hz.empty()) {
    bands.name = "bands";
    bands.axes.front() = "band";
    header.products.push_back(std::move(bands));
  }
  far_field::add_places(plan.array.geometry, header);
  return header;
}

std::vector<std::span<const std::byte>> products_of(const BeamformPlan& plan, std::span<const float> effective,
                                                    std::span<const float> maps) {
  std::vector<std::span<const std::byte>> products;
  const std::size_t line_values = plan.lines * plan.pixels();
  products.push_back(std::as_bytes(effective.first(plan.lines > 0 ? plan.lines : plan.bands_hz.size())));
  if (plan.lines > 0) {
    products.push_back(std::as_bytes(maps.first(line_values)));
  }
  if (!plan.bands_hz.empty()) {
    products.push_back(std::as_bytes(maps.subspan(line_values)));
  }
  return products;
}

}  // namespace nearfield
