#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <complex>
#include <cstdint>
#include <numbers>
#include <string>
#include <string_view>
#include <vector>

#include "core/system/partial_file.hpp"
#include "nearfield/error.hpp"
#include "publish/exports/exports.hpp"

namespace nearfield {
namespace {

/// An axis of the image, ascending as VTK requires.
struct VtkAxis {
  double origin_m = 0.0;
  double step_m = 1.0;
  std::vector<std::size_t> order;  ///< [ascending entry], the product's entry
};

VtkAxis vtk_axis(const std::vector<double>& values_m, const char* name, const char* way_out) {
  constexpr double kTolerance = 1e-4;  ///< in steps: axes are computed in float64, and settings have few digits
  VtkAxis axis;
  for (std::size_t i = 0; i < values_m.size(); ++i) {
    axis.order.push_back(i);
  }
  if (values_m.size() > 1 && values_m.back() < values_m.front()) {
    std::reverse(axis.order.begin(), axis.order.end());
  }
  axis.origin_m = values_m[axis.order.front()];
  if (values_m.size() > 1) {
    axis.step_m = (values_m[axis.order.back()] - axis.origin_m) / static_cast<double>(values_m.size() - 1);
  }
  for (std::size_t i = 0; i < values_m.size(); ++i) {
    const double expected_m = axis.origin_m + axis.step_m * static_cast<double>(i);
    if (!(std::abs(values_m[axis.order[i]] - expected_m) <= kTolerance * axis.step_m)) {
      throw UsageError(fmt::format("vtk: expected {} in equal steps, found {} m where {} m is due{}", name,
                                   values_m[axis.order[i]], expected_m, way_out));
    }
  }
  return axis;
}

struct VtkGrid {
  VtkAxis x, y, z;
  std::vector<std::size_t> offsets;  ///< offsets of the places in VTK's order, x fastest
};

VtkGrid vtk_grid(const ExportSource& source) {
  const std::vector<Axis>& axes = source.space_axes();
  const std::size_t count = axes.size();
  if (count < 2 || axes[count - 1].name != "x" || axes[count - 2].name != "y") {
    throw UsageError(fmt::format("vtk: expected a product over x and y, found {}, which has points", source.name()));
  }
  const std::size_t columns = axes[count - 1].size();
  const std::size_t pixels = columns * axes[count - 2].size();
  const std::vector<ExportPlace>& places = source.places();
  std::vector<double> planes_m;
  for (std::size_t i = 0; i < places.size(); i += pixels) {
    planes_m.push_back(places[i].z_m.value_or(0.0));
  }
  VtkGrid grid = {.x = vtk_axis(axes[count - 1].values, "x", ""),
                  .y = vtk_axis(axes[count - 2].values, "y", ""),
                  .z = vtk_axis(planes_m, "planes", "; --plane chooses one"),
                  .offsets = {}};
  for (const std::size_t plane : grid.z.order) {
    for (const std::size_t row : grid.y.order) {
      for (const std::size_t column : grid.x.order) {
        grid.offsets.push_back(places[plane * pixels + row * columns + column].offset);
      }
    }
  }
  return grid;
}

std::string base64_of(std::string_view bytes) {
  constexpr std::string_view kDigits = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::string text;
  text.reserve((bytes.size() + 2) / 3 * 4);
  for (std::size_t i = 0; i < bytes.size(); i += 3) {
    std::uint32_t word = 0;
    for (std::size_t j = i; j < i + 3; ++j) {
      word = word << 8U | (j < bytes.size() ? static_cast<unsigned char>(bytes[j]) : 0U);
    }
    for (std::size_t digit = 0; digit < 4; ++digit) {
      text += i + digit > bytes.size() ? '=' : kDigits[word >> (18U - 6U * digit) & 63U];
    }
  }
  return text;
}

std::string xml_text(std::string_view text) {
  std::string result;
  for (const char c : text) {
    result += c == '&' ? "&amp;" : c == '<' ? "&lt;" : c == '"' ? "&quot;" : std::string(1, c);
  }
  return result;
}

template <class T>
std::string_view bytes_of_values(const std::vector<T>& values) {
  return {reinterpret_cast<const char*>(values.data()), values.size() * sizeof(T)};
}

/// An array of float32: a count of bytes as uint64, then the values, both in base64 together.
std::string vtk_array(const std::string& name, const std::vector<float>& values, int components = 1) {
  const std::vector<std::uint64_t> head = {values.size() * sizeof(float)};
  std::string bytes(bytes_of_values(head));
  bytes += bytes_of_values(values);
  const std::string tuples = components == 1 ? "" : fmt::format(" NumberOfComponents=\"{}\"", components);
  return fmt::format("<DataArray type=\"Float32\" Name=\"{}\"{} format=\"binary\">\n{}\n</DataArray>\n", xml_text(name),
                     tuples, base64_of(bytes));
}

struct VtkPart {
  const char* name;
  double (*of)(const std::complex<double>& value);
};
constexpr VtkPart kVtkParts[] = {
    {"real", [](const std::complex<double>& value) { return value.real(); }},
    {"imaginary", [](const std::complex<double>& value) { return value.imag(); }},
    {"magnitude", [](const std::complex<double>& value) { return std::abs(value); }},
    {"phase", [](const std::complex<double>& value) { return std::arg(value) * 180.0 / std::numbers::pi; }},
};

std::string vtk_extent(const VtkGrid& grid) {
  return fmt::format("0 {} 0 {} 0 {}", grid.x.order.size() - 1, grid.y.order.size() - 1, grid.z.order.size() - 1);
}

std::string vtk_start(const ExportSource& source, const char* type) {
  const char* order = std::endian::native == std::endian::little ? "LittleEndian" : "BigEndian";
  const Product& product = source.product();
  return fmt::format(
      "<?xml version=\"1.0\"?>\n<!-- {}: {} [{}], phase in degrees, lengths in m -->\n"
      "<VTKFile type=\"{}\" version=\"1.0\" byte_order=\"{}\" header_type=\"UInt64\">\n",
      product.name, product.quantity, product.unit, type, order);
}

std::string vtk_time(const ExportSource& source, std::uint64_t frame) {
  constexpr double kPerSecond = 1e-9;
  const ResultStamps& stamps = source.stamps();
  const double since_s = static_cast<double>(stamps.timestamps_ns[frame] - stamps.timestamps_ns.front()) * kPerSecond;
  return fmt::format(
      "<FieldData>\n<DataArray type=\"Float64\" Name=\"TimeValue\" NumberOfTuples=\"1\" "
      "format=\"ascii\">{}</DataArray>\n</FieldData>\n",
      since_s);
}

/// Writes arrays of all entries; `offsets` are those of the places in VTK's order.
void write_point_data(PartialFile& file, const ExportSource& source, const std::vector<std::size_t>& offsets,
                      std::uint64_t frame) {
  const std::vector<std::complex<double>> values = source.values(frame);
  for (const ExportEntry& entry : source.entries()) {
    const std::string words = source.words_of(entry);
    const std::string name = words.empty() ? source.product().name : source.product().name + " " + words;
    for (const VtkPart& part : kVtkParts) {
      std::vector<float> array;
      array.reserve(offsets.size());
      for (const std::size_t offset : offsets) {
        array.push_back(static_cast<float>(part.of(values[entry.offset + offset])));
      }
      file.write(vtk_array(source.is_complex() ? fmt::format("{} {}", name, part.name) : name, array));
      if (!source.is_complex()) {
        break;  // the other parts of a real value are trivial
      }
    }
  }
}

void write_vti(const std::filesystem::path& path, const ExportSource& source, const VtkGrid& grid,
               std::uint64_t frame) {
  PartialFile file(path);
  file.write(vtk_start(source, "ImageData"));
  file.write(fmt::format("<ImageData WholeExtent=\"{}\" Origin=\"{} {} {}\" Spacing=\"{} {} {}\">\n", vtk_extent(grid),
                         grid.x.origin_m, grid.y.origin_m, grid.z.origin_m, grid.x.step_m, grid.y.step_m,
                         grid.z.step_m));
  file.write(vtk_time(source, frame));
  file.write(fmt::format("<Piece Extent=\"{}\">\n<PointData>\n", vtk_extent(grid)));
  write_point_data(file, source, grid.offsets, frame);
  file.write("</PointData>\n<CellData></CellData>\n</Piece>\n</ImageData>\n</VTKFile>\n");
  file.finish();
}

/// Writes places on a surface, with their normals; points that are not on it are hidden.
void write_vts(const std::filesystem::path& path, const ExportSource& source, std::uint64_t frame) {
  constexpr int kHiddenPoint = 2;  // one of VTK's ghost types
  const std::vector<Axis>& axes = source.space_axes();
  const std::string extent =
      fmt::format("0 {} 0 {} 0 0", axes[axes.size() - 1].size() - 1, axes[axes.size() - 2].size() - 1);
  std::vector<std::size_t> offsets;
  std::vector<float> places;
  std::vector<float> normals;
  std::string hidden;
  for (const ExportPlace& place : source.places()) {
    offsets.push_back(place.offset);
    for (const double value : {place.x_m, place.y_m, place.z_m.value_or(0.0)}) {
      places.push_back(static_cast<float>(value));
    }
    for (const double value : place.normal) {
      normals.push_back(static_cast<float>(value));
    }
    const bool is_there = place.normal != std::array<double, 3>{0.0, 0.0, 0.0};
    hidden += fmt::format("{} ", is_there ? 0 : kHiddenPoint);
  }
  PartialFile file(path);
  file.write(vtk_start(source, "StructuredGrid"));
  file.write(fmt::format("<StructuredGrid WholeExtent=\"{}\">\n", extent));
  file.write(vtk_time(source, frame));
  file.write(fmt::format("<Piece Extent=\"{}\">\n<PointData Normals=\"normal\">\n", extent));
  write_point_data(file, source, offsets, frame);
  file.write(vtk_array("normal", normals, 3));
  file.write(
      fmt::format("<DataArray type=\"UInt8\" Name=\"vtkGhostType\" format=\"ascii\">\n{}\n</DataArray>\n", hidden));
  file.write("</PointData>\n<CellData></CellData>\n<Points>\n");
  file.write(vtk_array("places", places, 3));
  file.write("</Points>\n</Piece>\n</StructuredGrid>\n</VTKFile>\n");
  file.finish();
}

/// The path with the extension of the kind of grid, if it has the extension of either kind.
std::filesystem::path vtk_path(std::filesystem::path path, bool is_on_surface) {
  if (path.extension() == ".vti" || path.extension() == ".vts") {
    path.replace_extension(is_on_surface ? ".vts" : ".vti");
  }
  return path;
}

}  // namespace

ExportedFiles vtk_files(const std::filesystem::path& asked, const ExportSource& source) {
  const std::filesystem::path path = vtk_path(asked, source.is_on_surface());
  if (source.end_frame() - source.first_frame() == 1) {
    return {path};
  }
  ExportedFiles files;
  for (std::uint64_t frame = source.first_frame(); frame < source.end_frame(); ++frame) {
    files.push_back(path);
    files.back().replace_filename(
        fmt::format("{}_frame{:05}{}", path.stem().string(), frame, path.extension().string()));
  }
  return files;
}

ExportedFiles export_vtk(const std::filesystem::path& asked, const ExportSource& source) {
  const VtkGrid grid = source.is_on_surface() ? VtkGrid() : vtk_grid(source);
  ExportedFiles files = vtk_files(asked, source);
  std::uint64_t frame = source.first_frame();
  for (const std::filesystem::path& file : files) {
    if (source.is_on_surface()) {
      write_vts(file, source, frame++);
    } else {
      write_vti(file, source, grid, frame++);
    }
  }
  return files;
}

}  // namespace nearfield
