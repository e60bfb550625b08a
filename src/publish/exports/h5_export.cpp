#include <cstdint>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "files/hdf5/h5_output.hpp"
#include "publish/exports/exports.hpp"
#include "publish/exports/matlab_order.hpp"

/// HDF5 of real datasets only: complex values are two of them, since Octave 7 loads compounds as zeros. MATLAB and
/// Octave read HDF5's axes in reverse order; the dimensions are such that they get those of the MATLAB file.
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

/// Writes the axis as a dimension scale and returns its path; "" if its entries have several components.
std::string write_h5_axis(h5::OutputFile& file, const Axis& axis) {
  std::string place = "/" + matlab_axis_name(axis);
  if (axis.components > 1) {
    file.write(place, {axis.size(), axis.components}, axis.values);
    return "";
  }
  file.write(place, {axis.size()}, axis.values);
  file.make_scale(place);
  return place;
}

/// Paths of the scales of the values' axes, slowest first.
std::vector<std::string> write_h5_axes(h5::OutputFile& file, const ExportSource& source) {
  std::vector<double> frames;
  std::vector<std::int64_t> times_ns;
  for (std::uint64_t frame = source.first_frame(); frame < source.end_frame(); ++frame) {
    frames.push_back(static_cast<double>(frame));
    times_ns.push_back(source.stamps().timestamps_ns[frame]);
  }
  file.write("/frame", {frames.size()}, frames);
  file.make_scale("/frame");
  file.write("/timestamp_ns", {times_ns.size()}, times_ns);
  std::vector<std::string> scales = {"/frame"};
  for (const Axis& axis : source.outer_axes()) {
    scales.push_back(write_h5_axis(file, axis));
  }
  for (const Axis& axis : matlab_surface(source)) {
    write_h5_axis(file, axis);
  }
  // Planes come first like in the source; rows and columns are swapped.
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

ExportedFiles export_h5(const std::filesystem::path& path, const ExportSource& source) {
  const MatlabShape shape = matlab_shape(source);
  const Product& product = source.product();
  const bool is_single = product.type == ElementType::kComplex64 || product.type == ElementType::kFloat32;
  h5::OutputFile file(path);
  for (int part = 0; part < (source.is_complex() ? 2 : 1); ++part) {
    is_single ? write_h5_part<float>(file, source, shape, part == 1)
              : write_h5_part<double>(file, source, shape, part == 1);
  }
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
  return {path};
}

}  // namespace nearfield
