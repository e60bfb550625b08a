#include "processors/spectrum/spectrum.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <numbers>
#include <utility>

#include "cl/fft.hpp"
#include "core/frame.hpp"
#include "frontend/common/bit_ring.hpp"
#include "frontend/samples/decimator.hpp"
#include "imaging/priors/make_mask.hpp"

namespace nearfield {

SpectrumPlan::SpectrumPlan(const ProcessorPlan& plan)
    : name(plan.name),
      array(plan.array),
      sample_rate_hz(plan.sample_rate_hz),
      sensitivity_dbfs(plan.settings->array.sensitivity_dbfs),
      is_full_scale(plan.input_is_finite),
      hop_samples(static_cast<std::size_t>(plan.settings->front_end.hop_samples)),
      batch(static_cast<std::size_t>(plan.batch)) {
  const auto& own = dynamic_cast<const SpectrumSettings&>(*plan.own);
  points = own.places();
  window_samples = static_cast<std::size_t>(own.window_samples);
  taper = own.taper;
}

std::vector<std::uint32_t> SpectrumPlan::nearest(const MicrophoneMask& mask) const {
  std::vector<std::uint32_t> microphones;
  for (const PlanePoint& point : points) {
    std::uint32_t best = kNoMicrophone;
    double best_m = std::numeric_limits<double>::infinity();
    for (int channel = 0; channel < array.geometry.channels(); ++channel) {
      const MicrophonePosition at = array.geometry.position_m(channel);
      const double distance_m = std::hypot(at.x_m - point.x_m, at.y_m - point.y_m);
      if (distance_m < best_m && !std::binary_search(mask.channels.begin(), mask.channels.end(), channel)) {
        best = static_cast<std::uint32_t>(channel);
        best_m = distance_m;
      }
    }
    microphones.push_back(best);
  }
  return microphones;
}

ResultHeader SpectrumPlan::header() const {
  Axis axis_of_points{.name = "point", .unit = "m", .values = {}, .components = 2};
  for (const PlanePoint& point : points) {
    axis_of_points.values.push_back(point.x_m);
    axis_of_points.values.push_back(point.y_m);
  }
  Axis frequencies{.name = "frequency", .unit = "Hz", .values = {}};
  for (std::size_t bin = 0; bin < bins(); ++bin) {
    frequencies.values.push_back(frequency_hz(bin));
  }
  ResultHeader header;
  header.processor = name;
  header.kind = "spectrum";
  header.memory_hops = 0;
  header.axes = {std::move(axis_of_points), std::move(frequencies)};
  header.products = {{.name = "spectrum",
                      .quantity = "amplitude of pressure",
                      .unit = "Pa",
                      .type = ElementType::kFloat32,
                      .axes = {"point", "frequency"}},
                     {.name = "microphone",
                      .quantity = "row * columns + column of the microphone",
                      .unit = "1",
                      .form = Product::Form::kFigure,
                      .type = ElementType::kUint32,
                      .axes = {"point"}}};
  return header;
}

namespace {

constexpr std::string_view kSpectrumStage = "processors/spectrum";
constexpr std::size_t kSpectrumGroup = 64;

std::vector<float> taper_values(const SpectrumPlan& plan) {
  std::vector<float> values;
  for (std::size_t n = 0; n < plan.window_samples; ++n) {
    const double radians = 2.0 * std::numbers::pi * static_cast<double>(n) / static_cast<double>(plan.window_samples);
    double value = 0.0;
    double order = 0.0;
    for (const double term : cosine_terms(plan.taper)) {
      value += term * std::cos(order * radians);
      order += 1.0;
    }
    values.push_back(static_cast<float>(value));
  }
  return values;
}

/// [bin], pascal peak per unit of the FFT's sum. The taper's values add up to its first term times the window.
std::vector<float> scales_pa(const SpectrumPlan& plan) {
  const DecimatorDesign design = design_decimator();
  const double sum = cosine_terms(plan.taper).front() * static_cast<double>(plan.window_samples);
  std::vector<float> scales;
  for (std::size_t bin = 0; bin < plan.bins(); ++bin) {
    double scale = (plan.is_single(bin) ? 1.0 : 2.0) / sum;
    if (plan.is_full_scale) {
      const double gain = std::abs(design.response(plan.frequency_hz(bin), plan.sample_rate_hz * kDecimation));
      scale *= full_scale_pa(plan.sensitivity_dbfs) / gain;
    }
    scales.push_back(static_cast<float>(scale));
  }
  return scales;
}

ocl::Defines spectrum_defines(const SpectrumPlan& plan) {
  return {{"CHANNELS", fmt::format("{}", plan.array.geometry.channels())},
          {"WINDOW", fmt::format("{}", plan.window_samples)},
          {"POINTS", fmt::format("{}", plan.points.size())},
          {"HOP", fmt::format("{}", plan.hop_samples)},
          {"STATUS_WORDS", fmt::format("{}", kStatusWords)},
          {"CHECK_CLIPPING", plan.is_full_scale ? "1" : "0"},
          {"CLIP_LEVEL", fmt::format("{}f", kClipLevel)},
          {"FLAG_CLIPPED", fmt::format("{}u", static_cast<std::uint32_t>(kFlagClipped))}};
}

class SpectrumProcessor : public Processor {
 public:
  SpectrumProcessor(const ocl::Device& device, const SpectrumPlan& plan)
      : Processor(plan.header()),
        device_(device),
        plan_(plan),
        lines_count_(plan_.batch * plan_.points.size()),
        taper_(device.upload<float>(taper_values(plan_), kSpectrumStage)),
        scales_(device.upload<float>(scales_pa(plan_), kSpectrumStage)),
        channels_(device.allocate<std::uint32_t>(plan_.points.size(), kSpectrumStage)),
        bad_in_(device.allocate<std::uint32_t>(lines_count_, kSpectrumStage)),
        lines_(device.allocate<float>(lines_count_ * plan_.window_samples, kSpectrumStage)),
        bins_(device.allocate<std::complex<float>>(lines_count_ * plan_.bins(), kSpectrumStage)),
        levels_(device.allocate<float>(lines_count_ * plan_.bins(), kSpectrumStage)),
        on_host_(device.allocate_host<float>(levels_.size(), kSpectrumStage)),
        fft_(device, static_cast<int>(plan_.window_samples), static_cast<int>(lines_count_),
             std::string(kSpectrumStage)) {
    const ocl::Program program = device.build(kSpectrumStage, "processors/spectrum.cl", spectrum_defines(plan_));
    point_lines_ = program.kernel("point_lines");
    point_lines_.set("taper", taper_).set("channels", channels_).set("lines", lines_).set("bad_in", bad_in_);
    of_windows_ = point_lines_.arguments("samples", "status", "first_slot", "slots", "frame");
    amplitudes_ = program.kernel("amplitudes");
    amplitudes_.set("bins", bins_).set("scales", scales_).set("bad_in", bad_in_).set("levels", levels_);
    of_frame_ = amplitudes_.arguments("frame");
    device.enqueue_fill(lines_, 0.0F, kSpectrumStage);  // a short batch transforms unused lines too
    device.enqueue_fill(bad_in_, frame_, kSpectrumStage);
    use(make_mask(plan_.array, {}));
  }
  void enqueue(const BatchInput& input) override {
    const std::size_t lines = input.windows * plan_.points.size();
    const SampleView& samples = input.samples;
    ++frame_;
    point_lines_.set(of_windows_, *samples.samples, input.status, samples.first_slot, samples.slots, frame_);
    point_lines_.enqueue({.global_0 = ocl::round_up(plan_.window_samples, kSpectrumGroup),
                          .local_0 = kSpectrumGroup,
                          .global_1 = lines});
    fft_.enqueue(lines_, bins_);
    amplitudes_.set(of_frame_, frame_);
    amplitudes_.enqueue(
        {.global_0 = ocl::round_up(plan_.bins(), kSpectrumGroup), .local_0 = kSpectrumGroup, .global_1 = lines});
    device_.enqueue_read(levels_, on_host_.values().first(lines * plan_.bins()), kSpectrumStage);
    microphones_ = nearest_;
  }
  WindowProducts products(const WindowToRead& of) override {
    const std::size_t values = plan_.points.size() * plan_.bins();
    products_ = {std::as_bytes(on_host_.values().subspan(of.window * values, values)),
                 std::as_bytes(std::span<const std::uint32_t>(microphones_))};
    return {.products = products_};
  }
  void use(const MicrophoneMask& mask) final {
    nearest_ = plan_.nearest(mask);
    device_.enqueue_write(channels_, 0, std::span<const std::uint32_t>(nearest_), kSpectrumStage);
    device_.wait();
  }

 private:
  ocl::Device device_;
  SpectrumPlan plan_;
  std::size_t lines_count_;  ///< for a whole batch: windows times points
  std::uint32_t frame_ = 0;  ///< for the last enqueue()
  ocl::Buffer<float> taper_;
  ocl::Buffer<float> scales_;
  ocl::Buffer<std::uint32_t> channels_;
  ocl::Buffer<std::uint32_t> bad_in_;
  ocl::Buffer<float> lines_;
  ocl::Buffer<std::complex<float>> bins_;
  ocl::Buffer<float> levels_;
  ocl::HostBuffer<float> on_host_;
  ocl::RealFft1d fft_;
  ocl::Kernel point_lines_;
  ocl::Arguments<5> of_windows_;  ///< for point_lines_
  ocl::Kernel amplitudes_;
  ocl::Arguments<1> of_frame_;              ///< for amplitudes_
  std::vector<std::uint32_t> nearest_;      ///< [point], for the mask in effect
  std::vector<std::uint32_t> microphones_;  ///< [point], for the last enqueue()
  std::array<std::span<const std::byte>, 2> products_;
};

/// Counts clFFT's lines, and each sample and each bin once in and once out.
WorkModel work_of_spectrum(const ProcessorPlan& plan) {
  const auto& own = dynamic_cast<const SpectrumSettings&>(*plan.own);
  const double lines = plan.batch * static_cast<double>(own.places().size());
  const double samples = lines * own.window_samples;
  const int bins_of_line = own.window_samples / 2 + 1;
  const double bins = lines * bins_of_line;
  return {{.stage = "processors/spectrum/point_lines", .bytes = 2.0 * samples * work::kFloat, .operations = samples},
          {.stage = "processors/spectrum/amplitudes",
           .bytes = bins * (work::kComplex + work::kFloat),
           .operations = 5.0 * bins}};
}

}  // namespace

ProcessorEntry spectrum_entry() {
  return {.kind = "spectrum",
          .make = [](const ocl::Device& device, const ProcessorPlan& plan) -> std::unique_ptr<Processor> {
            return std::make_unique<SpectrumProcessor>(device, SpectrumPlan(plan));
          },
          .make_reference = make_spectrum_reference,
          .work = work_of_spectrum};
}

}  // namespace nearfield
