#pragma once
#include <filesystem>
#include <span>
#include <string>
#include <vector>

#include "publish/exports/export_source.hpp"

/// Exports of results to files of other programs.
namespace nearfield {

using ExportedFiles = std::vector<std::filesystem::path>;

struct ExportFormat {
  const char* name;            ///< value of --format
  const char* ending;          ///< file name extension, with its point
  const char* holds;           ///< contents in words
  const char* surface_ending;  ///< extension for values on a surface that is no plane; most formats have only one
  /// Returns the written files, each complete or absent. Throws IoError, and UsageError if the format cannot hold the
  /// choice.
  ExportedFiles (*write)(const std::filesystem::path& path, const ExportSource& source);
  /// The files that `write` will write.
  ExportedFiles (*files)(const std::filesystem::path& path, const ExportSource& source);
};

/// All formats; help, messages and docs/export.md iterate over it.
std::span<const ExportFormat> export_formats();

/// Format of that name, or if that is empty, of the path's extension. Throws UsageError with the existing formats.
const ExportFormat& export_format(const std::string& name, const std::filesystem::path& path);

/// Writes a line for each frame, entry and place: place, frequency (or another axis of the product), real and imaginary
/// part, magnitude, phase, level.
ExportedFiles export_csv(const std::filesystem::path& path, const ExportSource& source);

/// Writes VTK's XML image data, for a surface that is no plane a structured grid; several frames become a file each,
/// NAME_frame00012.vti or .vts.
ExportedFiles export_vtk(const std::filesystem::path& path, const ExportSource& source);
/// Names of these files: a path that ends in .vti or .vts gets the extension of the kind of grid.
ExportedFiles vtk_files(const std::filesystem::path& path, const ExportSource& source);

/// Writes a MATLAB file of level 5.
ExportedFiles export_mat(const std::filesystem::path& path, const ExportSource& source);

/// Writes an HDF5 file of real datasets, `re` and `im`, with their axes.
ExportedFiles export_h5(const std::filesystem::path& path, const ExportSource& source);

/// Writes a universal file: datasets 151, 164, 15, and a binary dataset 58 for each frame and place.
ExportedFiles export_uff(const std::filesystem::path& path, const ExportSource& source);

}  // namespace nearfield
