#pragma once
#include <cstddef>
#include <memory>

#include "cl/device.hpp"
#include "processors/srp_phat/plan.hpp"

namespace nearfield {

/// How the kernels of kernels/processors/srp_phat/ cut pixels, microphones and bins. Any cut that fits gives the same
/// products but for the order of sums.
struct SrpCut {
  /// Items of many pixels, in groups of one: processors.
  static SrpCut of_vectors(const SrpPlan& plan);
  /// Groups of many items with phases in local memory: GPUs.
  static SrpCut of_groups();
  /// The better one for a device, cut finely enough to fill it.
  static SrpCut for_device(const ocl::DeviceInfo& device, const SrpPlan& plan);
  /// Fills the sizes that follow from the others; the next use comes after it.
  void fit(const SrpPlan& plan);

  bool is_tiled = true;           ///< phases in local memory, one pixel a vector; else groups of one item
  std::size_t lanes = 1;          ///< pixels of a vector
  std::size_t vectors = 2;        ///< of an item
  std::size_t at_once = 1;        ///< microphones of an item; 1 where tiled
  std::size_t run = 16;           ///< bins of a recurrence, a multiple of 4
  std::size_t tile_bins = 16;     ///< of an item's sums, a multiple of `run`
  std::size_t part_tiles = 1;     ///< tiles of bins that an item sums one after the other
  std::size_t group = 256;        ///< items of the map
  std::size_t ways = 1;           ///< in which a group shares microphones out: a divisor of it and of `tile_bins`
  std::size_t point_group = 128;  ///< items of refinement, a multiple of `run`
  // That follow:
  std::size_t tiles = 0;
  std::size_t parts = 0;            ///< of tiles
  std::size_t microphone_tile = 0;  ///< microphones in local memory
  std::size_t padded_channels = 0;  ///< with those that fill up the last tile
  std::size_t pixel_stride = 0;     ///< pixels with those that fill up the last group
  std::size_t point_vectors = 0;    ///< items of refinement
  std::size_t points = 0;           ///< of refinement, with those that fill up the last item

  [[nodiscard]] std::size_t bins() const { return tiles * tile_bins; }
  /// Complex values of a window.
  [[nodiscard]] std::size_t phases() const { return bins() * padded_channels; }
  /// Floats of a source among the results.
  [[nodiscard]] std::size_t source_results() const { return kSourceHead + tiles + tiles * points; }
  /// Floats of a round of refinement.
  [[nodiscard]] std::size_t round_results() const { return 4 + tiles * points; }
  /// Items of the map along its pixels.
  [[nodiscard]] std::size_t map_items() const { return pixel_stride / (vectors * lanes) * ways; }
  /// Of local memory that a group of the map takes, at most.
  [[nodiscard]] std::size_t local_bytes() const;
  [[nodiscard]] ocl::Defines defines() const;

  static constexpr std::size_t kMostMicrophones = 64;  ///< in local memory, at least one a way
  static constexpr std::size_t kSourceHead = 8;        ///< floats of a source, before its sums
};

/// The processor with a cut of one's own, for tests and benchmarks.
std::unique_ptr<Processor> make_srp_phat(const ocl::Device& device, const ProcessorPlan& plan, const SrpCut& cut);

}  // namespace nearfield
