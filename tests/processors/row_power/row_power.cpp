#include <algorithm>
#include <limits>

#include "cl/added_kernels.hpp"
#include "cl/device.hpp"
#include "config/schema/processor_kinds.hpp"
#include "imaging/priors/make_mask.hpp"
#include "processors/processor.hpp"

/// The worked example of docs/how/add_a_processor.md: the mean square of the pressure over each row of microphones, a
/// kind of those test programs that link this file.
namespace nearfield {
namespace ocl {
std::span<const EmbeddedKernel> row_power_kernels();
}  // namespace ocl
namespace {

constexpr std::string_view kRowPowerStage = "processors/row_power";
constexpr std::size_t kRowPowerGroup = 64;

struct RowPowerSettings : KindSettings {
  [[nodiscard]] std::unique_ptr<KindSettings> copy() const override {
    return std::make_unique<RowPowerSettings>(*this);
  }
};

schema::ProcessorKind row_power_kind() {
  return {.name = "row_power",
          .meaning = "mean square of the pressure over each row of microphones",
          .make = []() -> std::unique_ptr<KindSettings> { return std::make_unique<RowPowerSettings>(); }};
}

ResultHeader header_of(const ProcessorPlan& plan) {
  std::vector<double> rows_m;
  for (int row = 0; row < plan.array.geometry.rows; ++row) {
    rows_m.push_back(plan.array.geometry.y_m(row));
  }
  ResultHeader header;
  header.processor = plan.name;
  header.kind = "row_power";
  header.memory_hops = 0;
  header.axes = {{.name = "frequency", .unit = "Hz", .values = plan.frequencies_hz},
                 {.name = "y", .unit = "m", .values = std::move(rows_m)}};
  header.products = {{.name = "row_power",
                      .quantity = "mean square pressure",
                      .unit = "Pa^2",
                      .type = ElementType::kFloat32,
                      .axes = {"frequency", "y"}}};
  return header;
}

/// `masked` [channel].
void mark(std::vector<bool>& masked, const MicrophoneMask& mask) {
  std::fill(masked.begin(), masked.end(), false);
  for (const std::int32_t channel : mask.channels) {
    masked[static_cast<std::size_t>(channel)] = true;
  }
}

/// [frequency][row][column]: |gain|^2 / 2 over the row's microphones that are not masked; 0 for those that are.
void weigh(const ArrayPlan& array, const std::vector<bool>& masked, std::vector<float>& weights) {
  const auto columns = static_cast<std::size_t>(array.geometry.columns);
  for (std::size_t first = 0; first < weights.size(); first += columns) {
    const auto row = masked.begin() + static_cast<std::ptrdiff_t>(first % masked.size());
    const auto live = static_cast<double>(std::count(row, row + static_cast<std::ptrdiff_t>(columns), false));
    for (std::size_t column = 0; column < columns; ++column) {
      const std::size_t at = first + column;
      const double square = array.gains.empty() ? 1.0 : std::norm(std::complex<double>(array.gains[at]));
      weights[at] = masked[at % masked.size()] ? 0.0F : static_cast<float>(0.5 * square / live);
    }
  }
}

class RowPower : public Processor {
 public:
  RowPower(const ocl::Device& device, const ProcessorPlan& plan)
      : Processor(header_of(plan)),
        device_(device),
        array_(plan.array),
        lines_(header().values(header().products[0])),
        kernel_(device_
                    .build(kRowPowerStage, "row_power.cl",
                           {{"ROWS", std::to_string(array_.geometry.rows)},
                            {"COLUMNS", std::to_string(array_.geometry.columns)},
                            {"FREQUENCIES", std::to_string(plan.frequencies_hz.size())},
                            {"SPECTRA", std::to_string(array_.frequencies_hz.size())}})
                    .kernel("row_power")),
        per_window_(kernel_.arguments("spectra", "windows")),
        masked_(static_cast<std::size_t>(array_.geometry.channels())),
        weights_on_host_(plan.frequencies_hz.size() * masked_.size()),
        weights_(device_.allocate<float>(weights_on_host_.size(), kRowPowerStage)),
        power_(device_.allocate<float>(lines_ * static_cast<std::size_t>(plan.batch), kRowPowerStage)),
        on_host_(device_.allocate_host<float>(power_.size(), kRowPowerStage)) {
    kernel_.set("weights", weights_).set("power", power_);
    use(make_mask(array_, {}));
  }
  void enqueue(const BatchInput& input) override {
    const std::size_t lines = input.windows * lines_;
    kernel_.set(per_window_, input.spectra, static_cast<cl_int>(input.windows));
    kernel_.enqueue({.global_0 = ocl::round_up(lines, kRowPowerGroup), .local_0 = kRowPowerGroup});
    device_.enqueue_read(power_, on_host_.values().first(lines), kRowPowerStage);
  }
  WindowProducts products(const WindowToRead& of) override {
    product_ = std::as_bytes(on_host_.values().subspan(of.window * lines_, lines_));
    return {.products = {&product_, 1}};
  }
  void use(const MicrophoneMask& mask) final {
    mark(masked_, mask);
    weigh(array_, masked_, weights_on_host_);
    device_.enqueue_write(weights_, 0, std::span<const float>(weights_on_host_), kRowPowerStage);
    device_.wait();
  }

 private:
  ocl::Device device_;
  ArrayPlan array_;
  std::size_t lines_;  ///< values of a window: frequencies times rows
  ocl::Kernel kernel_;
  ocl::Arguments<2> per_window_;
  std::vector<bool> masked_;  ///< [channel]
  std::vector<float> weights_on_host_;
  ocl::Buffer<float> weights_;
  ocl::Buffer<float> power_;
  ocl::HostBuffer<float> on_host_;
  std::span<const std::byte> product_;
};

class RowPowerReference : public reference::Processor {
 public:
  explicit RowPowerReference(const ProcessorPlan& plan)
      : reference::Processor(header_of(plan)),
        array_(plan.array),
        masked_(static_cast<std::size_t>(array_.geometry.channels())) {
    mark(masked_, make_mask(array_, {}));
  }
  void use(const MicrophoneMask& mask) override { mark(masked_, mask); }
  reference::WindowResult compute(const reference::WindowInput& window) override {
    const auto columns = static_cast<std::size_t>(array_.geometry.columns);
    const std::size_t values = header().axis("frequency")->size() * masked_.size();
    std::vector<float> power;  // [frequency][row]
    for (std::size_t first = 0; first < values; first += columns) {
      double sum = 0.0;
      int used = 0;
      for (std::size_t at = first; at < first + columns; ++at) {
        if (!masked_[at % masked_.size()]) {
          const reference::Complex gain = array_.gains.empty() ? 1.0 : reference::Complex(array_.gains[at]);
          sum += 0.5 * std::norm(gain * window.spectra[at]);
          ++used;
        }
      }
      power.push_back(used > 0 ? static_cast<float>(sum / used) : std::numeric_limits<float>::quiet_NaN());
    }
    return {.products = {reference::to_bytes(power)}};
  }

 private:
  ArrayPlan array_;
  std::vector<bool> masked_;  ///< [channel]
};

/// Counts a square, a weight and a sum for each microphone's spectrum.
WorkModel work_of_row_power(const ProcessorPlan& plan) {
  const double microphones = plan.array.geometry.channels();
  const double weights = static_cast<double>(plan.frequencies_hz.size()) * microphones;
  const double lines =
      static_cast<double>(plan.batch * plan.array.geometry.rows) * static_cast<double>(plan.frequencies_hz.size());
  const double values = plan.batch * weights;
  return {{.stage = "processors/row_power/row_power",
           .bytes = values * work::kComplex + weights * work::kFloat + lines * work::kFloat,
           .operations = 5.0 * values}};
}

ProcessorEntry row_power_entry() {
  return {.kind = "row_power",
          .make = [](const ocl::Device& device, const ProcessorPlan& plan) -> std::unique_ptr<Processor> {
            return std::make_unique<RowPower>(device, plan);
          },
          .make_reference = [](const ProcessorPlan& plan) -> std::unique_ptr<reference::Processor> {
            return std::make_unique<RowPowerReference>(plan);
          },
          .work = work_of_row_power};
}

[[maybe_unused]] const bool kIsAdded = [] {
  ocl::add_kernels(ocl::row_power_kernels());
  schema::add_processor_kind(row_power_kind());
  add_processor(row_power_entry());
  return true;
}();

}  // namespace
}  // namespace nearfield
