#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdint>

#include "core/error.hpp"
#include "core/geometry.hpp"
#include "files/files.hpp"
#include "files/format.hpp"
#include "files/hdf5/h5_input.hpp"

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

namespace {

constexpr std::size_t kCoordinates = 3;
constexpr const char* kReferenceChannel = "reference_channel";

void require_sound(const h5::InputFile& file, const Templates& templates) {
  const std::vector<double>& frequencies_hz = templates.frequencies_hz;
  const auto wrong = std::adjacent_find(frequencies_hz.begin(), frequencies_hz.end(), std::greater_equal<>());
  if (wrong != frequencies_hz.end()) {
    throw file.wrong(fmt::format("/frequencies_hz[{}]", wrong - frequencies_hz.begin() + 1),
                     fmt::format("{} after {}", *(wrong + 1), *wrong), "ascending frequencies");
  }
  for (std::size_t i = 0; i < templates.positions_m.size(); ++i) {
    if (!std::isfinite(templates.positions_m[i])) {
      throw file.wrong(fmt::format("/positions_m[{}]", i / kCoordinates), fmt::format("{}", templates.positions_m[i]),
                       "a place in m");
    }
  }
  const auto channels = static_cast<std::size_t>(templates.measurement.geometry.channels());
  for (std::size_t i = 0; i < templates.coherence.size(); ++i) {
    const std::string index = fmt::format("[{}][{}]", i / templates.count(), i % templates.count());
    const float coherence = templates.coherence[i];
    if (!std::isfinite(coherence)) {
      throw file.wrong("/coherence" + index, fmt::format("{}", coherence), "a coherence from 0 to 1");
    }
    if (static_cast<double>(coherence) < kLeastTemplateCoherence) {
      continue;  // template left out; silence would give 0 / 0
    }
    for (std::size_t m = 0; m < channels; ++m) {
      const std::complex<float> value = templates.a[i * channels + m];
      if (!std::isfinite(value.real()) || !std::isfinite(value.imag())) {
        throw file.wrong(fmt::format("/templates{}[{}]", index, m),
                         fmt::format("{} + {} i", value.real(), value.imag()),
                         "a finite value where the coherence is good");
      }
      if (!(std::abs(value) <= static_cast<float>(kLargestTemplate))) {
        throw file.wrong(fmt::format("/templates{}[{}]", index, m),
                         fmt::format("a magnitude of {:.4g}", std::abs(value)),
                         fmt::format("at most {} (60 dB), of 1 at the array's centre", kLargestTemplate));
      }
    }
  }
}

}  // namespace

void write_templates(const std::filesystem::path& path, const Templates& templates) {
  const std::size_t frequencies = templates.frequencies_hz.size();
  const auto channels = static_cast<std::size_t>(templates.measurement.geometry.channels());
  const std::size_t values = frequencies * templates.count();
  require_values("templates", templates.a.size(), values * channels);
  require_values("coherence", templates.coherence.size(), values);
  require_values("microphone_coherence", templates.of_microphones.size(), values * channels);
  h5::OutputFile file(path);
  write_format(file, FileKind::kTemplates);
  write_measurement(file, templates.measurement);
  write_list(file, "/frequencies_hz", templates.frequencies_hz);
  const auto write = [&](const std::string& place, const h5::Shape& shape, const auto& data, std::string_view unit,
                         std::string_view words, const std::vector<std::string>& scales) {
    file.write(place, shape, data);
    write_words(file, place, unit, words);
    name_axes(file, place, shape, scales);
  };
  const std::string at_frequencies = "/frequencies_hz";
  const std::string at_templates = "/template";
  const std::string at_channels = "/channel";
  write("/positions_m", {templates.count(), kCoordinates}, templates.positions_m, "m", "x, y and z of the source",
        {at_templates, "/component"});
  write("/templates", {frequencies, templates.count(), channels}, templates.a, "1", "steering vector",
        {at_frequencies, at_templates, at_channels});
  write("/coherence", {frequencies, templates.count()}, templates.coherence, "1", "coherence",
        {at_frequencies, at_templates});
  write("/microphone_coherence", {frequencies, templates.count(), channels}, templates.of_microphones, "1",
        "coherence of the microphone", {at_frequencies, at_templates, at_channels});
  if (templates.reference_channel) {
    file.write_attribute("/templates", kReferenceChannel, std::int64_t{*templates.reference_channel});
  }
  file.finish();
}

Templates read_templates(const std::filesystem::path& path) {
  const h5::InputFile file = open_input(path, FileKind::kTemplates);
  Templates templates;
  templates.measurement = read_measurement(file, true);
  templates.frequencies_hz = read_frequencies(file);
  const std::size_t frequencies = templates.frequencies_hz.size();
  const auto channels = static_cast<std::size_t>(templates.measurement.geometry.channels());
  templates.positions_m = file.values<double>("/positions_m", {{"template"}, {"coordinate", kCoordinates}});
  templates.a = file.values<std::complex<float>>(
      "/templates", {{"frequencies", frequencies}, {"templates", templates.count()}, {"channels", channels}});
  templates.coherence =
      file.values<float>("/coherence", {{"frequencies", frequencies}, {"templates", templates.count()}});
  if (file.has("/microphone_coherence")) {
    templates.of_microphones =
        file.values<float>("/microphone_coherence",
                           {{"frequencies", frequencies}, {"templates", templates.count()}, {"channels", channels}});
  }
  if (file.has_attribute("/templates", kReferenceChannel)) {
    templates.reference_channel = static_cast<int>(
        file.integer_attribute("/templates", kReferenceChannel, 0, static_cast<std::int64_t>(channels) - 1));
  }
  require_sound(file, templates);
  return templates;
}

namespace {

/// Size of the images of the largest array with the largest holography.upsample.
constexpr std::uint64_t kMostHeightsASide = std::uint64_t{8} * kMaxSide;

class ArrayFilesOnDisk : public ArrayFiles {
 public:
  [[nodiscard]] Calibration calibration(const std::filesystem::path& path) const override {
    return read_calibration(path);
  }
  [[nodiscard]] Templates templates(const std::filesystem::path& path) const override { return read_templates(path); }
  [[nodiscard]] std::vector<double> points(const std::filesystem::path& path, std::size_t most,
                                           const std::string& key) const override {
    const h5::InputFile file(path);
    const h5::InputDataset points = file.dataset<double>("/points", {{"point"}, {"coordinate", kCoordinates}});
    const std::size_t count = points.shape().front();
    if (count == 0 || count > most) {
      throw ConfigError(fmt::format("{}: expected a file of 1 to {} points, found {} in {}", key, most,
                                    count > most ? fmt::format("{}", count) : "none", path.string()));
    }
    return points.read_all<double>();
  }
  [[nodiscard]] SurfaceData surface(const std::filesystem::path& path, const std::string& key) const override {
    constexpr std::size_t kComponents = 3;
    constexpr const char* kHeights = "/z_m";
    constexpr const char* kNormals = "/normals";
    const h5::InputFile file(path);
    if (!file.has(kHeights)) {
      throw ConfigError(
          fmt::format("{}: expected a dataset z_m [row][column] in m, found none in {}", key, path.string()));
    }
    const h5::InputDataset heights = file.dataset<double>(kHeights, {{"row"}, {"column"}});
    if (heights.shape()[0] > kMostHeightsASide || heights.shape()[1] > kMostHeightsASide) {
      throw ConfigError(fmt::format("{}: expected z_m of at most {} rows and columns, found {} x {} in {}", key,
                                    kMostHeightsASide, heights.shape()[0], heights.shape()[1], path.string()));
    }
    SurfaceData surface{.is_points = false,
                        .rows = heights.shape()[0],
                        .columns = heights.shape()[1],
                        .xyz_m = {},
                        .z_m = heights.read_all<double>(),
                        .normals = {}};
    if (file.has(kNormals)) {
      surface.normals = file.values<double>(
          kNormals, {{"row", surface.rows}, {"column", surface.columns}, {"component", kComponents}});
    }
    return surface;
  }
};

}  // namespace

std::shared_ptr<const ArrayFiles> array_files_on_disk() { return std::make_shared<const ArrayFilesOnDisk>(); }

}  // namespace nearfield
