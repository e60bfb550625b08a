#include "publish/comparison/product_comparison.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <complex>
#include <limits>

#include "core/product_values.hpp"
#include "publish/comparison/comparison.hpp"

namespace nearfield {
namespace {

using Values = std::vector<std::complex<double>>;

/// A product that both files have, and its places in both.
struct Pair {
  const Product* product;
  std::size_t index;
  std::size_t other_index;
};

/// True if both are NaN, such as a cut-off that a filter does not have, or the same infinity.
bool are_same_non_finite(std::complex<double> a, std::complex<double> b) {
  const auto are_same_numbers = [](double one, double other) {
    return one == other || (std::isnan(one) && std::isnan(other));
  };
  return are_same_numbers(a.real(), b.real()) && are_same_numbers(a.imag(), b.imag());
}

/// Sums of one ProductDifference.
struct Sums {
  ProductDifference difference;
  double error = 0.0;
  double energy = 0.0;

  void add(const Values& a, const Values& b, std::uint64_t frame) {
    for (std::size_t i = 0; i < a.size(); ++i) {
      ++difference.values;
      const double distance = std::abs(a[i] - b[i]);
      if (!std::isfinite(distance)) {
        ++difference.non_finite;
        difference.non_finite_apart += are_same_non_finite(a[i], b[i]) ? 0U : 1U;
        continue;
      }
      error += distance * distance;
      energy += std::norm(a[i]);
      if (distance > difference.largest) {
        difference.largest = distance;
        difference.largest_frame = frame;
      }
    }
  }

  [[nodiscard]] ProductDifference result() const {
    ProductDifference result = difference;
    const bool has_none =
        difference.values == difference.non_finite && difference.non_finite_apart + difference.other_rows_frames > 0;
    const bool is_zero = error == 0.0 && energy == 0.0 && !has_none;
    result.relative_l2 = energy > 0.0 ? std::sqrt(error / energy)
                         : is_zero    ? 0.0
                                      : std::numeric_limits<double>::quiet_NaN();
    return result;
  }
};

double tolerance_of(const Axis& axis, double value) {
  constexpr double kRounding = 1e-9;
  if (axis.unit == "Hz") {
    return kSameFrequencyHz;
  }
  return axis.unit == "m" ? kSamePositionM : kRounding * std::max(1.0, std::abs(value));
}

/// Reason not to compare a product; empty if it is compared.
std::string obstacle(const ResultHeader& a, const Product& product, const ResultHeader& b, const Product& other) {
  if (product.form != other.form || product.type != other.type || product.unit != other.unit) {
    return "its form, type or unit differs";
  }
  if (product.columns != other.columns || product.most_rows != other.most_rows) {
    return "its columns differ";
  }
  bool are_equal = product.axes == other.axes;
  for (std::size_t i = 0; are_equal && i < product.axes.size(); ++i) {
    are_equal = are_same(*a.axis(product.axes[i]), *b.axis(other.axes[i]));
  }
  return are_equal ? "" : "its axes differ";
}

std::vector<Pair> pairs_of(const ResultHeader& a, const ResultHeader& b, std::vector<std::string>& left_out) {
  std::vector<Pair> pairs;
  for (std::size_t i = 0; i < a.products.size(); ++i) {
    const Product& product = a.products[i];
    const Product* const other = b.product(product.name);
    const std::string reason =
        other == nullptr ? "the compared file does not have it" : obstacle(a, product, b, *other);
    if (reason.empty()) {
      pairs.push_back({&product, i, static_cast<std::size_t>(other - b.products.data())});
    } else {
      left_out.push_back(fmt::format("{}: {}", product.name, reason));
    }
  }
  for (const Product& other : b.products) {
    if (a.product(other.name) == nullptr) {
      left_out.push_back(fmt::format("{}: the reference does not have it", other.name));
    }
  }
  return pairs;
}

/// [pair][array, or column]
std::vector<std::vector<Sums>> empty_sums(const std::vector<Pair>& pairs) {
  std::vector<std::vector<Sums>> sums;
  for (const Pair& pair : pairs) {
    std::vector<Sums>& of_product = sums.emplace_back();
    if (pair.product->form != Product::Form::kTable) {
      of_product.push_back({.difference = {.name = pair.product->name, .unit = pair.product->unit}});
    }
    for (const Column& column : pair.product->columns) {
      of_product.push_back(
          {.difference = {.name = fmt::format("{}.{}", pair.product->name, column.name), .unit = column.unit}});
    }
  }
  return sums;
}

void add_table(std::vector<Sums>& sums, const Product& table, std::span<const std::byte> a,
               std::span<const std::byte> b, std::uint64_t frame) {
  const std::vector<ProductPlaces::Place> places = column_places(table);
  const std::uint64_t rows = rows_of(a);
  for (std::size_t column = 0; column < places.size(); ++column) {
    if (rows_of(b) != rows) {
      ++sums[column].difference.other_rows_frames;
      continue;
    }
    const ElementType type = table.columns[column].type;
    const std::size_t bytes = rows * bytes_of(type);
    sums[column].add(complex_values_of(type, a.subspan(places[column].offset, bytes)),
                     complex_values_of(type, b.subspan(places[column].offset, bytes)), frame);
  }
}

}  // namespace

bool are_same(const Axis& a, const Axis& b) {
  if (a.name != b.name || a.unit != b.unit || a.components != b.components || a.values.size() != b.values.size()) {
    return false;
  }
  for (std::size_t i = 0; i < a.values.size(); ++i) {
    if (!(std::abs(a.values[i] - b.values[i]) <= tolerance_of(a, a.values[i]))) {
      return false;
    }
  }
  return true;
}

ProcessorDifference compare_processors(const ResultsReader& reference, std::size_t processor,
                                       const ResultsReader& other, std::size_t other_processor) {
  ProcessorDifference result;
  const ResultHeader& header = reference.header(processor);
  result.processor = header.processor;
  const std::uint64_t frames = reference.frames(processor);
  if (frames != other.frames(other_processor)) {
    result.left_out.push_back(
        fmt::format("all: the reference has {} frames, the compared file {}", frames, other.frames(other_processor)));
    return result;
  }
  const std::vector<Pair> pairs = pairs_of(header, other.header(other_processor), result.left_out);
  std::vector<std::vector<Sums>> sums = empty_sums(pairs);
  for (; result.frames < frames; ++result.frames) {
    const ResultFrame a = reference.read(processor, result.frames);
    const ResultFrame b = other.read(other_processor, result.frames);
    result.frames_of_other_time += a.frame.first_bit_time != b.frame.first_bit_time ? 1 : 0;
    result.frames_of_other_flags += a.frame.flags != b.frame.flags ? 1 : 0;
    for (std::size_t i = 0; i < pairs.size(); ++i) {
      const Product& product = *pairs[i].product;
      const std::span<const std::byte> bytes = a.frame.products[pairs[i].index];
      const std::span<const std::byte> other_bytes = b.frame.products[pairs[i].other_index];
      if (product.form == Product::Form::kTable) {
        add_table(sums[i], product, bytes, other_bytes, result.frames);
      } else {
        sums[i].front().add(complex_values_of(product.type, bytes), complex_values_of(product.type, other_bytes),
                            result.frames);
      }
    }
  }
  for (const std::vector<Sums>& of_product : sums) {
    for (const Sums& one : of_product) {
      result.products.push_back(one.result());
    }
  }
  return result;
}

}  // namespace nearfield
