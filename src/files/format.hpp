#pragma once
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/images.hpp"
#include "files/files.hpp"
#include "files/hdf5/h5_input.hpp"
#include "files/hdf5/h5_output.hpp"

/// Parts common to Nearfield's files: root attributes, geometry, frequencies.
namespace nearfield {

/// Recognises an open file by its root attribute `format`, else by /time_data. Throws DataError.
FileKind kind_of(const h5::InputFile& file);

/// Opens a file that must be of the given kind, and of version 1 where a version is stated.
h5::InputFile open_input(const std::filesystem::path& path, FileKind kind);

void write_format(h5::OutputFile& file, FileKind kind);

/// Positions as stored in files and recordings, for a geometry with a placement: for an irregular array on the axes of
/// images, for a grid as given.
std::vector<MicrophonePosition> kept_positions_m(const ArrayGeometry& geometry);
/// Array of stored positions: an irregular one keeps its origin, which may be that of the array it is a part of.
ArrayGeometry geometry_of_kept(const std::vector<MicrophonePosition>& positions_m);

/// Uses /geometry/positions_m, [channel][3], where the file has it: rows, columns and pitches then follow from the
/// positions.
ArrayGeometry read_geometry(const h5::InputFile& file);
/// For a file whose data lie in the order of rows and columns; positions must, too.
ArrayGeometry read_geometry_in_order(const h5::InputFile& file);
/// Geometry and standoff; sensitivity_dbfs stays 0. `is_in_order`: use read_geometry_in_order().
MeasurementGeometry read_measurement(const h5::InputFile& file, bool is_in_order);
/// Creates /geometry, with positions_m where positions were given.
void write_geometry(h5::OutputFile& file, const ArrayGeometry& geometry);
void write_measurement(h5::OutputFile& file, const MeasurementGeometry& measurement);

/// Creates /truth for a file of this array.
void write_truth(h5::OutputFile& file, const Truth& truth, const ArrayGeometry& geometry);

/// /truth of a file of this array; without its own frequencies it has `frequencies_hz`, and if these are empty too, the
/// file is refused.
std::optional<Truth> read_truth(const h5::InputFile& file, const ArrayGeometry& geometry,
                                const std::vector<double>& frequencies_hz);

/// A list of frequencies, each finite and above 0, or from 0 on.
enum class Lowest { kAbove0, k0 };
std::vector<double> read_frequencies(const h5::InputFile& file, const std::string& name = "/frequencies_hz",
                                     Lowest lowest = Lowest::kAbove0);
/// A list of frequencies, which is a dimension scale.
void write_list(h5::OutputFile& file, const std::string& name, const std::vector<double>& values);

/// Writes the attributes units and long_name, which xarray and other netCDF readers show.
void write_words(h5::OutputFile& file, const std::string& place, std::string_view unit, std::string_view words);
/// Attaches the scales to the dataset's axes, slowest first. A scale that does not exist yet becomes a dimension
/// without values, of the length in `shape`.
void name_axes(h5::OutputFile& file, const std::string& place, const h5::Shape& shape,
               const std::vector<std::string>& scales);
/// Writes scales y_m and x_m in the group ("" for the root) for an array on a regular grid. Returns the scales of rows
/// and columns: these, else dimensions without values.
std::vector<std::string> write_grid(h5::OutputFile& file, const std::string& group, const ArrayGeometry& geometry);

/// Writes the scales y_m and x_m of a grid's pixels in the group. Returns both.
std::vector<std::string> write_pixels(h5::OutputFile& file, const std::string& group, const ImageGrid& grid);

/// Throws an internal error when the size of a caller's array contradicts its axes.
void require_values(std::string_view what, std::size_t found, std::size_t expected);

/// End of a message: the probable kind of a file that is not HDF5, by its first bytes, and how to convert it to a
/// format that is read.
std::string hint_on_unknown_format(const std::filesystem::path& path);

}  // namespace nearfield
