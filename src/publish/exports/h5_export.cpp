#include <cstdint>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "files/hdf5/h5_output.hpp"
#include "publish/exports/exports.hpp"
#include "publish/exports/matlab_order.hpp"

/// HDF5 of real datasets alone: complex values are two of them, since Octave 7 loads compounds as zeros. The dimensions
/// lie so that MATLAB and Octave, which read HDF5's axes in reverse order, have those of the MATLAB file.
namespace nearfield {
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
  constexpr double kPerSecond = 1e-9;
  const ResultStamps& stamps = source.stamps();
  std::vector<double> frames;
  std::vector<std::int64_t> times_ns;
  std::vector<double> times_s;
  std::vector<std::uint64_t> first_samples;
  for (std::uint64_t frame = source.first_frame(); frame < source.end_frame(); ++frame) {
    frames.push_back(static_cast<double>(frame));
    times_ns.push_back(stamps.timestamps_ns[frame]);
    times_s.push_back(static_cast<double>(times_ns.back() - stamps.timestamps_ns.front()) * kPerSecond);
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
