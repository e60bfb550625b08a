#include "files/format.hpp"

namespace nearfield {
namespace {

constexpr const char* kSpectra = "/spectra";

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
  return file;
}

void write_spectra(const std::filesystem::path& path, const SpectraFile& file) {
  const ArrayGeometry& geometry = file.measurement.geometry;
  const std::size_t frequencies = file.frequencies_hz.size();
  require_values("spectra", file.spectra.size(),
                 file.frames * frequencies * static_cast<std::size_t>(geometry.channels()));
  h5::OutputFile output(path);
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
  output.finish();
}

}  // namespace nearfield
