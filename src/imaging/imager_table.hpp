#pragma once
#include "imaging/shared/imager.hpp"

namespace nearfield {

/// All imagers, one line per kind.
std::span<const ImagerEntry> imager_table();

/// The entry of a kind that is not kAuto.
const ImagerEntry& imager_entry(ImagerKind kind);

/// Makes the imager that the plan names; for kAuto the choice of resolve_imager(). Throws ConfigError, also if
/// obstacle() of its entry is not empty.
std::unique_ptr<Imager> make_imager(const ocl::Device& device, const ImagePlan& plan);

}  // namespace nearfield
