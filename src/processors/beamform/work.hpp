#pragma once
#include "processors/beamform/lattice.hpp"
#include "processors/beamform/settings.hpp"
#include "processors/processor.hpp"

/// What the ways of delay and sum need at least, from settings and sizes alone.
namespace nearfield::das {

struct WorkSizes {
  WorkSizes(const BeamformSettings& settings, std::size_t channels, std::size_t frequency_count, double window_count);
  double pixels;
  double microphones;
  double frequencies;
  double windows;
  double fields;  ///< 2: with the diagonals
};

/// Of each pixel and microphone a distance, and of each frequency a phase, its sine and cosine and a complex
/// multiply-add.
StageWork direct_work(const WorkSizes& sizes);
StageWork measured_work(const WorkSizes& sizes);
/// Transforms of the microphones' rows, of columns there and back, and of the pixels' rows back: das_columns, das_rows.
WorkModel convolve_work(const WorkSizes& sizes, const Lattice& lattice);
/// Two products of matrices.
StageWork separable_work(const WorkSizes& sizes, const ArrayGeometry& geometry, const far_field::GridCounts& counts);
/// Of methods beside delay and sum: the products of a snapshot, and what a map sums over its snapshots.
WorkModel history_work(const WorkSizes& sizes, const BeamformSettings& settings);
/// Weights and status of microphones; maps of sums.
WorkModel common_work(const WorkSizes& sizes, double value_bytes);

/// The largest of the planes, and sectors.
WorkModel reduction_work(const WorkSizes& sizes, const BeamformSettings& settings);

double operations(const WorkModel& model);

/// Of all ways that the plan's settings may take.
WorkModel work_of(const ProcessorPlan& plan);

}  // namespace nearfield::das
