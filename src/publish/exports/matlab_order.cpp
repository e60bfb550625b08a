#include "publish/exports/matlab_order.hpp"

#include <algorithm>
#include <cctype>
#include <complex>
#include <iterator>

namespace nearfield {
namespace {

void add_dimension(MatlabShape& shape, std::size_t size, const std::string& name) {
  shape.dimensions.push_back(static_cast<std::int32_t>(size));
  shape.axes += (shape.axes.empty() ? "" : ",") + name;
}

}  // namespace

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

}  // namespace nearfield
