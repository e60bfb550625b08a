#pragma once
#include "imaging/pnah/pnah_plan.hpp"
#include "nearfield/frame.hpp"
#include "processors/processor.hpp"

namespace nearfield {

/// Of the processor's own settings, which must be ImageKindSettings; its imager is chosen. Throws ConfigError.
PnahPlan image_plan(const ProcessorPlan& plan);

/// What its images look like; device and front end are left empty.
ImagesHeader images_header(const ProcessorPlan& plan, const PnahPlan& images);

}  // namespace nearfield
