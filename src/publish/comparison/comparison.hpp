#pragma once
#include <cstdint>
#include <filesystem>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/frame.hpp"
#include "core/metrics.hpp"
#include "files/results_file.hpp"

/// `nearfield compare`: compares two images files. The first processor's images frame by frame, plane by plane,
/// frequency by frequency; for further processors the products that both files have. With --truth the other one is the
/// true field in a simulated capture.
namespace nearfield {

/// An array, or a column of a table, over all frames.
struct ProductDifference {
  std::string name;  ///< for a column "found.level"
  std::string unit;
  double relative_l2 =
      0.0;               ///< |a - b| / |a| over all values; NaN if a is zero everywhere, or nothing could be compared
  double largest = 0.0;  ///< |a - b|
  std::uint64_t largest_frame = 0;
  std::uint64_t values = 0;
  std::uint64_t non_finite = 0;         ///< in one of the files; left out
  std::uint64_t non_finite_apart = 0;   ///< the ones among them that differ between the files
  std::uint64_t other_rows_frames = 0;  ///< frames whose tables differ in their number of rows; left out
};

struct ProcessorDifference {
  std::string processor;
  std::uint64_t frames = 0;
  std::uint64_t frames_of_other_time = 0;
  std::uint64_t frames_of_other_flags = 0;
  std::vector<ProductDifference> products;
  std::vector<std::string> left_out;  ///< "beam: its axes differ": products not compared, with the reason
};

/// Compares the products that both have with the same axes, frames paired by index.
ProcessorDifference compare_processors(const ResultsReader& reference, std::size_t processor,
                                       const ResultsReader& other, std::size_t other_processor);

/// Axes are equal if frequencies and positions differ by at most kSameFrequencyHz and kSamePositionM, and other values
/// only by rounding.
bool are_same(const Axis& a, const Axis& b);

/// Frequencies that differ by less are considered equal: front ends on and off the bin grid publish their actual ones.
inline constexpr double kSameFrequencyHz = 0.5;
/// Planes and pixel positions that differ by less are considered equal.
inline constexpr double kSamePositionM = 1e-6;
/// Components of a normal of length 1 that differ by less are considered equal.
inline constexpr double kSameNormal = 1e-6;

/// One of the figures that `compare` reports.
struct MetricDefinition {
  std::string_view key;      ///< in JSON
  std::string_view heading;  ///< in the table
  double ImageMetrics::*value;
  bool higher_is_better;  ///< otherwise the worst is the largest magnitude, or the largest level
  bool is_level_db;       ///< averaged as a power, not as a level
};
/// All definitions, in the order of the table.
std::span<const MetricDefinition> metric_definitions();

/// One figure over several images.
struct MetricSummary {
  double mean = 0.0;              ///< over the images where it is defined; NaN if there are none
  double worst = 0.0;             ///< NaN if there are none
  std::uint64_t worst_frame = 0;  ///< index of the frame with the worst
  std::uint64_t undefined = 0;    ///< images without a defined figure (NaN)
};

/// All figures over the frames of one plane and frequency, or over everything.
struct ComparisonRow {
  double plane_m = 0.0;
  double frequency_hz = 0.0;
  std::uint64_t images = 0;
  std::uint64_t non_finite_pixels = 0;      ///< left out of every figure
  std::uint64_t excluded_pixels = 0;        ///< below 1 % of the reference's maximum, left out of `rmsre`
  std::uint64_t zero_reference_pixels = 0;  ///< make `rmsre_all` infinite
  std::vector<MetricSummary> metrics;       ///< in the order of metric_definitions()
};

struct Comparison {
  std::string reference;  ///< names of the files
  std::string other;
  std::string quantity;
  std::string unit;
  std::size_t rows = 0;
  std::size_t columns = 0;
  std::uint64_t frames = 0;
  std::uint64_t frames_of_other_time = 0;  ///< pairs whose first_sample differs: the times may not match
  std::uint64_t frames_of_other_flags = 0;
  std::vector<ComparisonRow> images;  ///< [plane][frequency], frequency fastest
  ComparisonRow overall;              ///< without plane_m and frequency_hz

  // Further processors, and a first one without images.
  std::vector<ProcessorDifference> processors;
  std::vector<std::string> unpaired_processors;  ///< only in one file, such as "far: only in a.h5"
};

/// Gathers a comparison frame by frame.
class FrameComparer {
 public:
  /// The names are used in messages and tables. Throws DataError that names the difference: quantity, unit, sizes,
  /// pixel positions, planes or frequencies. Both headers must be of images, or of values at points.
  FrameComparer(std::string reference_name, ResultHeader reference, std::string other_name, ResultHeader other);
  /// Compares the next pair of frames. Throws DataError if a frame does not match its header.
  void add(const Frame& reference, const Frame& other);
  [[nodiscard]] Comparison result() const;

 private:
  struct Sums {
    double sum = 0.0;
    std::uint64_t defined = 0;
  };
  struct Cell {
    ComparisonRow row;
    std::vector<Sums> sums;
  };
  void accumulate(Cell& cell, const ImageMetrics& metrics) const;

  ResultHeader reference_;
  ResultHeader other_;
  Comparison comparison_;
  std::vector<Cell> cells_;  ///< [plane][frequency], then the overall cell
};

/// The output table of `nearfield compare`, with a line feed at its end.
std::string to_table(const Comparison& comparison);
/// The comparison as a JSON document. Infinite figures are the strings "Infinity" and "-Infinity", undefined ones null.
std::string to_json(const Comparison& comparison);

/// Compares two images files, the first being the reference, frames paired by index, processors by their names. Throws
/// what ResultsReader throws, and DataError if the first processors do not match or have no frames.
Comparison compare_image_files(const std::filesystem::path& reference, const std::filesystem::path& other);

/// Compares the images of the first processor on the plane z = 0, at the frequencies of /truth, with the true field of
/// their quantity: pressure and normal velocity directly, displacement v/(jw), active intensity Re(p v*)/2. Each
/// complex image is rotated by the one phase that brings it nearest to the truth, since its phase refers to its window
/// and the truth's to bit-time 0. Throws NoInputError and DataError: no truth, no such plane, frequency or quantity,
/// other pixels than the capture's microphones.
Comparison compare_with_truth(const std::filesystem::path& capture, const std::filesystem::path& images);

/// Violation of a tolerance: a sentence if the relative L2 of an image, or of a further processor's product, is above
/// `most` or undefined, if values are not finite (a further processor's: in one file only), if tables differ in their
/// number of rows, and if something was not compared; otherwise nullopt.
std::optional<std::string> beyond_tolerance(const Comparison& comparison, double most);

}  // namespace nearfield
