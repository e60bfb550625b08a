#pragma once
#include <complex>
#include <cstddef>
#include <cstdint>
#include <memory>

#include "cl/device.hpp"
#include "cl/work.hpp"
#include "processors/far_field/array.hpp"
#include "processors/srp_phat/plan.hpp"

namespace nearfield {

/// Partition of pixels, microphones and bins for the kernels of kernels/processors/srp_phat/. All valid cuts give the
/// same products up to the order of sums.
struct SrpCut {
  /// For CPUs: items of many pixels, in groups of one.
  static SrpCut of_vectors(const SrpPlan& plan);
  /// For GPUs: groups of many items with phases in local memory.
  static SrpCut of_groups();
  /// The better one for a device, cut finely enough to use it fully.
  static SrpCut for_device(const ocl::DeviceInfo& device, const SrpPlan& plan);
  /// Derives the remaining sizes; call it before any other use.
  void fit(const SrpPlan& plan);

  bool is_tiled = true;           ///< phases in local memory, one pixel per vector; else groups of one item
  std::size_t lanes = 1;          ///< pixels per vector
  std::size_t vectors = 2;        ///< vectors per item
  std::size_t at_once = 1;        ///< microphones per item at once; 1 if tiled
  std::size_t run = 16;           ///< bins per recurrence, a multiple of 4
  std::size_t tile_bins = 16;     ///< bins of an item's sums, a multiple of `run`
  std::size_t part_tiles = 1;     ///< tiles of bins that an item sums in sequence
  std::size_t group = 256;        ///< items per group of the map
  std::size_t ways = 1;           ///< parts of a group that split the microphones: a divisor of it and of `tile_bins`
  std::size_t point_group = 128;  ///< items per group of refinement, a multiple of `run`
  // Derived by fit():
  std::size_t tiles = 0;
  std::size_t parts = 0;            ///< number of parts, each of `part_tiles` tiles
  std::size_t microphone_tile = 0;  ///< microphones in local memory
  std::size_t padded_channels = 0;  ///< padded to full tiles
  std::size_t pixel_stride = 0;     ///< pixels, padded to full groups
  std::size_t point_vectors = 0;    ///< items of refinement
  std::size_t points = 0;           ///< points of refinement, padded to full items

  [[nodiscard]] std::size_t bins() const { return tiles * tile_bins; }
  /// Number of complex values per window.
  [[nodiscard]] std::size_t phases() const { return bins() * padded_channels; }
  /// Number of floats per source in the results.
  [[nodiscard]] std::size_t source_results() const { return kSourceHead + tiles + tiles * points; }
  /// Number of floats per round of refinement.
  [[nodiscard]] std::size_t round_results() const { return 4 + tiles * points; }
  /// Number of items of the map along its pixels.
  [[nodiscard]] std::size_t map_items() const { return pixel_stride / (vectors * lanes) * ways; }
  /// Most local memory that a group of the map uses.
  [[nodiscard]] std::size_t local_bytes() const;
  [[nodiscard]] ocl::Defines defines() const;

  static constexpr std::size_t kMostMicrophones = 64;  ///< in local memory; at least one per way
  static constexpr std::size_t kSourceHead = 8;        ///< floats of a source before its sums
};

/// Makes the processor with a given cut, for tests and benchmarks.
std::unique_ptr<Processor> make_srp_phat(const ocl::Device& device, const ProcessorPlan& plan, const SrpCut& cut);

/// Least work of a launch of windows, in the domain of the plan, by the best order of loops: each path and each phasor
/// is computed once. All launches of a kernel in a window count together.
WorkModel work_of(const SrpPlan& plan);

/// Sizes for the kernels of the time domain (kernels/processors/srp_phat/lags.cl). A cut for it has one way.
struct LagSizes {
  LagSizes(const ocl::DeviceInfo& device, const SrpPlan& plan, const SrpCut& cut);
  std::size_t padded_pairs = 0;
  std::size_t part_pairs = 0;  ///< pairs per item
  std::size_t parts = 0;       ///< number of parts of the pairs
  std::size_t lag_group = 1;   ///< items along the lags
  std::size_t lag_ways = 1;    ///< parts of a group that split the bins; a vector then has one lane
  std::size_t lag_stride = 0;  ///< lags per row
  [[nodiscard]] ocl::Defines defines(const SrpPlan& plan) const;
};

/// Computes the map's powers in the time domain: the lags of all pairs, then their look-ups.
class SrpLags {
 public:
  /// Buffers that it reads and writes, as in kernels/processors/srp_phat/weights.cl; they must outlive it.
  struct Buffers {
    const ocl::Buffer<far_field::Float4>& pixels;
    const ocl::Buffer<far_field::Float4>& positions;
    const ocl::Buffer<std::int32_t>& pairs;
    const ocl::Buffer<std::complex<float>>& phases;
    const ocl::Buffer<float>& powers;
  };
  /// `program` is made with LagSizes::defines().
  SrpLags(const ocl::Device& device, const SrpPlan& plan, const SrpCut& cut, const LagSizes& sizes,
          const ocl::Program& program, const Buffers& buffers);
  void enqueue(std::size_t windows);

 private:
  LagSizes sizes_;
  std::size_t bins_;
  std::size_t map_items_;
  std::size_t map_group_;
  std::size_t lag_items_;
  ocl::Kernel cross_kernel_;
  ocl::Kernel lags_kernel_;
  ocl::Kernel map_kernel_;
  ocl::Buffer<float> turns_;
  ocl::Buffer<std::complex<float>> cross_;
  ocl::Buffer<float> lags_;
};

}  // namespace nearfield
