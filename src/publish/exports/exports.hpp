#pragma once
#include <filesystem>
#include <span>
#include <string>
#include <vector>

#include "publish/exports/export_source.hpp"

/// Results as files of other programs.
namespace nearfield {

using ExportedFiles = std::vector<std::filesystem::path>;

struct ExportFormat {
  const char* name;            ///< the word of --format
  const char* ending;          ///< of the file's name, with its point
  const char* holds;           ///< in words
  const char* surface_ending;  ///< of what lies on a surface that is no plane; most formats have but one ending
  /// Returns the files that it wrote, each whole or not at all. Throws IoError, and UsageError where the format cannot
  /// hold what was chosen.
  ExportedFiles (*write)(const std::filesystem::path& path, const ExportSource& source);
  /// The files that `write` will write.
  ExportedFiles (*files)(const std::filesystem::path& path, const ExportSource& source);
};

/// All formats; help, messages and docs/export.md walk it.
std::span<const ExportFormat> export_formats();

/// By the format's name, or where that is empty by the path's ending. Throws UsageError with the formats there are.
const ExportFormat& export_format(const std::string& name, const std::filesystem::path& path);

/// A line for each frame, entry and place: place, frequency (or what else the product has), real and imaginary part,
/// magnitude, phase, level.
ExportedFiles export_csv(const std::filesystem::path& path, const ExportSource& source);

/// VTK's XML image data, of a surface that is no plane a structured grid; of several frames a file each,
/// NAME_frame00012.vti or .vts.
ExportedFiles export_vtk(const std::filesystem::path& path, const ExportSource& source);
/// Their names: a path that ends in .vti or .vts gets the ending of the kind of grid.
ExportedFiles vtk_files(const std::filesystem::path& path, const ExportSource& source);

/// A MATLAB file of level 5.
ExportedFiles export_mat(const std::filesystem::path& path, const ExportSource& source);

/// An HDF5 file of real datasets, `re` and `im`, with their axes.
ExportedFiles export_h5(const std::filesystem::path& path, const ExportSource& source);

/// A universal file: datasets 151, 164, 15, and a binary dataset 58 for each frame and place.
ExportedFiles export_uff(const std::filesystem::path& path, const ExportSource& source);

}  // namespace nearfield
