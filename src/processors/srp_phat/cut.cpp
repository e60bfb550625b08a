#include "processors/srp_phat/cut.hpp"

#include <algorithm>
#include <cmath>
#include <numbers>
#include <vector>

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

namespace {

constexpr double kPathOperations = 12.0;
constexpr double kPhasorOperations = 20.0;  // first phasor of a recurrence, and its step
constexpr double kFloats4 = 4.0 * work::kFloat;

struct SrpSizes {
  explicit SrpSizes(const SrpPlan& plan)
      : windows(plan.batch),
        bins(static_cast<double>(plan.bins.size())),
        channels(static_cast<double>(plan.channels())),
        pixels(static_cast<double>(plan.pixels())),
        pairs(static_cast<double>(plan.pairs.size())),
        lags(static_cast<double>(2 * plan.farthest_lag + 1)),
        phases_bytes(bins * channels * work::kComplex) {}
  double windows;
  double bins;
  double channels;
  double pixels;
  double pairs;
  double lags;  ///< lags per pair
  double phases_bytes;
};

/// Counts a path and two phasors per microphone, and per bin the next phasor and a complex multiply-add.
double operations_of_place(const SrpSizes& sizes) {
  constexpr double kTerm = 4.0 + work::kMultiplyAdd;  // e[k+1] = 2 cos(a) e[k] - e[k-1], and the product
  return sizes.channels * (kPathOperations + 2.0 * kPhasorOperations + sizes.bins * kTerm);
}

StageWork frequency_work(const SrpSizes& sizes) {
  return {.stage = "processors/srp_phat/srp_fd",
          .bytes = sizes.windows * (sizes.phases_bytes + sizes.pixels * (kFloats4 + work::kFloat)),
          .operations = sizes.windows * sizes.pixels * operations_of_place(sizes)};
}

/// Counts the products of each pair's bins; lags as a product of real matrices, [pair][2 bins] and [2 bins][lag]; per
/// pixel a path for each microphone, and a look-up for each pair.
WorkModel time_work(const SrpSizes& sizes, LagInterpolation interpolation) {
  constexpr double kNearestOperations = 7.0;  // difference, scale, offset, two limits, rounding, sum
  constexpr double kLineOperations = 11.0;
  constexpr double kLagOperations = 4.0;  // per bin: two real multiply-adds
  const double cross_bytes = sizes.pairs * sizes.bins * work::kComplex;
  const double lags_bytes = sizes.pairs * sizes.lags * work::kFloat;
  const double look_up = interpolation == LagInterpolation::kLinear ? kLineOperations : kNearestOperations;
  return {{.stage = "processors/srp_phat/srp_cross",
           .bytes = sizes.windows * (sizes.phases_bytes + sizes.pairs * 2.0 * work::kWord + cross_bytes),
           .operations = sizes.windows * sizes.pairs * sizes.bins * work::kComplexMultiply},
          {.stage = "processors/srp_phat/srp_lags",
           .bytes = sizes.windows * (cross_bytes + lags_bytes) + 2.0 * sizes.bins * sizes.lags * work::kFloat,
           .operations = sizes.windows * sizes.pairs * sizes.lags * sizes.bins * kLagOperations},
          {.stage = "processors/srp_phat/srp_td",
           .bytes = sizes.windows * (lags_bytes + sizes.pixels * (kFloats4 + work::kFloat)),
           .operations = sizes.windows * sizes.pixels * (sizes.channels * kPathOperations + sizes.pairs * look_up)}};
}

/// Counts a field per microphone and bin, its products with those of earlier sources, and phases as in srp_weights.
StageWork peeling_work(const SrpSizes& sizes, double peeled) {
  constexpr double kOfWeight = 12.0;
  constexpr double kOfSource = 2.0 * work::kMultiplyAdd;
  const double terms = sizes.windows * sizes.bins * sizes.channels;
  const double before = peeled * (peeled - 1.0) / 2.0;
  return {.stage = "processors/srp_phat/srp_peel",
          .bytes = sizes.windows * sizes.phases_bytes * (4.0 * peeled + before),
          .operations =
              terms * (peeled * (kPathOperations + kPhasorOperations + kOfWeight + kOfSource) + before * kOfSource)};
}

/// Counts the largest pixel of each source, and the points around it in each round.
WorkModel search_work(const SrpPlan& plan, const SrpSizes& sizes) {
  const auto sources = static_cast<double>(plan.sources());
  const double maps = plan.peels() ? sources : 1.0;
  const double rounds = plan.dimensions > 0 ? kRefinementRounds + 1.0 : 1.0;
  const double points = sources * rounds * static_cast<double>(refinement_points(plan));
  WorkModel model = {{.stage = "processors/srp_phat/srp_map",
                      .bytes = maps * sizes.windows * sizes.pixels * 2.0 * work::kFloat,
                      .operations = maps * sizes.windows * sizes.pixels * 2.0},
                     {.stage = "processors/srp_phat/srp_refine",
                      .bytes = sizes.windows * sources * rounds * sizes.phases_bytes,
                      .operations = sizes.windows * points * operations_of_place(sizes)}};
  if (sources > 1.0) {
    model.push_back({.stage = "processors/srp_phat/srp_maximum",
                     .bytes = sizes.windows * (sources - 1.0) * sizes.pixels * (kFloats4 + work::kFloat),
                     .operations = sizes.windows * (sources - 1.0) * sizes.pixels * 2.0});
  }
  return model;
}

}  // namespace

WorkModel work_of(const SrpPlan& plan) {
  constexpr double kOfWeight = 12.0;
  const SrpSizes sizes(plan);
  WorkModel model = {{.stage = "processors/srp_phat/srp_microphones", .bytes = sizes.windows * sizes.phases_bytes},
                     {.stage = "processors/srp_phat/srp_weights",
                      .bytes = sizes.windows * 3.0 * sizes.phases_bytes,
                      .operations = sizes.windows * sizes.bins * sizes.channels * kOfWeight}};
  const auto append = [&model](const WorkModel& more) { model.insert(model.end(), more.begin(), more.end()); };
  WorkModel map = plan.is_time ? time_work(sizes, plan.settings.interpolation) : WorkModel{frequency_work(sizes)};
  if (plan.peels()) {
    for (StageWork& stage : map) {  // for the window, and the remainder without each source but the last
      stage.bytes *= static_cast<double>(plan.sources());
      stage.operations *= static_cast<double>(plan.sources());
    }
    append({peeling_work(sizes, static_cast<double>(plan.sources()) - 1.0)});
  }
  append(map);
  append(search_work(plan, sizes));
  return model;
}

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
