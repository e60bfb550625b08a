#include <fmt/format.h>

#include "processors/beamform/das_path.hpp"

namespace nearfield::das {
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
