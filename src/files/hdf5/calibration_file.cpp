#include <fmt/format.h>

#include "files/format.hpp"

namespace nearfield {
namespace {

void require_ascending(const h5::InputFile& file, const std::vector<double>& frequencies_hz) {
  for (std::size_t index = 1; index < frequencies_hz.size(); ++index) {
    if (frequencies_hz[index] <= frequencies_hz[index - 1]) {
      throw file.wrong(fmt::format("/frequencies_hz[{}]", index),
                       fmt::format("{} after {}", frequencies_hz[index], frequencies_hz[index - 1]),
                       "ascending frequencies");
    }
  }
}

}  // namespace

Calibration read_calibration(const std::filesystem::path& path) {
  const h5::InputFile file = open_input(path, FileKind::kCalibration);
  Calibration calibration;
  calibration.geometry = read_geometry_in_order(file);
  calibration.frequencies_hz = read_frequencies(file);
  require_ascending(file, calibration.frequencies_hz);
  calibration.gains = file.values<std::complex<float>>(
      "/gains", {{"frequencies", calibration.frequencies_hz.size()},
                 {"rows", static_cast<std::uint64_t>(calibration.geometry.rows)},
                 {"columns", static_cast<std::uint64_t>(calibration.geometry.columns)}});
  if (const std::string flaw = flaw_of_gains(calibration); !flaw.empty()) {
    throw DataError(fmt::format("{}: /gains: {}", path.string(), flaw));
  }
  return calibration;
}

void write_calibration(const std::filesystem::path& path, const Calibration& calibration) {
  const ArrayGeometry& geometry = calibration.geometry;
  const std::size_t frequencies = calibration.frequencies_hz.size();
  require_values("gains", calibration.gains.size(), frequencies * static_cast<std::size_t>(geometry.channels()));
  h5::OutputFile file(path);
  write_format(file, FileKind::kCalibration);
  write_geometry(file, geometry.in_channel_order());
  write_list(file, "/frequencies_hz", calibration.frequencies_hz);
  const h5::Shape shape = {frequencies, static_cast<hsize_t>(geometry.rows), static_cast<hsize_t>(geometry.columns)};
  const std::vector<std::string> grid = write_grid(file, "", geometry.in_channel_order());
  const auto describe = [&](const std::string& place, std::string_view words) {
    write_words(file, place, "1", words);
    name_axes(file, place, shape, {"/frequencies_hz", grid[0], grid[1]});
  };
  file.write("/gains", shape, calibration.gains);
  describe("/gains", "gain by which spectra are multiplied");
  const auto write_quality = [&](const char* name, const std::vector<float>& values, std::string_view words) {
    if (!values.empty()) {
      require_values(name, values.size(), calibration.gains.size());
      file.write(fmt::format("/{}", name), shape, values);
      describe(fmt::format("/{}", name), words);
    }
  };
  write_quality("relative_error", calibration.relative_error, "standard error of the gain over its magnitude");
  write_quality("coherence", calibration.coherence, "coherence of the microphone with the known field");
  file.finish();
}

}  // namespace nearfield
