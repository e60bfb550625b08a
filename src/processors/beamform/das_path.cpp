#include "processors/beamform/das_path.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>

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

/// 2e-6 rad at 10 kHz.
constexpr double kMisfit_m = 1e-8;
/// Larger than the longest transform that can be split.
constexpr int kMostPoints = kMostInAnItem * kMostInAnItem;

std::optional<LatticeAxis> axis_of(int microphones, double pitch_m, double pixel_count, double step_m) {
  if (pixel_count > kMostPoints || pitch_m <= 0.0) {
    return std::nullopt;
  }
  LatticeAxis axis{.microphones = microphones, .pixels = static_cast<int>(pixel_count)};
  const double ratio = pitch_m / step_m;
  if (std::max(ratio, 1.0 / ratio) > kMostPoints) {
    return std::nullopt;
  }
  axis.microphone_step = std::max(static_cast<int>(std::round(ratio)), 1);
  axis.pixel_step = ratio >= 1.0 ? 1 : static_cast<int>(std::round(1.0 / ratio));
  axis.spacing_m = std::min(pitch_m, step_m);
  const double of_microphones = std::abs(axis.microphone_step * axis.spacing_m - pitch_m) * (axis.microphones - 1);
  const double of_pixels = std::abs(axis.pixel_step * axis.spacing_m - step_m) * (axis.pixels - 1);
  return of_microphones + of_pixels <= kMisfit_m && axis.transform() ? std::optional(axis) : std::nullopt;
}

}  // namespace

std::optional<ShortDft> LatticeAxis::transform() const {
  for (int length = differences(); length <= kMostPoints; ++length) {
    if (const std::optional<ShortDft> split = split_dft(length)) {
      return split;
    }
  }
  return std::nullopt;
}

std::optional<Lattice> lattice_of(const far_field::GridSettings& grid, const ArrayGeometry& geometry) {
  if (!geometry.is_grid()) {
    return std::nullopt;
  }
  const far_field::GridCounts counts = counts_of(grid);
  const auto x = axis_of(geometry.columns, geometry.pitch_x_m, counts.columns, grid.step_m);
  const auto y = axis_of(geometry.rows, geometry.pitch_y_m, counts.rows, grid.step_m);
  return x && y ? std::optional(Lattice{*x, *y}) : std::nullopt;
}

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

namespace {

constexpr std::size_t kMapsGroup = 64;

/// Metres that a path's sums lack in r - r_0, in two parts, [high, low][pixel_stride()]; one value if they lack none,
/// or if phases do not matter.
std::vector<float> offsets_of(const BeamformPlan& plan, bool counts_from_pixels) {
  const double reference_m = plan.settings.steering.reference_m;
  if (plan.is_plane_wave || plan.is_measured() || plan.has_powers() || (reference_m == 0.0 && !counts_from_pixels)) {
    return std::vector<float>(1);
  }
  const std::size_t stride = pixel_stride(plan);
  std::vector<float> offsets(2 * stride);
  for (std::size_t i = 0; i < plan.pixels(); ++i) {
    const double length = norm(plan.grid.pixels[i]);
    const double offset = (counts_from_pixels ? 0.0 : length) - (reference_m > 0.0 ? reference_m : length);
    offsets[i] = static_cast<float>(offset);
    offsets[stride + i] = static_cast<float>(offset - static_cast<double>(offsets[i]));
  }
  return offsets;
}

ocl::Defines defines_of(const BeamformPlan& plan, const ocl::DeviceInfo& device, const Path& path, bool has_offsets,
                        std::size_t stride) {
  ocl::Defines defines = shared_defines(plan, device);
  defines["SPECTRA"] = std::to_string(plan.array.frequencies_hz.size());
  defines["NORMALISED"] = path.is_normalised() ? "1" : "0";
  defines["PARTS"] = std::to_string(path.sums().parts);
  defines["MAP_STRIDE"] = std::to_string(stride);
  defines["HAS_GAINS"] = plan.array.gains.empty() ? "0" : "1";
  defines["HAS_OFFSETS"] = has_offsets ? "1" : "0";
  defines["AVERAGED"] = plan.is_averaged() ? "1" : "0";
  defines["WINDOW_NORMS"] = plan.is_history() ? "0" : "1";
  defines["LARGEST"] = far_field::literal(kLargestPressure_pa);
  defines["FLAG_MASKED"] = std::to_string(kFlagMaskedMicrophones);
  defines["FLAG_NON_FINITE"] = std::to_string(kFlagNonFiniteInput);
  return defines;
}

}  // namespace

Maps::Maps(const ocl::Device& device, const BeamformPlan& plan, std::size_t stride)
    : device_(device),
      plan_(plan),
      input_(device_, plan_),
      path_(make_path(device_, plan_, input_)),
      gains_(device_.upload<std::complex<float>>(far_field::gain_table(plan_.array), kStage)),
      offsets_(device_.upload<float>(offsets_of(plan_, path_->counts_from_pixels()), kStage)),
      program_(device_.build(kStage, "processors/beamform.cl",
                             defines_of(plan_, device_.info(), *path_, offsets_.size() > 1, stride))),
      microphones_(program_.kernel("beamform_microphones")),
      norm_(program_.kernel("das_norms")),
      finish_(program_.kernel("das_finish")),
      spectra_argument_(microphones_.arguments("spectra", "status")),
      window_arguments_(finish_.arguments("first_window", "to")),
      shading_on_host_(plan_.channels()),
      shading_(device_.allocate<float>(plan_.channels(), kStage)),
      norms_(device_.allocate<float>(2 * pixel_stride(plan_), kStage)),
      taken_(device_.allocate<std::uint32_t>(static_cast<std::size_t>(plan_.batch) * kStatusWords, kStage)),
      status_on_host_(device_.allocate_host<std::uint32_t>(taken_.size(), kStage)) {
  microphones_.set("gains", gains_).set("shading", shading_).set("weights", input_.weights).set("taken", taken_);
  microphones_.set("pressures", input_.pressures);
  norm_.set_all(input_.pixels, input_.positions, shading_, norms_);
  finish_.set("pixels", input_.pixels).set("positions", input_.positions).set("waves_per_m", input_.waves_per_m);
  finish_.set("offsets", offsets_).set("weights", input_.weights).set("norms", norms_).set("taken", taken_);
  finish_.set("sums", path_->sums().sums).set("diagonals", path_->sums().diagonals);
}

void Maps::enqueue_microphones(const ComplexBuffer& spectra, const StatusBuffer& status, std::size_t windows) {
  microphones_.set(spectra_argument_, spectra, status);
  microphones_.enqueue({.global_0 = kMapsGroup, .local_0 = kMapsGroup, .global_1 = windows});
  device_.enqueue_read(taken_, status_on_host_.values().first(windows * kStatusWords), kStage);
}

void Maps::enqueue_maps(std::size_t first_window, std::size_t windows, std::size_t to) {
  path_->enqueue(first_window, windows);
  finish_.set(window_arguments_, static_cast<cl_int>(first_window), static_cast<cl_int>(to));
  ocl::Launch launch = pixel_launch();
  launch.global_1 = plan_.frequencies();
  launch.global_2 = windows;
  finish_.enqueue(launch);
}

void Maps::use(const MicrophoneMask& mask) {
  std::transform(plan_.shading.begin(), plan_.shading.end(), shading_on_host_.begin(),
                 [](double weight) { return static_cast<float>(weight); });
  for (const std::int32_t channel : mask.channels) {
    shading_on_host_[static_cast<std::size_t>(channel)] = 0.0F;
  }
  device_.enqueue_write(shading_, 0, std::span<const float>(shading_on_host_), kStage);
  norm_.enqueue(pixel_launch());
  device_.wait();
}

std::string Maps::description() const {
  const std::string left_out = plan_.left_out.empty() ? "" : fmt::format("; {}", fmt::join(plan_.left_out, ", "));
  return fmt::format("{}, {} pixels, {} microphones{}", path_->description(), plan_.pixels(), plan_.channels(),
                     left_out);
}

ocl::Launch Maps::pixel_launch() const {
  const auto lanes = static_cast<std::size_t>(lanes_of(device_.info()));
  return {.global_0 = pixel_stride(plan_) / lanes, .local_0 = kMapsGroup / lanes};
}

}  // namespace nearfield::das
