#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "cl/device.hpp"
#include "processors/beamform/plan.hpp"

namespace nearfield {
namespace {

using far_field::Position;

constexpr std::string_view kBeamformStage = "processors/beamform";
constexpr std::size_t kBeamformGroup = 64;
constexpr std::size_t kMostFrequenciesOfItem = 8;

/// As a kernel's float4 and float2.
struct alignas(16) Four {
  float x, y, z, w;
};
struct alignas(8) Two {
  float high, low;
};

Two in_two_parts(double value) {
  const auto high = static_cast<float>(value);
  return {high, static_cast<float>(value - static_cast<double>(high))};
}

Four with(const Position& position, double fourth) {
  return {static_cast<float>(position.x), static_cast<float>(position.y), static_cast<float>(position.z),
          static_cast<float>(fourth)};
}

/// Their last number is what the kernel wants of a pixel and cannot compute as exactly: its distance from the centre.
std::vector<Four> pixels_of(const BeamformPlan& plan) {
  std::vector<Four> pixels;
  pixels.reserve(plan.pixels());
  for (const Position& pixel : plan.grid.pixels) {
    pixels.push_back(with(pixel, norm(pixel)));
  }
  return pixels;
}

std::vector<Two> offsets_of(const BeamformPlan& plan) {
  const double reference_m = plan.settings.steering.reference_m;
  std::vector<Two> offsets(reference_m > 0.0 ? plan.pixels() : 1);
  for (std::size_t i = 0; reference_m > 0.0 && i < offsets.size(); ++i) {
    offsets[i] = in_two_parts(norm(plan.grid.pixels[i]) - reference_m);
  }
  return offsets;
}

std::vector<Four> positions_of(const BeamformPlan& plan) {
  std::vector<Four> positions;
  for (const Position& microphone : plan.microphones) {
    positions.push_back(with(microphone, dot(microphone, microphone)));
  }
  return positions;
}

std::vector<Two> waves_of(const BeamformPlan& plan) {
  std::vector<Two> waves;
  for (std::size_t f = 0; f < plan.frequencies(); ++f) {
    waves.push_back(in_two_parts(plan.waves_per_m(f)));
  }
  return waves;
}

std::vector<std::complex<float>> gains_of(const BeamformPlan& plan) {
  return plan.array.gains.empty() ? std::vector<std::complex<float>>(1) : plan.array.gains;
}

std::size_t tiles_of(const BeamformPlan& plan) {
  return (plan.frequencies() + kMostFrequenciesOfItem - 1) / kMostFrequenciesOfItem;
}

std::string literal(double value) { return fmt::format("{:.9e}f", value); }

ocl::Defines defines_of(const BeamformPlan& plan) {
  const double reference_m = plan.settings.steering.reference_m;
  const std::size_t tiles = tiles_of(plan);
  return {{"CHANNELS", std::to_string(plan.channels())},
          {"PIXELS", std::to_string(plan.pixels())},
          {"FREQUENCIES", std::to_string(plan.frequencies())},
          {"SPECTRA", std::to_string(plan.array.frequencies_hz.size())},
          {"FREQUENCY_TILE", std::to_string((plan.frequencies() + tiles - 1) / tiles)},
          {"FORMULATION", std::to_string(static_cast<int>(plan.settings.steering.formulation))},
          {"PLANE_WAVE", plan.is_plane_wave ? "1" : "0"},
          {"REFERENCE", literal(reference_m)},
          {"HAS_REFERENCE", reference_m > 0.0 ? "1" : "0"},
          {"HAS_GAINS", plan.array.gains.empty() ? "0" : "1"},
          {"AVERAGED", plan.is_averaged() ? "1" : "0"},
          {"REMOVAL", plan.settings.diagonal_removal ? "1" : "0"},
          {"FEWEST_MICROPHONES", std::to_string(kFewestMicrophones)},
          {"NEAREST", literal(kNearest_m)},
          {"LARGEST", literal(kLargestPressure_pa)},
          {"FLAG_MASKED", std::to_string(kFlagMaskedMicrophones)},
          {"FLAG_NON_FINITE", std::to_string(kFlagNonFiniteInput)}};
}

/// Delay and sum, pixel by pixel.
class Beamform : public Processor {
 public:
  Beamform(const ocl::Device& device, const ProcessorPlan& plan)
      : device_(device),
        plan_(plan),
        header_(header_of(plan_)),
        values_(plan_.frequencies() * plan_.pixels()),
        program_(device_.build(kBeamformStage, "processors/beamform.cl", defines_of(plan_))),
        microphones_(program_.kernel("beamform_microphones")),
        direct_(program_.kernel("das_direct")),
        average_(program_.kernel("das_average")),
        spectra_argument_(microphones_.arguments("spectra", "status")),
        window_argument_(direct_.arguments("first_window")),
        step_arguments_(average_.arguments("keep", "publishes")),
        gains_(device_.upload<std::complex<float>>(gains_of(plan_), kBeamformStage)),
        pixels_(device_.upload<Four>(pixels_of(plan_), kBeamformStage)),
        offsets_(device_.upload<Two>(offsets_of(plan_), kBeamformStage)),
        positions_(device_.upload<Four>(positions_of(plan_), kBeamformStage)),
        waves_(device_.upload<Two>(waves_of(plan_), kBeamformStage)),
        shading_on_host_(plan_.channels()),
        shading_(device_.allocate<float>(plan_.channels(), kBeamformStage)),
        pressures_(
            device_.allocate<std::complex<float>>(batch() * plan_.frequencies() * plan_.channels(), kBeamformStage)),
        weights_(device_.allocate<float>(batch() * plan_.channels(), kBeamformStage)),
        taken_(device_.allocate<std::uint32_t>(batch() * kStatusWords, kBeamformStage)),
        status_on_host_(device_.allocate_host<std::uint32_t>(taken_.size(), kBeamformStage)) {
    microphones_.set("gains", gains_).set("shading", shading_).set("pressures", pressures_).set("weights", weights_);
    microphones_.set("taken", taken_);
    direct_.set("pixels", pixels_).set("offsets", offsets_).set("positions", positions_).set("waves_per_m", waves_);
    direct_.set("pressures", pressures_).set("weights", weights_);
    if (plan_.is_averaged()) {
      allocate_average();
    } else {
      maps_ = device_.allocate<std::complex<float>>(batch() * values_, kBeamformStage);
      maps_on_host_ = device_.allocate_host<std::complex<float>>(maps_.size(), kBeamformStage);
      direct_.set("map", maps_);
    }
    use(make_mask(plan_.array, {}));
  }
  [[nodiscard]] ResultHeader header() const override { return header_; }
  void enqueue(const ComplexBuffer& spectra, const StatusBuffer& status, std::size_t windows) override {
    microphones_.set(spectra_argument_, spectra, status);
    microphones_.enqueue({.global_0 = kBeamformGroup, .local_0 = kBeamformGroup, .global_1 = windows});
    device_.enqueue_read(taken_, status_on_host_.values().first(windows * kStatusWords), kBeamformStage);
    if (plan_.is_averaged()) {
      enqueue_average(windows);
    } else {
      enqueue_direct(0, windows);
      device_.enqueue_read(maps_, maps_on_host_.values().first(windows * values_), kBeamformStage);
    }
  }
  Products products(std::size_t window) override {
    if (!plan_.is_averaged()) {
      products_[0] = std::as_bytes(maps_on_host_.values().subspan(window * values_, values_));
      return std::span(products_).first(1);
    }
    products_[0] = std::as_bytes(std::span(figures_).subspan(window * plan_.frequencies(), plan_.frequencies()));
    products_[1] = std::as_bytes(powers_on_host_.values().subspan(slot_of_window_[window] * values_, values_));
    return products_;
  }
  [[nodiscard]] std::span<const std::uint32_t> host_status() const override { return status_on_host_.values(); }
  void use(const MicrophoneMask& mask) final {
    std::transform(plan_.shading.begin(), plan_.shading.end(), shading_on_host_.begin(),
                   [](double weight) { return static_cast<float>(weight); });
    for (const std::int32_t channel : mask.channels) {
      shading_on_host_[static_cast<std::size_t>(channel)] = 0.0F;
    }
    device_.enqueue_write(shading_, 0, std::span<const float>(shading_on_host_), kBeamformStage);
    device_.wait();
  }
  void forget() override {
    plan_.snapshots.forget();
    if (plan_.is_averaged()) {
      device_.enqueue_fill(sums_, Two{0.0F, 0.0F}, kBeamformStage);
    }
  }
  [[nodiscard]] std::string description() const override {
    return fmt::format("das_direct, {} pixels, {} microphones", plan_.pixels(), plan_.channels());
  }

 private:
  [[nodiscard]] std::size_t batch() const { return static_cast<std::size_t>(plan_.batch); }
  void allocate_average() {
    powers_ = device_.allocate<float>(values_, kBeamformStage);
    sums_ = device_.allocate<Two>(values_, kBeamformStage);
    published_ = device_.allocate<float>(values_, kBeamformStage);
    // Of each window of a batch, and of the last one before it.
    powers_on_host_ = device_.allocate_host<float>((batch() + 1) * values_, kBeamformStage);
    slot_of_window_.resize(batch());
    figures_.resize(batch() * plan_.frequencies());
    device_.enqueue_fill(sums_, Two{0.0F, 0.0F}, kBeamformStage);
    direct_.set("map", powers_);
    average_.set("map", powers_).set("sums", sums_).set("published", published_);
  }
  void enqueue_direct(std::size_t first_window, std::size_t windows) {
    direct_.set(window_argument_, static_cast<cl_int>(first_window));
    direct_.enqueue({.global_0 = ocl::round_up(plan_.pixels(), kBeamformGroup),
                     .local_0 = kBeamformGroup,
                     .global_1 = tiles_of(plan_),
                     .global_2 = windows});
  }
  void enqueue_average(std::size_t windows) {
    for (std::size_t window = 0; window < windows; ++window) {
      const Snapshots::Step step = plan_.snapshots.next();
      if (step.is_snapshot) {
        enqueue_direct(window, 1);
        average_.set(step_arguments_, static_cast<float>(step.keep), static_cast<cl_int>(step.publishes ? 1 : 0));
        average_.enqueue({.global_0 = ocl::round_up(values_, kBeamformGroup), .local_0 = kBeamformGroup});
      }
      if (step.publishes) {
        slot_ = (slot_ + 1) % (batch() + 1);
        device_.enqueue_read(published_, powers_on_host_.values().subspan(slot_ * values_, values_), kBeamformStage);
      }
      slot_of_window_[window] = slot_;
      const auto figures = figures_.begin() + static_cast<std::ptrdiff_t>(window * plan_.frequencies());
      std::fill_n(figures, plan_.frequencies(), static_cast<float>(plan_.snapshots.effective()));
    }
  }

  ocl::Device device_;
  BeamformPlan plan_;
  ResultHeader header_;
  std::size_t values_;  ///< of a map: frequencies times pixels
  ocl::Program program_;
  ocl::Kernel microphones_;
  ocl::Kernel direct_;
  ocl::Kernel average_;
  ocl::Arguments<2> spectra_argument_;
  ocl::Arguments<1> window_argument_;
  ocl::Arguments<2> step_arguments_;
  ocl::Buffer<std::complex<float>> gains_;
  ocl::Buffer<Four> pixels_;
  ocl::Buffer<Two> offsets_;
  ocl::Buffer<Four> positions_;
  ocl::Buffer<Two> waves_;
  std::vector<float> shading_on_host_;
  ocl::Buffer<float> shading_;
  ocl::Buffer<std::complex<float>> pressures_;
  ocl::Buffer<float> weights_;
  ocl::Buffer<std::uint32_t> taken_;
  ocl::HostBuffer<std::uint32_t> status_on_host_;
  // Without an average:
  ocl::Buffer<std::complex<float>> maps_;
  ocl::HostBuffer<std::complex<float>> maps_on_host_;  ///< [window][frequency][pixel]
  // With one:
  ocl::Buffer<float> powers_;  ///< of one window, [frequency][pixel]
  ocl::Buffer<Two> sums_;
  ocl::Buffer<float> published_;
  ocl::HostBuffer<float> powers_on_host_;  ///< [slot][frequency][pixel]
  std::size_t slot_ = 0;                   ///< of the map that was published last
  std::vector<std::size_t> slot_of_window_;
  std::vector<float> figures_;  ///< [window][frequency]
  std::array<std::span<const std::byte>, 2> products_;
};

/// The direct sum: of each pixel and microphone a distance, and of each frequency a phase, its sine and cosine and a
/// complex multiply-add. Without an average, whose snapshots are fewer than windows.
WorkModel work_of_beamform(const ProcessorPlan& plan) {
  constexpr double kOfDistance = 12.0;
  constexpr double kOfPhase = 4.0;
  const BeamformPlan own(plan);
  const double terms = plan.batch * static_cast<double>(own.pixels()) * static_cast<double>(own.channels());
  const double values = plan.batch * static_cast<double>(own.frequencies() * own.pixels());
  const double pressures = plan.batch * static_cast<double>(own.frequencies() * own.channels());
  return {
      {.stage = "processors/beamform/das_direct",
       .bytes = (values + pressures) * work::kComplex,
       .operations = terms * (kOfDistance + static_cast<double>(own.frequencies()) * (kOfPhase + work::kMultiplyAdd))}};
}

}  // namespace

ProcessorEntry beamform_entry() {
  return {.kind = "beamform",
          .make = [](const ocl::Device& device, const ProcessorPlan& plan) -> std::unique_ptr<Processor> {
            return std::make_unique<Beamform>(device, plan);
          },
          .make_reference = make_beamform_reference,
          .work = work_of_beamform};
}

}  // namespace nearfield
