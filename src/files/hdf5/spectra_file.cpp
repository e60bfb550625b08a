#include <fmt/format.h>

#include <optional>

#include "files/format.hpp"
#include "files/pressure_units.hpp"
#include "files/spectra_truth.hpp"

namespace nearfield {
namespace {

constexpr const char* kSpectra = "/spectra";

/// Writes the geometry in the order of the spectra, and all else but /truth.
MeasurementGeometry write_all_but_truth(h5::OutputFile& output, const SpectraFile& file) {
  const ArrayGeometry& geometry = file.measurement.geometry;
  const std::size_t frequencies = file.frequencies_hz.size();
  require_values("spectra", file.spectra.size(),
                 file.frames * frequencies * static_cast<std::size_t>(geometry.channels()));
  write_format(output, FileKind::kSpectra);
  MeasurementGeometry measurement = file.measurement;
  measurement.geometry = geometry.in_channel_order();
  write_measurement(output, measurement);
  write_list(output, "/frequencies_hz", file.frequencies_hz);
  const h5::Shape shape = {file.frames, frequencies, static_cast<hsize_t>(geometry.rows),
                           static_cast<hsize_t>(geometry.columns)};
  output.write(kSpectra, shape, file.spectra);
  const std::vector<std::string> grid = write_grid(output, "", measurement.geometry);
  write_words(output, kSpectra, "Pa", "pressure");
  name_axes(output, kSpectra, shape, {"/frame", "/frequencies_hz", grid[0], grid[1]});
  return measurement;
}

/// Pascal per unit by the attribute unit, else units; 1 without one.
double pascal_per_unit_of(const h5::InputFile& input) {
  for (const char* name : {"unit", "units"}) {  // write_spectra() sets units; others may add unit
    if (!input.has_attribute(kSpectra, name)) {
      continue;
    }
    const std::string unit = input.text_attribute(kSpectra, name);
    const std::optional<TransferUnit> stated = transfer_unit_named(unit);
    if (!stated) {
      throw input.wrong_attribute(kSpectra, name, fmt::format("\"{}\"", unit),
                                  "a unit of pressure, such as Pa, or of a transfer function, such as Pa/N");
    }
    return stated->pascal_per_unit;
  }
  return 1.0;
}

}  // namespace

SpectraFile read_spectra(const std::filesystem::path& path) {
  const h5::InputFile input = open_input(path, FileKind::kSpectra);
  SpectraFile file;
  file.measurement = read_measurement(input, true);
  file.frequencies_hz = read_frequencies(input);
  const ArrayGeometry& geometry = file.measurement.geometry;
  const h5::InputDataset spectra =
      input.dataset<std::complex<float>>(kSpectra, {{"frames"},
                                                    {"frequencies", file.frequencies_hz.size()},
                                                    {"rows", static_cast<std::uint64_t>(geometry.rows)},
                                                    {"columns", static_cast<std::uint64_t>(geometry.columns)}});
  file.frames = spectra.shape().front();
  file.spectra = spectra.read_all<std::complex<float>>();
  if (const double pascal_per_unit = pascal_per_unit_of(input); pascal_per_unit != 1.0) {
    for (std::complex<float>& value : file.spectra) {
      value *= static_cast<float>(pascal_per_unit);
    }
  }
  return file;
}

std::optional<Truth> read_spectra_truth(const std::filesystem::path& path) {
  const h5::InputFile input = open_input(path, FileKind::kSpectra);
  return read_truth(input, read_measurement(input, true).geometry, read_frequencies(input));
}

void write_spectra(const std::filesystem::path& path, const SpectraFile& file) {
  h5::OutputFile output(path);
  (void)write_all_but_truth(output, file);
  output.finish();
}

void write_spectra_with_truth(const std::filesystem::path& path, const SpectraFile& file, const Truth& truth) {
  h5::OutputFile output(path);
  const MeasurementGeometry measurement = write_all_but_truth(output, file);
  write_truth(output, truth, measurement.geometry);
  output.finish();
}

}  // namespace nearfield
