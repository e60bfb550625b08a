#include "processors/images/image_plan.hpp"

#include "config/config.hpp"
#include "config/schema/processor_kinds.hpp"
#include "processors/images/settings.hpp"

namespace nearfield {
namespace {

/// In the place of images: the levels of the microphones.
constexpr std::string_view kWithoutImages = "row_power";

}  // namespace

PnahPlan image_plan(const ProcessorPlan& plan) {
  PnahPlan out;
  static_cast<ArrayPlan&>(out) = plan.array;
  out.holography = dynamic_cast<const ImageKindSettings&>(*plan.own).images;
  out.holography.standoff_m = plan.array.standoff_m;
  out.holography.imager = resolve_imager(out);
  out.cutoff_rad_per_m =
      resolve_cutoffs(out.holography, plan.array.medium, plan.array.geometry, plan.array.frequencies_hz);
  out.fft = plan.settings->device.fft;
  out.batch = plan.batch;
  out.input_is_finite = plan.input_is_finite;
  validate(out);
  return out;
}

std::string_view first_kind(const HolographySettings& holography, const ArrayGeometry& geometry) {
  return holography.imager == ImagerKind::kNone ? kWithoutImages : name_of(resolve_imager(holography, geometry));
}

std::unique_ptr<KindSettings> first_settings(const HolographySettings& holography) {
  if (holography.imager == ImagerKind::kNone) {
    return schema::processor_kind(kWithoutImages)->make();
  }
  auto own = std::make_unique<ImageKindSettings>(holography.imager);
  own->images = holography;
  return own;
}

ImagesHeader images_header(const ProcessorPlan& plan, const PnahPlan& images) {
  const ArrayGeometry& geometry = plan.array.geometry;
  const HolographySettings& holography = images.holography;
  ImagesHeader header;
  header.quantity = name_of(holography.quantity);
  header.unit = unit_of(holography.quantity);
  header.processor = plan.name;
  header.kind = name_of(holography.imager);
  header.frequencies_hz = plan.frequencies_hz;
  header.planes_m = holography.planes_m;
  header.points = holography.points;
  header.bands_hz = plan.settings->front_end.bands_hz;
  for (int column = 0; column < geometry.columns * holography.upsample; ++column) {
    header.x_m.push_back(geometry.x_m(static_cast<double>(column) / holography.upsample));
  }
  for (int row = 0; row < geometry.rows * holography.upsample; ++row) {
    header.y_m.push_back(geometry.y_m(static_cast<double>(row) / holography.upsample));
  }
  return header;
}

}  // namespace nearfield
