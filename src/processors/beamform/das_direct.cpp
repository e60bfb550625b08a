#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numbers>

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

namespace {

constexpr std::size_t kChunkOfGpu = 32;
constexpr std::size_t kGroupOfGpu = 64;
constexpr std::size_t kTileOfGpu = 8;

/// Cut of the products for a device.
struct SeparableCut {
  std::size_t lanes = 1;
  std::size_t group = 1;  ///< items per group
  std::size_t tile = 1;   ///< vectors of azimuths per group
  std::size_t chunk = 1;  ///< elevations per group
};

SeparableCut separable_cut(const ocl::DeviceInfo& device, const BeamformPlan& plan) {
  const auto lanes = static_cast<std::size_t>(lanes_of(device));
  if (device.is_gpu) {
    return {.lanes = lanes, .group = kGroupOfGpu, .tile = kTileOfGpu, .chunk = kChunkOfGpu};
  }
  return {.lanes = lanes, .chunk = plan.grid.axes[0].values.size()};
}

std::size_t local_bytes(const SeparableCut& cut, const BeamformPlan& plan) {
  return static_cast<std::size_t>(plan.array.geometry.rows) * (2 * cut.tile * cut.lanes + 1) * sizeof(float);
}

/// Sine of each angle of an axis, which is the direction's component.
std::vector<double> components(const Axis& axis) {
  std::vector<double> values;
  for (const double angle_deg : axis.values) {
    values.push_back(std::sin(angle_deg * std::numbers::pi / 180.0));
  }
  return values;
}

/// e^{-jkx u}
std::complex<double> steered(double waves_per_m, double place_m, double component) {
  return std::polar(1.0, -2.0 * std::numbers::pi * std::remainder(waves_per_m * place_m * component, 1.0));
}

class Separable : public Path {
 public:
  Separable(const ocl::Device& device, const BeamformPlan& plan, const Input& input, const SeparableCut& cut)
      : Path(Sums(device, plan, 1)),
        x_stride_(ocl::round_up(plan.grid.axes[1].values.size(), cut.lanes * cut.tile)),
        frequencies_(plan.frequencies()),
        steering_x_(device.upload<float>(x_table(plan, x_stride_), kStage)),
        steering_y_(device.upload<std::complex<float>>(y_table(plan), kStage)),
        kernel_(device.build(kStage, "processors/beamform/das_separable.cl", defines(device, plan, cut, x_stride_))
                    .kernel("das_separable")),
        first_window_(kernel_.arguments("first_window")),
        launch_{.global_0 = x_stride_ / (cut.lanes * cut.tile) * cut.group,
                .local_0 = cut.group,
                .global_1 = (plan.grid.axes[0].values.size() + cut.chunk - 1) / cut.chunk} {
    kernel_.set("pressures", input.pressures).set("steering_x", steering_x_).set("steering_y", steering_y_);
    kernel_.set("sums", sums().sums).set("diagonals", sums().diagonals);
  }
  void enqueue(std::size_t first_window, std::size_t windows) override {
    kernel_.set(first_window_, static_cast<cl_int>(first_window));
    ocl::Launch launch = launch_;
    launch.global_2 = windows * frequencies_;
    kernel_.enqueue(launch);
  }
  [[nodiscard]] std::string description() const override { return "das_separable"; }

 private:
  static std::vector<float> x_table(const BeamformPlan& plan, std::size_t stride) {
    const std::vector<double> directions = components(plan.grid.axes[1]);
    const auto columns = static_cast<std::size_t>(plan.array.geometry.columns);
    std::vector<float> table(plan.frequencies() * 2 * columns * stride);
    for (std::size_t f = 0; f < plan.frequencies(); ++f) {
      for (std::size_t column = 0; column < columns; ++column) {
        float* to = table.data() + (2 * f * columns + column) * stride;
        for (std::size_t a = 0; a < directions.size(); ++a) {
          const auto value = steered(plan.waves_per_m(f), plan.microphones[column].x, directions[a]);
          to[a] = static_cast<float>(value.real());
          to[columns * stride + a] = static_cast<float>(value.imag());
        }
      }
    }
    return table;
  }
  static std::vector<std::complex<float>> y_table(const BeamformPlan& plan) {
    const std::vector<double> directions = components(plan.grid.axes[0]);
    const auto columns = static_cast<std::size_t>(plan.array.geometry.columns);
    std::vector<std::complex<float>> table;
    for (std::size_t f = 0; f < plan.frequencies(); ++f) {
      for (std::size_t first = 0; first < plan.channels(); first += columns) {
        for (const double direction : directions) {
          table.emplace_back(steered(plan.waves_per_m(f), plan.microphones[first].y, direction));
        }
      }
    }
    return table;
  }
  static ocl::Defines defines(const ocl::Device& device, const BeamformPlan& plan, const SeparableCut& cut,
                              std::size_t x_stride) {
    ocl::Defines defines = shared_defines(plan, device.info());
    defines["ROWS"] = std::to_string(plan.array.geometry.rows);
    defines["COLUMNS"] = std::to_string(plan.array.geometry.columns);
    defines["AZIMUTHS"] = std::to_string(plan.grid.axes[1].values.size());
    defines["ELEVATIONS"] = std::to_string(plan.grid.axes[0].values.size());
    defines["X_STRIDE"] = std::to_string(x_stride);
    defines["CHUNK"] = std::to_string(cut.chunk);
    defines["VECTOR_TILE"] = std::to_string(cut.tile);
    defines["GROUP"] = std::to_string(cut.group);
    return defines;
  }
  std::size_t x_stride_;
  std::size_t frequencies_;
  ocl::Buffer<float> steering_x_;
  ocl::Buffer<std::complex<float>> steering_y_;
  ocl::Kernel kernel_;
  ocl::Arguments<1> first_window_;
  ocl::Launch launch_;
};

}  // namespace

std::string obstacle_to_separating(const ocl::DeviceInfo& device, const BeamformPlan& plan) {
  if (plan.settings.grid.kind != far_field::GridKind::kAngles || !plan.grid.is_far) {
    return "pixels are not angles at distance_m: inf";
  }
  if (!is_regular(plan)) {
    return "microphones are not on a regular grid";
  }
  if (const std::size_t bytes = local_bytes(separable_cut(device, plan), plan); bytes > device.local_memory_bytes) {
    return fmt::format("it needs {} bytes of local memory, and the device has {}", bytes, device.local_memory_bytes);
  }
  return "";
}

std::unique_ptr<Path> make_separable(const ocl::Device& device, const BeamformPlan& plan, const Input& input) {
  return std::make_unique<Separable>(device, plan, input, separable_cut(device.info(), plan));
}

}  // namespace nearfield::das
