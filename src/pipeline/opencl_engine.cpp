#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "cl/device.hpp"
#include "nearfield/error.hpp"
#include "pipeline/engine_parts.hpp"

namespace nearfield {
namespace {

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
  OpenclEngine(const ocl::Device& device, const EnginePlan& plan);
  OpenclEngine(const OpenclEngine&) = delete;
  OpenclEngine& operator=(const OpenclEngine&) = delete;
  ~OpenclEngine() override;

  [[nodiscard]] std::uint64_t history_samples() const override { return front_end_ ? front_end_->history_words() : 0; }
  [[nodiscard]] std::span<std::uint32_t> room_for_bits(std::size_t wire_words) override;
  void push_bits(std::uint64_t first_sample, std::span<const std::uint32_t> wire) override;
  void push_samples(std::uint64_t first_sample, std::span<const float> samples) override {
    front_end_->enqueue_samples(first_sample, samples);
  }
  std::span<const WindowStatus> compute_windows(std::uint64_t first_sample, std::size_t windows) override;
  std::span<const WindowStatus> compute_spectra(std::span<const std::complex<float>> spectra) override;
  void begin_late(std::uint32_t due) override;
  void finish_late() override;
  [[nodiscard]] Products products(std::size_t processor, std::size_t window) override {
    return runs_.at(processor).processor->products(window);
  }
  [[nodiscard]] std::uint32_t flags(std::size_t processor, std::size_t window) const override;
  [[nodiscard]] std::string device_name() const override;
  [[nodiscard]] std::string front_end_name() const override {
    return front_end_ ? front_end_->description() : std::string(kNoFrontEnd);
  }
  [[nodiscard]] std::string imager_name() const override {
    return runs_.empty() ? std::string(kNoProcessor) : runs_.front().processor->description();
  }
  void read_spectra(std::size_t window, std::span<std::complex<float>> spectra) const override;
  void use(const MicrophoneMask& mask) override;
  [[nodiscard]] std::unique_ptr<Search> make_search() const override {
    return runs_.empty() ? nullptr : runs_.front().processor->make_search();
  }
  void adopt(const std::shared_ptr<const Findings>& findings) override;
  void image_again() override;

 private:
  struct Run {
    std::unique_ptr<Processor> processor;
    std::vector<std::uint32_t> input_flags;  ///< [window], of the windows that it was enqueued on last
  };
  [[nodiscard]] std::size_t staged_words() const;
  void require_batch(std::size_t windows) const;
  /// Computes the prompt products of the windows whose spectra are enqueued, and waits.
  std::span<const WindowStatus> finish(std::size_t windows);
  /// Of the first processor that takes the status, else as they came here.
  [[nodiscard]] std::span<const std::uint32_t> status_words() const;

  ocl::Device device_;
  std::unique_ptr<FrontEnd> front_end_;
  std::vector<Run> runs_;  ///< [processor]
  BitStaging staging_;
  std::vector<WindowStatus> statuses_;  ///< [window of a batch]
  std::vector<std::uint32_t> words_;    ///< [window][kStatusWords], where no prompt processor takes them
  ComplexBuffer spectra_;               ///< [window][frequency][channel]
  StatusBuffer status_;                 ///< [window][kStatusWords]
  std::size_t windows_ = 0;             ///< the last ones
  bool has_late_ = false;               ///< late products are under way
};

/// Of these the flags of one processor say nothing of another's products.
constexpr std::uint32_t kProcessorFlags = kFlagExtrapolationFellBack;

OpenclEngine::OpenclEngine(const ocl::Device& device, const EnginePlan& plan)
    : Engine(plan),
      device_(device),
      front_end_(plan.input == InputForm::kSpectra ? nullptr : make_front_end(device_, front_end_plan(plan))),
      staging_(device_, plan.input == InputForm::kBits ? staged_words() : 1),
      statuses_(static_cast<std::size_t>(plan.settings.device.batch)),
      words_(statuses_.size() * kStatusWords) {
  set_frequencies(front_end_ ? front_end_->actual_frequencies_hz() : plan.spectra_hz);
  for (const Wanted& wanted : wanted_processors()) {
    std::unique_ptr<Processor> made = processor_entry(wanted.kind).make(device_, wanted.plan);
    add_results(made->header(), wanted.every_hops, dynamic_cast<const ImagesOnHost*>(made.get()));
    runs_.push_back({.processor = std::move(made), .input_flags = std::vector<std::uint32_t>(statuses_.size())});
  }
  spectra_ = device_.allocate<std::complex<float>>(statuses_.size() * spectra_values(), "pipeline/spectra");
  status_ = device_.allocate<std::uint32_t>(statuses_.size() * kStatusWords, "pipeline/status");
  device_.enqueue_fill(status_, std::uint32_t{0}, "pipeline/status");
  // clFFT's plans image a whole batch, also where its last part is not used.
  device_.enqueue_fill(spectra_, std::complex<float>(), "pipeline/spectra");
}

/// What was enqueued before an exception may still be under way.
OpenclEngine::~OpenclEngine() {
  try {
    device_.wait();
  } catch (const DeviceError&) {  // then nothing runs any more
  }
}

std::span<std::uint32_t> OpenclEngine::room_for_bits(std::size_t wire_words) {
  const std::span<std::uint32_t> room = staging_.room(wire_words);
  if (room.size() < wire_words) {
    throw Error(ExitCode::kInternal,
                fmt::format("engine: expected at most {} wire words at a time, found {}", room.size(), wire_words));
  }
  return room;
}

void OpenclEngine::push_bits(std::uint64_t first_sample, std::span<const std::uint32_t> wire) {
  if (!staging_.holds(wire)) {
    const std::span<std::uint32_t> room = room_for_bits(wire.size());
    std::copy(wire.begin(), wire.end(), room.begin());
    wire = room;
  }
  staging_.use(wire.size());
  front_end_->enqueue_bits(first_sample, wire);
}

std::span<const WindowStatus> OpenclEngine::compute_windows(std::uint64_t first_sample, std::size_t windows) {
  require_batch(windows);
  front_end_->enqueue_batch(first_sample, windows, spectra_, status_);
  return finish(windows);
}

std::span<const WindowStatus> OpenclEngine::compute_spectra(std::span<const std::complex<float>> spectra) {
  const std::size_t windows = spectra.size() / spectra_values();
  require_batch(windows);
  device_.enqueue_write(spectra_, 0, spectra, "pipeline/spectra");
  return finish(windows);
}

void OpenclEngine::begin_late(std::uint32_t due) {
  for (std::size_t p = 0; p < runs_.size(); ++p) {
    if (((due & late()) >> p & 1U) != 0) {
      std::transform(statuses_.begin(), statuses_.end(), runs_[p].input_flags.begin(),
                     [](const WindowStatus& status) { return status.flags & ~kProcessorFlags; });
      runs_[p].processor->enqueue(spectra_, status_, windows_);
      has_late_ = true;
    }
  }
  if (has_late_) {
    device_.flush();  // a driver may keep what is enqueued until somebody waits
  }
}

void OpenclEngine::finish_late() {
  if (std::exchange(has_late_, false)) {
    device_.wait();
  }
}

std::uint32_t OpenclEngine::flags(std::size_t processor, std::size_t window) const {
  const Run& run = runs_.at(processor);
  const std::span<const std::uint32_t> own = run.processor->host_status();
  return run.input_flags[window] | (own.empty() ? 0U : own[window * kStatusWords]);
}

std::string OpenclEngine::device_name() const {
  const ocl::DeviceInfo& info = device_.info();
  return fmt::format("{} ({}, driver {})", info.name, info.platform, info.driver);
}

void OpenclEngine::read_spectra(std::size_t window, std::span<std::complex<float>> spectra) const {
  device_.enqueue_read_from(spectra_, window * spectra.size(), spectra, "pipeline/spectra");
  device_.wait();
}

void OpenclEngine::use(const MicrophoneMask& mask) {
  for (const Run& run : runs_) {
    run.processor->use(mask);
  }
  set_mask(mask);
}

void OpenclEngine::adopt(const std::shared_ptr<const Findings>& findings) {
  if (runs_.empty()) {
    throw Error(ExitCode::kInternal, "engine: expected a processor to adopt findings, found none");
  }
  runs_.front().processor->adopt(findings);
}

void OpenclEngine::image_again() {
  const std::vector<WindowStatus> before = statuses_;  // the front end writes its flags but once
  finish(windows_);
  std::copy(before.begin(), before.end(), statuses_.begin());
  for (std::size_t p = 0; p < runs_.size(); ++p) {
    if (!is_late(p)) {
      std::transform(
          before.begin(), before.end(), runs_[p].input_flags.begin(), runs_[p].input_flags.begin(),
          [](const WindowStatus& status, std::uint32_t flags) { return flags | (status.flags & ~kProcessorFlags); });
    }
  }
}

/// Wire words of the longest push: a batch's windows, at most two of them, and what comes before.
std::size_t OpenclEngine::staged_words() const {
  const Settings& settings = plan().settings;
  const auto window = static_cast<std::size_t>(settings.front_end.window_samples);
  const auto words =
      static_cast<std::size_t>(kBitsPerWord * words_per_bit_time(settings.array.layout, settings.array.geometry));
  return ((settings.device.batch > 1 ? 2 : 1) * window + front_end_->history_words()) * words;
}

void OpenclEngine::require_batch(std::size_t windows) const {
  if (windows < 1 || windows > statuses_.size()) {
    throw Error(ExitCode::kInternal,
                fmt::format("engine: expected 1 to {} windows at a time, found {}", statuses_.size(), windows));
  }
}

std::span<const std::uint32_t> OpenclEngine::status_words() const {
  for (std::size_t p = 0; p < runs_.size(); ++p) {
    if (!is_late(p) && !runs_[p].processor->host_status().empty()) {
      return runs_[p].processor->host_status();
    }
  }
  return words_;
}

std::span<const WindowStatus> OpenclEngine::finish(std::size_t windows) {
  windows_ = windows;
  const std::span<const std::uint32_t> words = status_words();
  const bool is_taken = words.data() != words_.data();
  for (std::size_t p = 0; p < runs_.size(); ++p) {
    if (!is_late(p)) {
      runs_[p].processor->enqueue(spectra_, status_, windows);
    }
  }
  if (!is_taken) {
    device_.enqueue_read(status_, std::span(words_), "pipeline/status");
    device_.enqueue_fill(status_, std::uint32_t{0}, "pipeline/status");
  }
  device_.wait();
  has_late_ = false;
  staging_.clear();
  for (std::size_t i = 0; i < windows; ++i) {
    const std::span<const std::uint32_t> status = words.subspan(i * kStatusWords, kStatusWords);
    statuses_[i] = {.flags = status[0] | array_plan().constant_flags(),
                    .non_finite_microphones = static_cast<int>(status[1])};
    for (std::size_t p = 0; p < runs_.size(); ++p) {
      if (!is_late(p)) {
        runs_[p].input_flags[i] = statuses_[i].flags & ~kProcessorFlags;
      }
    }
  }
  return std::span(statuses_).first(windows);
}

}  // namespace

std::unique_ptr<Engine> make_opencl_engine(const ocl::Device& device, const EnginePlan& plan) {
  return std::make_unique<OpenclEngine>(device, plan);
}

}  // namespace nearfield
