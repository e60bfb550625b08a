#pragma once
#include <memory>
#include <string>

#include "core/array_files.hpp"
#include "imaging/operators/prior.hpp"
#include "processors/processor.hpp"

namespace nearfield {

/// Reads the sources for the prior of operators that a processor's settings name by path: positions, or templates,
/// interpolated linearly between the frequencies of their file. Null if the settings name none. Throws ConfigError
/// where templates are for another array, do not cover a frequency or contain more noise than source, and what reading
/// throws.
std::shared_ptr<const OperatorSources> read_sources(const ProcessorPlan& plan, const OperatorSettings& operators);

/// Reads a surface that settings name by `path`: points of a CSV file (x_m,y_m,z_m or x_m,y_m,z_m,nx,ny,nz per line, #
/// begins a comment), or heights of an HDF5 file, through `files`. `key` names the setting. Text is read once. Throws
/// NoInputError where there is no regular file, DataError where text is longer than 64 MiB, a line longer than 4096
/// bytes or no point, and ConfigError where there are too many points or none.
SurfaceData read_surface(const std::string& path, const std::string& key, const ArrayFiles* files);

}  // namespace nearfield
