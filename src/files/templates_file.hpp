#pragma once
#include <filesystem>

#include "core/array_files.hpp"

namespace nearfield {

/// HDF5: attributes format "nearfield-templates" and version 1, /geometry as in captures, /frequencies_hz, /positions_m
/// [template][3], /templates [frequency][template][channel], /coherence [frequency][template] and
/// /microphone_coherence [frequency][template][channel]. Throws IoError.
void write_templates(const std::filesystem::path& path, const Templates& templates);
/// Throws NoInputError, and DataError on any other file.
Templates read_templates(const std::filesystem::path& path);

}  // namespace nearfield
