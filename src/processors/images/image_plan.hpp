#pragma once
#include <string_view>
#include <vector>

#include "core/product.hpp"
#include "imaging/shared/image_plan.hpp"
#include "processors/processor.hpp"

namespace nearfield {

/// Plan from the processor's own settings, which must be ImageKindSettings; its imager is chosen. Throws ConfigError.
ImagePlan image_plan(const ProcessorPlan& plan);

/// All processors of a run: the one of `holography`, which makes images of `frequencies` frequencies (all bins of bands
/// included) unless its imager is none, and those of the section `processors`.
std::vector<ProcessorSettings> processors_of(const Settings& settings, std::size_t frequencies);

/// True if a kind of processor needs masks that hold predictions from all microphones.
bool fills_from_all(std::string_view kind);

/// Header of its images; config, device and front end are left empty.
ResultHeader images_header(const ProcessorPlan& plan, const ImagePlan& images);

}  // namespace nearfield
