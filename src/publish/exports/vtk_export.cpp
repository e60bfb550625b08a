#include <fmt/format.h>

#include <algorithm>
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

/// An axis of the image, ascending as VTK wants it.
struct VtkAxis {
  double origin_m = 0.0;
  double step_m = 1.0;
  std::vector<std::size_t> order;  ///< [ascending entry], the product's entry
};

VtkAxis vtk_axis(const std::vector<double>& values_m, const char* name, const char* way_out) {
  constexpr double kTolerance = 1e-4;  ///< of a step: axes are computed in float64, and settings have few digits
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
  std::vector<std::size_t> offsets;  ///< of the places in VTK's order, x fastest
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
std::string vtk_array(const std::string& name, const std::vector<float>& values) {
  const std::vector<std::uint64_t> head = {values.size() * sizeof(float)};
  std::string bytes(bytes_of_values(head));
  bytes += bytes_of_values(values);
  return fmt::format("<DataArray type=\"Float32\" Name=\"{}\" format=\"binary\">\n{}\n</DataArray>\n", xml_text(name),
                     base64_of(bytes));
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

std::string vtk_head(const ExportSource& source, const VtkGrid& grid) {
  const char* order = std::endian::native == std::endian::little ? "LittleEndian" : "BigEndian";
  const Product& product = source.product();
  return fmt::format(
      "<?xml version=\"1.0\"?>\n<!-- {}: {} [{}], phase in degrees, lengths in m -->\n"
      "<VTKFile type=\"ImageData\" version=\"1.0\" byte_order=\"{}\" header_type=\"UInt64\">\n"
      "<ImageData WholeExtent=\"{}\" Origin=\"{} {} {}\" Spacing=\"{} {} {}\">\n",
      product.name, product.quantity, product.unit, order, vtk_extent(grid), grid.x.origin_m, grid.y.origin_m,
      grid.z.origin_m, grid.x.step_m, grid.y.step_m, grid.z.step_m);
}

void write_vti(const std::filesystem::path& path, const ExportSource& source, const VtkGrid& grid,
               std::uint64_t frame) {
  const std::vector<std::complex<double>> values = source.values(frame);
  const ResultStamps& stamps = source.stamps();
  PartialFile file(path);
  file.write(vtk_head(source, grid));
  constexpr double kPerSecond = 1e-9;
  const double since_s = static_cast<double>(stamps.timestamps_ns[frame] - stamps.timestamps_ns.front()) * kPerSecond;
  file.write(
      fmt::format("<FieldData>\n<DataArray type=\"Float64\" Name=\"TimeValue\" NumberOfTuples=\"1\" "
                  "format=\"ascii\">{}</DataArray>\n</FieldData>\n<Piece Extent=\"{}\">\n<PointData>\n",
                  since_s, vtk_extent(grid)));
  for (const ExportEntry& entry : source.entries()) {
    const std::string words = source.words_of(entry);
    const std::string name = words.empty() ? source.product().name : source.product().name + " " + words;
    for (const VtkPart& part : kVtkParts) {
      std::vector<float> array;
      array.reserve(grid.offsets.size());
      for (const std::size_t offset : grid.offsets) {
        array.push_back(static_cast<float>(part.of(values[entry.offset + offset])));
      }
      file.write(vtk_array(source.is_complex() ? fmt::format("{} {}", name, part.name) : name, array));
      if (!source.is_complex()) {
        break;  // the other parts say nothing of a real value
      }
    }
  }
  file.write("</PointData>\n<CellData></CellData>\n</Piece>\n</ImageData>\n</VTKFile>\n");
  file.finish();
}

}  // namespace

ExportedFiles export_vtk(const std::filesystem::path& path, const ExportSource& source) {
  const VtkGrid grid = vtk_grid(source);
  ExportedFiles files;
  const bool is_single = source.end_frame() - source.first_frame() == 1;
  for (std::uint64_t frame = source.first_frame(); frame < source.end_frame(); ++frame) {
    std::filesystem::path name = path;
    if (!is_single) {
      name.replace_filename(fmt::format("{}_frame{:05}{}", path.stem().string(), frame, path.extension().string()));
    }
    write_vti(name, source, grid, frame);
    files.push_back(name);
  }
  return files;
}

}  // namespace nearfield
