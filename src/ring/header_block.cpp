#include "ring/header_block.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cstdint>
#include <cstring>
#include <limits>
#include <numeric>
#include <optional>
#include <span>
#include <string>

#include "core/error.hpp"

namespace nearfield::ring {
namespace {

static_assert(std::endian::native == std::endian::little);
static_assert(sizeof(nf_ring_header) == 256 && sizeof(nf_ring_axis) == 24 && sizeof(nf_ring_product) == 64 &&
              sizeof(nf_ring_column) == 24);
static_assert(static_cast<int>(Product::Form::kArray) == NF_FORM_ARRAY &&
              static_cast<int>(Product::Form::kFigure) == NF_FORM_FIGURE &&
              static_cast<int>(Product::Form::kTable) == NF_FORM_TABLE);
static_assert(static_cast<int>(ElementType::kComplex64) == NF_TYPE_COMPLEX64 &&
              static_cast<int>(ElementType::kFloat32) == NF_TYPE_FLOAT32 &&
              static_cast<int>(ElementType::kFloat64) == NF_TYPE_FLOAT64 &&
              static_cast<int>(ElementType::kUint32) == NF_TYPE_UINT32 &&
              static_cast<int>(ElementType::kUint64) == NF_TYPE_UINT64);

// Limits of nearfield_ring.h.
constexpr std::size_t kMostHeaderBytes = std::size_t{1} << 26U;
constexpr std::size_t kMostAxes = 1024;
constexpr std::size_t kMostProducts = 1024;
constexpr std::size_t kMostAxesOfProduct = 16;
constexpr std::size_t kMostColumns = 4096;
constexpr std::size_t kMostText = 255;

constexpr std::size_t kWord = 8;

void require(std::size_t count, std::size_t most, const char* what, const std::string& whose) {
  if (count > most) {
    throw ConfigError(fmt::format("ring: expected at most {} {} in {}, found {}", most, what, whose, count));
  }
}

void require_room(const ResultHeader& header) {
  require(header.axes.size(), kMostAxes, "axes", header.processor);
  require(header.products.size(), kMostProducts, "products", header.processor);
  std::size_t columns = 0;
  for (const Product& product : header.products) {
    require(product.axes.size(), kMostAxesOfProduct, "axes", product.name);
    columns += product.columns.size();
  }
  require(columns, kMostColumns, "columns of tables", header.processor);
  std::size_t values = 0;
  for (const Axis& axis : header.axes) {
    values += axis.values.size();
  }
  // The other tables take less than the other half.
  require(values, kMostHeaderBytes / 2 / sizeof(double), "values of axes", header.processor);
}

/// A block of memory that grows.
class Block {
 public:
  explicit Block(std::size_t bytes) : bytes_(bytes) {}
  /// Appends and returns the offset, a multiple of 8.
  template <class T>
  std::uint32_t append(std::span<const T> values) {
    const std::size_t offset = bytes_.size();
    bytes_.resize(round_up(offset + values.size_bytes(), kWord));
    if (!values.empty()) {
      std::memcpy(bytes_.data() + offset, values.data(), values.size_bytes());
    }
    return static_cast<std::uint32_t>(offset);
  }
  std::uint32_t append_text(const std::string& text) {
    require(text.size(), kMostText, "characters", "\"" + text + "\"");
    return append(std::span(text.c_str(), text.size() + 1));
  }
  std::vector<std::byte> take(std::size_t step) {
    bytes_.resize(round_up(bytes_.size(), step));
    return std::move(bytes_);
  }

 private:
  std::vector<std::byte> bytes_;
};

std::vector<nf_ring_axis> append_axes(Block& block, const ResultHeader& header) {
  std::vector<nf_ring_axis> axes;
  for (const Axis& axis : header.axes) {
    axes.push_back({.name = block.append_text(axis.name),
                    .unit = block.append_text(axis.unit),
                    .size = static_cast<std::uint32_t>(axis.size()),
                    .components = static_cast<std::uint32_t>(axis.components),
                    .values_offset = block.append(std::span(axis.values)),
                    .reserved = 0});
  }
  return axes;
}

std::uint32_t append_columns(Block& block, const Product& product) {
  std::vector<nf_ring_column> columns;
  std::size_t offset = sizeof(std::uint64_t);  // after the number of rows, see ResultHeader::bytes()
  for (const Column& column : product.columns) {
    columns.push_back({.name = block.append_text(column.name),
                       .unit = block.append_text(column.unit),
                       .type = static_cast<std::uint32_t>(column.type),
                       .reserved = 0,
                       .offset = offset});
    offset += round_up(product.most_rows * bytes_of(column.type), kWord);
  }
  return block.append(std::span<const nf_ring_column>(columns));
}

std::uint32_t append_indices(Block& block, const ResultHeader& header, const Product& product) {
  std::vector<std::uint32_t> indices;
  for (const std::string& name : product.axes) {
    indices.push_back(static_cast<std::uint32_t>(header.axis(name) - header.axes.data()));
  }
  return block.append(std::span<const std::uint32_t>(indices));
}

std::vector<nf_ring_product> append_products(Block& block, const ResultHeader& header, std::size_t products_offset) {
  const ProductPlaces places = places_of(header);
  std::vector<nf_ring_product> products;
  for (std::size_t i = 0; i < header.products.size(); ++i) {
    const Product& product = header.products[i];
    products.push_back({.name = block.append_text(product.name),
                        .quantity = block.append_text(product.quantity),
                        .unit = block.append_text(product.unit),
                        .form = static_cast<std::uint32_t>(product.form),
                        .type = static_cast<std::uint32_t>(product.type),
                        .axes = static_cast<std::uint32_t>(product.axes.size()),
                        .axes_offset = append_indices(block, header, product),
                        .columns = static_cast<std::uint32_t>(product.columns.size()),
                        .columns_offset = append_columns(block, product),
                        .reserved = 0,
                        .most_rows = product.most_rows,
                        .offset = products_offset + places.places[i].offset,
                        .bytes = places.places[i].bytes});
  }
  return products;
}

/// Code of nf_ring_header.memory_hops.
std::uint32_t coded(const std::optional<std::int64_t>& memory_hops) {
  constexpr std::uint32_t kAll = std::numeric_limits<std::uint32_t>::max();
  return !memory_hops ? 0U : *memory_hops < 0 ? kAll : static_cast<std::uint32_t>(*memory_hops) + 1U;
}

}  // namespace

std::vector<std::byte> make_header_block(const nf_ring_header& fields, const ResultHeader& header,
                                         std::size_t products_offset) {
  require_room(header);
  nf_ring_header h = fields;
  Block block(sizeof h);
  h.fields_bytes = sizeof h;
  h.slot_head_bytes = sizeof(nf_ring_slot);
  h.axis_bytes = sizeof(nf_ring_axis);
  h.product_bytes = sizeof(nf_ring_product);
  h.column_bytes = sizeof(nf_ring_column);
  h.processor = block.append_text(header.processor);
  h.memory_hops = coded(header.memory_hops);
  const std::vector<nf_ring_axis> axes = append_axes(block, header);
  const std::vector<nf_ring_product> products = append_products(block, header, products_offset);
  h.axes = static_cast<std::uint32_t>(axes.size());
  h.axes_offset = block.append(std::span(axes));
  h.products = static_cast<std::uint32_t>(products.size());
  h.products_offset = block.append(std::span(products));
  std::vector<std::byte> bytes = block.take(kLine);
  h.header_bytes = static_cast<std::uint32_t>(bytes.size());
  std::memcpy(bytes.data(), &h, sizeof h);
  return bytes;
}

}  // namespace nearfield::ring
