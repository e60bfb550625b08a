#pragma once
#include "processors/beamform/das_path.hpp"
#include "processors/beamform/settings.hpp"
#include "processors/processor.hpp"

/// Least work of the delay-and-sum paths, from settings and sizes alone.
namespace nearfield::das {

struct WorkSizes {
  WorkSizes(const BeamformSettings& settings, std::size_t channels, std::size_t frequency_count, double window_count);
  double pixels;
  double microphones;
  double frequencies;
  double windows;
  double fields;  ///< 2: with the diagonals
};

/// A distance per pixel and microphone, and per frequency a phase, its sine and cosine and a complex multiply-add.
StageWork direct_work(const WorkSizes& sizes);
StageWork measured_work(const WorkSizes& sizes);
/// Transforms of the microphones' rows, of columns forward and back, and of the pixels' rows back: das_columns,
/// das_rows.
WorkModel convolve_work(const WorkSizes& sizes, const Lattice& lattice);
/// Two products of matrices.
StageWork separable_work(const WorkSizes& sizes, const ArrayGeometry& geometry, const far_field::GridCounts& counts);
/// Methods other than delay and sum: the products of a snapshot, and a map's sums over its snapshots.
WorkModel history_work(const WorkSizes& sizes, const BeamformSettings& settings);
/// Weights and status of microphones; conversion of sums to maps.
WorkModel common_work(const WorkSizes& sizes, double value_bytes);

/// Maximum over planes, and sectors.
WorkModel reduction_work(const WorkSizes& sizes, const BeamformSettings& settings);

double operations(const WorkModel& model);

/// Work of all paths that the plan's settings allow.
WorkModel work_of(const ProcessorPlan& plan);

}  // namespace nearfield::das
