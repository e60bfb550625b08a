#pragma once
#include <string_view>
#include <vector>

#include "files/files.hpp"
#include "files/hdf5/h5_input.hpp"
#include "files/hdf5/h5_output.hpp"

/// What Nearfield's files have in common: root attributes, geometry, frequencies.
namespace nearfield {

/// Recognises an open file by its root attribute `format`, else by /time_data. Throws DataError.
FileKind kind_of(const h5::InputFile& file);

/// Opens a file that must be of the given kind, and of version 1 where a version is stated.
h5::InputFile open_input(const std::filesystem::path& path, FileKind kind);

void write_format(h5::OutputFile& file, FileKind kind);

ArrayGeometry read_geometry(const h5::InputFile& file);
/// Geometry and standoff; sensitivity_dbfs stays 0.
MeasurementGeometry read_measurement(const h5::InputFile& file);
/// Creates /geometry.
void write_geometry(h5::OutputFile& file, const ArrayGeometry& geometry);
void write_measurement(h5::OutputFile& file, const MeasurementGeometry& measurement);

/// A list of frequencies, each finite and above 0.
std::vector<double> read_frequencies(const h5::InputFile& file, const std::string& name = "/frequencies_hz");
void write_list(h5::OutputFile& file, const std::string& name, const std::vector<double>& values);

/// Throws an internal error when a caller's array has not as many values as its axes say.
void require_values(std::string_view what, std::size_t found, std::size_t expected);

}  // namespace nearfield
