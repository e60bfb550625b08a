#include "processors/beamform/das_path.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "core/error.hpp"
#include "processors/beamform/work.hpp"

namespace nearfield::das {
namespace {

using far_field::literal;
using far_field::Position;

/// Padding repeats the last pixel.
constexpr std::size_t kPixelGroup = 64;
constexpr int kPixelLanes = 8;

std::vector<float> pixel_table(const BeamformPlan& plan) {
  const std::size_t stride = pixel_stride(plan);
  std::vector<float> table(4 * stride);
  for (std::size_t i = 0; i < stride; ++i) {
    const Position& pixel = plan.grid.pixels[std::min(i, plan.pixels() - 1)];
    table[i] = static_cast<float>(pixel.x);
    table[stride + i] = static_cast<float>(pixel.y);
    table[2 * stride + i] = static_cast<float>(pixel.z);
    table[3 * stride + i] = static_cast<float>(norm(pixel));
  }
  return table;
}

std::vector<Two> wave_table(const BeamformPlan& plan) {
  std::vector<Two> table;
  for (std::size_t f = 0; f < plan.frequencies(); ++f) {
    const double waves = plan.waves_per_m(f);
    const auto high = static_cast<float>(waves);
    table.push_back({high, static_cast<float>(waves - static_cast<double>(high))});
  }
  return table;
}

/// True if the convolution needs fewer operations than the direct sum, which is not so for few pixels.
bool is_cheaper_convolved(const BeamformPlan& plan) {
  const WorkSizes sizes(plan.settings, plan.channels(), plan.frequencies(), 1.0);
  const std::optional<Lattice> lattice = lattice_of(plan.settings.grid, plan.array.geometry);
  return lattice && operations(convolve_work(sizes, *lattice)) < direct_work(sizes).operations;
}

}  // namespace

std::size_t pixel_stride(const BeamformPlan& plan) { return ocl::round_up(plan.pixels(), kPixelGroup); }

int lanes_of(const ocl::DeviceInfo& device) { return device.is_gpu ? 1 : kPixelLanes; }

std::size_t windows_at_once(const BeamformPlan& plan) {
  return plan.has_powers() ? 1 : static_cast<std::size_t>(plan.batch);
}

ocl::Defines shared_defines(const BeamformPlan& plan, const ocl::DeviceInfo& device) {
  const double reference_m = plan.settings.steering.reference_m;
  return {{"LANES", std::to_string(lanes_of(device))},
          {"CHANNELS", std::to_string(plan.channels())},
          {"PIXELS", std::to_string(plan.pixels())},
          {"PIXEL_STRIDE", std::to_string(pixel_stride(plan))},
          {"FREQUENCIES", std::to_string(plan.frequencies())},
          {"WINDOWS", std::to_string(windows_at_once(plan))},
          {"FORMULATION", std::to_string(static_cast<int>(plan.settings.steering.formulation))},
          {"PLANE_WAVE", plan.is_plane_wave ? "1" : "0"},
          {"REFERENCE", literal(reference_m)},
          {"HAS_REFERENCE", reference_m > 0.0 ? "1" : "0"},
          {"REMOVAL", plan.settings.removes_diagonal() ? "1" : "0"},
          {"FEWEST_MICROPHONES", std::to_string(kFewestMicrophones)},
          {"NEAREST", literal(kNearest_m)}};
}

Input::Input(const ocl::Device& device, const BeamformPlan& plan)
    : pixels(device.upload<float>(pixel_table(plan), kStage)),
      positions(device.upload<far_field::Float4>(far_field::position_table(plan.microphones), kStage)),
      waves_per_m(device.upload<Two>(wave_table(plan), kStage)),
      pressures(device.allocate<std::complex<float>>(
          static_cast<std::size_t>(plan.batch) * plan.frequencies() * plan.channels(), kStage)),
      weights(device.allocate<float>(static_cast<std::size_t>(plan.batch) * plan.channels(), kStage)) {}

Sums::Sums(const ocl::Device& device, const BeamformPlan& plan, std::size_t part_count)
    : parts(part_count),
      sums(device.allocate<std::complex<float>>(parts * windows_at_once(plan) * plan.frequencies() * pixel_stride(plan),
                                                kStage)),
      diagonals(device.allocate<float>(plan.settings.removes_diagonal() ? sums.size() : 1, kStage)) {}

bool is_regular(const BeamformPlan& plan) {
  constexpr double kSame_m = 1e-9;
  const ArrayGeometry& geometry = plan.array.geometry;
  if (!geometry.is_grid() || plan.channels() != static_cast<std::size_t>(geometry.channels())) {
    return false;
  }
  for (std::size_t i = 0; i < plan.channels(); ++i) {
    const int channel = static_cast<int>(i);
    const int row = channel / geometry.columns;
    const Position expected = {geometry.x_m(channel % geometry.columns), geometry.y_m(row), 0.0};
    if (!(distance(plan.microphones[i], expected) < kSame_m)) {
      return false;
    }
  }
  return true;
}

PathChoice chosen_path(const ocl::DeviceInfo& device, const BeamformPlan& plan) {
  const PathChoice asked = plan.settings.path_choice;
  const auto refuse = [&](const std::string& obstacle) {
    if (!obstacle.empty()) {
      throw ConfigError(fmt::format("processors.{}.path: expected auto or direct, as {}, found {}", plan.name, obstacle,
                                    name_of(asked)));
    }
  };
  switch (asked) {
    case PathChoice::kDirect:
      return asked;
    case PathChoice::kConvolve:
      refuse(obstacle_to_convolving(device, plan));
      return asked;
    case PathChoice::kSeparable:
      refuse(obstacle_to_separating(device, plan));
      return asked;
    case PathChoice::kAuto:
      break;
  }
  if (obstacle_to_separating(device, plan).empty()) {
    return PathChoice::kSeparable;
  }
  const bool can_convolve = obstacle_to_convolving(device, plan).empty();
  return can_convolve && is_cheaper_convolved(plan) ? PathChoice::kConvolve : PathChoice::kDirect;
}

std::unique_ptr<Path> make_path(const ocl::Device& device, const BeamformPlan& plan, const Input& input) {
  if (plan.is_measured()) {
    return make_measured(device, plan, input);
  }
  const PathChoice choice = chosen_path(device.info(), plan);
  return choice == PathChoice::kConvolve    ? make_convolve(device, plan, input)
         : choice == PathChoice::kSeparable ? make_separable(device, plan, input)
                                            : make_direct(device, plan, input);
}

}  // namespace nearfield::das
