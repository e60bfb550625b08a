#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "files/results_file.hpp"

/// The part of `nearfield compare` for any products of any processor.
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

}  // namespace nearfield
