#include "pipeline/engine.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <numbers>
#include <set>
#include <sstream>

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
  return front_end_plan(plan, settings);
}

FrontEndPlan front_end_plan(const EnginePlan& plan, const FrontEndSettings& settings) {
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

namespace {

/// A line that begins with a key of front_end, with the key that the processor has for it, if there is one.
std::string with_key_of(const std::string& owner, const std::string& line) {
  constexpr std::array<std::array<std::string_view, 2>, 5> kKeys = {{{"front_end.kind", "kind"},
                                                                     {"front_end.window_samples", "window_samples"},
                                                                     {"front_end.window", "window"},
                                                                     {"front_end.frequencies_hz", "frequencies_hz"},
                                                                     {"front_end.popcount.order", "popcount_order"}}};
  for (const auto& [key, own] : kKeys) {
    if (line.starts_with(key)) {
      return fmt::format("processors.{}.front_end.{}{}", owner, own, line.substr(key.size()));
    }
  }
  return fmt::format("processors.{}.front_end: {}", owner, line);
}

}  // namespace

std::string with_keys_of(const std::string& owner, const std::string& message) {
  if (owner.empty()) {
    return message;
  }
  std::string named;
  std::istringstream lines(message);
  for (std::string line; std::getline(lines, line);) {
    named += (named.empty() ? "" : "\n") + with_key_of(owner, line);
  }
  return named;
}

Engine::Engine(const EnginePlan& plan)
    : plan_(plan),
      window_samples_(static_cast<std::uint64_t>(plan.settings.front_end.window_samples)),
      hop_samples_(static_cast<std::uint64_t>(plan.settings.front_end.hop_samples)),
      taps_(1) {
  const bool has_spectra = plan.input == InputForm::kSpectra;
  if (has_spectra && !plan.settings.front_end.bands_hz.empty()) {
    throw ConfigError("front_end.bands_hz: expected bits or time data, found spectra, which are no whole set of bins");
  }
  taps_.front().name = kNoFrontEnd;
  if (!has_spectra) {
    taps_.front().plan = front_end_plan(plan);
  }
  for (const ProcessorSettings& processor : plan.settings.processors) {
    if (!plan.has_processor || !processor.front_end.any()) {
      continue;
    }
    if (has_spectra) {
      throw ConfigError(
          fmt::format("processors.{}.front_end: expected bits or time data, found spectra, which no front "
                      "end takes",
                      processor.name));
    }
    FrontEndSettings own = settings_of(plan.settings, processor).front_end;
    // The run's choice is for the run's kind; sliding sums want every hop.
    own.incremental = processor.every_hops > 1 ? Incremental::kNever : Incremental::kAuto;
    Tap tap;
    tap.plan = front_end_plan(plan, own);
    tap.owner = processor.name;
    tap.every_hops = processor.every_hops;
    tap.lead_samples = std::int64_t{own.window_samples} - plan.settings.front_end.window_samples;
    taps_.push_back(std::move(tap));
  }
}

void Engine::set_frequencies(Tap& tap, const std::vector<double>& computed_hz) {
  tap.array = array_plan_of(plan_.settings, computed_hz);
  tap.frequencies_hz = computed_hz;
  if (tap.owner.empty() && !plan_.settings.front_end.bands_hz.empty()) {
    tap.frequencies_hz.resize(plan_.settings.front_end.frequencies_hz.size());
  }
  if (tap.owner.empty()) {
    mask_ = std::make_shared<const MicrophoneMask>(make_mask(tap.array, {}));
  }
  masked_.push_back(tap.array.dead_channels.size());
}

std::vector<Engine::Wanted> Engine::wanted_processors() const {
  std::vector<Wanted> wanted;
  if (!plan_.has_processor) {
    return wanted;
  }
  const auto add = [&](const std::string& name, std::string_view kind, int every_hops, const Settings& settings,
                       std::unique_ptr<KindSettings> own) {
    const auto tap = std::find_if(taps_.begin() + 1, taps_.end(), [&](const Tap& one) { return one.owner == name; });
    const std::size_t index = tap == taps_.end() ? 0 : static_cast<std::size_t>(tap - taps_.begin());
    wanted.push_back({.kind = std::string(kind),
                      .every_hops = every_hops,
                      .tap = index,
                      .settings = std::make_unique<Settings>(settings),
                      .own = std::move(own),
                      .plan = {}});
    Wanted& one = wanted.back();
    one.plan = {.name = name,
                .settings = one.settings.get(),
                .own = one.own.get(),
                .array = taps_[index].array,
                .frequencies_hz = taps_[index].frequencies_hz,
                .every_hops = every_hops,
                .sample_rate_hz = plan_.sample_rate_hz,
                .input_is_finite = plan_.input == InputForm::kBits,
                .batch = settings.device.batch};
  };
  const Settings& settings = plan_.settings;
  add(std::string(kFirstProcessor), name_of(resolve_imager(settings.holography, settings.array.geometry)), 1, settings,
      first_settings(settings.holography));
  for (const ProcessorSettings& processor : settings.processors) {
    add(processor.name, processor.kind, processor.every_hops, settings_of(settings, processor),
        processor.own ? processor.own->copy() : nullptr);
  }
  return wanted;
}

void Engine::add_results(ResultHeader header, const Wanted& wanted, const ImagesOnHost* images) {
  header.config = to_yaml(plan_.settings);
  header.device = device_name();
  header.front_end = taps_[wanted.tap].name;
  results_.push_back(
      {.header = std::move(header), .every_hops = wanted.every_hops, .tap = wanted.tap, .images = images});
}

std::uint64_t Engine::history_samples() const {
  std::int64_t most = 0;
  for (const Tap& tap : taps_) {
    most = std::max(most, static_cast<std::int64_t>(tap.history_samples) + tap.lead_samples);
  }
  return static_cast<std::uint64_t>(most);
}

SampleSpan Engine::window_of(std::size_t processor, std::uint64_t first_sample) const {
  return {.first = taps_[tap_of(processor)].first(first_sample), .end = first_sample + window_samples_};
}

bool Engine::reaches(std::size_t processor, std::uint64_t first_sample) const {
  return static_cast<std::int64_t>(first_sample) >= taps_[tap_of(processor)].lead_samples;
}

bool Engine::has_products(std::size_t processor, std::size_t window) const {
  return window >= taps_[tap_of(processor)].absent;
}

std::vector<std::uint64_t> Engine::begin_taps(std::uint64_t first_window, std::uint64_t origin) {
  origin_ = origin;
  std::vector<std::uint64_t> begins;
  for (const Tap& tap : taps_) {
    std::uint64_t window = first_window;
    while (static_cast<std::int64_t>(window - origin) < tap.lead_samples) {
      window += hop_samples_;  // the first window that the tap can have; sliding sums count hops from it
    }
    const std::uint64_t first = tap.first(window);
    begins.push_back(first - std::min(tap.history_samples, first - origin));
  }
  return begins;
}

void Engine::count_absent(std::uint64_t first_sample, std::size_t windows) {
  for (Tap& tap : taps_) {
    tap.absent = 0;
    while (tap.absent < windows &&
           static_cast<std::int64_t>(first_sample + tap.absent * hop_samples_ - origin_) < tap.lead_samples) {
      ++tap.absent;
    }
  }
}

void Engine::set_masks(const Masks& masks) {
  mask_ = std::make_shared<const MicrophoneMask>(masks.front());
  masked_.clear();
  std::transform(masks.begin(), masks.end(), std::back_inserter(masked_),
                 [](const MicrophoneMask& mask) { return mask.channels.size(); });
}

std::uint32_t Engine::valid_microphones(std::size_t processor, std::size_t window) const {
  const std::size_t tap = tap_of(processor);
  const auto channels = static_cast<std::size_t>(taps_[tap].array.geometry.channels());
  const std::size_t lost = masked_[tap] + static_cast<std::size_t>(non_finite_microphones(processor, window));
  return static_cast<std::uint32_t>(channels - std::min(channels, lost));
}

std::vector<ArrayPlan> Engine::array_plans() const {
  std::vector<ArrayPlan> plans;
  std::transform(taps_.begin(), taps_.end(), std::back_inserter(plans), [](const Tap& tap) { return tap.array; });
  return plans;
}

Masks make_masks(const std::vector<ArrayPlan>& plans, const std::vector<int>& channels) {
  Masks masks;
  std::transform(plans.begin(), plans.end(), std::back_inserter(masks),
                 [&](const ArrayPlan& plan) { return make_mask(plan, channels); });
  return masks;
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

std::vector<std::string> plan_warnings(const Engine& engine) {
  std::vector<std::string> warnings;
  const double nyquist =
      std::numbers::pi / std::max(engine.array_plan().geometry.pitch_x_m, engine.array_plan().geometry.pitch_y_m);
  for (const Engine::Tap& tap : engine.taps()) {
    const FrontEndSettings& front_end = tap.plan.settings;
    const std::string section = tap.owner.empty() ? "front_end" : fmt::format("processors.{}.front_end", tap.owner);
    for (std::size_t f = 0; f < tap.frequencies_hz.size(); ++f) {
      const double frequency_hz = tap.frequencies_hz[f];
      if (engine.plan().input != InputForm::kSpectra &&
          std::abs(frequency_hz - front_end.frequencies_hz[f]) > kSnapWarning_hz) {
        warnings.push_back(fmt::format(
            "{}.frequencies_hz[{}]: {} Hz is off the grid of {:.3f} Hz that {} images on (sample rate / "
            "window_samples); {:.3f} Hz, the nearest, is imaged; {}.kind: dot_product images any "
            "frequency",
            section, f, front_end.frequencies_hz[f], engine.plan().sample_rate_hz / front_end.window_samples,
            front_end.kind, frequency_hz, section));
      }
      if (tap.array.wavenumber(f) > nyquist) {
        warnings.push_back(
            fmt::format("{:.1f} Hz: k = {:.1f} rad/m lies above pi/pitch = {:.1f} rad/m; the microphones are too "
                        "far apart for this frequency",
                        frequency_hz, tap.array.wavenumber(f), nyquist));
      }
    }
  }
  for (const Engine::Wanted& wanted : engine.wanted_processors()) {
    if (dynamic_cast<const ImageKindSettings*>(wanted.own.get()) != nullptr) {
      const bool is_first = wanted.plan.name == kFirstProcessor;
      warn_of_images(image_plan(wanted.plan), is_first ? "" : wanted.plan.name + ": ",
                     is_first ? "holography." : fmt::format("processors.{}.", wanted.plan.name), warnings);
    }
  }
  return warnings;
}

}  // namespace nearfield
