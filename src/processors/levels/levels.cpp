#include "processors/levels/levels.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <complex>
#include <numbers>
#include <utility>

#include "cl/fft.hpp"
#include "core/error.hpp"
#include "frontend/common/bit_ring.hpp"
#include "frontend/samples/decimator.hpp"

namespace nearfield {
namespace {

constexpr double kHighest_hz = 20e3;     ///< highest frequency of levels
constexpr double kHighestOfRate = 0.45;  ///< likewise, of the sample rate: beyond, the decimator weakens and folds
constexpr double kFewestBins = 3.0;      ///< narrowest band

/// All frequencies of sound that the samples hold.
Band all_frequencies(const LevelsPlan& plan) {
  return {.low_hz = 0.5 * plan.frequency_hz(1), .high_hz = std::min(kHighest_hz, kHighestOfRate * plan.sample_rate_hz)};
}

}  // namespace

LevelsPlan::LevelsPlan(const ProcessorPlan& plan)
    : name(plan.name),
      array(plan.array),
      sample_rate_hz(plan.sample_rate_hz),
      sensitivity_dbfs(plan.settings->array.sensitivity_dbfs),
      is_full_scale(plan.input_is_finite),
      hop_samples(static_cast<std::size_t>(plan.settings->front_end.hop_samples)),
      batch(static_cast<std::size_t>(plan.batch)) {
  const auto& own = dynamic_cast<const LevelsSettings&>(*plan.own);
  window_samples = static_cast<std::size_t>(own.window_samples);
  weighting = own.weighting;
  bands_hz = own.bands_hz();
  FrontEndSettings window;
  window.window_samples = own.window_samples;
  sums.push_back(bin_shares(all_frequencies(*this), window, sample_rate_hz));
  for (const Band& band : bands_hz) {
    const double width_hz = band.high_hz - band.low_hz;
    const double highest_hz = sample_rate_hz * (is_full_scale ? kHighestOfRate : 0.5);
    if (band.high_hz > highest_hz || width_hz < kFewestBins * frequency_hz(1)) {
      throw ConfigError(fmt::format(
          "processors.{}: expected bands of at least {} bins below {} Hz, windows of {:.0f} samples or more for {:.6g} "
          "to {:.6g} Hz, found {:.3g} bins of {} samples",
          name, kFewestBins, highest_hz, std::ceil(kFewestBins * sample_rate_hz / width_hz), band.low_hz, band.high_hz,
          width_hz / frequency_hz(1), window_samples));
    }
    sums.push_back(bin_shares(band, window, sample_rate_hz));
  }
}

ResultHeader LevelsPlan::header() const {
  ResultHeader header;
  header.processor = name;
  header.kind = "levels";
  header.memory_hops = 0;
  Axis microphones{.name = "microphone", .unit = "1", .values = {}};
  for (std::size_t m = 0; m < channels(); ++m) {
    microphones.values.push_back(static_cast<double>(m));
  }
  header.axes = {std::move(microphones)};
  const auto add = [&](std::string product, std::string quantity, std::string unit, std::vector<std::string> axes) {
    header.products.push_back({.name = std::move(product),
                               .quantity = std::move(quantity),
                               .unit = std::move(unit),
                               .type = ElementType::kFloat32,
                               .axes = std::move(axes)});
  };
  add("level", fmt::format("mean square pressure{}", words_of(weighting)), "Pa^2", {"microphone"});
  if (!bands_hz.empty()) {
    Axis bands{.name = "band", .unit = "Hz", .values = {}, .components = 2};
    for (const Band& band : bands_hz) {
      bands.values.insert(bands.values.end(), {band.low_hz, band.high_hz});
    }
    header.axes.push_back(std::move(bands));
    add("bands", fmt::format("mean square pressure{}", words_of(weighting)), "Pa^2", {"band", "microphone"});
  }
  add("peak", "largest magnitude of pressure", "Pa", {"microphone"});
  add("offset", "mean pressure", "Pa", {"microphone"});
  return header;
}

namespace {

constexpr std::string_view kLevelsStage = "processors/levels";
constexpr std::size_t kLevelsGroup = 64;
constexpr std::size_t kParts = 32;  ///< parts of a window that are summed in parallel

/// Hann, periodic.
std::vector<float> taper_values(const LevelsPlan& plan) {
  std::vector<float> values;
  for (std::size_t n = 0; n < plan.window_samples; ++n) {
    const double turns = static_cast<double>(n) / static_cast<double>(plan.window_samples);
    values.push_back(static_cast<float>(0.5 - 0.5 * std::cos(2.0 * std::numbers::pi * turns)));
  }
  return values;
}

double pascal_of_one(const LevelsPlan& plan) { return plan.is_full_scale ? full_scale_pa(plan.sensitivity_dbfs) : 1.0; }

/// Factors of the bins of each sum, Pa^2 per unit of the transform's square. The squares of a Hann window add up to 3 N
/// / 8, and each bin stands for that of negative frequency as well.
std::vector<float> weights_of(const LevelsPlan& plan) {
  const DecimatorDesign design = design_decimator();
  const auto samples = static_cast<double>(plan.window_samples);
  const double scale_pa = pascal_of_one(plan);
  std::vector<float> weights;
  for (const std::vector<BinShare>& sum : plan.sums) {
    for (const BinShare& one : sum) {
      const double frequency_hz = plan.frequency_hz(one.bin);
      const double gain =
          plan.is_full_scale ? std::abs(design.response(frequency_hz, plan.sample_rate_hz * kDecimation)) : 1.0;
      const double pascal = scale_pa / gain;
      weights.push_back(
          static_cast<float>(one.share * std::pow(10.0, weighting_db(plan.weighting, frequency_hz) / 10.0) * pascal *
                             pascal * 2.0 / (0.375 * samples * samples)));
    }
  }
  return weights;
}

std::vector<std::int32_t> ends_of(const LevelsPlan& plan) {
  std::vector<std::int32_t> ends = {0};
  for (const std::vector<BinShare>& sum : plan.sums) {
    ends.push_back(ends.back() + static_cast<std::int32_t>(sum.size()));
  }
  return ends;
}

std::vector<std::int32_t> first_bins(const LevelsPlan& plan) {
  std::vector<std::int32_t> firsts;
  for (const std::vector<BinShare>& sum : plan.sums) {
    firsts.push_back(static_cast<std::int32_t>(sum.front().bin));
  }
  return firsts;
}

class LevelsProcessor : public Processor {
 public:
  LevelsProcessor(const ocl::Device& device, const LevelsPlan& plan)
      : Processor(plan.header()),
        device_(device),
        plan_(plan),
        lines_count_(plan_.batch * plan_.channels()),
        taper_(device.upload<float>(taper_values(plan_), kLevelsStage)),
        ends_(device.upload<std::int32_t>(ends_of(plan_), kLevelsStage)),
        first_bins_(device.upload<std::int32_t>(first_bins(plan_), kLevelsStage)),
        weights_(device.upload<float>(weights_of(plan_), kLevelsStage)),
        parts_(device.allocate<cl_float2>(kParts * lines_count_, kLevelsStage)),
        lines_(device.allocate<float>(lines_count_ * plan_.window_samples, kLevelsStage)),
        bins_(device.allocate<std::complex<float>>(lines_count_ * plan_.bins(), kLevelsStage)),
        levels_(device.allocate<float>(lines_count_ * plan_.sums.size(), kLevelsStage)),
        peaks_(device.allocate<float>(lines_count_, kLevelsStage)),
        offsets_(device.allocate<float>(lines_count_, kLevelsStage)),
        on_host_(device.allocate_host<float>(lines_count_ * (plan_.sums.size() + 2), kLevelsStage)),
        fft_(device, static_cast<int>(plan_.window_samples), static_cast<int>(lines_count_),
             std::string(kLevelsStage)) {
    const ocl::Program program = device.build(kLevelsStage, "processors/levels.cl",
                                              {{"CHANNELS", fmt::format("{}", plan_.channels())},
                                               {"WINDOW", fmt::format("{}", plan_.window_samples)},
                                               {"HOP", fmt::format("{}", plan_.hop_samples)},
                                               {"SUMS", fmt::format("{}", plan_.sums.size())}});
    parts_of_lines_ = program.kernel("level_parts");
    parts_of_lines_.set("parts", parts_);
    parts_of_window_ = parts_of_lines_.arguments("samples", "first_slot", "slots");
    lines_of_parts_ = program.kernel("level_lines");
    lines_of_parts_.set("parts", parts_).set("taper", taper_).set("lines", lines_).set("peaks", peaks_);
    lines_of_parts_.set("offsets", offsets_).set("scale", static_cast<float>(pascal_of_one(plan_)));
    lines_of_window_ = lines_of_parts_.arguments("samples", "first_slot", "slots");
    sums_ = program.kernel("level_sums");
    sums_.set_all(bins_, offsets_, ends_, first_bins_, weights_, levels_);
    device.enqueue_fill(lines_, 0.0F, kLevelsStage);  // a short batch transforms unused lines too
  }
  void enqueue(const BatchInput& input) override {
    const SampleView& samples = input.samples;
    const std::size_t lines = input.windows * plan_.channels();
    parts_of_lines_.set(parts_of_window_, *samples.samples, samples.first_slot, samples.slots);
    parts_of_lines_.enqueue({.global_0 = ocl::round_up(plan_.channels(), kLevelsGroup),
                             .local_0 = kLevelsGroup,
                             .global_1 = kParts,
                             .global_2 = input.windows});
    lines_of_parts_.set(lines_of_window_, *samples.samples, samples.first_slot, samples.slots);
    lines_of_parts_.enqueue({.global_0 = ocl::round_up(plan_.window_samples, kLevelsGroup),
                             .local_0 = kLevelsGroup,
                             .global_1 = plan_.channels(),
                             .global_2 = input.windows});
    fft_.enqueue(lines_, bins_);
    sums_.enqueue({.global_0 = kLevelsGroup * plan_.sums.size(),
                   .local_0 = kLevelsGroup,
                   .global_1 = plan_.channels(),
                   .global_2 = input.windows});
    const std::span<float> host = on_host_.values();
    const std::size_t all = lines_count_ * plan_.sums.size();
    device_.enqueue_read(levels_, host.first(lines * plan_.sums.size()), kLevelsStage);
    device_.enqueue_read(peaks_, host.subspan(all, lines), kLevelsStage);
    device_.enqueue_read(offsets_, host.subspan(all + lines_count_, lines), kLevelsStage);
  }
  WindowProducts products(const WindowToRead& of) override {
    const std::span<const float> host = on_host_.values();
    const std::size_t channels = plan_.channels();
    const std::size_t sums = plan_.sums.size();
    const auto at = [&](std::size_t first, std::size_t count) { return std::as_bytes(host.subspan(first, count)); };
    products_ = {at(of.window * sums * channels, channels)};
    if (sums > 1) {
      products_.push_back(at((of.window * sums + 1) * channels, (sums - 1) * channels));
    }
    products_.push_back(at(lines_count_ * sums + of.window * channels, channels));
    products_.push_back(at(lines_count_ * (sums + 1) + of.window * channels, channels));
    return {.products = products_};
  }
  void use(const MicrophoneMask& /*mask*/) override {}

 private:
  ocl::Device device_;
  LevelsPlan plan_;
  std::size_t lines_count_;  ///< for a whole batch: windows times microphones
  ocl::Buffer<float> taper_;
  ocl::Buffer<std::int32_t> ends_;
  ocl::Buffer<std::int32_t> first_bins_;
  ocl::Buffer<float> weights_;
  ocl::Buffer<cl_float2> parts_;
  ocl::Buffer<float> lines_;
  ocl::Buffer<std::complex<float>> bins_;
  ocl::Buffer<float> levels_;
  ocl::Buffer<float> peaks_;
  ocl::Buffer<float> offsets_;
  ocl::HostBuffer<float> on_host_;  ///< levels [window][sum][microphone], then peaks, then offsets [window][microphone]
  ocl::RealFft1d fft_;
  ocl::Kernel parts_of_lines_;
  ocl::Arguments<3> parts_of_window_;
  ocl::Kernel lines_of_parts_;
  ocl::Arguments<3> lines_of_window_;
  ocl::Kernel sums_;
  std::vector<std::span<const std::byte>> products_;
};

/// Counts clFFT's lines, and each sample and each bin once in and once out.
WorkModel work_of_levels(const ProcessorPlan& plan) {
  const LevelsPlan own(plan);
  const double lines = static_cast<double>(own.batch * own.channels());
  const double samples = lines * static_cast<double>(own.window_samples);
  double summed = 0.0;
  for (const std::vector<BinShare>& sum : own.sums) {
    summed += lines * static_cast<double>(sum.size());
  }
  return {
      {.stage = "processors/levels/level_parts", .bytes = samples * work::kFloat, .operations = 2.0 * samples},
      {.stage = "processors/levels/level_lines", .bytes = 2.0 * samples * work::kFloat, .operations = 2.0 * samples},
      {.stage = "processors/levels/level_sums", .bytes = summed * work::kComplex, .operations = 5.0 * summed}};
}

/// A warning where windows overlap so far that their levels say little more than every eighth of one would.
Remarks remarks_of_levels(const ProcessorPlan& plan) {
  const LevelsPlan own(plan);
  const std::size_t apart = own.hop_samples * static_cast<std::size_t>(plan.every_hops);
  constexpr std::size_t kPartsOfWindow = 8;
  Remarks remarks;
  if (apart * kPartsOfWindow < own.window_samples) {
    remarks.warnings.push_back(fmt::format(
        "{0}: levels of windows of {1} samples are computed every {2} samples, which a device may not keep up with; "
        "processors.{0}.every_hops: {3} makes it half a window",
        own.name, own.window_samples, apart, std::max<std::size_t>(1, own.window_samples / 2 / own.hop_samples)));
  }
  return remarks;
}

}  // namespace

ProcessorEntry levels_entry() {
  return {.kind = "levels",
          .make = [](const ocl::Device& device, const ProcessorPlan& plan) -> std::unique_ptr<Processor> {
            return std::make_unique<LevelsProcessor>(device, LevelsPlan(plan));
          },
          .make_reference = make_levels_reference,
          .remarks = remarks_of_levels,
          .work = work_of_levels};
}

}  // namespace nearfield
