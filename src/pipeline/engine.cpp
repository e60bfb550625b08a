#include "pipeline/engine.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <numbers>
#include <optional>
#include <set>

#include "cl/device.hpp"
#include "config/config.hpp"
#include "frontend/front_end.hpp"
#include "frontend/front_end_reference.hpp"
#include "imaging/processor.hpp"
#include "imaging/processor_reference.hpp"
#include "nearfield/error.hpp"
#include "pipeline/calibration.hpp"

namespace nearfield {
namespace {

constexpr double kSnapWarning_hz = 0.5;
constexpr std::string_view kNoFrontEnd = "none (spectra)";
constexpr std::string_view kNoProcessor = "none (spectra alone)";

FrontEndPlan front_end_plan(const EnginePlan& plan, const BandPlan& bands) {
  FrontEndSettings settings = plan.settings.front_end;
  settings.frequencies_hz = bands.frequencies_hz;
  return {.geometry = plan.settings.array.geometry,
          .layout = plan.settings.array.layout,
          .sensitivity_dbfs = plan.settings.array.sensitivity_dbfs,
          .sample_rate_hz = plan.sample_rate_hz,
          .input_is_bits = plan.input == InputForm::kBits,
          .settings = settings,
          .dead_channels = plan.settings.array.dead_channels,
          .batch = plan.settings.device.batch};
}

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

PnahPlan pnah_plan(const EnginePlan& plan, const ArrayPlan& array) {
  const Settings& settings = plan.settings;
  PnahPlan out;
  static_cast<ArrayPlan&>(out) = array;
  out.holography = settings.holography;
  out.holography.imager = resolve_imager(out);
  out.cutoff_rad_per_m =
      resolve_cutoffs(settings.holography, settings.medium, settings.array.geometry, array.frequencies_hz);
  out.fft = settings.device.fft;
  out.batch = settings.device.batch;
  out.input_is_finite = plan.input == InputForm::kBits;
  validate(out);
  return out;
}

/// Where nobody asked for a processor by its name and this device has no room for the one that is best, pnah.
PnahPlan possible_here(const ocl::Device& device, const EnginePlan& plan, PnahPlan wanted) {
  if (plan.settings.holography.imager == ImagerKind::kAuto &&
      !processor_entry(wanted.holography.imager).obstacle(device.info(), wanted).empty()) {
    wanted.holography.imager = ImagerKind::kPnah;
    validate(wanted);
  }
  return wanted;
}

/// Its imager is chosen. Nothing where the plan wants no processor.
std::optional<PnahPlan> plan_of_images(const ocl::Device& device, const EnginePlan& plan, const ArrayPlan& array) {
  return plan.has_processor ? std::optional(possible_here(device, plan, pnah_plan(plan, array))) : std::nullopt;
}

std::string kind_of(const std::optional<PnahPlan>& images) {
  return images ? std::string(name_of(images->holography.imager)) : std::string();
}

void require_processor(bool has_processor) {
  if (!has_processor) {
    throw Error(ExitCode::kInternal, "engine: expected a processor to adopt findings, found none");
  }
}

std::unique_ptr<reference::Processor> make_reference_of(const std::optional<PnahPlan>& images) {
  return images ? processor_entry(images->holography.imager).make_reference(*images) : nullptr;
}

BandPlan bands_of(const EnginePlan& plan) {
  if (plan.input == InputForm::kSpectra && !plan.settings.front_end.bands_hz.empty()) {
    throw ConfigError("front_end.bands_hz: expected bits or time data, found spectra, which are no whole set of bins");
  }
  return plan_bands(plan.settings.front_end, plan.settings.holography.quantity, plan.sample_rate_hz);
}

/// Page-locked memory that bits wait in until the device has fetched them.
class BitStaging {
 public:
  BitStaging(const ocl::Device& device, std::size_t wire_words)
      : device_(device), memory_(device.allocate_host<std::uint32_t>(wire_words, "pipeline/staging")) {}
  /// Waits for the device when what was staged before leaves too little room.
  std::span<std::uint32_t> room(std::size_t wire_words) {
    if (wire_words > memory_.size() - used_) {
      device_.wait();
      used_ = 0;
    }
    return memory_.values().subspan(used_, std::min(wire_words, memory_.size()));
  }
  /// True when the bits lie in the room that was given last.
  [[nodiscard]] bool holds(std::span<const std::uint32_t> wire) const {
    return wire.data() == memory_.values().data() + used_;
  }
  void use(std::size_t wire_words) { used_ += wire_words; }
  void clear() { used_ = 0; }

 private:
  ocl::Device device_;
  ocl::HostBuffer<std::uint32_t> memory_;
  std::size_t used_ = 0;
};

class OpenclEngine : public Engine {
 public:
  OpenclEngine(const ocl::Device& device, const EnginePlan& plan)
      : Engine(plan),
        device_(device),
        front_end_(plan.input == InputForm::kSpectra ? nullptr
                                                     : make_front_end(device_, front_end_plan(plan, bands()))),
        plan_(array_plan_of(plan.settings, front_end_ ? front_end_->actual_frequencies_hz() : plan.spectra_hz)),
        images_plan_(plan_of_images(device_, plan, plan_)),
        processor_(images_plan_ ? make_processor(device_, *images_plan_) : nullptr),
        staging_(device_, plan.input == InputForm::kBits ? staged_words(plan) : 1),
        statuses_(static_cast<std::size_t>(plan.settings.device.batch)),
        words_(processor_ ? 0 : statuses_.size() * kStatusWords),
        mask_(std::make_shared<const MicrophoneMask>(make_mask(plan_, {}))) {
    set_frequencies(plan_.frequencies_hz);
    const std::size_t channels = static_cast<std::size_t>(plan_.geometry.channels());
    spectra_ = device_.allocate<std::complex<float>>(statuses_.size() * plan_.frequencies_hz.size() * channels,
                                                     "pipeline/spectra");
    status_ = device_.allocate<std::uint32_t>(statuses_.size() * kStatusWords, "pipeline/status");
    device_.enqueue_fill(status_, std::uint32_t{0}, "pipeline/status");
    // clFFT's plans image a whole batch, also where its last part is not used.
    device_.enqueue_fill(spectra_, std::complex<float>(), "pipeline/spectra");
  }
  OpenclEngine(const OpenclEngine&) = delete;
  OpenclEngine& operator=(const OpenclEngine&) = delete;
  /// What was enqueued before an exception may still be under way.
  ~OpenclEngine() override {
    try {
      device_.wait();
    } catch (const DeviceError&) {  // then nothing runs any more
    }
  }
  [[nodiscard]] std::uint64_t history_samples() const override { return front_end_ ? front_end_->history_words() : 0; }
  [[nodiscard]] std::span<std::uint32_t> room_for_bits(std::size_t wire_words) override {
    const std::span<std::uint32_t> room = staging_.room(wire_words);
    if (room.size() < wire_words) {
      throw Error(ExitCode::kInternal,
                  fmt::format("engine: expected at most {} wire words at a time, found {}", room.size(), wire_words));
    }
    return room;
  }
  void push_bits(std::uint64_t first_sample, std::span<const std::uint32_t> wire) override {
    if (!staging_.holds(wire)) {
      const std::span<std::uint32_t> room = room_for_bits(wire.size());
      std::copy(wire.begin(), wire.end(), room.begin());
      wire = room;
    }
    staging_.use(wire.size());
    front_end_->enqueue_bits(first_sample, wire);
  }
  void push_samples(std::uint64_t first_sample, std::span<const float> samples) override {
    front_end_->enqueue_samples(first_sample, samples);
  }
  std::span<const WindowStatus> compute_windows(std::uint64_t first_sample, std::size_t windows) override {
    require_batch(windows);
    front_end_->enqueue_batch(first_sample, windows, spectra_, status_);
    return finish(windows);
  }
  std::span<const WindowStatus> compute_spectra(std::span<const std::complex<float>> spectra) override {
    const std::size_t windows = spectra.size() / (spectra_.size() / statuses_.size());
    require_batch(windows);
    device_.enqueue_write(spectra_, 0, spectra, "pipeline/spectra");
    return finish(windows);
  }
  [[nodiscard]] std::span<const std::complex<float>> images() const override {
    return processor_ ? processor_->host_images().first(image_values_) : std::span<const std::complex<float>>();
  }
  [[nodiscard]] std::span<const FilterReport> reports() const override {
    return processor_ ? processor_->host_reports() : std::span<const FilterReport>();
  }
  [[nodiscard]] std::string device_name() const override {
    const ocl::DeviceInfo& info = device_.info();
    return fmt::format("{} ({}, driver {})", info.name, info.platform, info.driver);
  }
  [[nodiscard]] std::string front_end_name() const override {
    return front_end_ ? front_end_->description() : std::string(kNoFrontEnd);
  }
  [[nodiscard]] std::string imager_name() const override {
    return processor_ ? processor_->description() : std::string(kNoProcessor);
  }
  [[nodiscard]] std::string processor_kind() const override { return kind_of(images_plan_); }
  void read_spectra(std::size_t window, std::span<std::complex<float>> spectra) const override {
    device_.enqueue_read_from(spectra_, window * spectra.size(), spectra, "pipeline/spectra");
    device_.wait();
  }
  void use(const MicrophoneMask& mask) override {
    if (processor_) {
      processor_->use(mask);
    }
    mask_ = std::make_shared<const MicrophoneMask>(mask);
  }
  [[nodiscard]] std::shared_ptr<const MicrophoneMask> mask() const override { return mask_; }
  [[nodiscard]] std::unique_ptr<Search> make_search() const override {
    return processor_ ? processor_->make_search() : nullptr;
  }
  void adopt(const std::shared_ptr<const Findings>& findings) override {
    require_processor(processor_ != nullptr);
    processor_->adopt(findings);
  }
  void image_again() override {
    const std::vector<WindowStatus> before = statuses_;  // the front end writes its flags but once
    finish(windows_);
    std::copy(before.begin(), before.end(), statuses_.begin());
  }
  [[nodiscard]] const ArrayPlan& array_plan() const override { return plan_; }

 private:
  /// Wire words of the longest push: a batch's windows, at most two of them, and what comes before.
  [[nodiscard]] std::size_t staged_words(const EnginePlan& plan) const {
    const Settings& settings = plan.settings;
    const auto window = static_cast<std::size_t>(settings.front_end.window_samples);
    const auto words =
        static_cast<std::size_t>(kBitsPerWord * words_per_bit_time(settings.array.layout, settings.array.geometry));
    return ((plan.settings.device.batch > 1 ? 2 : 1) * window + front_end_->history_words()) * words;
  }
  void require_batch(std::size_t windows) const {
    if (windows < 1 || windows > statuses_.size()) {
      throw Error(ExitCode::kInternal,
                  fmt::format("engine: expected 1 to {} windows at a time, found {}", statuses_.size(), windows));
    }
  }
  std::span<const WindowStatus> finish(std::size_t windows) {
    windows_ = windows;
    if (processor_) {
      processor_->enqueue(spectra_, status_, windows);
      image_values_ = processor_->images().size() / statuses_.size() * windows;
      processor_->enqueue_fetch(windows);
    } else {
      device_.enqueue_read(status_, std::span(words_), "pipeline/status");
      device_.enqueue_fill(status_, std::uint32_t{0}, "pipeline/status");
    }
    device_.wait();
    staging_.clear();
    const std::span<const std::uint32_t> status = processor_ ? processor_->host_status() : words_;
    for (std::size_t i = 0; i < windows; ++i) {
      const std::span<const std::uint32_t> words = status.subspan(i * kStatusWords, kStatusWords);
      statuses_[i] = {.flags = words[0] | plan_.constant_flags(), .non_finite_microphones = static_cast<int>(words[1])};
    }
    return std::span(statuses_).first(windows);
  }
  ocl::Device device_;
  std::unique_ptr<FrontEnd> front_end_;
  ArrayPlan plan_;
  std::optional<PnahPlan> images_plan_;
  std::unique_ptr<Processor> processor_;  ///< null: spectra alone
  BitStaging staging_;
  std::vector<WindowStatus> statuses_;  ///< [window of a batch]
  std::vector<std::uint32_t> words_;    ///< [window][kStatusWords], where no processor brings them
  ComplexBuffer spectra_;               ///< [window][frequency][channel]
  StatusBuffer status_;                 ///< [window][kStatusWords]
  std::size_t windows_ = 0;             ///< the last ones
  std::size_t image_values_ = 0;        ///< of them
  std::shared_ptr<const MicrophoneMask> mask_;
};

class ReferenceEngine : public Engine {
 public:
  explicit ReferenceEngine(const EnginePlan& plan)
      : Engine(plan),
        front_end_name_(plan.input == InputForm::kSpectra ? kNoFrontEnd : name_of(plan.settings.front_end.kind)),
        front_end_(plan.input == InputForm::kSpectra ? nullptr
                                                     : reference::make_front_end(front_end_plan(plan, bands()))),
        plan_(array_plan_of(plan.settings, front_end_ ? front_end_->actual_frequencies_hz() : plan.spectra_hz)),
        images_plan_(plan.has_processor ? std::optional(pnah_plan(plan, plan_)) : std::nullopt),
        processor_(make_reference_of(images_plan_)),
        hop_samples_(static_cast<std::uint64_t>(plan.settings.front_end.hop_samples)),
        mask_(std::make_shared<const MicrophoneMask>(make_mask(plan_, {}))) {
    set_frequencies(plan_.frequencies_hz);
  }
  [[nodiscard]] std::uint64_t history_samples() const override { return front_end_ ? front_end_->history_words() : 0; }
  void push_bits(std::uint64_t first_sample, std::span<const std::uint32_t> wire) override {
    front_end_->push_bits(first_sample, wire);
  }
  void push_samples(std::uint64_t first_sample, std::span<const float> samples) override {
    front_end_->push_samples(first_sample, samples);
  }
  [[nodiscard]] std::span<std::uint32_t> room_for_bits(std::size_t wire_words) override {
    room_.resize(wire_words);
    return room_;
  }
  std::span<const WindowStatus> compute_windows(std::uint64_t first_sample, std::size_t windows) override {
    clear();
    for (std::size_t i = 0; i < windows; ++i) {
      const std::vector<std::complex<double>> spectra = front_end_->spectra(first_sample + i * hop_samples_);
      append(spectra, front_end_->clipped() ? kFlagClipped : 0U);
    }
    return statuses_;
  }
  std::span<const WindowStatus> compute_spectra(std::span<const std::complex<float>> spectra) override {
    const std::size_t values = plan_.frequencies_hz.size() * static_cast<std::size_t>(plan_.geometry.channels());
    clear();
    for (std::size_t first = 0; first + values <= spectra.size(); first += values) {
      const auto one = spectra.subspan(first, values);
      append({one.begin(), one.end()}, 0);
    }
    return statuses_;
  }
  [[nodiscard]] std::span<const std::complex<float>> images() const override { return images_; }
  [[nodiscard]] std::span<const FilterReport> reports() const override { return reports_; }
  [[nodiscard]] std::string device_name() const override { return "reference (double precision on the host)"; }
  [[nodiscard]] std::string front_end_name() const override { return front_end_name_; }
  [[nodiscard]] std::string imager_name() const override {
    return processor_ ? "reference" : std::string(kNoProcessor);
  }
  [[nodiscard]] std::string processor_kind() const override { return kind_of(images_plan_); }
  void read_spectra(std::size_t window, std::span<std::complex<float>> spectra) const override {
    const auto first = spectra_.begin() + static_cast<std::ptrdiff_t>(window * spectra.size());
    std::transform(first, first + static_cast<std::ptrdiff_t>(spectra.size()), spectra.begin(),
                   [](const std::complex<double>& value) { return std::complex<float>(value); });
  }
  void use(const MicrophoneMask& mask) override {
    if (processor_) {
      processor_->use(mask);
    }
    mask_ = std::make_shared<const MicrophoneMask>(mask);
  }
  [[nodiscard]] std::shared_ptr<const MicrophoneMask> mask() const override { return mask_; }
  [[nodiscard]] std::unique_ptr<Search> make_search() const override {
    return processor_ ? processor_->make_search() : nullptr;
  }
  void adopt(const std::shared_ptr<const Findings>& findings) override {
    require_processor(processor_ != nullptr);
    processor_->adopt(findings);
  }
  void image_again() override {
    images_.clear();
    reports_.clear();
    const std::size_t values = spectra_.size() / statuses_.size();
    for (std::size_t first = 0; first < spectra_.size(); first += values) {
      append_images(std::span(spectra_).subspan(first, values));
    }
  }
  [[nodiscard]] const ArrayPlan& array_plan() const override { return plan_; }

 private:
  void clear() {
    images_.clear();
    reports_.clear();
    spectra_.clear();
    statuses_.clear();
  }
  void append(const std::vector<std::complex<double>>& spectra, std::uint32_t flags) {
    spectra_.insert(spectra_.end(), spectra.begin(), spectra.end());
    const reference::PnahImages result = append_images(spectra);
    statuses_.push_back(
        {.flags = result.flags | flags | plan_.constant_flags(), .non_finite_microphones = result.non_finite_channels});
  }
  reference::PnahImages append_images(std::span<const std::complex<double>> spectra) {
    reference::PnahImages result = processor_ ? processor_->image(spectra) : reference::PnahImages();
    images_.insert(images_.end(), result.images.begin(), result.images.end());
    reports_.insert(reports_.end(), result.reports.begin(), result.reports.end());
    return result;
  }
  std::string front_end_name_;
  std::unique_ptr<reference::FrontEnd> front_end_;
  ArrayPlan plan_;
  std::optional<PnahPlan> images_plan_;
  std::unique_ptr<reference::Processor> processor_;  ///< null: spectra alone
  std::vector<std::complex<double>> spectra_;
  std::vector<std::uint32_t> room_;
  std::vector<std::complex<float>> images_;
  std::vector<FilterReport> reports_;
  std::vector<WindowStatus> statuses_;
  std::uint64_t hop_samples_;
  std::shared_ptr<const MicrophoneMask> mask_;
};

}  // namespace

std::unique_ptr<Engine> make_engine(EngineKind kind, const EnginePlan& plan) {
  if (kind == EngineKind::kReference) {
    return std::make_unique<ReferenceEngine>(plan);
  }
  return make_engine(ocl::Device::open(plan.settings.device), plan);
}

std::unique_ptr<Engine> make_engine(const ocl::Device& device, const EnginePlan& plan) {
  return std::make_unique<OpenclEngine>(device, plan);
}

Engine::Engine(const EnginePlan& plan)
    : bands_(bands_of(plan)),
      pixels_(static_cast<std::size_t>(plan.settings.array.geometry.channels() * plan.settings.holography.upsample *
                                       plan.settings.holography.upsample)) {}

void Engine::set_frequencies(const std::vector<double>& computed_hz) {
  computed_ = computed_hz.size();
  frequencies_hz_ = computed_hz;
  if (!bands_.bins.empty()) {
    frequencies_hz_.resize(bands_.lines);
  }
}

void Engine::fill(std::size_t window, ImageFrame& frame) const {
  const std::size_t line_values = frequencies_hz_.size() * pixels_;
  const std::size_t plane_values = computed_ * pixels_;
  const std::size_t frame_values = frame.images.size() / line_values * plane_values;
  const std::span<const std::complex<float>> computed = images().subspan(window * frame_values, frame_values);
  auto to = frame.images.begin();
  for (std::size_t first = 0; first < frame_values; first += plane_values) {
    const auto lines = computed.subspan(first, line_values);
    to = std::copy(lines.begin(), lines.end(), to);
  }
  if (!bands_.bins.empty()) {
    sum_bands(bands_, computed, pixels_, frame.bands);
  }
  fill_reports(window, frame);
}

void Engine::fill_reports(std::size_t window, ImageFrame& frame) const {
  for (std::size_t f = 0; f < frame.cutoff_rad_per_m.size(); ++f) {
    const FilterReport& report = reports()[window * computed_ + f];
    frame.cutoff_rad_per_m[f] = report.cutoff_rad_per_m;
    frame.slope[f] = report.slope;
    frame.noise_pa[f] = report.noise_pa;
    frame.error_estimate[f] = report.error_estimate;
  }
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
  header.kind = engine.processor_kind();
  header.frequencies_hz = engine.frequencies_hz();
  header.planes_m = settings.holography.planes_m;
  header.points = settings.holography.points;
  header.bands_hz = settings.front_end.bands_hz;
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
  frame.error_estimate.resize(header.frequencies_hz.size());
  return frame;
}

std::vector<std::string> plan_warnings(const EnginePlan& plan, const std::vector<double>& frequencies_hz) {
  const PnahPlan imager = pnah_plan(plan, array_plan_of(plan.settings, frequencies_hz));
  const Settings& settings = plan.settings;
  const bool filters = imager.holography.imager == ImagerKind::kPnah;
  std::vector<std::string> warnings;
  const double nyquist = std::numbers::pi / std::max(imager.geometry.pitch_x_m, imager.geometry.pitch_y_m);
  for (std::size_t f = 0; f < frequencies_hz.size(); ++f) {
    if (plan.input != InputForm::kSpectra &&
        std::abs(frequencies_hz[f] - settings.front_end.frequencies_hz[f]) > kSnapWarning_hz) {
      warnings.push_back(fmt::format(
          "front_end.frequencies_hz[{}]: {} Hz is off the grid of {:.3f} Hz that {} images on (sample rate / "
          "window_samples); {:.3f} Hz, the nearest, is imaged; front_end.kind: dot_product images any "
          "frequency",
          f, settings.front_end.frequencies_hz[f], plan.sample_rate_hz / settings.front_end.window_samples,
          name_of(settings.front_end.kind), frequencies_hz[f]));
    }
    if (imager.wavenumber(f) > nyquist) {
      warnings.push_back(
          fmt::format("{:.1f} Hz: k = {:.1f} rad/m lies above pi/pitch = {:.1f} rad/m; the microphones are too "
                      "far apart for this frequency",
                      frequencies_hz[f], imager.wavenumber(f), nyquist));
    }
    if (filters && settings.holography.filter.kind == FilterKind::kCos &&
        imager.cutoff_rad_per_m[f] < imager.wavenumber(f)) {
      warnings.push_back(
          fmt::format("{:.1f} Hz: the cut-off {:.1f} rad/m lies inside the radiation circle, k = {:.1f} rad/m; "
                      "propagating waves are filtered too",
                      frequencies_hz[f], imager.cutoff_rad_per_m[f], imager.wavenumber(f)));
    }
  }
  const ExtrapolationSettings& extrapolation = settings.holography.extrapolation;
  const int shortest = std::min(imager.geometry.rows, imager.geometry.columns);
  if (filters && predicts(extrapolation.method) && usable_order(extrapolation.order, shortest) < extrapolation.order) {
    warnings.push_back(fmt::format(
        "holography.extrapolation.order: {} is used along x and {} along y, the most that {} x {} "
        "microphones allow",
        usable_order(extrapolation.order, imager.geometry.columns),
        usable_order(extrapolation.order, imager.geometry.rows), imager.geometry.rows, imager.geometry.columns));
  }
  return warnings;
}

}  // namespace nearfield
