#pragma once
#include <complex>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <vector>

#include "core/product.hpp"

/// Typed access to the values of products.
namespace nearfield {

/// Calls use(std::span<const T>) with the values of an array or of a column; T is the C++ type of `type`.
template <class Use>
void with_values(ElementType type, std::span<const std::byte> bytes, const Use& use) {
  switch (type) {
    case ElementType::kComplex64:
      return use(values_of<std::complex<float>>(bytes));
    case ElementType::kFloat32:
      return use(values_of<float>(bytes));
    case ElementType::kFloat64:
      return use(values_of<double>(bytes));
    case ElementType::kUint32:
      return use(values_of<std::uint32_t>(bytes));
    case ElementType::kUint64:
      return use(values_of<std::uint64_t>(bytes));
  }
}

/// Real values as they are, with an imaginary part of 0.
inline std::vector<std::complex<double>> complex_values_of(ElementType type, std::span<const std::byte> bytes) {
  std::vector<std::complex<double>> result;
  with_values(type, bytes, [&]<class T>(std::span<const T> values) {
    result.reserve(values.size());
    for (const T& value : values) {
      if constexpr (std::is_same_v<T, std::complex<float>>) {
        result.emplace_back(value);
      } else {
        result.emplace_back(static_cast<double>(value), 0.0);
      }
    }
  });
  return result;
}

/// A table's number of rows in a frame.
inline std::uint64_t rows_of(std::span<const std::byte> table) {
  std::uint64_t rows = 0;
  std::memcpy(&rows, table.data(), sizeof rows);
  return rows;
}

/// Offset and size of each column's values in a table's bytes, [column], with space for most_rows values.
inline std::vector<ProductPlaces::Place> column_places(const Product& table) {
  constexpr std::size_t kAlignment = 8;
  std::vector<ProductPlaces::Place> places;
  std::size_t offset = sizeof(std::uint64_t);
  for (const Column& column : table.columns) {
    const std::size_t bytes = table.most_rows * bytes_of(column.type);
    places.push_back({.offset = offset, .bytes = bytes});
    offset += (bytes + kAlignment - 1) / kAlignment * kAlignment;
  }
  return places;
}

}  // namespace nearfield
