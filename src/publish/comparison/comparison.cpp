#include "publish/comparison/comparison.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <complex>
#include <limits>
#include <utility>

#include "core/error.hpp"
#include "core/images.hpp"
#include "core/product.hpp"

namespace nearfield {
namespace {

constexpr std::array kMetrics = {
    MetricDefinition{"rmsre", "RMSRE", &ImageMetrics::rmsre, false, false},
    MetricDefinition{"rmsre_all", "RMSRE all", &ImageMetrics::rmsre_all, false, false},
    MetricDefinition{"nsad", "NSAD", &ImageMetrics::nsad, false, false},
    MetricDefinition{"nsad_signed", "NSAD +/-", &ImageMetrics::nsad_signed, false, false},
    MetricDefinition{"nmse_db", "NMSE [dB]", &ImageMetrics::nmse_db, false, true},
    MetricDefinition{"ncc", "NCC", &ImageMetrics::ncc, true, false},
    MetricDefinition{"relative_l2", "rel. L2", &ImageMetrics::relative_l2, false, false},
};

[[noreturn]] void throw_difference(const Comparison& files, std::string_view what, const std::string& expected,
                                   const std::string& found) {
  throw DataError(
      fmt::format("{}: {}: expected {} as in {}, found {}", files.other, what, expected, files.reference, found));
}

void require_same(const Comparison& files, std::string_view what, const std::string& expected,
                  const std::string& found) {
  if (expected != found) {
    throw_difference(files, what, fmt::format("\"{}\"", expected), fmt::format("\"{}\"", found));
  }
}

/// Requires equal lengths, and each pair of values within `tolerance`.
void require_same(const Comparison& files, std::string_view what, std::string_view unit,
                  const std::vector<double>& expected, const std::vector<double>& found, double tolerance) {
  if (expected.size() != found.size()) {
    throw_difference(files, what, fmt::format("{} values", expected.size()), fmt::format("{}", found.size()));
  }
  for (std::size_t i = 0; i < expected.size(); ++i) {
    if (!(std::abs(expected[i] - found[i]) <= tolerance)) {
      throw_difference(files, fmt::format("{}[{}]", what, i), fmt::format("{} {}", expected[i], unit),
                       fmt::format("{} {}", found[i], unit));
    }
  }
}

/// The images of a frame.
std::span<const std::complex<float>> images_in(const std::string& name, const ResultHeader& header, const Frame& frame,
                                               std::uint64_t index) {
  const std::size_t place = header.index("images").value();
  const std::size_t expected = header.values(header.products[place]);
  const auto images = place < frame.products.size() ? values_of<std::complex<float>>(frame.products[place])
                                                    : std::span<const std::complex<float>>();
  if (images.size() != expected) {
    throw DataError(
        fmt::format("{}: frame {}: expected {} values of images, found {}", name, index, expected, images.size()));
  }
  return images;
}

double badness(const MetricDefinition& metric, double value) {
  if (metric.higher_is_better) {
    return -value;
  }
  return metric.is_level_db ? value : std::abs(value);
}

double to_sum(const MetricDefinition& metric, double value) {
  return metric.is_level_db ? std::pow(10.0, value / 10.0) : value;
}

double to_mean(const MetricDefinition& metric, double mean) {
  return metric.is_level_db ? 10.0 * std::log10(mean) : mean;
}

}  // namespace

std::span<const MetricDefinition> metric_definitions() { return kMetrics; }

FrameComparer::FrameComparer(std::string reference_name, ResultHeader reference, std::string other_name,
                             ResultHeader other)
    : reference_(std::move(reference)), other_(std::move(other)) {
  const Product& shown = *images_or_points_of(reference_);
  const Product& other_shown = *images_or_points_of(other_);
  const std::vector<double>& planes_m = reference_.coordinates("z");
  const std::vector<double>& frequencies_hz = reference_.coordinates("frequency");
  comparison_.reference = std::move(reference_name);
  comparison_.other = std::move(other_name);
  comparison_.quantity = shown.quantity;
  comparison_.unit = shown.unit;
  comparison_.rows = reference_.coordinates("y").size();
  comparison_.columns = reference_.coordinates("x").size();
  require_same(comparison_, "quantity", shown.quantity, other_shown.quantity);
  require_same(comparison_, "unit", shown.unit, other_shown.unit);
  const auto require_same_axis = [&](std::string_view axis, std::string_view what, std::string_view unit,
                                     double tolerance) {
    require_same(comparison_, what, unit, reference_.coordinates(axis), other_.coordinates(axis), tolerance);
  };
  require_same_axis("x", "/x_m", "m", kSamePositionM);
  require_same_axis("y", "/y_m", "m", kSamePositionM);
  require_same_axis("z", "/planes_m", "m", kSamePositionM);
  require_same_axis("surface", "/surface_m", "m", kSamePositionM);
  require_same_axis("normal", "/normal", "of its length", kSameNormal);
  require_same_axis("frequency", "/frequencies_hz", "Hz", kSameFrequencyHz);
  for (const auto& [name, header] : {std::pair{&comparison_.reference, &reference_}, {&comparison_.other, &other_}}) {
    if (images_of(*header) == nullptr) {
      throw DataError(fmt::format("{}: expected images, found points alone", *name));
    }
  }
  if (reference_.values(shown) == 0) {
    throw DataError(fmt::format("{}: expected images, found {} planes of {} frequencies of {} x {} pixels",
                                comparison_.reference, planes_m.size(), frequencies_hz.size(), comparison_.rows,
                                comparison_.columns));
  }
  MetricSummary none;
  none.mean = none.worst = std::numeric_limits<double>::quiet_NaN();
  Cell cell;
  cell.row.metrics.assign(kMetrics.size(), none);
  cell.sums.resize(kMetrics.size());
  for (const double plane_m : planes_m) {
    for (const double frequency_hz : frequencies_hz) {
      cell.row.plane_m = plane_m;
      cell.row.frequency_hz = frequency_hz;
      cells_.push_back(cell);
    }
  }
  cells_.push_back(cell);
}

void FrameComparer::add(const Frame& reference, const Frame& other) {
  const std::size_t pixels = comparison_.rows * comparison_.columns;
  const std::size_t images = cells_.size() - 1;
  const auto of_reference = images_in(comparison_.reference, reference_, reference, comparison_.frames);
  const auto of_other = images_in(comparison_.other, other_, other, comparison_.frames);
  for (std::size_t image = 0; image < images; ++image) {
    const ImageMetrics metrics =
        compare_images(of_reference.subspan(image * pixels, pixels), of_other.subspan(image * pixels, pixels));
    accumulate(cells_[image], metrics);
    accumulate(cells_.back(), metrics);
  }
  comparison_.frames_of_other_time += reference.first_bit_time != other.first_bit_time ? 1 : 0;
  comparison_.frames_of_other_flags += reference.flags != other.flags ? 1 : 0;
  ++comparison_.frames;
}

void FrameComparer::accumulate(Cell& cell, const ImageMetrics& metrics) const {
  ++cell.row.images;
  cell.row.non_finite_pixels += metrics.non_finite;
  cell.row.excluded_pixels += metrics.rmsre_excluded;
  cell.row.zero_reference_pixels += metrics.zero_reference;
  for (std::size_t i = 0; i < kMetrics.size(); ++i) {
    const double value = metrics.*kMetrics[i].value;
    MetricSummary& summary = cell.row.metrics[i];
    if (std::isnan(value)) {
      ++summary.undefined;
      continue;
    }
    Sums& sums = cell.sums[i];
    sums.sum += to_sum(kMetrics[i], value);
    if (sums.defined == 0 || badness(kMetrics[i], value) > badness(kMetrics[i], summary.worst)) {
      summary.worst = value;
      summary.worst_frame = comparison_.frames;
    }
    ++sums.defined;
    summary.mean = to_mean(kMetrics[i], sums.sum / static_cast<double>(sums.defined));
  }
}

Comparison FrameComparer::result() const {
  Comparison comparison = comparison_;
  for (const Cell& cell : cells_) {
    comparison.images.push_back(cell.row);
  }
  comparison.images.pop_back();
  comparison.overall = cells_.back().row;
  return comparison;
}

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
