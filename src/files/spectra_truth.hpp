#pragma once
#include <filesystem>
#include <optional>

#include "files/files.hpp"

namespace nearfield {

/// /truth of a file of spectra, if it has one. Without its own frequencies it has those of the spectra. Throws as every
/// reader of files.hpp.
std::optional<Truth> read_spectra_truth(const std::filesystem::path& path);

/// write_spectra() with /truth.
void write_spectra_with_truth(const std::filesystem::path& path, const SpectraFile& file, const Truth& truth);

}  // namespace nearfield
