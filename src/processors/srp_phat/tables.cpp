#include "processors/srp_phat/tables.hpp"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <numbers>
#include <string>

#include "processors/far_field/array.hpp"
#include "processors/srp_phat/cut.hpp"

namespace nearfield::srp {

using far_field::Float4;
using far_field::literal;
using far_field::Position;

std::vector<Float4> pixels_of(const SrpPlan& plan) {
  std::vector<Float4> pixels;
  std::transform(plan.grid.pixels.begin(), plan.grid.pixels.end(), std::back_inserter(pixels),
                 [](const Position& pixel) { return far_field::float4_of(pixel, 0.0); });
  return pixels;
}

std::vector<std::int32_t> bins_of(const SrpPlan& plan) {
  std::vector<std::int32_t> bins;
  std::transform(plan.bins.begin(), plan.bins.end(), std::back_inserter(bins),
                 [](std::size_t bin) { return static_cast<std::int32_t>(bin); });
  return bins;
}

std::vector<std::int32_t> pair_table(const SrpPlan& plan) {
  std::vector<std::int32_t> table;
  for (const auto& [one, other] : plan.pairs) {
    table.push_back(static_cast<std::int32_t>(one));
    table.push_back(static_cast<std::int32_t>(other));
  }
  table.resize(std::max<std::size_t>(table.size(), 2));
  return table;
}

namespace {

/// Spacing of neighbouring bins in waves per metre if equal, else 0.
double spacing_of(const SrpPlan& plan) {
  constexpr double kRounding = 1e-9;  // fraction of a frequency
  const std::vector<double>& all = plan.frequencies_hz;
  const double apart_hz = all.size() < 2 ? 0.0 : (all.back() - all.front()) / static_cast<double>(all.size() - 1);
  for (std::size_t k = 0; k < all.size(); ++k) {
    if (std::abs(all[k] - all[0] - static_cast<double>(k) * apart_hz) > kRounding * all[k]) {
      return 0.0;
    }
  }
  return apart_hz / plan.array.medium.sound_speed_m_s;
}

}  // namespace

std::vector<float> waves_of(const SrpPlan& plan, const SrpCut& cut) {
  std::vector<float> waves(cut.bins());
  for (std::size_t k = 0; k < waves.size(); ++k) {
    waves[k] = static_cast<float>(
        k < plan.bins.size() ? plan.waves_per_m(k) : plan.waves_per_m(0) + static_cast<double>(k) * spacing_of(plan));
  }
  return waves;
}

std::vector<Float4> positions_of(const SrpPlan& plan, const SrpCut& cut) {
  std::vector<Float4> positions = far_field::position_table(plan.microphones);
  positions.resize(cut.padded_channels, positions.back());
  return positions;
}

ocl::Defines defines_of(const ocl::DeviceInfo& device, const SrpPlan& plan, const SrpCut& cut) {
  const double separation = std::cos(plan.settings.separation_deg * std::numbers::pi / 180.0);
  ocl::Defines defines = cut.defines();
  if (plan.is_time) {
    defines.merge(LagSizes(device, plan, cut).defines(plan));
  }
  defines.insert({{"CHANNELS", std::to_string(plan.channels())},
                  {"PIXELS", std::to_string(plan.pixels())},
                  {"BINS", std::to_string(plan.bins.size())},
                  {"SPECTRA", std::to_string(plan.array.frequencies_hz.size())},
                  {"PHAT", plan.settings.weights == SrpWeights::kNone ? "0" : "1"},
                  {"SNR", plan.settings.weights == SrpWeights::kSnr ? "1" : "0"},
                  {"SNR_FACTOR", literal(std::pow(10.0, plan.settings.snr_db / 10.0))},
                  {"RISE", literal(plan.floor_rise())},
                  {"TINY", literal(kTinyPressure)},
                  {"PLANE_WAVE", plan.grid.is_far ? "1" : "0"},
                  {"COLUMNS", std::to_string(plan.columns)},
                  {"ROWS", std::to_string(plan.rows)},
                  {"WRAPS", far_field::is_full_circle(plan.settings.grid) ? "1" : "0"},
                  {"SPACING", literal(spacing_of(plan))},
                  {"EVEN", spacing_of(plan) > 0.0 ? "1" : "0"},
                  {"SOURCES", std::to_string(plan.sources())},
                  {"PEELED", plan.peels() ? "1" : "0"},
                  {"LEAST_OWN_FIELD", literal(kLeastOwnField)},
                  {"LEAST_REMAINDER", literal(kLeastRemainder)},
                  {"SEPARATION", literal(separation)},
                  {"DIMENSIONS", std::to_string(plan.dimensions)},
                  {"ROUND", plan.is_round ? "1" : "0"},
                  {"STEP", literal(plan.step)},
                  {"POINTS", std::to_string(refinement_points(plan))},
                  {"AXIS", plan.settings.grid.axis == far_field::LineAxis::kX ? "0" : "1"},
                  {"REJECT_COMMON", plan.settings.reject_common ? "1" : "0"},
                  {"HAS_GAINS", plan.array.gains.empty() ? "0" : "1"},
                  {"FEWEST_MICROPHONES", std::to_string(far_field::kFewestMicrophones)},
                  {"NEAREST", literal(far_field::kNearest_m)},
                  {"LARGEST", literal(kLargestSrpPressure_pa)},
                  {"FLAG_MASKED", std::to_string(kFlagMaskedMicrophones)},
                  {"FLAG_NON_FINITE", std::to_string(kFlagNonFiniteInput)}});
  return defines;
}

}  // namespace nearfield::srp
