#include "publish/exports/exports.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <complex>
#include <cstdint>
#include <iterator>
#include <numbers>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "core/error.hpp"
#include "core/product.hpp"
#include "core/system/clocks.hpp"
#include "core/system/files.hpp"
#include "files/hdf5/h5_output.hpp"

namespace nearfield {
namespace {

/// Order of MATLAB and Octave, whose first dimension is the fastest: dimensions of the values, fastest first, and names
/// of the axes: rows, columns (or points), planes, then the other axes, frames last, so that values(:, :, 1, 2) is an
/// image.
struct MatlabShape {
  std::vector<std::int32_t> dimensions;
  std::string axes;                  ///< "y,x,z,frequency,frame"
  std::vector<std::size_t> offsets;  ///< offsets of one frame's values in that order
};

void add_dimension(MatlabShape& shape, std::size_t size, const std::string& name) {
  shape.dimensions.push_back(static_cast<std::int32_t>(size));
  shape.axes += (shape.axes.empty() ? "" : ",") + name;
}

/// "frequency_hz": the axis and its unit if that consists of letters, like names of further axes in images.h5.
std::string matlab_axis_name(const Axis& axis) {
  std::string name = axis.name;
  if (std::all_of(axis.unit.begin(), axis.unit.end(), [](unsigned char c) { return std::isalpha(c) != 0; })) {
    name += "_";
    std::transform(axis.unit.begin(), axis.unit.end(), std::back_inserter(name),
                   [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  }
  return name;
}

MatlabShape matlab_shape(const ExportSource& source) {
  const std::vector<Axis>& space = source.space_axes();
  MatlabShape shape;
  std::size_t rows = 1;
  std::size_t columns = space.back().size();
  if (space.back().name != "point" && space.size() > 1) {
    rows = space[space.size() - 2].size();
    add_dimension(shape, rows, space[space.size() - 2].name);
  }
  add_dimension(shape, columns, space.back().name);
  const std::size_t planar = space.back().name == "point" ? 1 : 2;
  for (std::size_t i = space.size() - planar; i > 0; --i) {
    add_dimension(shape, space[i - 1].size(), space[i - 1].name);
  }
  for (auto axis = source.outer_axes().rbegin(); axis != source.outer_axes().rend(); ++axis) {
    add_dimension(shape, axis->size(), axis->name);
  }
  for (const ExportEntry& entry : source.entries()) {
    for (std::size_t first = 0; first < source.places().size(); first += rows * columns) {
      for (std::size_t column = 0; column < columns; ++column) {
        for (std::size_t row = 0; row < rows; ++row) {
          shape.offsets.push_back(entry.offset + source.places()[first + row * columns + column].offset);
        }
      }
    }
  }
  add_dimension(shape, source.end_frame() - source.first_frame(), "frame");
  return shape;
}

/// Positions and normals of the pixels of a surface that is no plane, in the order of an image's values; empty for
/// others.
std::vector<Axis> matlab_surface(const ExportSource& source) {
  if (!source.is_on_surface()) {
    return {};
  }
  const std::vector<Axis>& space = source.space_axes();
  const std::size_t rows = space[space.size() - 2].size();
  const std::size_t columns = space.back().size();
  Axis surface{.name = "surface", .unit = "m", .values = {}, .components = 3};
  Axis normal{.name = "normal", .unit = "1", .values = {}, .components = 3};
  for (std::size_t column = 0; column < columns; ++column) {
    for (std::size_t row = 0; row < rows; ++row) {
      const ExportPlace& place = source.places()[row * columns + column];
      surface.values.insert(surface.values.end(), {place.x_m, place.y_m, place.z_m.value_or(0.0)});
      normal.values.insert(normal.values.end(), place.normal.begin(), place.normal.end());
    }
  }
  return {surface, normal};
}

/// The real or imaginary parts of a frame in the order of the shape.
std::vector<double> matlab_values(const ExportSource& source, const MatlabShape& shape, std::uint64_t frame,
                                  bool is_imaginary) {
  const std::vector<std::complex<double>> values = source.values(frame);
  std::vector<double> numbers;
  numbers.reserve(shape.offsets.size());
  for (const std::size_t offset : shape.offsets) {
    numbers.push_back(is_imaginary ? values[offset].imag() : values[offset].real());
  }
  return numbers;
}

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

const ExportFormat& export_format(std::string_view name, std::string_view path) {
  if (path == kStandardOutput) {
    if (!name.empty() && name != kExportFormats.front().name) {
      throw UsageError(
          fmt::format("--format: expected {} for standard output, found {}", kExportFormats.front().name, name));
    }
    return kExportFormats.front();
  }
  const std::string ending = std::filesystem::path(path).extension().string();
  for (const ExportFormat& format : kExportFormats) {
    const bool has_ending = ending == format.ending || ending == format.surface_ending;
    if (name.empty() ? has_ending : name == format.name) {
      return format;
    }
  }
  throw UsageError(name.empty()
                       ? fmt::format("--output: expected a name with the ending of a format, one of {}, or "
                                     "--format; found {}",
                                     export_formats_in_words(), path)
                       : fmt::format("--format: expected one of {}, found {}", export_formats_in_words(), name));
}

namespace {

/// "frequency [Hz]", or for an axis of bands "band 1 [Hz],band 2 [Hz]".
std::string csv_titles(const Axis& axis) {
  std::string titles;
  for (std::size_t component = 0; component < axis.components; ++component) {
    titles += axis.components == 1 ? fmt::format("{} [{}],", axis.name, axis.unit)
                                   : fmt::format("{} {} [{}],", axis.name, component + 1, axis.unit);
  }
  return titles;
}

/// The comments and the line of titles.
std::string csv_head(const ExportSource& source, const LevelRule& rule) {
  const Product& product = source.product();
  std::string text = fmt::format("# {}: {} [{}]; processor {} of kind {}\n", product.name, product.quantity,
                                 product.unit, source.header().processor, source.header().kind);
  text += fmt::format("# level: {}\n", rule.unit);
  text += "frame,first sample,timestamp [ns],flags,";
  for (const Axis& axis : source.outer_axes()) {
    text += csv_titles(axis);
  }
  return text + fmt::format("x [m],y [m],z [m],real [{0}],imaginary [{0}],magnitude [{0}],phase [deg],level [dB]\n",
                            product.unit);
}

std::string csv_lines(const ExportSource& source, const LevelRule& rule, std::uint64_t frame, const ExportEntry& entry,
                      const std::vector<std::complex<double>>& values) {
  const ResultStamps& stamps = source.stamps();
  std::string start =
      fmt::format("{},{},{},{},", frame, stamps.first_samples[frame], stamps.timestamps_ns[frame], stamps.flags[frame]);
  for (std::size_t i = 0; i < source.outer_axes().size(); ++i) {
    const Axis& axis = source.outer_axes()[i];
    for (std::size_t component = 0; component < axis.components; ++component) {
      start += fmt::format("{},", axis.values[entry.indices[i] * axis.components + component]);
    }
  }
  std::string text;
  for (const ExportPlace& place : source.places()) {
    const std::complex<double> value = values[entry.offset + place.offset];
    const double magnitude = std::abs(value);
    constexpr double kDegreesOfHalfTurn = 180.0;
    fmt::format_to(std::back_inserter(text), "{}{:.10g},{:.10g},{},{:.9g},{:.9g},{:.9g},{:.6f},{:.4f}\n", start,
                   place.x_m, place.y_m, place.z_m ? fmt::format("{:.10g}", *place.z_m) : "", value.real(),
                   value.imag(), magnitude, std::arg(value) * kDegreesOfHalfTurn / std::numbers::pi,
                   rule.level(magnitude));
  }
  return text;
}

}  // namespace

void export_csv(const std::filesystem::path& path, const ExportSource& source) {
  const LevelRule rule = level_rule(source.product());
  std::optional<PartialFile> file;
  if (path != kStandardOutput) {
    file.emplace(path);
  }
  const auto write = [&file](const std::string& text) {
    if (file) {
      file->write(text);
    } else {
      fmt::print("{}", text);
    }
  };
  write(csv_head(source, rule));
  for (std::uint64_t frame = source.first_frame(); frame < source.end_frame(); ++frame) {
    const std::vector<std::complex<double>> values = source.values(frame);
    for (const ExportEntry& entry : source.entries()) {
      write(csv_lines(source, rule, frame, entry, values));
    }
  }
  if (file) {
    file->finish();
  }
}

/// HDF5 of real datasets alone: complex values are two of them, since Octave 7 loads compounds as zeros. The dimensions
/// lie so that MATLAB and Octave, which read HDF5's axes in reverse order, have those of the MATLAB file.
namespace {

/// Lengths of HDF5's axes, slowest first.
h5::Shape h5_export_shape(const MatlabShape& shape) { return {shape.dimensions.rbegin(), shape.dimensions.rend()}; }

template <class T>
void write_h5_part(h5::OutputFile& file, const ExportSource& source, const MatlabShape& shape, bool is_imaginary) {
  h5::OutputDataset dataset =
      file.create<T>(is_imaginary ? "/im" : "/re", h5_export_shape(shape), h5::Storage::kPieces);
  for (std::uint64_t frame = source.first_frame(); frame < source.end_frame(); ++frame) {
    const std::vector<double> numbers = matlab_values(source, shape, frame, is_imaginary);
    const std::vector<T> values(numbers.begin(), numbers.end());
    dataset.write(frame - source.first_frame(), std::span<const T>(values));
  }
}

/// Writes the axis and returns where it lies, as a dimension scale; "" where its entries have several components.
std::string write_h5_axis(h5::OutputFile& file, const Axis& axis) {
  std::string place = "/" + matlab_axis_name(axis);
  const bool is_scale = axis.components == 1;
  file.write(place, is_scale ? h5::Shape{axis.size()} : h5::Shape{axis.size(), axis.components}, axis.values);
  if (is_scale) {
    file.make_scale(place);
  }
  file.write_attribute(place, "axis", axis.name);
  file.write_attribute(place, "units", axis.unit);
  return is_scale ? place : "";
}

/// Data of each frame.
void write_h5_frames(h5::OutputFile& file, const ExportSource& source) {
  const ResultStamps& stamps = source.stamps();
  std::vector<double> frames;
  std::vector<std::int64_t> times_ns;
  std::vector<double> times_s;
  std::vector<std::uint64_t> first_samples;
  for (std::uint64_t frame = source.first_frame(); frame < source.end_frame(); ++frame) {
    frames.push_back(static_cast<double>(frame));
    times_ns.push_back(stamps.timestamps_ns[frame]);
    times_s.push_back(static_cast<double>(times_ns.back() - stamps.timestamps_ns.front()) * kSecondsPerNs);
    first_samples.push_back(stamps.first_samples[frame]);
  }
  file.write("/frame", {frames.size()}, frames);
  file.make_scale("/frame");
  file.write("/timestamp_ns", {times_ns.size()}, times_ns);
  file.write("/since_first_s", {times_s.size()}, times_s);
  file.write("/first_sample", {first_samples.size()}, first_samples);
}

/// The z of each entry of an axis of distances, which is the slowest axis of the places.
void write_h5_depths(h5::OutputFile& file, const ExportSource& source) {
  const Axis& slowest = source.space_axes().front();
  if (slowest.name == "distance") {
    std::vector<double> z_m;
    for (std::size_t i = 0; i < slowest.size(); ++i) {
      z_m.push_back(source.places()[i * source.places().size() / slowest.size()].z_m.value_or(0.0));
    }
    file.write("/z_m", {z_m.size()}, z_m);
  }
}

/// The scales of the values' axes, slowest first.
std::vector<std::string> write_h5_axes(h5::OutputFile& file, const ExportSource& source) {
  std::vector<std::string> scales = {"/frame"};
  for (const Axis& axis : source.outer_axes()) {
    scales.push_back(write_h5_axis(file, axis));
  }
  for (const Axis& axis : matlab_surface(source)) {
    write_h5_axis(file, axis);
  }
  // Planes come first, as in the source; rows and columns change places.
  std::vector<std::string> places;
  for (const Axis& axis : source.space_axes()) {
    places.push_back(write_h5_axis(file, axis));
  }
  if (places.size() > 1 && source.space_axes().back().name != "point") {
    std::swap(places[places.size() - 1], places[places.size() - 2]);
  }
  scales.insert(scales.end(), places.begin(), places.end());
  return scales;
}

}  // namespace

void export_h5(const std::filesystem::path& path, const ExportSource& source) {
  const MatlabShape shape = matlab_shape(source);
  const Product& product = source.product();
  const bool is_single = product.type == ElementType::kComplex64 || product.type == ElementType::kFloat32;
  h5::OutputFile file(path);
  for (int part = 0; part < (source.is_complex() ? 2 : 1); ++part) {
    is_single ? write_h5_part<float>(file, source, shape, part == 1)
              : write_h5_part<double>(file, source, shape, part == 1);
  }
  write_h5_frames(file, source);
  write_h5_depths(file, source);
  const std::vector<std::string> scales = write_h5_axes(file, source);
  for (const char* part : {"/re", "/im"}) {
    if (file.has(part)) {
      file.attach_scales(part, scales);
      file.write_attribute(part, "units", product.unit);
      file.write_attribute(part, "long_name", product.quantity);
    }
  }
  file.write_attribute("/", "axes", shape.axes);
  file.write_attribute("/", "product", product.name);
  file.write_attribute("/", "quantity", product.quantity);
  file.write_attribute("/", "unit", product.unit);
  file.write_attribute("/", "processor", source.header().processor);
  file.write_attribute("/", "kind", source.header().kind);
  file.finish();
}

}  // namespace nearfield
