#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <limits>
#include <string>
#include <string_view>
#include <vector>

#include "core/system/partial_file.hpp"
#include "nearfield/error.hpp"
#include "publish/exports/exports.hpp"
#include "publish/exports/matlab_order.hpp"

/// MATLAB's level 5 format, see "MAT-File Format": elements of a tag (type and bytes) and data, padded to 8 bytes; a
/// matrix is an element of elements: flags, dimensions, name, real part, imaginary part.
namespace nearfield {
namespace {

enum MatType : std::uint32_t {
  kMatInt8 = 1,
  kMatUint16 = 4,
  kMatInt32 = 5,
  kMatUint32 = 6,
  kMatSingle = 7,
  kMatDouble = 9,
  kMatInt64 = 12,
  kMatMatrix = 14
};
enum MatClass : std::uint32_t { kMatClassChar = 4, kMatClassDouble = 6, kMatClassSingle = 7, kMatClassInt64 = 14 };
constexpr std::uint32_t kMatComplex = 1U << 11U;
constexpr std::uint64_t kMatMostBytes = std::numeric_limits<std::int32_t>::max();  ///< largest variable

std::uint64_t mat_padded(std::uint64_t bytes) { return (bytes + 7) / 8 * 8; }

template <class T>
std::string_view mat_bytes(const std::vector<T>& values) {
  return {reinterpret_cast<const char*>(values.data()), values.size() * sizeof(T)};
}

std::string mat_tag(MatType type, std::uint64_t bytes) {
  return std::string(mat_bytes(std::vector<std::uint32_t>{type, static_cast<std::uint32_t>(bytes)}));
}

std::string mat_element(MatType type, std::string_view bytes) {
  std::string text = mat_tag(type, bytes.size());
  text += bytes;
  text.resize(mat_padded(text.size()), '\0');
  return text;
}

/// Flags, dimensions and name of a matrix, fastest dimension first.
std::string mat_array_head(std::uint32_t flags, std::vector<std::int32_t> dimensions, std::string_view name) {
  dimensions.resize(std::max<std::size_t>(dimensions.size(), 2), 1);
  return mat_element(kMatUint32, mat_bytes(std::vector<std::uint32_t>{flags, 0})) +
         mat_element(kMatInt32, mat_bytes(dimensions)) + mat_element(kMatInt8, name);
}

std::string mat_matrix(MatClass of_class, const std::vector<std::int32_t>& dimensions, std::string_view name,
                       MatType type, std::string_view bytes) {
  return mat_element(kMatMatrix, mat_array_head(of_class, dimensions, name) + mat_element(type, bytes));
}

std::string mat_numbers(std::string_view name, const std::vector<double>& values, std::size_t components = 1) {
  const auto rows = static_cast<std::int32_t>(components);
  const auto columns = static_cast<std::int32_t>(values.size() / components);
  return mat_matrix(kMatClassDouble, {rows, columns}, name, kMatDouble, mat_bytes(values));
}

std::string mat_text(std::string_view name, std::string_view text) {
  const std::vector<std::uint16_t> letters(text.begin(), text.end());
  return mat_matrix(kMatClassChar, {letters.empty() ? 0 : 1, static_cast<std::int32_t>(letters.size())}, name,
                    kMatUint16, mat_bytes(letters));
}

/// Writes the matrix `values` frame by frame, so that only one is in memory.
void write_mat_values(PartialFile& file, const ExportSource& source, const MatlabShape& shape) {
  const bool is_single =
      source.product().type == ElementType::kComplex64 || source.product().type == ElementType::kFloat32;
  const std::uint64_t frames = source.end_frame() - source.first_frame();
  const std::uint64_t part_bytes = frames * shape.offsets.size() * (is_single ? sizeof(float) : sizeof(double));
  const std::size_t parts = source.is_complex() ? 2 : 1;
  const std::string head =
      mat_array_head((is_single ? kMatClassSingle : kMatClassDouble) | (source.is_complex() ? kMatComplex : 0U),
                     shape.dimensions, "values");
  const std::uint64_t bytes = head.size() + parts * (sizeof(std::uint64_t) + mat_padded(part_bytes));
  if (bytes > kMatMostBytes) {
    throw UsageError(
        fmt::format("mat: expected at most {} bytes, the most of a variable, found {}; --frames, "
                    "--frequency and --plane choose less",
                    kMatMostBytes, bytes));
  }
  file.write(mat_tag(kMatMatrix, bytes) + head);
  for (std::size_t part = 0; part < parts; ++part) {
    file.write(mat_tag(is_single ? kMatSingle : kMatDouble, part_bytes));
    for (std::uint64_t frame = source.first_frame(); frame < source.end_frame(); ++frame) {
      const std::vector<double> numbers = matlab_values(source, shape, frame, part == 1);
      file.write(is_single ? mat_bytes(std::vector<float>(numbers.begin(), numbers.end())) : mat_bytes(numbers));
    }
    file.write(std::string(mat_padded(part_bytes) - part_bytes, '\0'));
  }
}

std::string mat_file_head() {
  constexpr std::size_t kTextBytes = 124;
  std::string head = "MATLAB 5.0 MAT-file, written by Nearfield";
  head.resize(kTextBytes, ' ');
  const std::vector<std::uint16_t> version = {0x0100, 'M' << 8U | 'I'};
  return head + std::string(mat_bytes(version));
}

}  // namespace

ExportedFiles export_mat(const std::filesystem::path& path, const ExportSource& source) {
  const MatlabShape shape = matlab_shape(source);
  PartialFile file(path);
  file.write(mat_file_head());
  write_mat_values(file, source, shape);
  for (const std::vector<Axis>& axes : {source.space_axes(), source.outer_axes(), matlab_surface(source)}) {
    for (const Axis& axis : axes) {
      file.write(mat_numbers(matlab_axis_name(axis), axis.values, axis.components));
    }
  }
  std::vector<double> frames;
  std::vector<std::int64_t> times_ns;
  for (std::uint64_t frame = source.first_frame(); frame < source.end_frame(); ++frame) {
    frames.push_back(static_cast<double>(frame));
    times_ns.push_back(source.stamps().timestamps_ns[frame]);
  }
  file.write(mat_numbers("frame", frames));
  file.write(mat_matrix(kMatClassInt64, {1, static_cast<std::int32_t>(times_ns.size())}, "timestamp_ns", kMatInt64,
                        mat_bytes(times_ns)));
  const std::array<std::array<std::string_view, 2>, 6> texts = {{{"axes", shape.axes},
                                                                 {"product", source.product().name},
                                                                 {"quantity", source.product().quantity},
                                                                 {"unit", source.product().unit},
                                                                 {"processor", source.header().processor},
                                                                 {"kind", source.header().kind}}};
  for (const auto& [name, text] : texts) {
    file.write(mat_text(name, text));
  }
  file.finish();
  return {path};
}

}  // namespace nearfield
