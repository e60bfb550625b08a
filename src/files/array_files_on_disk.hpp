#pragma once
#include <memory>

#include "core/array_files.hpp"

namespace nearfield {

/// Reads calibrations, templates and points (/points float64 [point][3], in m) from HDF5 files.
std::shared_ptr<const ArrayFiles> array_files_on_disk();

}  // namespace nearfield
