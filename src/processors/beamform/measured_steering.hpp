#pragma once
#include <vector>

#include "core/array_files.hpp"
#include "processors/beamform/plan.hpp"

namespace nearfield {

/// Fills the plan's grid, templates and left_out from the templates in `files`: interpolated linearly between the
/// file's frequencies, NaN where a used neighbour has a coherence below kLeastTemplateCoherence, and scaled from the
/// array's centre to the plan's reference. If the plan's array is a part of another one, `channels` (else empty) are
/// its channels, and templates of the whole array are reduced to it. Throws ConfigError where the templates are for
/// another array or do not cover a frequency, and where `files` is null; passes on exceptions of `files`.
void use_templates(BeamformPlan& plan, const ArrayFiles* files, const std::vector<int>& channels);

}  // namespace nearfield
