#include "publish/comparison/comparison.hpp"

#include <fmt/format.h>

#include <array>
#include <cmath>
#include <limits>
#include <utility>

#include "core/error.hpp"

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

void require_values(const std::string& name, const ImageFrame& frame, std::size_t expected, std::uint64_t index) {
  if (frame.images.size() != expected) {
    throw DataError(fmt::format("{}: frame {}: expected {} values of images, found {}", name, index, expected,
                                frame.images.size()));
  }
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

FrameComparer::FrameComparer(std::string reference_name, const ImagesHeader& reference, std::string other_name,
                             const ImagesHeader& other) {
  comparison_.reference = std::move(reference_name);
  comparison_.other = std::move(other_name);
  comparison_.quantity = reference.quantity;
  comparison_.unit = reference.unit;
  comparison_.rows = reference.y_m.size();
  comparison_.columns = reference.x_m.size();
  require_same(comparison_, "quantity", reference.quantity, other.quantity);
  require_same(comparison_, "unit", reference.unit, other.unit);
  require_same(comparison_, "/x_m", "m", reference.x_m, other.x_m, kSamePositionM);
  require_same(comparison_, "/y_m", "m", reference.y_m, other.y_m, kSamePositionM);
  require_same(comparison_, "/planes_m", "m", reference.planes_m, other.planes_m, kSamePositionM);
  require_same(comparison_, "/surface_m", "m", reference.surface_m, other.surface_m, kSamePositionM);
  require_same(comparison_, "/normal", "of its length", reference.normals, other.normals, kSameNormal);
  require_same(comparison_, "/frequencies_hz", "Hz", reference.frequencies_hz, other.frequencies_hz, kSameFrequencyHz);
  for (const auto& [name, header] : {std::pair{&comparison_.reference, &reference}, {&comparison_.other, &other}}) {
    if (!header->holds_images) {
      throw DataError(fmt::format("{}: expected images, found points alone", *name));
    }
  }
  if (reference.values_per_frame() == 0) {
    throw DataError(fmt::format("{}: expected images, found {} planes of {} frequencies of {} x {} pixels",
                                comparison_.reference, reference.planes_m.size(), reference.frequencies_hz.size(),
                                comparison_.rows, comparison_.columns));
  }
  MetricSummary none;
  none.mean = none.worst = std::numeric_limits<double>::quiet_NaN();
  Cell cell;
  cell.row.metrics.assign(kMetrics.size(), none);
  cell.sums.resize(kMetrics.size());
  for (const double plane_m : reference.planes_m) {
    for (const double frequency_hz : reference.frequencies_hz) {
      cell.row.plane_m = plane_m;
      cell.row.frequency_hz = frequency_hz;
      cells_.push_back(cell);
    }
  }
  cells_.push_back(cell);
}

void FrameComparer::add(const ImageFrame& reference, const ImageFrame& other) {
  const std::size_t pixels = comparison_.rows * comparison_.columns;
  const std::size_t images = cells_.size() - 1;
  require_values(comparison_.reference, reference, images * pixels, comparison_.frames);
  require_values(comparison_.other, other, images * pixels, comparison_.frames);
  for (std::size_t image = 0; image < images; ++image) {
    const ImageMetrics metrics = compare_images(std::span(reference.images).subspan(image * pixels, pixels),
                                                std::span(other.images).subspan(image * pixels, pixels));
    accumulate(cells_[image], metrics);
    accumulate(cells_.back(), metrics);
  }
  comparison_.frames_of_other_time += reference.first_sample != other.first_sample ? 1 : 0;
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

}  // namespace nearfield
