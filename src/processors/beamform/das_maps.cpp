#include "processors/beamform/das_maps.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

namespace nearfield::das {
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
