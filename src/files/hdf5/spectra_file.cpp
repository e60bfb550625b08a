#include <fmt/format.h>

#include <optional>

#include "files/files.hpp"
#include "files/format.hpp"
#include "files/pressure_units.hpp"

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

void write_spectra(const std::filesystem::path& path, const SpectraFile& file, const std::optional<Truth>& truth) {
  h5::OutputFile output(path);
  const MeasurementGeometry measurement = write_all_but_truth(output, file);
  if (truth) {
    write_truth(output, *truth, measurement.geometry);
  }
  output.finish();
}

namespace {

constexpr const char* kMatrices = "/csm";

std::size_t channels_of(const CrossSpectraInfo& info) { return static_cast<std::size_t>(info.geometry.channels()); }

/// [x, y, z][channel] in Acoular's convention: z from the array to the sources, opposite to that of images.
std::vector<double> positions_of(const ArrayGeometry& geometry) {
  const auto channels = static_cast<std::size_t>(geometry.channels());
  std::vector<double> positions(3 * channels);
  for (std::size_t channel = 0; channel < channels; ++channel) {
    const MicrophonePosition at = geometry.position_m(static_cast<int>(channel));
    positions[channel] = at.x_m;
    positions[channels + channel] = at.y_m;
    positions[2 * channels + channel] = 0.0 - at.z_m;
  }
  return positions;
}

h5::InputDataset matrices_of(const h5::InputFile& file, const CrossSpectraInfo& info) {
  return file.dataset<std::complex<float>>(
      kMatrices,
      {{"frequencies", info.frequencies_hz.size()}, {"channels", channels_of(info)}, {"channels", channels_of(info)}});
}

CrossSpectraInfo read_info_of(const h5::InputFile& file) {
  constexpr std::int64_t kMostSamples = std::int64_t{1} << 40U;
  CrossSpectraInfo info;
  info.geometry = read_geometry(file);
  info.frequencies_hz = read_frequencies(file);
  (void)matrices_of(file, info);
  info.snapshots = static_cast<std::uint64_t>(file.integer_attribute(kMatrices, "snapshots", 1));
  info.sample_rate_hz = file.positive_attribute(kMatrices, "sample_rate_hz");
  info.window_samples = file.integer_attribute(kMatrices, "window_samples", 1, kMostSamples);
  info.step_samples = file.integer_attribute(kMatrices, "step_samples", 1, kMostSamples);
  return info;
}

}  // namespace

struct CrossSpectraWriter::State {
  CrossSpectraInfo info;
  h5::OutputFile file;
  h5::OutputDataset matrices;
  std::uint64_t written = 0;

  State(const std::filesystem::path& path, const CrossSpectraInfo& of) : info(of), file(path) {
    write_format(file, FileKind::kCrossSpectra);
    write_geometry(file, info.geometry.in_channel_order());
    write_list(file, "/frequencies_hz", info.frequencies_hz);
    const h5::Shape positions = {3, channels_of(info)};
    file.write("/positions_m", positions, positions_of(info.geometry));
    write_words(file, "/positions_m", "m", "x, y and z of the microphone, z towards the sources");
    name_axes(file, "/positions_m", positions, {"/component", "/channel"});
    matrices = file.create<std::complex<float>>(
        kMatrices, {info.frequencies_hz.size(), channels_of(info), channels_of(info)}, h5::Storage::kInPlace);
    write_words(file, kMatrices, "Pa^2", "cross-spectra");
    name_axes(file, kMatrices, {info.frequencies_hz.size(), channels_of(info), channels_of(info)},
              {"/frequencies_hz", "/channel", "/other_channel"});
    file.write_attribute(kMatrices, "snapshots", static_cast<std::int64_t>(info.snapshots));
    file.write_attribute(kMatrices, "sample_rate_hz", info.sample_rate_hz);
    file.write_attribute(kMatrices, "window_samples", info.window_samples);
    file.write_attribute(kMatrices, "step_samples", info.step_samples);
  }
};

CrossSpectraWriter::CrossSpectraWriter(const std::filesystem::path& path, const CrossSpectraInfo& info)
    : state_(std::make_unique<State>(path, info)) {}
CrossSpectraWriter::~CrossSpectraWriter() = default;

void CrossSpectraWriter::append(std::span<const std::complex<float>> matrix) {
  require_values(kMatrices, matrix.size(), channels_of(state_->info) * channels_of(state_->info));
  state_->matrices.write(state_->written++, matrix);
}

void CrossSpectraWriter::finish() {
  require_values(kMatrices, state_->written, state_->info.frequencies_hz.size());
  state_->file.finish();
}

CrossSpectraInfo read_cross_spectra_info(const std::filesystem::path& path) {
  return read_info_of(open_input(path, FileKind::kCrossSpectra));
}

CrossSpectraFile read_cross_spectra(const std::filesystem::path& path) {
  const h5::InputFile file = open_input(path, FileKind::kCrossSpectra);
  CrossSpectraFile result;
  result.info = read_info_of(file);
  result.matrices = file.values<std::complex<float>>(kMatrices, {{"frequencies"}, {"channels"}, {"channels"}});
  return result;
}

std::vector<double> read_mean_squares(const std::filesystem::path& path) {
  const h5::InputFile file = open_input(path, FileKind::kCrossSpectra);
  const CrossSpectraInfo info = read_info_of(file);
  const h5::InputDataset matrices = matrices_of(file, info);
  const std::size_t channels = channels_of(info);
  std::vector<std::complex<float>> matrix(channels * channels);
  std::vector<double> mean_squares;
  for (std::size_t frequency = 0; frequency < info.frequencies_hz.size(); ++frequency) {
    matrices.read(frequency, std::span(matrix));
    for (std::size_t channel = 0; channel < channels; ++channel) {
      mean_squares.push_back(static_cast<double>(matrix[channel * channels + channel].real()));
    }
  }
  return mean_squares;
}

}  // namespace nearfield
