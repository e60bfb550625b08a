#include "processors/images/settings.hpp"

#include <fmt/format.h>

#include <complex>

#include "config/premises.hpp"
#include "config/schema/processor_kinds.hpp"
#include "config/schema/section.hpp"
#include "core/images.hpp"

namespace nearfield {

void ImageKindSettings::describe(schema::Section& section) {
  schema::describe_images(section, images,
                          {.searches = false,
                           .filters = images.imager == ImagerKind::kPnah,
                           .surfaces = images.imager != ImagerKind::kPnah,
                           .operators = images.imager == ImagerKind::kOperators});
}

void ImageKindSettings::check(const Settings& settings, const std::string& path, const IsSettled& is_settled,
                              std::vector<Contradiction>& found) const {
  if (!settings.array.geometry.is_grid() && images.imager != ImagerKind::kOperators) {
    if (is_settled(path + "kind")) {
      found.push_back(
          {path + "kind", "",
           fmt::format("expected operators, or a kind that makes no images, as images by {0} need a regular grid of "
                       "microphones, which those of array.positions are not ({1}), found {0}",
                       name_of(images.imager), text_of_size(settings.array.geometry))});
    }
    return;
  }
  check_images(settings, images, path, is_settled, found);
  if (images.filter.cutoff_rule == CutoffRule::kSearch) {
    found.push_back({path + "filter.cutoff_rad_per_m", "",
                     "expected auto, dynamic_range or wavenumbers, found search, which holography alone can have"});
  }
}

double ImageKindSettings::frame_bytes(const Settings& settings) const {
  const auto pixels = static_cast<double>(image_grid(settings.array.geometry, images.upsample).pixels());
  const std::size_t of_frequency = images.planes_m.size() * image_sides(images, settings.array.geometry);
  return static_cast<double>(of_frequency * settings.front_end.frequencies_hz.size()) * pixels *
         sizeof(std::complex<float>);
}

namespace schema {

ProcessorKind pnah_kind() {
  return {.name = "pnah", .meaning = "images by planar NAH", .make = []() -> std::unique_ptr<KindSettings> {
            return std::make_unique<ImageKindSettings>(ImagerKind::kPnah);
          }};
}

ProcessorKind sonah_kind() {
  return {.name = "sonah",
          .meaning = "images by statistically optimised NAH",
          .make = []() -> std::unique_ptr<KindSettings> {
            return std::make_unique<ImageKindSettings>(ImagerKind::kSonah);
          }};
}

ProcessorKind operators_kind() {
  return {.name = "operators",
          .meaning = "images by a dense matrix a frequency: of any places, holes, walls, measured sources",
          .make = []() -> std::unique_ptr<KindSettings> {
            return std::make_unique<ImageKindSettings>(ImagerKind::kOperators);
          }};
}

}  // namespace schema
}  // namespace nearfield
