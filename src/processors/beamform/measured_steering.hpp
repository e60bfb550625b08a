#pragma once
#include "processors/beamform/plan.hpp"

namespace nearfield {

/// Fills the grid, the templates and what was left out from the plan's file of templates: linear between the file's
/// frequencies, NaN where a neighbour that counts has a coherence below kLeastTemplateCoherence, and scaled from the
/// array's centre to the plan's reference. Throws ConfigError where the templates are of another array or do not reach
/// a frequency, and what read_templates() throws.
void use_templates(BeamformPlan& plan);

}  // namespace nearfield
