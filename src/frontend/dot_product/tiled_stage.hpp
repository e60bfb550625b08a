#pragma once
#include <memory>
#include <vector>

#include "frontend/dot_product/dot_stage.hpp"

namespace nearfield {

/// `tiled`: neighbouring work-items process neighbouring channels and hold the sums of several frequencies in
/// registers. The window is split into `parts`, each a row of work-groups. Throws DeviceError.
std::unique_ptr<DotStage> make_tiled_stage(const ocl::Device& device, const DotWork& work, int parts);

/// Variants of `tiled` with the numbers of parts worth trying for this work on this device, the likeliest first; never
/// empty.
std::vector<DotVariant> tiled_candidates(const ocl::Device& device, const DotWork& work);

/// Work-groups of `tiled` with this number of parts.
std::size_t tiled_groups(const DotWork& work, int parts);

}  // namespace nearfield
