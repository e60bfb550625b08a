#include "publish/exports/exports.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <array>
#include <string>

#include "core/error.hpp"

namespace nearfield {
namespace {

constexpr std::array kExportFormats = {
    ExportFormat{"csv", ".csv", "a line a value: place, frequency, real, imaginary, magnitude, phase, level", ".csv",
                 export_csv},
    ExportFormat{"vtk", ".vti", "VTK's image data, a file a frame, arrays for each frequency", ".vts", nullptr},
    ExportFormat{"mat", ".mat", "a MATLAB file of level 5: complex values and their axes", ".mat", nullptr},
    ExportFormat{"h5", ".h5", "HDF5 that MATLAB and Octave read: real datasets re and im, and their axes", ".h5",
                 export_h5},
    ExportFormat{"uff", ".uff", "a universal file: nodes, and a binary dataset 58 for each node and frame", ".uff",
                 nullptr},
};

std::string export_formats_in_words() {
  std::vector<std::string> words;
  for (const ExportFormat& format : kExportFormats) {
    words.push_back(fmt::format("{} ({})", format.name, format.ending));
  }
  return fmt::format("{}", fmt::join(words, ", "));
}

}  // namespace

std::span<const ExportFormat> export_formats() { return kExportFormats; }

const ExportFormat& export_format(const std::string& name, const std::filesystem::path& path) {
  const std::string ending = path.extension().string();
  for (const ExportFormat& format : kExportFormats) {
    const bool has_ending = ending == format.ending || ending == format.surface_ending;
    if (name.empty() ? has_ending : name == format.name) {
      return format;
    }
  }
  throw UsageError(name.empty()
                       ? fmt::format("--output: expected a name with the ending of a format, one of {}, or "
                                     "--format; found {}",
                                     export_formats_in_words(), path.string())
                       : fmt::format("--format: expected one of {}, found {}", export_formats_in_words(), name));
}

}  // namespace nearfield
