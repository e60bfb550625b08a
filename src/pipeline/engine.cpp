#include "pipeline/engine.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numbers>
#include <set>

#include "cl/device.hpp"
#include "config/config.hpp"
#include "nearfield/error.hpp"
#include "pipeline/calibration/calibration.hpp"
#include "pipeline/engine_parts.hpp"
#include "processors/images/image_plan.hpp"
#include "processors/images/settings.hpp"

namespace nearfield {
namespace {

constexpr double kSnapWarning_hz = 0.5;

/// A microphone whose gain is not known at every frequency is not used.
void mask_uncalibrated(ArrayPlan& plan) {
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

ArrayPlan array_plan_of(const Settings& settings, const std::vector<double>& frequencies_hz) {
  ArrayPlan out;
  out.geometry = settings.array.geometry;
  out.medium = settings.medium;
  out.standoff_m = settings.holography.standoff_m;
  out.frequencies_hz = frequencies_hz;
  out.dead_channels = settings.array.dead_channels;
  out.gains = calibration_gains(settings.array, frequencies_hz);
  mask_uncalibrated(out);
  require_distinct(frequencies_hz);
  return out;
}

std::unique_ptr<KindSettings> first_settings(const HolographySettings& holography) {
  auto own = std::make_unique<ImageKindSettings>(holography.imager);
  own->images = holography;
  return own;
}

}  // namespace

FrontEndPlan front_end_plan(const EnginePlan& plan) {
  FrontEndSettings settings = plan.settings.front_end;
  settings.frequencies_hz = plan_bands(settings, plan.settings.holography.quantity, plan.sample_rate_hz).frequencies_hz;
  return {.geometry = plan.settings.array.geometry,
          .layout = plan.settings.array.layout,
          .sensitivity_dbfs = plan.settings.array.sensitivity_dbfs,
          .sample_rate_hz = plan.sample_rate_hz,
          .input_is_bits = plan.input == InputForm::kBits,
          .settings = settings,
          .dead_channels = plan.settings.array.dead_channels,
          .batch = plan.settings.device.batch};
}

std::unique_ptr<Engine> make_engine(EngineKind kind, const EnginePlan& plan) {
  if (kind == EngineKind::kReference) {
    return make_reference_engine(plan);
  }
  return make_opencl_engine(ocl::Device::open(plan.settings.device), plan);
}

std::unique_ptr<Engine> make_engine(const ocl::Device& device, const EnginePlan& plan) {
  return make_opencl_engine(device, plan);
}

Engine::Engine(const EnginePlan& plan) : plan_(plan) {
  if (plan.input == InputForm::kSpectra && !plan.settings.front_end.bands_hz.empty()) {
    throw ConfigError("front_end.bands_hz: expected bits or time data, found spectra, which are no whole set of bins");
  }
}

void Engine::set_frequencies(const std::vector<double>& computed_hz) {
  array_ = array_plan_of(plan_.settings, computed_hz);
  frequencies_hz_ = computed_hz;
  if (!plan_.settings.front_end.bands_hz.empty()) {
    frequencies_hz_.resize(plan_.settings.front_end.frequencies_hz.size());
  }
  set_mask(make_mask(array_, {}));
}

std::vector<Engine::Wanted> Engine::wanted_processors() const {
  std::vector<Wanted> wanted;
  if (!plan_.has_processor) {
    return wanted;
  }
  const Settings& settings = plan_.settings;
  const ProcessorPlan shared{.settings = &settings,
                             .array = array_,
                             .frequencies_hz = frequencies_hz_,
                             .sample_rate_hz = plan_.sample_rate_hz,
                             .input_is_finite = plan_.input == InputForm::kBits,
                             .batch = settings.device.batch};
  const auto add = [&](const std::string& name, std::string_view kind, int every_hops,
                       std::unique_ptr<KindSettings> own) {
    wanted.push_back({.kind = std::string(kind), .every_hops = every_hops, .own = std::move(own), .plan = shared});
    wanted.back().plan.name = name;
    wanted.back().plan.own = wanted.back().own.get();
  };
  add(std::string(kFirstProcessor), name_of(resolve_imager(settings.holography, settings.array.geometry)), 1,
      first_settings(settings.holography));
  for (const ProcessorSettings& processor : settings.processors) {
    add(processor.name, processor.kind, processor.every_hops, processor.own ? processor.own->copy() : nullptr);
  }
  return wanted;
}

void Engine::add_results(ResultHeader header, int every_hops, const ImagesOnHost* images) {
  header.config = to_yaml(plan_.settings);
  header.device = device_name();
  header.front_end = front_end_name();
  results_.push_back({.header = std::move(header), .every_hops = every_hops, .images = images});
}

std::uint32_t Engine::late() const {
  std::uint32_t late = 0;
  for (std::size_t p = 0; p < processors(); ++p) {
    late |= is_late(p) ? 1U << p : 0U;
  }
  return late;
}

std::span<const std::complex<float>> Engine::images() const {
  return results_.empty() || results_.front().images == nullptr ? std::span<const std::complex<float>>()
                                                                : results_.front().images->images();
}

std::span<const FilterReport> Engine::reports() const {
  return results_.empty() || results_.front().images == nullptr ? std::span<const FilterReport>()
                                                                : results_.front().images->reports();
}

void Engine::fill(std::size_t window, ImageFrame& frame) {
  const ImageFrame before = std::move(frame);
  Frame products;
  products.products = this->products(0, window);
  frame = image_frame_of(images_header(*this), products);
  frame.first_sample = before.first_sample;
  frame.timestamp_ns = before.timestamp_ns;
  frame.flags = before.flags;
  frame.missing_bits = before.missing_bits;
}

int Engine::image_window(std::uint64_t first_sample, ImageFrame& frame) {
  const WindowStatus status = compute_window(first_sample);
  fill(0, frame);
  frame.flags = status.flags;
  return status.non_finite_microphones;
}

int Engine::image_spectra(std::span<const std::complex<float>> spectra, ImageFrame& frame) {
  const WindowStatus status = compute_spectra(spectra).front();
  fill(0, frame);
  frame.flags = status.flags;
  return status.non_finite_microphones;
}

ImagesHeader images_header(const Engine& engine) { return images_header_of(engine.header(0)).value(); }

namespace {

/// Of one processor of images, named by `what`, and of its section.
void warn_of_images(const PnahPlan& images, const std::string& what, const std::string& path,
                    std::vector<std::string>& warnings) {
  if (images.holography.imager != ImagerKind::kPnah) {
    return;
  }
  for (std::size_t f = 0; f < images.frequencies_hz.size(); ++f) {
    if (images.holography.filter.kind == FilterKind::kCos && images.cutoff_rad_per_m[f] < images.wavenumber(f)) {
      warnings.push_back(
          fmt::format("{}{:.1f} Hz: the cut-off {:.1f} rad/m lies inside the radiation circle, k = {:.1f} rad/m; "
                      "propagating waves are filtered too",
                      what, images.frequencies_hz[f], images.cutoff_rad_per_m[f], images.wavenumber(f)));
    }
  }
  const ExtrapolationSettings& extrapolation = images.holography.extrapolation;
  const int shortest = std::min(images.geometry.rows, images.geometry.columns);
  if (predicts(extrapolation.method) && usable_order(extrapolation.order, shortest) < extrapolation.order) {
    warnings.push_back(fmt::format(
        "{}extrapolation.order: {} is used along x and {} along y, the most that {} x {} "
        "microphones allow",
        path, usable_order(extrapolation.order, images.geometry.columns),
        usable_order(extrapolation.order, images.geometry.rows), images.geometry.rows, images.geometry.columns));
  }
}

}  // namespace

std::vector<std::string> plan_warnings(const EnginePlan& plan, const std::vector<double>& frequencies_hz) {
  const Settings& settings = plan.settings;
  const std::unique_ptr<KindSettings> own = first_settings(settings.holography);
  ProcessorPlan processor{.settings = &settings,
                          .own = own.get(),
                          .array = array_plan_of(settings, frequencies_hz),
                          .frequencies_hz = frequencies_hz,
                          .sample_rate_hz = plan.sample_rate_hz,
                          .input_is_finite = plan.input == InputForm::kBits,
                          .batch = settings.device.batch};
  const PnahPlan first = image_plan(processor);
  std::vector<std::string> warnings;
  const double nyquist = std::numbers::pi / std::max(first.geometry.pitch_x_m, first.geometry.pitch_y_m);
  for (std::size_t f = 0; f < frequencies_hz.size(); ++f) {
    if (plan.input != InputForm::kSpectra &&
        std::abs(frequencies_hz[f] - settings.front_end.frequencies_hz[f]) > kSnapWarning_hz) {
      warnings.push_back(fmt::format(
          "front_end.frequencies_hz[{}]: {} Hz is off the grid of {:.3f} Hz that {} images on (sample rate / "
          "window_samples); {:.3f} Hz, the nearest, is imaged; front_end.kind: dot_product images any "
          "frequency",
          f, settings.front_end.frequencies_hz[f], plan.sample_rate_hz / settings.front_end.window_samples,
          settings.front_end.kind, frequencies_hz[f]));
    }
    if (first.wavenumber(f) > nyquist) {
      warnings.push_back(
          fmt::format("{:.1f} Hz: k = {:.1f} rad/m lies above pi/pitch = {:.1f} rad/m; the microphones are too "
                      "far apart for this frequency",
                      frequencies_hz[f], first.wavenumber(f), nyquist));
    }
  }
  warn_of_images(first, "", "holography.", warnings);
  for (const ProcessorSettings& further : settings.processors) {
    if (dynamic_cast<const ImageKindSettings*>(further.own.get()) != nullptr) {
      processor.own = further.own.get();
      warn_of_images(image_plan(processor), further.name + ": ", fmt::format("processors.{}.", further.name), warnings);
    }
  }
  return warnings;
}

}  // namespace nearfield
