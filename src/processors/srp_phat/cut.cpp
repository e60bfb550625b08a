#include "processors/srp_phat/cut.hpp"

#include <algorithm>

namespace nearfield {
namespace {

std::size_t quotient_up(std::size_t value, std::size_t divisor) { return (value + divisor - 1) / divisor; }

std::size_t groups_of(const SrpPlan& plan, const SrpCut& cut) {
  return quotient_up(plan.pixels(), cut.group / cut.ways * cut.lanes * cut.vectors) *
         static_cast<std::size_t>(plan.batch);
}

}  // namespace

SrpCut SrpCut::of_vectors(const SrpPlan& plan) {
  constexpr std::size_t kLanes = 8;
  constexpr std::size_t kMostRuns = 8;  // sums of 8 pixels fit the first-level cache
  SrpCut cut;
  cut.is_tiled = false;
  cut.lanes = kLanes;
  cut.vectors = 1;
  cut.at_once = 2;
  const std::size_t runs = quotient_up(plan.bins.size(), cut.run);
  cut.tile_bins = quotient_up(runs, quotient_up(runs, kMostRuns)) * cut.run;
  cut.group = 1;
  cut.point_group = 1;
  return cut;
}

SrpCut SrpCut::of_groups() { return {}; }

SrpCut SrpCut::for_device(const ocl::DeviceInfo& device, const SrpPlan& plan) {
  constexpr std::size_t kGroupsOfGpu = 4;   // per compute unit: 32 warps
  constexpr std::size_t kGroupsOfCore = 8;  // enough to balance the cores' loads
  constexpr std::size_t kFewestOfWay = 8;   // microphones; with fewer, combining the ways costs more than they do
  constexpr std::size_t kMostWays = 16;
  SrpCut cut = device.is_gpu ? of_groups() : of_vectors(plan);
  const std::size_t wanted =
      (device.is_gpu ? kGroupsOfGpu : kGroupsOfCore) * std::max<std::size_t>(device.compute_units, 1);
  const std::size_t tiles = quotient_up(plan.bins.size(), cut.tile_bins);
  // Split bins first, whose sums need not be combined before squaring, then microphones.
  const std::size_t parts = std::clamp<std::size_t>(quotient_up(wanted, groups_of(plan, cut)), 1, tiles);
  cut.part_tiles = quotient_up(tiles, parts);
  while (cut.is_tiled && !plan.is_time && cut.ways < kMostWays && plan.channels() >= 2 * cut.ways * kFewestOfWay &&
         groups_of(plan, cut) * quotient_up(tiles, cut.part_tiles) < wanted) {
    cut.ways *= 2;
  }
  while (cut.ways > 1 && cut.local_bytes() > device.local_memory_bytes) {
    cut.ways /= 2;
  }
  cut.fit(plan);
  return cut;
}

void SrpCut::fit(const SrpPlan& plan) {
  tiles = quotient_up(plan.bins.size(), tile_bins);
  parts = quotient_up(tiles, part_tiles);
  const std::size_t together = ways * at_once;
  padded_channels = ocl::round_up(plan.channels(), together);
  microphone_tile = padded_channels;
  if (is_tiled) {
    microphone_tile = std::min(padded_channels, ocl::round_up(kMostMicrophones, together));
    padded_channels = ocl::round_up(plan.channels(), microphone_tile);
  }
  pixel_stride = ocl::round_up(plan.pixels(), group / ways * lanes * vectors);
  point_vectors = quotient_up(refinement_points(plan), lanes * vectors);
  points = point_vectors * lanes * vectors;
}

std::size_t SrpCut::local_bytes() const {
  const std::size_t microphones = ocl::round_up(kMostMicrophones, ways * at_once);
  const std::size_t of_tile = microphones * (sizeof(float) * 4 + tile_bins * sizeof(float) * 2);
  return is_tiled ? of_tile + (ways > 1 ? ways * group * sizeof(float) * 2 : 0) : 0;
}

ocl::Defines SrpCut::defines() const {
  return {{"TILED", is_tiled ? "1" : "0"},
          {"LANES", std::to_string(lanes)},
          {"VECTORS", std::to_string(vectors)},
          {"AT_ONCE", std::to_string(at_once)},
          {"RUN", std::to_string(run)},
          {"TILE_BINS", std::to_string(tile_bins)},
          {"PART_TILES", std::to_string(part_tiles)},
          {"MAP_GROUP", std::to_string(group)},
          {"WAYS", std::to_string(ways)},
          {"POINT_GROUP", std::to_string(point_group)},
          {"MICROPHONE_TILE", std::to_string(microphone_tile)},
          {"PADDED_CHANNELS", std::to_string(padded_channels)},
          {"PIXEL_STRIDE", std::to_string(pixel_stride)}};
}

}  // namespace nearfield
