#pragma once
#include <filesystem>
#include <span>
#include <string>

#include "publish/exports/export_source.hpp"

/// Results as files of other programs.
namespace nearfield {

struct ExportFormat {
  const char* name;            ///< the word of --format
  const char* ending;          ///< extension of the file's name, with its point
  const char* holds;           ///< in words
  const char* surface_ending;  ///< extension for curved surfaces; most formats have one ending for all
  /// Writes the file whole or not at all. Throws IoError. Null where the Python package writes the format, by
  /// nearfield.exports, from the HDF5 file of export_h5().
  void (*write)(const std::filesystem::path& path, const ExportSource& source);
};

/// All formats; help, messages and docs/use/export.md walk it.
std::span<const ExportFormat> export_formats();

/// By the format's name, or where that is empty by the path's ending. Throws UsageError with the formats there are.
const ExportFormat& export_format(const std::string& name, const std::filesystem::path& path);

/// A line for each frame, entry and place: place, frequency (or what else the product has), real and imaginary part,
/// magnitude, phase, level.
void export_csv(const std::filesystem::path& path, const ExportSource& source);

/// An HDF5 file of real datasets, `re` and `im`, with their axes.
void export_h5(const std::filesystem::path& path, const ExportSource& source);

}  // namespace nearfield
