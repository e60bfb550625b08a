#include "processors/images/image_plan.hpp"

#include <fmt/format.h>

#include <cmath>

#include "config/config.hpp"
#include "config/schema/processor_kinds.hpp"
#include "core/error.hpp"
#include "imaging/shared/image_surface.hpp"
#include "processors/images/input_files.hpp"
#include "processors/images/settings.hpp"

namespace nearfield {
namespace {

/// Product without images: the levels of the microphones.
constexpr std::string_view kWithoutImages = "row_power";

/// Section of the configuration with the settings of a processor's images, ending in a dot.
std::string section_of(const std::string& processor) {
  return processor == kFirstProcessor ? "holography." : fmt::format("processors.{}.", processor);
}

std::shared_ptr<const ImageSurface> surface_of(const ProcessorPlan& plan, const HolographySettings& holography) {
  if (holography.surface_path.empty()) {
    return nullptr;
  }
  const std::string key = section_of(plan.name) + "surface";
  const SurfaceData data = read_surface(holography.surface_path, key, plan.files.get());
  if (data.is_points && !holography.points.empty()) {
    throw ConfigError(
        fmt::format("{}: expected heights over the pixels beside points, as a surface of points is imaged "
                    "at its own places alone, found {} points of a surface in {}",
                    key, data.columns, holography.surface_path));
  }
  return std::make_shared<const ImageSurface>(
      make_image_surface(data, image_grid(plan.array.geometry, holography.upsample), plan.array.standoff_m, key));
}

/// Distances along the points of a surface from the first one: the columns of their images.
std::vector<double> way_along(const ImageSurface& surface) {
  std::vector<double> way_m = {0.0};
  for (std::size_t i = 1; i < surface.pixels(); ++i) {
    way_m.push_back(way_m.back() + (surface.places_m[i] - surface.places_m[i - 1]).norm());
  }
  return way_m;
}

void describe_surface(ImagesHeader& header, const ImageSurface& surface) {
  for (std::size_t i = 0; i < surface.pixels(); ++i) {
    const Eigen::Vector3d& place = surface.places_m[i];
    const Eigen::Vector3d& normal = surface.normals[i];
    header.surface_m.insert(header.surface_m.end(), place.begin(), place.end());
    header.normals.insert(header.normals.end(), normal.begin(), normal.end());
  }
  if (surface.is_points) {
    header.x_m = way_along(surface);
    header.y_m = {0.0};
  }
}

}  // namespace

ImagePlan image_plan(const ProcessorPlan& plan) {
  ImagePlan out;
  static_cast<ArrayPlan&>(out) = plan.array;
  out.holography = dynamic_cast<const ImageKindSettings&>(*plan.own).images;
  out.holography.standoff_m = plan.array.standoff_m;
  out.section = section_of(plan.name);
  if (plan.name != kFirstProcessor) {  // no searches
    out.holography.prior = FieldPrior::kLayer;
  }
  out.surface = surface_of(plan, out.holography);
  out.fft = plan.settings->device.fft;
  out.holography.imager = resolve_imager(out);
  out.fills_from_all = out.holography.imager == ImagerKind::kSonah;
  if (out.holography.imager == ImagerKind::kOperators) {
    out.sources = read_sources(plan, out.holography.operators);
  }
  out.cutoff_rad_per_m =
      resolve_cutoffs(out.holography, plan.array.medium, plan.array.geometry, plan.array.frequencies_hz);
  out.batch = plan.batch;
  out.batches_in_flight = plan.batches_in_flight;
  out.input_is_finite = plan.input_is_finite;
  validate(out);
  return out;
}

std::string_view first_kind(const Settings& settings, std::size_t frequencies) {
  if (settings.holography.imager == ImagerKind::kNone) {
    return kWithoutImages;
  }
  return name_of(
      resolve_imager(settings.holography,
                     {.geometry = settings.array.geometry, .frequencies = frequencies, .fft = settings.device.fft}));
}

bool fills_from_all(std::string_view kind) { return kind == name_of(ImagerKind::kSonah); }

std::unique_ptr<KindSettings> first_settings(const HolographySettings& holography) {
  if (holography.imager == ImagerKind::kNone) {
    return schema::processor_kind(kWithoutImages)->make();
  }
  auto own = std::make_unique<ImageKindSettings>(holography.imager);
  own->images = holography;
  return own;
}

ImagesHeader images_header(const ProcessorPlan& plan, const ImagePlan& images) {
  const HolographySettings& holography = images.holography;
  const ImageGrid grid = images.grid();
  ImagesHeader header;
  header.quantity = name_of(holography.quantity);
  header.unit = unit_of(holography.quantity);
  header.processor = plan.name;
  header.kind = name_of(holography.imager);
  header.frequencies_hz = plan.frequencies_hz;
  header.planes_m = holography.planes_m;
  header.points = holography.points;
  header.bands_hz = plan.settings->front_end.bands_hz;
  for (int column = 0; column < grid.columns(); ++column) {
    header.x_m.push_back(grid.x_m(column));
  }
  for (int row = 0; row < grid.rows(); ++row) {
    header.y_m.push_back(grid.y_m(row));
  }
  if (images.surface) {
    describe_surface(header, *images.surface);
  }
  return header;
}

}  // namespace nearfield
