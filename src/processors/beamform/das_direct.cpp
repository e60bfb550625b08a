#include <fmt/format.h>

#include <algorithm>

#include "processors/beamform/das_path.hpp"

namespace nearfield::das {
namespace {

constexpr std::size_t kMostFrequenciesOfItem = 8;
constexpr std::size_t kGpuGroup = 64;
constexpr std::size_t kMicrophoneTile = 32;

/// Cut of the sums for a device.
struct DirectCut {
  std::size_t group = 1;            ///< items per group
  std::size_t frequency_tiles = 1;  ///< a tile has the frequencies of one item
  std::size_t part = 1;             ///< microphones per part
  std::size_t parts = 1;
};

/// Splits the microphones into parts if pixels alone do not fill the device.
DirectCut cut_for(const ocl::DeviceInfo& device, const BeamformPlan& plan) {
  // Groups per compute unit: 16 warps on GPUs; on CPUs enough to balance the cores' loads.
  constexpr std::size_t kGroupsOfGpu = 8;
  constexpr std::size_t kGroupsOfCore = 8;
  constexpr std::size_t kFewestOfPart = 64;
  DirectCut cut;
  cut.group = device.is_gpu ? kGpuGroup : 1;
  cut.frequency_tiles = (plan.frequencies() + kMostFrequenciesOfItem - 1) / kMostFrequenciesOfItem;
  const std::size_t pixels_of_group = cut.group * static_cast<std::size_t>(lanes_of(device));
  const std::size_t groups = pixel_stride(plan) / pixels_of_group * cut.frequency_tiles * windows_at_once(plan);
  const std::size_t wanted =
      (device.is_gpu ? kGroupsOfGpu : kGroupsOfCore) * std::max<std::size_t>(device.compute_units, 1);
  const std::size_t most = std::max<std::size_t>(plan.channels() / kFewestOfPart, 1);
  const std::size_t parts = std::clamp<std::size_t>((wanted + groups - 1) / groups, 1, most);
  cut.part = ocl::round_up((plan.channels() + parts - 1) / parts, kMicrophoneTile);
  cut.parts = (plan.channels() + cut.part - 1) / cut.part;
  return cut;
}

bool is_planar(const BeamformPlan& plan) {
  return std::all_of(plan.microphones.begin(), plan.microphones.end(),
                     [](const far_field::Position& microphone) { return microphone.z == 0.0; });
}

class Direct : public Path {
 public:
  Direct(const ocl::Device& device, const BeamformPlan& plan, const Input& input, const DirectCut& cut)
      : Path(Sums(device, plan, cut.parts)),
        kernel_(
            device.build(kStage, "processors/beamform/das_direct.cl", defines(device, plan, cut)).kernel("das_direct")),
        first_window_(kernel_.arguments("first_window")),
        launch_{.global_0 = pixel_stride(plan) / static_cast<std::size_t>(lanes_of(device.info())),
                .local_0 = cut.group,
                .global_1 = cut.frequency_tiles * cut.parts},
        description_(fmt::format("das_direct in {} part{}", cut.parts, cut.parts == 1 ? "" : "s")) {
    kernel_.set("pixels", input.pixels).set("positions", input.positions).set("waves_per_m", input.waves_per_m);
    kernel_.set("pressures", input.pressures).set("sums", sums().sums).set("diagonals", sums().diagonals);
  }
  void enqueue(std::size_t first_window, std::size_t windows) override {
    kernel_.set(first_window_, static_cast<cl_int>(first_window));
    ocl::Launch launch = launch_;
    launch.global_2 = windows;
    kernel_.enqueue(launch);
  }
  [[nodiscard]] std::string description() const override { return description_; }

 private:
  static ocl::Defines defines(const ocl::Device& device, const BeamformPlan& plan, const DirectCut& cut) {
    ocl::Defines defines = shared_defines(plan, device.info());
    defines["GROUP"] = std::to_string(cut.group);
    defines["TILE"] = std::to_string(kMicrophoneTile);
    defines["PARTS"] = std::to_string(cut.parts);
    defines["PART"] = std::to_string(cut.part);
    defines["FREQUENCY_TILE"] = std::to_string((plan.frequencies() + cut.frequency_tiles - 1) / cut.frequency_tiles);
    defines["PLANAR"] = is_planar(plan) ? "1" : "0";
    return defines;
  }
  ocl::Kernel kernel_;
  ocl::Arguments<1> first_window_;
  ocl::Launch launch_;
  std::string description_;
};

}  // namespace

std::unique_ptr<Path> make_direct(const ocl::Device& device, const BeamformPlan& plan, const Input& input) {
  return std::make_unique<Direct>(device, plan, input, cut_for(device.info(), plan));
}

namespace {

constexpr std::size_t kMeasuredGroup = 64;

/// Multiplies the matrix of templates by the pressures of a window, for each frequency.
class Measured : public Path {
 public:
  Measured(const ocl::Device& device, const BeamformPlan& plan, const Input& input)
      : Path(Sums(device, plan, 1)),
        templates_(device.upload<std::complex<float>>(plan.templates, kStage)),
        kernel_(device.build(kStage, "processors/beamform/das_measured.cl", defines(plan, device.info()))
                    .kernel("das_measured")),
        first_window_(kernel_.arguments("first_window")),
        launch_{
            .global_0 = kMeasuredGroup * pixel_stride(plan), .local_0 = kMeasuredGroup, .global_1 = plan.frequencies()},
        description_(fmt::format("das_measured, {} templates", plan.pixels())) {
    kernel_.set("templates", templates_).set("pressures", input.pressures).set("weights", input.weights);
    kernel_.set("sums", sums().sums).set("diagonals", sums().diagonals);
  }
  void enqueue(std::size_t first_window, std::size_t windows) override {
    kernel_.set(first_window_, static_cast<cl_int>(first_window));
    ocl::Launch launch = launch_;
    launch.global_2 = windows;
    kernel_.enqueue(launch);
  }
  [[nodiscard]] bool is_normalised() const override { return true; }
  [[nodiscard]] std::string description() const override { return description_; }

 private:
  static ocl::Defines defines(const BeamformPlan& plan, const ocl::DeviceInfo& device) {
    ocl::Defines defines = shared_defines(plan, device);
    defines["GROUP"] = std::to_string(kMeasuredGroup);
    return defines;
  }
  ocl::Buffer<std::complex<float>> templates_;
  ocl::Kernel kernel_;
  ocl::Arguments<1> first_window_;
  ocl::Launch launch_;
  std::string description_;
};

}  // namespace

std::unique_ptr<Path> make_measured(const ocl::Device& device, const BeamformPlan& plan, const Input& input) {
  return std::make_unique<Measured>(device, plan, input);
}

}  // namespace nearfield::das
