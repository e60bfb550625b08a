#include "core/product.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <numbers>
#include <set>
#include <stdexcept>

namespace nearfield {
namespace {

constexpr std::size_t kAlignment = 8;
constexpr std::size_t kMostBytes = std::size_t{1} << 31U;

struct ElementName {
  ElementType type;
  std::string_view name;
  std::size_t bytes;
};
constexpr std::array<ElementName, 5> kElements = {{{ElementType::kComplex64, "complex64", 8},
                                                   {ElementType::kFloat32, "float32", 4},
                                                   {ElementType::kFloat64, "float64", 8},
                                                   {ElementType::kUint32, "uint32", 4},
                                                   {ElementType::kUint64, "uint64", 8}}};

struct FormName {
  Product::Form form;
  std::string_view name;
};
constexpr std::array<FormName, 3> kForms = {
    {{Product::Form::kArray, "array"}, {Product::Form::kFigure, "figure"}, {Product::Form::kTable, "table"}}};

constexpr std::size_t padded(std::size_t bytes) { return (bytes + kAlignment - 1) / kAlignment * kAlignment; }

/// The product, at most `most`; both factors come from a file and may be arbitrary.
std::size_t bounded_product(std::size_t a, std::size_t b, std::size_t most) {
  return b != 0 && a > most / b ? most : a * b;
}

bool is_name(std::string_view name) {
  return !name.empty() && name.size() < 64 && std::all_of(name.begin(), name.end(), [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
  });
}

/// False for an axis whose name says how many numbers an entry has, if its entries have others.
bool has_numbers_of_its_name(const Axis& axis) {
  if (axis.name == "point") {
    return axis.components == 2 || axis.components == 3;
  }
  const bool is_of_single_numbers =
      axis.name == "x" || axis.name == "y" || axis.name == "z" || axis.name == "frequency";
  return !is_of_single_numbers || axis.components == 1;
}

std::string flaw_of_axis(const Axis& axis) {
  if (!is_name(axis.name)) {
    return fmt::format("an axis is named \"{}\"", axis.name);
  }
  if (!has_numbers_of_its_name(axis)) {
    return fmt::format("axis {} has {} numbers an entry, which this name does not have", axis.name, axis.components);
  }
  if (axis.components == 0 || axis.values.empty() || axis.values.size() % axis.components != 0) {
    return fmt::format("axis {} has {} numbers of {} an entry", axis.name, axis.values.size(), axis.components);
  }
  return {};
}

std::string flaw_of_table(const Product& product) {
  if (product.columns.empty() || product.most_rows == 0 || !product.axes.empty()) {
    return fmt::format("table {} has {} columns, {} rows and {} axes", product.name, product.columns.size(),
                       product.most_rows, product.axes.size());
  }
  std::set<std::string> names;
  for (const Column& column : product.columns) {
    if (!is_name(column.name) || !names.insert(column.name).second || column.type == ElementType::kComplex64) {
      return fmt::format("column \"{}\" of table {} is there twice, or of no type of a column", column.name,
                         product.name);
    }
  }
  return {};
}

std::string flaw_of_product(const ResultHeader& header, const Product& product) {
  if (!is_name(product.name)) {
    return fmt::format("a product is named \"{}\"", product.name);
  }
  if (product.form == Product::Form::kTable) {
    return flaw_of_table(product);
  }
  for (const std::string& axis : product.axes) {
    if (header.axis(axis) == nullptr) {
      return fmt::format("product {} has no axis \"{}\"", product.name, axis);
    }
  }
  return product.columns.empty() ? "" : fmt::format("product {} is no table and has columns", product.name);
}

}  // namespace

std::string_view name_of(ElementType type) {
  const auto is_it = [&](const ElementName& element) { return element.type == type; };
  const auto* const found = std::find_if(kElements.begin(), kElements.end(), is_it);
  return found == kElements.end() ? "?" : found->name;
}

std::optional<ElementType> element_type_of(std::string_view name) {
  const auto is_it = [&](const ElementName& element) { return element.name == name; };
  const auto* const found = std::find_if(kElements.begin(), kElements.end(), is_it);
  return found == kElements.end() ? std::nullopt : std::optional(found->type);
}

std::size_t bytes_of(ElementType type) {
  const auto is_it = [&](const ElementName& element) { return element.type == type; };
  const auto* const found = std::find_if(kElements.begin(), kElements.end(), is_it);
  return found == kElements.end() ? 0 : found->bytes;
}

std::string_view name_of(Product::Form form) {
  const auto is_it = [&](const FormName& one) { return one.form == form; };
  const auto* const found = std::find_if(kForms.begin(), kForms.end(), is_it);
  return found == kForms.end() ? "?" : found->name;
}

std::optional<Product::Form> product_form_of(std::string_view name) {
  const auto is_it = [&](const FormName& one) { return one.name == name; };
  const auto* const found = std::find_if(kForms.begin(), kForms.end(), is_it);
  return found == kForms.end() ? std::nullopt : std::optional(found->form);
}

const Axis* ResultHeader::axis(std::string_view name) const {
  const auto found = std::find_if(axes.begin(), axes.end(), [&](const Axis& axis) { return axis.name == name; });
  return found == axes.end() ? nullptr : &*found;
}

const Product* ResultHeader::product(std::string_view name) const {
  const auto found =
      std::find_if(products.begin(), products.end(), [&](const Product& product) { return product.name == name; });
  return found == products.end() ? nullptr : &*found;
}

std::optional<std::size_t> ResultHeader::index(std::string_view name) const {
  const Product* const found = product(name);
  return found == nullptr ? std::nullopt : std::optional(static_cast<std::size_t>(found - products.data()));
}

const std::vector<double>& ResultHeader::coordinates(std::string_view axis) const {
  static const std::vector<double> kNone;
  const Axis* const found = this->axis(axis);
  return found == nullptr ? kNone : found->values;
}

std::size_t ResultHeader::values(const Product& product) const {
  std::size_t count = 1;
  for (const std::string& name : product.axes) {
    count = bounded_product(count, axis(name)->size(), std::numeric_limits<std::size_t>::max() / 16);
  }
  return count;
}

std::size_t ResultHeader::bytes(const Product& product) const {
  constexpr std::size_t kMost = std::numeric_limits<std::size_t>::max() / 16;
  if (product.form != Product::Form::kTable) {
    return bounded_product(values(product), bytes_of(product.type), kMost);
  }
  std::size_t bytes = sizeof(std::uint64_t);
  for (const Column& column : product.columns) {
    bytes = std::min(kMost, bytes + padded(bounded_product(product.most_rows, bytes_of(column.type), kMost)));
  }
  return bytes;
}

bool ResultHeader::has_layout_of(const ResultHeader& other) const {
  return axes == other.axes && products == other.products;
}

std::span<const std::byte> bytes_in(const ResultHeader& header, std::span<const std::span<const std::byte>> products,
                                    std::string_view name) {
  const std::optional<std::size_t> index = header.index(name);
  if (!index) {
    return {};
  }
  if (products.size() != header.products.size()) {
    throw std::invalid_argument(
        fmt::format("frame: expected {} products, found {}", header.products.size(), products.size()));
  }
  const std::size_t expected = header.bytes(header.products[*index]);
  if (products[*index].size() != expected) {
    throw std::invalid_argument(
        fmt::format("frame: expected {} bytes of {}, found {}", expected, name, products[*index].size()));
  }
  return products[*index];
}

ProductPlaces places_of(const ResultHeader& header) {
  ProductPlaces result;
  for (const Product& product : header.products) {
    const std::size_t bytes = header.bytes(product);
    result.places.push_back({.offset = result.bytes, .bytes = bytes});
    result.bytes += padded(bytes);
  }
  return result;
}

std::string flaw_of(const ResultHeader& header) {
  std::set<std::string> names;
  for (const Axis& axis : header.axes) {
    if (std::string flaw = flaw_of_axis(axis); !flaw.empty()) {
      return flaw;
    }
    if (!names.insert(axis.name).second) {
      return fmt::format("axis {} is there twice", axis.name);
    }
  }
  names.clear();
  std::size_t bytes = 0;
  for (const Product& product : header.products) {
    if (std::string flaw = flaw_of_product(header, product); !flaw.empty()) {
      return flaw;
    }
    if (!names.insert(product.name).second) {
      return fmt::format("product {} is there twice", product.name);
    }
    bytes += std::min(header.bytes(product), kMostBytes);
    if (bytes >= kMostBytes) {
      return fmt::format("a frame takes {} bytes or more, up to product {}", bytes, product.name);
    }
  }
  return names.empty() ? "it has no products" : "";
}

namespace {

constexpr double kReferencePressure_pa = 20e-6;   // rms
constexpr double kReferenceIntensity = 1e-12;     ///< W/m^2
constexpr double kReferenceVelocity = 5e-8;       // m/s rms, ISO 1683
constexpr double kReferenceDisplacement = 1e-12;  // m rms

/// True for a plain number, a power in W, or the square of a whole unit: "(m/s)^2", but not "W/m^2" or "1/s^2".
bool is_unit_of_power(const std::string& unit) {
  const bool is_square = unit.size() > 2 && unit.ends_with("^2");
  const bool is_of_one_unit =
      unit.find('/') == std::string::npos || (unit.front() == '(' && unit.find(')') + 3 == unit.size());
  return unit.empty() || unit == "1" || unit == "W" || (is_square && is_of_one_unit);
}

}  // namespace

double LevelRule::level(double value) const {
  return value > 0.0 ? db_per_decade * std::log10(value / reference)
                     : (std::isnan(value) ? value : -std::numeric_limits<double>::infinity());
}

double LevelRule::value(double level_db) const { return reference * std::pow(10.0, level_db / db_per_decade); }

LevelRule level_rule(const Product& product) {
  constexpr const char* kOfPressure = "dB re 20 \u00b5Pa";
  if (product.unit == "Pa") {
    return {20.0, kReferencePressure_pa * std::numbers::sqrt2, kOfPressure, true};
  }
  if (product.unit == "Pa^2") {
    return {10.0, kReferencePressure_pa * kReferencePressure_pa, kOfPressure, true};
  }
  if (product.unit == "W/m^2") {
    return {10.0, kReferenceIntensity, "dB re 1 pW/m\u00b2", false};
  }
  if (product.unit == "m/s" && product.type == ElementType::kComplex64) {
    return {20.0, kReferenceVelocity * std::numbers::sqrt2, "dB re 50 nm/s", false};
  }
  if (product.unit == "m" && product.type == ElementType::kComplex64) {
    return {20.0, kReferenceDisplacement * std::numbers::sqrt2, "dB re 1 pm", false};
  }
  const bool has_unit = !product.unit.empty() && product.unit != "1";
  return {is_unit_of_power(product.unit) && product.type != ElementType::kComplex64 ? 10.0 : 20.0, 1.0,
          has_unit ? fmt::format("dB re 1 {}", product.unit) : "dB re 1", false};
}

}  // namespace nearfield
