#pragma once
#include <complex>
#include <span>

#include "processors/beamform/das_path.hpp"
#include "processors/beamform/history/decomposition.hpp"

namespace nearfield::history {

/// The kernels of history.cl and history_clean.cl with their buffers: rings of snapshots and their beams, inner
/// products, and maps. It refers to the Maps that make the beams.
class HistoryMaps {
 public:
  /// Throws ConfigError where the rings have 2 GiB or more.
  HistoryMaps(const ocl::Device& device, const BeamformPlan& plan, das::Maps& beams);
  /// Computes the inner products of window `window` with all slots; it becomes the snapshot of `slot`.
  void enqueue_products(std::size_t window, std::size_t slot);
  [[nodiscard]] std::size_t row_values() const { return row_.size(); }
  [[nodiscard]] const ocl::Buffer<std::complex<float>>& row() const { return row_; }  ///< [frequency][slot]
  /// Uploads modes for the next map; the previous ones must no longer be in use.
  void enqueue_upload(Decomposition decomposition);
  /// Makes a map of `held` snapshots from `first_slot` on.
  void enqueue_map(int first_slot, int held);
  /// Fills in for a map that is not available.
  void enqueue_nothing();
  /// Runs a map's kernels once on silence: some drivers compile at the first launch, and maps of a live stream must not
  /// wait for that. Call it after use_norms() and before enqueue_nothing(); waits.
  void run_once();
  /// Copies the slot's snapshot to the host, [frequency][channel].
  void enqueue_snapshot_read(std::size_t slot, std::span<std::complex<float>> to) const {
    device_.enqueue_read_from(snapshots_, slot * to.size(), to, das::kStage);
  }
  [[nodiscard]] const ocl::Buffer<float>& published() const { return published_; }  ///< [frequency][pixel]
  /// Call it after the norms of the beams have changed; waits.
  void use_norms(double weight_sum);

 private:
  void enqueue_modes(int first_slot, int held);
  void enqueue_clean(int first_slot, int held, int iterations);
  void enqueue_signals(int first_slot, int held, int iterations);
  void make_clean(const ocl::Defines& defines);
  void make_modes();
  [[nodiscard]] std::size_t modes() const { return modes_of(plan_.settings); }
  ocl::Device device_;
  BeamformPlan plan_;
  std::size_t map_group_;
  ocl::Program program_;
  ocl::Kernel products_;
  ocl::Kernel levels_of_norms_;
  ocl::Arguments<2> products_arguments_;
  ocl::Arguments<1> levels_argument_;
  ocl::Buffer<std::complex<float>> columns_;
  ocl::Buffer<std::complex<float>> snapshots_;
  ocl::Buffer<std::complex<float>> row_;
  ocl::Buffer<float> levels_;
  ocl::Buffer<float> published_;
  // Used by all methods except clean_sc:
  Decomposition uploaded_;  ///< kept until it is written
  ocl::Buffer<std::complex<float>> vectors_;
  ocl::Buffer<float> coefficients_;
  ocl::Buffer<float> loadings_;
  ocl::Buffer<std::int32_t> places_;
  ocl::Kernel map_;    ///< history_map, or history_place
  ocl::Kernel peaks_;  ///< used by orthogonal
  ocl::Arguments<3> map_arguments_;
  ocl::Arguments<1> place_arguments_;
  ocl::Arguments<2> peaks_arguments_;
  // Used by clean_sc:
  ocl::Buffer<float> left_;
  ocl::Buffer<float> best_values_;
  ocl::Buffer<std::int32_t> best_indices_;
  ocl::Buffer<std::complex<float>> rests_;
  ocl::Buffer<std::complex<float>> last_;
  ocl::Buffer<float> state_;
  ocl::Kernel remove_;
  ocl::Kernel find_;
  // Used by clean_sc with removal of microphones' own noise:
  ocl::Buffer<std::complex<float>> signals_;  ///< layout of columns_
  ocl::Kernel make_signals_;
  ocl::Arguments<2> signals_arguments_;
  ocl::Arguments<3> remove_arguments_;
  ocl::Arguments<3> find_arguments_;
};

}  // namespace nearfield::history
