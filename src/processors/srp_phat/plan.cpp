#include "processors/srp_phat/plan.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <numbers>

#include "core/error.hpp"
#include "processors/srp_phat/sources.hpp"

namespace nearfield {
namespace {

using far_field::GridKind;
using far_field::Position;

Position sum(const Position& a, double scale, const Position& b) {
  return {a.x + scale * b.x, a.y + scale * b.y, a.z + scale * b.z};
}

Position cross(const Position& a, const Position& b) {
  return {a.y * b.z - a.z * b.y, a.z * b.x - a.x * b.z, a.x * b.y - a.y * b.x};
}

Position with_length(const Position& a, double length) {
  const double factor = length / norm(a);
  return {a.x * factor, a.y * factor, a.z * factor};
}

void choose_bins(SrpPlan& plan, const std::vector<double>& frequencies_hz) {
  constexpr double kRounding = 1e-9;  // same as in bins_of()
  const double low_hz = plan.settings.band_hz[0];
  const double high_hz = plan.settings.band_hz[1];
  for (std::size_t f = 0; f < frequencies_hz.size(); ++f) {
    if (frequencies_hz[f] >= low_hz * (1.0 - kRounding) && frequencies_hz[f] < high_hz * (1.0 - kRounding)) {
      plan.bins.push_back(f);
      plan.frequencies_hz.push_back(frequencies_hz[f]);
    }
  }
  if (plan.bins.empty()) {
    throw ConfigError(
        fmt::format("processors.{}.band_hz: expected a band with at least one of its spectra's {} frequencies, {:.6g} "
                    "to {:.6g} Hz, found [{}, {}]",
                    plan.name, frequencies_hz.size(), frequencies_hz.empty() ? 0.0 : frequencies_hz.front(),
                    frequencies_hz.empty() ? 0.0 : frequencies_hz.back(), low_hz, high_hz));
  }
}

void choose_refinement(SrpPlan& plan) {
  constexpr double kDegree = std::numbers::pi / 180.0;
  const far_field::GridSettings& grid = plan.settings.grid;
  const far_field::GridCounts counts = far_field::counts_of(grid);
  plan.columns = static_cast<std::size_t>(counts.columns);
  plan.rows = static_cast<std::size_t>(counts.rows);
  switch (grid.kind) {
    case GridKind::kPlane:
    case GridKind::kVolume:
      plan.dimensions = grid.kind == GridKind::kVolume && counts.planes > 1.0 ? 3 : 2;
      plan.step = grid.step_m;
      break;
    case GridKind::kAngles:
    case GridKind::kSphere:
      plan.dimensions = 2;
      plan.is_round = true;
      plan.step = grid.step_deg * kDegree;
      break;
    case GridKind::kLine:
      plan.dimensions = 1;
      plan.is_round = true;
      plan.step = (grid.angles_deg[1] - grid.angles_deg[0]) / (grid.count - 1) * kDegree;
      break;
    case GridKind::kPoints:
      plan.columns = 0;
      plan.rows = 1;
      break;
  }
}

void choose_times(SrpPlan& plan, const ProcessorPlan& of) {
  plan.track_ids = of.track_ids ? of.track_ids : std::make_shared<TrackIds>();
  constexpr double kOfHann = 1.5;
  plan.window = of.settings->front_end.window;
  plan.noise_bandwidth = plan.window == WindowKind::kHann ? kOfHann : 1.0;
  if (of.sample_rate_hz > 0.0) {
    const double window_samples = of.settings->front_end.window_samples;
    plan.bin_hz = of.sample_rate_hz / window_samples;
    plan.window_s = window_samples / of.sample_rate_hz;
    plan.hop_s = of.settings->front_end.hop_samples / of.sample_rate_hz;
    plan.every_hops = of.every_hops;
  }
}

/// Throws if frequencies are much closer than bins: they add no information, and each would be correlated with all
/// others. Equal ones were moved to one bin by a front end.
void check_spacing(const SrpPlan& plan) {
  constexpr double kRounding = 1e-9;
  constexpr std::size_t kMostEqual = 16;
  std::vector<double> sorted = plan.frequencies_hz;
  std::sort(sorted.begin(), sorted.end());
  const double least_hz = plan.bin_hz / 2.0 * (1.0 - kRounding);
  for (std::size_t i = 1; i < sorted.size(); ++i) {
    const bool is_equal = sorted[i] - sorted[i - 1] <= kRounding * sorted[i];
    const bool has_many = i >= kMostEqual && sorted[i] - sorted[i - kMostEqual] < least_hz;
    if ((!is_equal && sorted[i] - sorted[i - 1] < least_hz) || has_many) {
      throw ConfigError(
          fmt::format("processors.{}.front_end.frequencies_hz: expected frequencies at least half a bin "
                      "({:.6g} Hz) apart, and at most {} equal ones, found {} and {}",
                      plan.name, plan.bin_hz / 2.0, kMostEqual, sorted[i - 1], sorted[i]));
    }
  }
}

using Pair = std::array<std::size_t, 2>;

/// Channel in the plan of a channel of the array.
std::size_t channel_of(const SrpPlan& plan, int channel, const std::array<int, 2>& pair) {
  const std::vector<int>& part = plan.channels_of_array;
  if (part.empty()) {
    const auto last = static_cast<int>(plan.channels()) - 1;
    if (channel > last) {
      throw ConfigError(fmt::format("processors.{}.pairs: expected channels from 0 to {}, found [{}, {}]", plan.name,
                                    last, pair[0], pair[1]));
    }
    return static_cast<std::size_t>(channel);
  }
  const auto found = std::find(part.begin(), part.end(), channel);
  if (found == part.end()) {
    throw ConfigError(fmt::format("processors.{}.pairs: expected channels of the subset, {}, found [{}, {}]", plan.name,
                                  fmt::join(part, ", "), pair[0], pair[1]));
  }
  return static_cast<std::size_t>(found - part.begin());
}

std::vector<Pair> listed_pairs(const SrpPlan& plan) {
  std::vector<Pair> pairs;
  for (const std::array<int, 2>& pair : plan.settings.pairs.list) {
    const std::size_t one = channel_of(plan, pair[0], pair);
    const std::size_t other = channel_of(plan, pair[1], pair);
    pairs.push_back({std::min(one, other), std::max(one, other)});
  }
  std::sort(pairs.begin(), pairs.end());
  const auto twice = std::adjacent_find(pairs.begin(), pairs.end());
  if (twice != pairs.end()) {
    const auto named = [&](std::size_t channel) {
      return plan.channels_of_array.empty() ? static_cast<int>(channel) : plan.channels_of_array[channel];
    };
    throw ConfigError(fmt::format("processors.{}.pairs: expected each pair once, found [{}, {}] twice", plan.name,
                                  named((*twice)[0]), named((*twice)[1])));
  }
  return pairs;
}

std::vector<Pair> pairs_of(const SrpPlan& plan) {
  if (!plan.settings.pairs.list.empty()) {
    return listed_pairs(plan);
  }
  std::vector<Pair> pairs;
  for (std::size_t i = 0; i < plan.channels(); ++i) {
    for (std::size_t j = i + 1; j < plan.channels(); ++j) {
      pairs.push_back({i, j});
    }
  }
  const auto longest = static_cast<std::size_t>(plan.settings.pairs.longest);
  if (longest > 0 && longest < pairs.size()) {
    const auto length = [&](const Pair& pair) {
      return distance(plan.microphones[pair[0]], plan.microphones[pair[1]]);
    };
    constexpr double kSame_m = 1e-9;  // the first of equal ones
    std::stable_sort(pairs.begin(), pairs.end(), [&](const Pair& one, const Pair& other) {
      return std::round(length(one) / kSame_m) > std::round(length(other) / kSame_m);
    });
    pairs.resize(longest);
    std::sort(pairs.begin(), pairs.end());
  }
  return pairs;
}

/// True if the lags and look-ups of the time domain take less time than the frequency domain. Unit: 1/16 of the time of
/// a frequency-domain term (pixel, microphone and bin), measured with `nearfield bench srp_phat` on CPUs.
bool is_cheaper_in_time(const SrpPlan& plan) {
  constexpr double kOfLookUp = 400.0;
  constexpr double kOfTerm = 16.0;
  constexpr double kOfLag = 4.0;  // per bin
  constexpr std::size_t kMostMicrophones = 64;
  const auto pixels = static_cast<double>(plan.pixels());
  const auto bins = static_cast<double>(plan.bins.size());
  const auto lags = static_cast<double>(2 * plan.farthest_lag + 1);
  return plan.channels() <= kMostMicrophones && plan.pairs.size() <= kMostPairs &&
         static_cast<double>(plan.pairs.size()) * (pixels * kOfLookUp + lags * bins * kOfLag) <
             pixels * static_cast<double>(plan.channels()) * bins * kOfTerm;
}

void choose_domain(SrpPlan& plan, double sample_rate_hz) {
  const SrpDomain asked = plan.settings.domain;
  if (asked == SrpDomain::kFrequency || (asked == SrpDomain::kAuto && sample_rate_hz <= 0.0)) {
    return;
  }
  if (sample_rate_hz <= 0.0) {
    throw ConfigError(
        fmt::format("processors.{}.domain: expected auto or frequency, as the rate of the samples that the "
                    "given spectra are of is not known, found time",
                    plan.name));
  }
  plan.pairs = pairs_of(plan);
  plan.lag_rate_hz = sample_rate_hz * plan.settings.upsample;
  for (const auto& [one, other] : plan.pairs) {
    const double lag =
        distance(plan.microphones[one], plan.microphones[other]) / plan.array.medium.sound_speed_m_s * plan.lag_rate_hz;
    plan.farthest_lag = std::max(plan.farthest_lag, static_cast<std::size_t>(std::ceil(lag)) + 1);
  }
  if (asked == SrpDomain::kTime && plan.pairs.size() > kMostPairs) {
    throw ConfigError(
        fmt::format("processors.{}.pairs: expected at most {} pairs for domain: time, such as longest {}, "
                    "found {} of {} microphones",
                    plan.name, kMostPairs, kMostPairs, plan.pairs.size(), plan.channels()));
  }
  plan.is_time = asked == SrpDomain::kTime || is_cheaper_in_time(plan);
}

}  // namespace

SrpPlan::SrpPlan(const ProcessorPlan& plan)
    : name(plan.name),
      settings(dynamic_cast<const SrpPhatSettings&>(*plan.own)),
      array(plan.array),
      microphones(far_field::microphones_of(array.geometry)),
      channels_of_array(plan.channels),
      grid(far_field::make_grid(settings.grid, array.standoff_m, fmt::format("processors.{}.grid", name),
                                plan.files.get())),
      batch(plan.batch) {
  choose_bins(*this, plan.frequencies_hz);
  choose_refinement(*this);
  choose_times(*this, plan);
  check_spacing(*this);
  choose_domain(*this, plan.sample_rate_hz);
}

double SrpPlan::floor_rise() const {
  constexpr double kMost = 1e30;  // effectively no floor, but fits in float32
  return std::min(std::pow(10.0, settings.floor_rise_db_s * hop_s * every_hops / 10.0), kMost);
}

std::size_t refinement_points(const SrpPlan& plan) {
  std::size_t points = 1;
  for (int dimension = 0; dimension < plan.dimensions; ++dimension) {
    points *= 5;
  }
  return points;
}

std::array<Position, 3> steps_at(const SrpPlan& plan, const Position& place) {
  std::array<Position, 3> steps;
  if (!plan.is_round) {
    steps[0].x = plan.dimensions > 0 ? plan.step : 0.0;
    steps[1].y = plan.dimensions > 1 ? plan.step : 0.0;
    steps[2].z = plan.dimensions > 2 ? plan.step : 0.0;
    return steps;
  }
  constexpr double kSteep = 0.9;  // beyond it the other axis gives the better cross product
  const Position along_x = {.x = 1.0};
  const Position along_y = {.y = 1.0};
  const bool is_about_y = plan.dimensions == 1 ? plan.settings.grid.axis == far_field::LineAxis::kX
                                               : std::abs(place.y) < kSteep * norm(place);
  const double length = plan.step * norm(place);
  steps[0] = with_length(cross(is_about_y ? along_y : along_x, place), length);
  if (plan.dimensions == 2) {
    steps[1] = with_length(cross(place, steps[0]), length);
  }
  return steps;
}

Position moved(const SrpPlan& plan, const Position& place, const std::array<double, 3>& fractions) {
  const std::array<Position, 3> steps = steps_at(plan, place);
  Position result = place;
  for (std::size_t i = 0; i < steps.size(); ++i) {
    result = sum(result, fractions[i], steps[i]);
  }
  return plan.is_round ? with_length(result, norm(place)) : result;
}

std::array<double, 3> fractions_of(const SrpPlan& plan, std::size_t point, double fraction) {
  std::array<double, 3> fractions{};
  for (int i = 0; i < plan.dimensions; ++i, point /= 5) {
    fractions.at(static_cast<std::size_t>(i)) = fraction * (static_cast<double>(point % 5) - 2.0);
  }
  return fractions;
}

ResultHeader header_of(const SrpPlan& plan) {
  ResultHeader header;
  header.processor = plan.name;
  header.kind = "srp_phat";
  const bool has_floors = plan.settings.weights == SrpWeights::kSnr;
  header.memory_hops = has_floors || plan.settings.tracks.enabled ? kUnboundedMemory : 0;
  header.products.push_back(sources_product(plan));
  if (plan.settings.keep_map) {
    Product map = {
        .name = "map", .quantity = "steered response power", .unit = "1", .type = ElementType::kFloat32, .axes = {}};
    for (const Axis& axis : plan.grid.axes) {
      header.axes.push_back(axis);
      map.axes.push_back(axis.name);
    }
    header.products.push_back(std::move(map));
  }
  far_field::add_places(plan.array.geometry, header);
  return header;
}

}  // namespace nearfield
