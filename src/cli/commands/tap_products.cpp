#include "cli/commands/tap_products.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <complex>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "core/product.hpp"

namespace nearfield::cli {
namespace {

constexpr std::size_t kMostLines = 40;
constexpr std::size_t kMostValues = 40;
constexpr const char* kSources = "sources";

template <class T>
std::complex<double> number(const void* values, std::size_t index) {
  return static_cast<double>(static_cast<const T*>(values)[index]);
}

/// Reads a value of any NF_TYPE_.
std::complex<double> value_at(const void* values, std::uint32_t type, std::size_t index) {
  switch (type) {
    case NF_TYPE_FLOAT32:
      return number<float>(values, index);
    case NF_TYPE_FLOAT64:
      return number<double>(values, index);
    case NF_TYPE_UINT32:
      return number<std::uint32_t>(values, index);
    case NF_TYPE_UINT64:
      return number<std::uint64_t>(values, index);
    default: {
      const nf_complex value = static_cast<const nf_complex*>(values)[index];
      return {static_cast<double>(value.re), static_cast<double>(value.im)};
    }
  }
}

std::string text_of(std::complex<double> value, std::uint32_t type) {
  return type == NF_TYPE_COMPLEX64 ? fmt::format("{:.6g}{:+.6g}j", value.real(), value.imag())
                                   : fmt::format("{:.6g}", value.real());
}

/// Converts a value; NaN, for a missing value, becomes null.
nlohmann::json json_of(const void* values, std::uint32_t type, std::size_t index) {
  const std::complex<double> value = value_at(values, type, index);
  switch (type) {
    case NF_TYPE_COMPLEX64:
      return {value.real(), value.imag()};
    case NF_TYPE_UINT32:
      return static_cast<const std::uint32_t*>(values)[index];
    case NF_TYPE_UINT64:
      return static_cast<const std::uint64_t*>(values)[index];
    default:
      return value.real();
  }
}

std::string with_unit(std::string text, const char* unit) {
  const std::string name = unit;
  return name.empty() || name == "1" ? text : text + " " + name;
}

/// Statistics of the magnitudes of an array's numeric values; NaN if there are none.
struct Magnitudes {
  double rms = std::nan("");
  double largest = std::nan("");
  std::size_t missing = 0;  ///< values that are not numbers
};

Magnitudes magnitudes_of(const nf_product& product, const void* values) {
  Magnitudes result;
  double sum = 0.0;
  double largest = 0.0;
  for (std::size_t i = 0; i < product.values; ++i) {
    const double magnitude = std::abs(value_at(values, product.type, i));
    if (std::isnan(magnitude)) {
      ++result.missing;
      continue;
    }
    sum += magnitude * magnitude;
    largest = std::max(largest, magnitude);
  }
  if (const std::size_t present = product.values - result.missing; present > 0) {
    result.rms = std::sqrt(sum / static_cast<double>(present));
    result.largest = largest;
  }
  return result;
}

std::string sizes_of(const nf_product& product) {
  std::vector<std::string> sizes;
  for (std::size_t i = 0; i < product.axis_count; ++i) {
    sizes.push_back(fmt::format("{} {}", product.axes[i]->size, product.axes[i]->name));
  }
  return sizes.empty() ? "one number" : fmt::format("{}", fmt::join(sizes, " x "));
}

std::vector<std::string> titles_of(const nf_product& product) {
  std::vector<std::string> titles;
  for (std::size_t i = 0; i < product.column_count; ++i) {
    titles.push_back(with_unit(product.columns[i].name, product.columns[i].unit));
  }
  return titles;
}

void print_figure(const nf_product& product, const void* values) {
  std::vector<std::string> texts;
  for (std::size_t i = 0; i < std::min<std::size_t>(product.values, kMostValues); ++i) {
    texts.push_back(text_of(value_at(values, product.type, i), product.type));
  }
  const std::string more =
      product.values > texts.size() ? fmt::format(" and {} more: --json", product.values - texts.size()) : "";
  fmt::print("{}: {}{}\n", product.name, with_unit(fmt::format("{}", fmt::join(texts, ", ")), product.unit), more);
}

void print_array(const nf_product& product, const void* values) {
  const Magnitudes magnitudes = magnitudes_of(product, values);
  const std::string missing = magnitudes.missing > 0 ? fmt::format(", {} no numbers", magnitudes.missing) : "";
  fmt::print("{}: rms {}, largest {}{}\n", product.name, with_unit(fmt::format("{:.4g}", magnitudes.rms), product.unit),
             with_unit(fmt::format("{:.4g}", magnitudes.largest), product.unit), missing);
}

void print_table(const nf_ring* ring, const nf_frame& frame, std::size_t index) {
  const nf_product& product = *nf_ring_product_at(ring, index);
  const std::uint64_t rows = nf_frame_rows(ring, &frame, index);
  fmt::print("{}: {} rows of {}\n", product.name, rows, fmt::join(titles_of(product), ", "));
  for (std::size_t row = 0; row < std::min<std::uint64_t>(rows, kMostLines); ++row) {
    std::vector<std::string> cells;
    for (std::size_t i = 0; i < product.column_count; ++i) {
      const std::uint32_t type = product.columns[i].type;
      cells.push_back(text_of(value_at(nf_frame_column(ring, &frame, index, i), type, row), type));
    }
    fmt::print("  {}\n", fmt::join(cells, ", "));
  }
  if (rows > kMostLines) {
    fmt::print("  and {} rows more: --json\n", rows - kMostLines);
  }
}

nlohmann::json rows_json(const nf_ring* ring, const nf_frame& frame, std::size_t index) {
  const nf_product& product = *nf_ring_product_at(ring, index);
  nlohmann::json rows = nlohmann::json::array();
  for (std::size_t row = 0; row < nf_frame_rows(ring, &frame, index); ++row) {
    nlohmann::json cells = nlohmann::json::object();
    for (std::size_t i = 0; i < product.column_count; ++i) {
      cells[product.columns[i].name] = json_of(nf_frame_column(ring, &frame, index, i), product.columns[i].type, row);
    }
    rows.push_back(std::move(cells));
  }
  return rows;
}

/// "id 3, x 0.31 m" and so on: a row with the names of its columns.
std::string row_text(const nf_ring* ring, const nf_frame& frame, std::size_t index, std::size_t row) {
  const nf_product& product = *nf_ring_product_at(ring, index);
  std::vector<std::string> cells;
  for (std::size_t i = 0; i < product.column_count; ++i) {
    const nf_column& column = product.columns[i];
    const std::complex<double> value = value_at(nf_frame_column(ring, &frame, index, i), column.type, row);
    const bool is_whole = column.type == NF_TYPE_UINT32 || column.type == NF_TYPE_UINT64;
    const std::string text = is_whole ? fmt::format("{:.0f}", value.real()) : text_of(value, column.type);
    cells.push_back(with_unit(fmt::format("{} {}", column.name, text), column.unit));
  }
  return fmt::format("{}", fmt::join(cells, ", "));
}

nlohmann::json product_json(const nf_ring* ring, const nf_frame& frame, std::size_t index) {
  const nf_product& product = *nf_ring_product_at(ring, index);
  const void* const values = nf_frame_product(ring, &frame, index);
  nlohmann::json described = {{"quantity", product.quantity}, {"unit", product.unit}};
  if (product.form == NF_FORM_TABLE) {
    described["rows"] = rows_json(ring, frame, index);
    return described;
  }
  described["shape"] = nlohmann::json::object();
  for (std::size_t i = 0; i < product.axis_count; ++i) {
    described["shape"][product.axes[i]->name] = product.axes[i]->size;
  }
  if (product.form == NF_FORM_FIGURE) {
    described["values"] = nlohmann::json::array();
    for (std::size_t i = 0; i < product.values; ++i) {
      described["values"].push_back(json_of(values, product.type, i));
    }
  } else {
    const Magnitudes magnitudes = magnitudes_of(product, values);
    described["rms"] = magnitudes.rms;
    described["largest"] = magnitudes.largest;
  }
  return described;
}

}  // namespace

void print_descriptions(const nf_ring_layout& layout) {
  for (std::size_t i = 0; i < layout.product_count; ++i) {
    const nf_product& product = layout.products[i];
    const std::string name = fmt::format("{} ({})", product.name, product.quantity);
    if (product.form == NF_FORM_TABLE) {
      fmt::print("{}: at most {} rows of {}\n", name, product.most_rows, fmt::join(titles_of(product), ", "));
    } else {
      fmt::print("{}, {}: {}, {}\n", name, product.unit, name_of(ElementType{product.type}), sizes_of(product));
    }
  }
}

void print_products(const nf_ring* ring, const nf_frame& frame) {
  fmt::print("newest frame:\n");
  for (std::size_t i = 0; i < nf_ring_get_layout(ring)->product_count; ++i) {
    const nf_product& product = *nf_ring_product_at(ring, i);
    const void* const values = nf_frame_product(ring, &frame, i);
    if (values == nullptr) {
      continue;  // it was not read
    }
    if (product.form == NF_FORM_TABLE) {
      print_table(ring, frame, i);
    } else if (product.form == NF_FORM_FIGURE) {
      print_figure(product, values);
    } else {
      print_array(product, values);
    }
  }
}

bool select_sources(nf_ring* ring) {
  const std::ptrdiff_t index = nf_ring_find_product(ring, kSources);
  return index >= 0 && nf_ring_product_at(ring, static_cast<std::size_t>(index))->form == NF_FORM_TABLE &&
         nf_ring_select(ring, &kSources, 1) == NF_RING_OK;
}

void print_sources(const nf_ring* ring, const nf_frame& frame, bool is_json) {
  const std::ptrdiff_t found = nf_ring_find_product(ring, kSources);
  if (found < 0) {
    return;  // the daemon's configuration has changed
  }
  const auto index = static_cast<std::size_t>(found);
  if (is_json) {
    const nlohmann::json line = {{"sequence", frame.sequence},
                                 {"first_bit_time", frame.first_bit_time},
                                 {"flags", frame.flags},
                                 {"sources", rows_json(ring, frame, index)}};
    fmt::print("{}\n", line.dump());
  }
  for (std::size_t row = 0; !is_json && row < nf_frame_rows(ring, &frame, index); ++row) {
    fmt::print("frame {}: {}\n", frame.sequence, row_text(ring, frame, index, row));
  }
  std::fflush(stdout);
}

nlohmann::json products_json(const nf_ring* ring, const nf_frame& frame) {
  nlohmann::json products = nlohmann::json::object();
  for (std::size_t i = 0; i < nf_ring_get_layout(ring)->product_count; ++i) {
    if (nf_frame_product(ring, &frame, i) != nullptr) {
      products[nf_ring_product_at(ring, i)->name] = product_json(ring, frame, i);
    }
  }
  return products;
}

}  // namespace nearfield::cli
