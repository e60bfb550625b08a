#pragma once
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "files/files.hpp"
#include "files/hdf5/h5_input.hpp"
#include "files/hdf5/h5_output.hpp"
#include "nearfield/image_grid.hpp"

/// What Nearfield's files have in common: root attributes, geometry, frequencies.
namespace nearfield {

/// Recognises an open file by its root attribute `format`, else by /time_data. Throws DataError.
FileKind kind_of(const h5::InputFile& file);

/// Opens a file that must be of the given kind, and of version 1 where a version is stated.
h5::InputFile open_input(const std::filesystem::path& path, FileKind kind);

void write_format(h5::OutputFile& file, FileKind kind);

/// Places as files and recordings keep them, for a geometry with a placement: of an irregular array on the axes of
/// images, of a grid as they were given.
std::vector<MicrophonePosition> kept_positions_m(const ArrayGeometry& geometry);
/// The array of kept places: an irregular one keeps its origin, which may be that of the array it is a part of.
ArrayGeometry geometry_of_kept(const std::vector<MicrophonePosition>& positions_m);

/// By /geometry/positions_m, [channel][3], where the file has them: then rows, columns and pitches follow from these.
ArrayGeometry read_geometry(const h5::InputFile& file);
/// Of a file whose data lie in the order of rows and columns; positions must, too.
ArrayGeometry read_geometry_in_order(const h5::InputFile& file);
/// Geometry and standoff; sensitivity_dbfs stays 0. `is_in_order`: as read_geometry_in_order().
MeasurementGeometry read_measurement(const h5::InputFile& file, bool is_in_order);
/// Creates /geometry, with positions_m where positions were given.
void write_geometry(h5::OutputFile& file, const ArrayGeometry& geometry);
void write_measurement(h5::OutputFile& file, const MeasurementGeometry& measurement);

/// Creates /truth, for an array's file.
void write_truth(h5::OutputFile& file, const Truth& truth, const ArrayGeometry& geometry);

/// What a file of this array has of /truth; where that does not say its frequencies, they are `frequencies_hz`, and
/// where these are none, a file without them is refused.
std::optional<Truth> read_truth(const h5::InputFile& file, const ArrayGeometry& geometry,
                                const std::vector<double>& frequencies_hz);

/// A list of frequencies, each finite and above 0, or from 0 on.
enum class Lowest { kAbove0, k0 };
std::vector<double> read_frequencies(const h5::InputFile& file, const std::string& name = "/frequencies_hz",
                                     Lowest lowest = Lowest::kAbove0);
/// A list of frequencies, which is a dimension scale.
void write_list(h5::OutputFile& file, const std::string& name, const std::vector<double>& values);

/// What xarray and other readers of netCDF show of a dataset: the attributes units and long_name.
void write_words(h5::OutputFile& file, const std::string& place, std::string_view unit, std::string_view words);
/// Attaches the scales to the dataset's axes, slowest first. One that is not there yet becomes a dimension without
/// values, of the length in `shape`.
void name_axes(h5::OutputFile& file, const std::string& place, const h5::Shape& shape,
               const std::vector<std::string>& scales);
/// Of an array on a regular grid the scales y_m and x_m in the group, "" for the root. Returns the scales of rows and
/// columns: these, else dimensions without values.
std::vector<std::string> write_grid(h5::OutputFile& file, const std::string& group, const ArrayGeometry& geometry);

/// The scales y_m and x_m of a grid's pixels in the group. Returns both.
std::vector<std::string> write_pixels(h5::OutputFile& file, const std::string& group, const ImageGrid& grid);

/// Throws an internal error when a caller's array has not as many values as its axes say.
void require_values(std::string_view what, std::size_t found, std::size_t expected);

}  // namespace nearfield
