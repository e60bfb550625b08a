#include "processors/beamform/plan.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <complex>
#include <limits>

#include "core/error.hpp"
#include "processors/far_field/array.hpp"

namespace nearfield {
namespace {

using far_field::Position;

Snapshots snapshots_of(const ProcessorPlan& plan, const AverageSettings& average) {
  const FrontEndSettings& front_end = plan.settings->front_end;
  return {average, front_end.window, front_end.window_samples,
          static_cast<double>(front_end.hop_samples) * plan.every_hops, plan.sample_rate_hz};
}

/// 0 for spectra, which have no times.
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

/// Bands of the plan: the processor's own third octaves instead of single frequencies, else the front end's bands in
/// addition to these.
void plan_bands_of(BeamformPlan& maps, const ProcessorPlan& plan) {
  FrontEndSettings front_end = plan.settings->front_end;
  maps.weighting = front_end.weighting;
  maps.bands_hz = maps.settings.bands_hz();
  const bool has_own = !maps.bands_hz.empty();
  if (!has_own) {
    maps.bands_hz = bands_of(front_end);
  }
  if (maps.bands_hz.empty() || !maps.has_powers() || maps.settings.method == Method::kMusic) {
    maps.bands_hz.clear();
    return;
  }
  if (plan.sample_rate_hz > 0.0) {
    front_end.frequencies_hz = plan.array.frequencies_hz;
    clear_bands(front_end);
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

SectorPixels pixels_of(const SectorSettings& sector, const BeamformPlan& plan, const std::string& key) {
  const far_field::GridSettings& grid = plan.settings.grid;
  const PixelRange rows = rows_of(sector, grid);
  const PixelRange columns = columns_of(sector, grid);
  const SectorPixels pixels = {.first_row = rows.first,
                               .rows = rows.count,
                               .first_column = columns.first,
                               .columns = columns.count,
                               .centre = rows.centre * plan.grid.axes.back().size() + columns.centre};
  if (std::isnan(plan.grid.pixels.at(pixels.centre).x)) {
    throw ConfigError(fmt::format(
        "{}: expected a sector whose centre is a direction, sin^2 of azimuth and elevation together at most 1, found "
        "azimuth_deg [{}, {}] and elevation_deg [{}, {}]",
        key, sector.across[0], sector.across[1], sector.down[0], sector.down[1]));
  }
  return pixels;
}

/// Adds planes, and sectors on them, for a grid of rows and columns.
void plan_planes(BeamformPlan& plan) {
  const Axis& first = plan.grid.axes.front();
  if (first.name == "distance" || first.name == "radius") {
    plan.distances_m = first.values;
  }
  if (plan.has_focus() && plan.planes() < 2) {
    throw ConfigError(fmt::format("processors.{}.focus: expected none, or at least two planes, found max with {}",
                                  plan.name, plan.planes()));
  }
  const std::vector<SectorSettings>& sectors = plan.settings.sectors;
  for (std::size_t i = 0; i < sectors.size(); ++i) {
    plan.sectors.push_back(pixels_of(sectors[i], plan, fmt::format("processors.{}.sectors[{}]", plan.name, i)));
  }
}

/// Axis of the sectors' limits: [x first, x last, y first, y last], likewise for azimuth and elevation, or [first,
/// last] for a line.
Axis axis_of_sectors(const BeamformPlan& plan) {
  const SectorSides sides = sides_of(plan.settings.grid.kind);
  Axis axis{.name = "sector",
            .unit = sides == SectorSides::kPlane ? "m" : "deg",
            .values = {},
            .components = sides == SectorSides::kLine ? std::size_t{2} : std::size_t{4}};
  for (const SectorSettings& sector : plan.settings.sectors) {
    axis.values.insert(axis.values.end(), sector.across.begin(), sector.across.end());
    if (sides != SectorSides::kLine) {
      axis.values.insert(axis.values.end(), sector.down.begin(), sector.down.end());
    }
  }
  return axis;
}

struct MapNames {
  std::string map;
  std::string focus;
  std::string sectors;
};

/// Adds the products of published maps over `first_axis`, frequency or band: the map and its derived products.
void add_maps(const BeamformPlan& plan, const MapNames& names, const std::string& first_axis, ResultHeader& header) {
  const std::string_view weighting = first_axis == "band" ? words_of(plan.weighting) : "";
  Product map = {.name = names.map,
                 .quantity = fmt::format("{}{}", quantity_of(plan), weighting),
                 .unit = plan.settings.method == Method::kMusic ? "1"
                         : plan.has_powers()                    ? "Pa^2"
                                                                : "Pa",
                 .type = plan.has_powers() ? ElementType::kFloat32 : ElementType::kComplex64,
                 .axes = {first_axis}};
  for (std::size_t axis = plan.has_focus() ? 1 : 0; axis < plan.grid.axes.size(); ++axis) {
    map.axes.push_back(plan.grid.axes[axis].name);
  }
  const std::vector<std::string> axes = map.axes;
  header.products.push_back(std::move(map));
  if (plan.has_focus()) {
    header.products.push_back({.name = names.focus,
                               .quantity = "distance of the plane with the largest value",
                               .unit = "m",
                               .type = ElementType::kFloat32,
                               .axes = axes});
  }
  if (!plan.sectors.empty()) {
    Product sectors = {
        .name = names.sectors,
        .quantity = fmt::format("mean square pressure of a sector's sources {}{}", reference_of(plan), weighting),
        .unit = "Pa^2",
        .type = ElementType::kFloat32,
        .axes = {first_axis}};
    if (plan.planes() > 1) {
      sectors.axes.push_back(plan.grid.axes.front().name);
    }
    sectors.axes.emplace_back("sector");
    header.products.push_back(std::move(sectors));
  }
}

}  // namespace

BeamformPlan::BeamformPlan(const ProcessorPlan& plan)
    : name(plan.name),
      settings(dynamic_cast<const BeamformSettings&>(*plan.own)),
      array(plan.array),
      frequencies_hz(plan.frequencies_hz),
      microphones(far_field::microphones_of(array.geometry)),
      shading(far_field::array_shading(settings.steering, array.geometry)),
      grid(is_measured() ? far_field::Grid()
                         : far_field::make_grid(settings.grid, array.standoff_m,
                                                fmt::format("processors.{}.grid", name), plan.files.get())),
      is_plane_wave(grid.is_far || settings.steering.model == far_field::Model::kPlaneWave),
      snapshots(snapshots_of(plan, settings.average)),
      history(settings, snapshots, windows_per_s_of(plan)),
      batch(plan.batch),
      lines(frequencies_hz.size()) {
  plan_bands_of(*this, plan);
  if (is_measured()) {
    use_templates(*this, plan.files.get(), plan.channels);
  }
  plan_planes(*this);
  const double frame_bytes = static_cast<double>(frequencies() * pixels()) * settings.value_bytes();
  if (frame_bytes >= far_field::kMostFrameBytes) {  // needed for points: the settings' check does not read their file
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
    sums.push_back({{.frequency = f, .weight = 1.0}});
    lowest_hz.push_back(plan.frequencies_hz[f]);
  }
  for (const std::vector<BandBin>& band : plan.bands.bands) {
    sums.push_back(band);  // maps are mean squares already
    double lowest = std::numeric_limits<double>::infinity();
    for (const BandBin& bin : band) {
      lowest = std::min(lowest, plan.frequencies_hz[bin.frequency]);
    }
    lowest_hz.push_back(lowest);
  }
}

double aperture_side_m(const BeamformPlan& plan, const MicrophoneMask& mask) {
  std::vector<double> x;
  std::vector<double> y;
  for (std::size_t m = 0; m < plan.channels(); ++m) {
    if (!std::binary_search(mask.channels.begin(), mask.channels.end(), static_cast<std::int32_t>(m))) {
      x.push_back(plan.microphones[m].x);
      y.push_back(plan.microphones[m].y);
    }
  }
  const auto span_of = [](const std::vector<double>& values) {
    const auto [least, most] = std::minmax_element(values.begin(), values.end());
    return values.empty() ? 0.0 : *most - *least;
  };
  return std::max(span_of(x), span_of(y));
}

ResultHeader header_of(const BeamformPlan& plan) {
  ResultHeader header;
  header.processor = plan.name;
  header.kind = "beamform";
  header.memory_hops = plan.has_powers() ? kUnboundedMemory : 0;  // snapshots depend on the start of the run
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
  header.axes.insert(header.axes.end(), plan.grid.axes.begin(), plan.grid.axes.end());
  if (!plan.sectors.empty()) {
    header.axes.push_back(axis_of_sectors(plan));
  }
  if (plan.lines > 0) {
    add_maps(plan, {.map = "map", .focus = "focus_m", .sectors = "sectors"}, "frequency", header);
  }
  if (!plan.bands_hz.empty()) {
    MapNames names = {.map = "bands", .focus = "focus_m", .sectors = "sectors"};
    if (plan.lines > 0) {
      names = {.map = "bands", .focus = "bands_focus_m", .sectors = "bands_sectors"};
    }
    add_maps(plan, names, "band", header);
  }
  if (plan.has_powers()) {
    header.products.push_back({.name = "effective_snapshots",
                               .quantity = "effective number of independent snapshots",
                               .unit = "1",
                               .form = Product::Form::kFigure,
                               .type = ElementType::kFloat32,
                               .axes = {first_axis}});
  }
  far_field::add_places(plan.array.geometry, header);
  return header;
}

template <class Value>
std::vector<std::span<const std::byte>> products_of(const BeamformPlan& plan, const PublishedValues<Value>& values) {
  std::vector<std::span<const std::byte>> products;
  const auto add = [&](std::size_t first, std::size_t count) {
    if (count == 0) {
      return;
    }
    const std::size_t pixels = plan.map_pixels();
    products.push_back(std::as_bytes(values.maps.subspan(first * pixels, count * pixels)));
    if (plan.has_focus()) {
      products.push_back(std::as_bytes(values.focus_m.subspan(first * pixels, count * pixels)));
    }
    if (!plan.sectors.empty()) {
      const std::size_t sectors = plan.sector_values();
      products.push_back(std::as_bytes(values.sectors.subspan(first * sectors, count * sectors)));
    }
  };
  add(0, plan.lines);
  add(plan.lines, plan.bands_hz.size());
  if (plan.has_powers()) {
    products.push_back(std::as_bytes(values.effective.first(plan.lines > 0 ? plan.lines : plan.bands_hz.size())));
  }
  return products;
}

template std::vector<std::span<const std::byte>> products_of(const BeamformPlan& plan,
                                                             const PublishedValues<float>& values);
template std::vector<std::span<const std::byte>> products_of(const BeamformPlan& plan,
                                                             const PublishedValues<std::complex<float>>& values);

}  // namespace nearfield
