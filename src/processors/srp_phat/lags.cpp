#include "processors/srp_phat/lags.hpp"

#include <algorithm>
#include <cmath>
#include <numbers>
#include <vector>

namespace nearfield {
namespace {

constexpr std::string_view kLagStage = "processors/srp_phat";
constexpr std::size_t kRowsOfItem = 4;     // pairs per item
constexpr std::size_t kVectorsOfItem = 2;  // vectors of lags per item

/// [bin][cosine, minus sine][lag]; lags past the last one continue the pattern, and are never looked up.
std::vector<float> turn_table(const SrpPlan& plan, std::size_t stride) {
  std::vector<float> table;
  table.reserve(2 * plan.bins.size() * stride);
  for (const double frequency_hz : plan.frequencies_hz) {
    std::vector<float> sines;
    for (std::size_t i = 0; i < stride; ++i) {
      const double lag = static_cast<double>(i) - static_cast<double>(plan.farthest_lag);
      const double angle = 2.0 * std::numbers::pi * frequency_hz * lag / plan.lag_rate_hz;
      table.push_back(static_cast<float>(std::cos(angle)));
      sines.push_back(static_cast<float>(-std::sin(angle)));
    }
    table.insert(table.end(), sines.begin(), sines.end());
  }
  return table;
}

}  // namespace

LagSizes::LagSizes(const ocl::DeviceInfo& device, const SrpPlan& plan, const SrpCut& cut) {
  constexpr std::size_t kLagGroup = 64;
  constexpr std::size_t kMostWays = 8;
  constexpr std::size_t kFewestBins = 32;   // per way
  constexpr std::size_t kFewestPairs = 32;  // per item
  constexpr std::size_t kGroupsOfUnit = 8;
  lag_group = cut.is_tiled ? kLagGroup : 1;
  while (cut.is_tiled && lag_ways < kMostWays && plan.bins.size() >= 2 * lag_ways * kFewestBins) {
    lag_ways *= 2;
  }
  padded_pairs = ocl::round_up(plan.pairs.size(), kRowsOfItem);
  lag_stride = ocl::round_up(2 * plan.farthest_lag + 1, kVectorsOfItem * cut.lanes * lag_group);
  const std::size_t groups = cut.pixel_stride / (cut.lanes * cut.group) * static_cast<std::size_t>(plan.batch);
  const std::size_t wanted = kGroupsOfUnit * std::max<std::size_t>(device.compute_units, 1);
  const std::size_t most = std::max<std::size_t>(plan.pairs.size() / kFewestPairs, 1);
  const std::size_t shares = std::clamp<std::size_t>((wanted + groups - 1) / groups, 1, most);
  part_pairs = (plan.pairs.size() + shares - 1) / shares;
  parts = (plan.pairs.size() + part_pairs - 1) / part_pairs;
}

ocl::Defines LagSizes::defines(const SrpPlan& plan) const {
  return {{"MICROPHONE_PAIRS", std::to_string(plan.pairs.size())},
          {"PADDED_PAIRS", std::to_string(padded_pairs)},
          {"PART_PAIRS", std::to_string(part_pairs)},
          {"PAIR_PARTS", std::to_string(parts)},
          {"LAG_GROUP", std::to_string(lag_group)},
          {"LAG_WAYS", std::to_string(lag_ways)},
          {"LAG_STRIDE", std::to_string(lag_stride)},
          {"CENTRE", std::to_string(plan.farthest_lag)},
          {"LAGS_PER_M", far_field::literal(plan.lag_rate_hz / plan.array.medium.sound_speed_m_s)},
          {"LINEAR", plan.settings.interpolation == LagInterpolation::kLinear ? "1" : "0"}};
}

SrpLags::SrpLags(const ocl::Device& device, const SrpPlan& plan, const SrpCut& cut, const LagSizes& sizes,
                 const ocl::Program& program, const Buffers& buffers)
    : sizes_(sizes),
      bins_(plan.bins.size()),
      map_items_(cut.pixel_stride / cut.lanes),
      map_group_(cut.group),
      lag_items_(sizes.lag_stride / (kVectorsOfItem * cut.lanes)),
      cross_kernel_(program.kernel("srp_cross")),
      lags_kernel_(program.kernel("srp_lags")),
      map_kernel_(program.kernel("srp_td")),
      turns_(device.upload<float>(turn_table(plan, sizes.lag_stride), kLagStage)),
      cross_(device.allocate<std::complex<float>>(static_cast<std::size_t>(plan.batch) * sizes.padded_pairs * bins_,
                                                  kLagStage)),
      lags_(device.allocate<float>(static_cast<std::size_t>(plan.batch) * sizes.padded_pairs * sizes.lag_stride,
                                   kLagStage)) {
  cross_kernel_.set_all(buffers.phases, buffers.pairs, cross_);
  lags_kernel_.set_all(cross_, turns_, lags_);
  map_kernel_.set_all(buffers.pixels, buffers.positions, buffers.pairs, lags_, buffers.powers);
}

void SrpLags::enqueue(std::size_t windows) {
  constexpr std::size_t kGroup = 256;
  cross_kernel_.enqueue(
      {.global_0 = ocl::round_up(bins_ * sizes_.padded_pairs, kGroup), .local_0 = kGroup, .global_1 = windows});
  lags_kernel_.enqueue({.global_0 = lag_items_,
                        .local_0 = sizes_.lag_group,
                        .global_1 = sizes_.padded_pairs / kRowsOfItem * sizes_.lag_ways,
                        .local_1 = sizes_.lag_ways,
                        .global_2 = windows});
  map_kernel_.enqueue({.global_0 = map_items_, .local_0 = map_group_, .global_1 = sizes_.parts, .global_2 = windows});
}

}  // namespace nearfield
