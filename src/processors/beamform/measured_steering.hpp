#pragma once
#include <vector>

#include "nearfield/array_files.hpp"
#include "processors/beamform/plan.hpp"

namespace nearfield {

/// Fills the grid, the templates and what was left out from the plan's templates, as `files` bring them: linear between
/// the file's frequencies, NaN where a neighbour that counts has a coherence below kLeastTemplateCoherence, and scaled
/// from the array's centre to the plan's reference. Where the plan's array is the part of another one with these
/// `channels`, else empty, templates of the whole are cut to it. Throws ConfigError where the templates are of another
/// array or do not reach a frequency, where `files` is null, and what these throw.
void use_templates(BeamformPlan& plan, const ArrayFiles* files, const std::vector<int>& channels);

}  // namespace nearfield
