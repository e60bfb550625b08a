#pragma once
#include <memory>
#include <string_view>

#include "core/frame.hpp"
#include "imaging/shared/image_plan.hpp"
#include "processors/processor.hpp"

namespace nearfield {

/// Plan from the processor's own settings, which must be ImageKindSettings; its imager is chosen. Throws ConfigError.
ImagePlan image_plan(const ProcessorPlan& plan);

/// Kind and settings of the first processor, which makes images of `frequencies` frequencies (all bins of bands
/// included) unless `holography.imager` is none.
std::string_view first_kind(const Settings& settings, std::size_t frequencies);
std::unique_ptr<KindSettings> first_settings(const HolographySettings& holography);

/// True if a kind of processor needs masks that hold predictions from all microphones.
bool fills_from_all(std::string_view kind);

/// Header of its images; device and front end are left empty.
ImagesHeader images_header(const ProcessorPlan& plan, const ImagePlan& images);

}  // namespace nearfield
