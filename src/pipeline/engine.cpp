#include "pipeline/engine.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <numbers>
#include <set>

#include "cl/device.hpp"
#include "config/config.hpp"
#include "frontend/front_end.hpp"
#include "frontend/front_end_reference.hpp"
#include "imaging/pnah.hpp"
#include "imaging/pnah_reference.hpp"
#include "nearfield/error.hpp"
#include "pipeline/calibration.hpp"

namespace nearfield {
namespace {

constexpr double kSnapWarning_hz = 0.5;
constexpr std::string_view kNoFrontEnd = "none (spectra)";

FrontEndPlan front_end_plan(const EnginePlan& plan) {
  return {.geometry = plan.settings.array.geometry,
          .layout = plan.settings.array.layout,
          .sensitivity_dbfs = plan.settings.array.sensitivity_dbfs,
          .sample_rate_hz = plan.sample_rate_hz,
          .input_is_bits = plan.input == InputForm::kBits,
          .settings = plan.settings.front_end,
          .dead_channels = plan.settings.array.dead_channels};
}

/// A microphone whose gain is not known at every frequency is not used.
void mask_uncalibrated(PnahPlan& plan) {
  const auto channels = static_cast<std::size_t>(plan.geometry.channels());
  std::set<int> dead(plan.dead_channels.begin(), plan.dead_channels.end());
  for (std::size_t i = 0; i < plan.gains.size(); ++i) {
    if (!std::isfinite(plan.gains[i].real()) || !std::isfinite(plan.gains[i].imag())) {
      dead.insert(static_cast<int>(i % channels));
      plan.gains[i] = 1.0F;
    }
  }
  plan.dead_channels.assign(dead.begin(), dead.end());
}

/// Two frequencies that snap to one bin would give one image twice.
void require_distinct(std::vector<double> frequencies_hz) {
  std::sort(frequencies_hz.begin(), frequencies_hz.end());
  const auto twice = std::adjacent_find(frequencies_hz.begin(), frequencies_hz.end());
  if (twice != frequencies_hz.end()) {
    throw ConfigError(fmt::format(
        "front_end.frequencies_hz: expected each frequency once, found two that are imaged at {:.2f} Hz", *twice));
  }
}

PnahPlan pnah_plan(const EnginePlan& plan, const std::vector<double>& frequencies_hz) {
  const Settings& settings = plan.settings;
  PnahPlan out;
  out.geometry = settings.array.geometry;
  out.medium = settings.medium;
  out.holography = settings.holography;
  out.frequencies_hz = frequencies_hz;
  out.cutoff_rad_per_m = resolve_cutoffs(settings.holography, settings.medium, settings.array.geometry, frequencies_hz);
  out.dead_channels = settings.array.dead_channels;
  out.gains = calibration_gains(settings.array, frequencies_hz);
  mask_uncalibrated(out);
  require_distinct(frequencies_hz);
  validate(out);
  return out;
}

/// What every frame of a plan carries alike.
void stamp(ImageFrame& frame, const PnahPlan& plan) {
  const bool has_cutoff = plan.holography.filter.kind == FilterKind::kCos;
  const float none = std::numeric_limits<float>::quiet_NaN();
  for (std::size_t f = 0; f < plan.frequencies_hz.size(); ++f) {
    frame.cutoff_rad_per_m[f] = has_cutoff ? static_cast<float>(plan.cutoff_rad_per_m[f]) : none;
    frame.slope[f] = has_cutoff ? static_cast<float>(plan.holography.filter.slope) : none;
    frame.noise_pa[f] = none;
  }
}

class OpenclEngine : public Engine {
 public:
  explicit OpenclEngine(const EnginePlan& plan)
      : device_(ocl::Device::open(plan.settings.device)),
        front_end_(plan.input == InputForm::kSpectra ? nullptr : make_front_end(device_, front_end_plan(plan))),
        plan_(pnah_plan(plan, front_end_ ? front_end_->actual_frequencies_hz() : plan.spectra_hz)),
        imager_(device_, plan_) {
    const std::size_t channels = static_cast<std::size_t>(plan_.geometry.channels());
    spectra_ = device_.allocate<std::complex<float>>(plan_.frequencies_hz.size() * channels, "pipeline/spectra");
    status_ = device_.allocate<std::uint32_t>(kStatusWords, "pipeline/status");
  }
  OpenclEngine(const OpenclEngine&) = delete;
  OpenclEngine& operator=(const OpenclEngine&) = delete;
  /// What was enqueued before an exception may still write into a caller's frame.
  ~OpenclEngine() override {
    try {
      device_.wait();
    } catch (const DeviceError&) {  // then nothing runs any more
    }
  }
  [[nodiscard]] std::uint64_t history_samples() const override { return front_end_ ? front_end_->history_words() : 0; }
  void push_bits(std::uint64_t first_sample, std::span<const std::uint32_t> wire) override {
    front_end_->enqueue_bits(first_sample, wire);
  }
  void push_samples(std::uint64_t first_sample, std::span<const float> samples) override {
    front_end_->enqueue_samples(first_sample, samples);
  }
  int image_window(std::uint64_t first_sample, ImageFrame& frame) override {
    device_.enqueue_fill(status_, std::uint32_t{0}, "pipeline/status");
    front_end_->enqueue_spectra(first_sample, spectra_, status_);
    return finish(frame);
  }
  int image_spectra(std::span<const std::complex<float>> spectra, ImageFrame& frame) override {
    device_.enqueue_fill(status_, std::uint32_t{0}, "pipeline/status");
    device_.enqueue_write(spectra_, 0, spectra, "pipeline/spectra");
    return finish(frame);
  }
  [[nodiscard]] const std::vector<double>& frequencies_hz() const override { return plan_.frequencies_hz; }
  [[nodiscard]] std::string device_name() const override {
    const ocl::DeviceInfo& info = device_.info();
    return fmt::format("{} ({}, driver {})", info.name, info.platform, info.driver);
  }
  [[nodiscard]] std::string front_end_name() const override {
    return front_end_ ? front_end_->description() : std::string(kNoFrontEnd);
  }

 private:
  int finish(ImageFrame& frame) {
    imager_.enqueue(spectra_, status_);
    device_.enqueue_read(imager_.images(), std::span<std::complex<float>>(frame.images), "pipeline/images");
    device_.enqueue_read(status_, std::span<std::uint32_t>(status_words_), "pipeline/status");
    device_.wait();
    frame.flags = status_words_[0] | plan_.constant_flags();
    stamp(frame, plan_);
    return static_cast<int>(status_words_[1]);
  }
  ocl::Device device_;
  std::unique_ptr<FrontEnd> front_end_;
  PnahPlan plan_;
  Pnah imager_;
  ComplexBuffer spectra_;
  StatusBuffer status_;
  std::array<std::uint32_t, kStatusWords> status_words_{};
};

class ReferenceEngine : public Engine {
 public:
  explicit ReferenceEngine(const EnginePlan& plan)
      : front_end_name_(plan.input == InputForm::kSpectra ? kNoFrontEnd : name_of(plan.settings.front_end.kind)),
        front_end_(plan.input == InputForm::kSpectra ? nullptr : reference::make_front_end(front_end_plan(plan))),
        plan_(pnah_plan(plan, front_end_ ? front_end_->actual_frequencies_hz() : plan.spectra_hz)) {}
  [[nodiscard]] std::uint64_t history_samples() const override { return front_end_ ? front_end_->history_words() : 0; }
  void push_bits(std::uint64_t first_sample, std::span<const std::uint32_t> wire) override {
    front_end_->push_bits(first_sample, wire);
  }
  void push_samples(std::uint64_t first_sample, std::span<const float> samples) override {
    front_end_->push_samples(first_sample, samples);
  }
  int image_window(std::uint64_t first_sample, ImageFrame& frame) override {
    const std::vector<std::complex<double>> spectra = front_end_->spectra(first_sample);
    return finish(spectra, front_end_->clipped() ? kFlagClipped : 0U, frame);
  }
  int image_spectra(std::span<const std::complex<float>> spectra, ImageFrame& frame) override {
    return finish({spectra.begin(), spectra.end()}, 0, frame);
  }
  [[nodiscard]] const std::vector<double>& frequencies_hz() const override { return plan_.frequencies_hz; }
  [[nodiscard]] std::string device_name() const override { return "reference (double precision on the host)"; }
  [[nodiscard]] std::string front_end_name() const override { return front_end_name_; }

 private:
  int finish(const std::vector<std::complex<double>>& spectra, std::uint32_t flags, ImageFrame& frame) {
    const reference::PnahImages result = reference::pnah(spectra, plan_);
    for (std::size_t i = 0; i < result.images.size(); ++i) {
      frame.images[i] = {static_cast<float>(result.images[i].real()), static_cast<float>(result.images[i].imag())};
    }
    frame.flags = result.flags | flags;
    stamp(frame, plan_);
    return result.non_finite_channels;
  }
  std::string front_end_name_;
  std::unique_ptr<reference::FrontEnd> front_end_;
  PnahPlan plan_;
};

}  // namespace

std::unique_ptr<Engine> make_engine(EngineKind kind, const EnginePlan& plan) {
  if (kind == EngineKind::kReference) {
    return std::make_unique<ReferenceEngine>(plan);
  }
  return std::make_unique<OpenclEngine>(plan);
}

ImagesHeader images_header(const EnginePlan& plan, const Engine& engine) {
  const Settings& settings = plan.settings;
  const ArrayGeometry& geometry = settings.array.geometry;
  const int upsample = settings.holography.upsample;
  ImagesHeader header;
  header.quantity = name_of(settings.holography.quantity);
  header.unit = unit_of(settings.holography.quantity);
  header.config = to_yaml(settings);
  header.device = engine.device_name();
  header.front_end = engine.front_end_name();
  header.frequencies_hz = engine.frequencies_hz();
  header.planes_m = settings.holography.planes_m;
  for (int column = 0; column < geometry.columns * upsample; ++column) {
    header.x_m.push_back(geometry.x_m(static_cast<double>(column) / upsample));
  }
  for (int row = 0; row < geometry.rows * upsample; ++row) {
    header.y_m.push_back(geometry.y_m(static_cast<double>(row) / upsample));
  }
  return header;
}

ImageFrame empty_frame(const ImagesHeader& header) {
  ImageFrame frame;
  frame.images.resize(header.values_per_frame());
  frame.cutoff_rad_per_m.resize(header.frequencies_hz.size());
  frame.slope.resize(header.frequencies_hz.size());
  frame.noise_pa.resize(header.frequencies_hz.size());
  return frame;
}

std::vector<std::string> plan_warnings(const EnginePlan& plan, const std::vector<double>& frequencies_hz) {
  const PnahPlan imager = pnah_plan(plan, frequencies_hz);
  const Settings& settings = plan.settings;
  std::vector<std::string> warnings;
  const double nyquist = std::numbers::pi / std::max(imager.geometry.pitch_x_m, imager.geometry.pitch_y_m);
  for (std::size_t f = 0; f < frequencies_hz.size(); ++f) {
    if (plan.input != InputForm::kSpectra &&
        std::abs(frequencies_hz[f] - settings.front_end.frequencies_hz[f]) > kSnapWarning_hz) {
      warnings.push_back(
          fmt::format("front_end.frequencies_hz[{}]: {} Hz is off the grid of {:.3f} Hz; {:.3f} Hz is imaged", f,
                      settings.front_end.frequencies_hz[f], plan.sample_rate_hz / settings.front_end.window_samples,
                      frequencies_hz[f]));
    }
    if (imager.wavenumber(f) > nyquist) {
      warnings.push_back(
          fmt::format("{:.1f} Hz: k = {:.1f} rad/m lies above pi/pitch = {:.1f} rad/m; the microphones are too "
                      "far apart for this frequency",
                      frequencies_hz[f], imager.wavenumber(f), nyquist));
    }
    if (settings.holography.filter.kind == FilterKind::kCos && imager.cutoff_rad_per_m[f] < imager.wavenumber(f)) {
      warnings.push_back(
          fmt::format("{:.1f} Hz: the cut-off {:.1f} rad/m lies inside the radiation circle, k = {:.1f} rad/m; "
                      "propagating waves are filtered too",
                      frequencies_hz[f], imager.cutoff_rad_per_m[f], imager.wavenumber(f)));
    }
  }
  const ExtrapolationSettings& extrapolation = settings.holography.extrapolation;
  const int shortest = std::min(imager.geometry.rows, imager.geometry.columns);
  if (predicts(extrapolation.method) && usable_order(extrapolation.order, shortest) < extrapolation.order) {
    warnings.push_back(fmt::format(
        "holography.extrapolation.order: {} is used along x and {} along y, the most that {} x {} "
        "microphones allow",
        usable_order(extrapolation.order, imager.geometry.columns),
        usable_order(extrapolation.order, imager.geometry.rows), imager.geometry.rows, imager.geometry.columns));
  }
  return warnings;
}

}  // namespace nearfield
