#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <utility>

#include "cl/device.hpp"
#include "nearfield/error.hpp"
#include "pipeline/engine_parts.hpp"

namespace nearfield {
namespace {

/// Page-locked memory that bits wait in until the device has fetched them, in halves that take turns where bits must
/// stay until the frame after.
class BitStaging {
 public:
  BitStaging(const ocl::Device& device, std::size_t wire_words, bool has_halves)
      : memory_(device.allocate_host<std::uint32_t>(wire_words * (has_halves ? 2 : 1), "pipeline/staging")),
        words_(wire_words),
        has_halves_(has_halves) {}
  [[nodiscard]] bool has_room(std::size_t wire_words) const { return wire_words <= words_ - used_; }
  std::span<std::uint32_t> room(std::size_t wire_words) {
    return memory_.values().subspan(begin_ + used_, std::min(wire_words, words_ - used_));
  }
  /// True when the bits lie in the room that was given last.
  [[nodiscard]] bool holds(std::span<const std::uint32_t> wire) const {
    return wire.data() == memory_.values().data() + begin_ + used_;
  }
  void use(std::size_t wire_words) { used_ += wire_words; }
  /// What lies here is no longer needed.
  void clear() { used_ = 0; }
  /// What was used stays until the next call but one.
  void turn() {
    begin_ = has_halves_ && begin_ == 0 ? words_ : 0;
    used_ = 0;
  }

 private:
  ocl::HostBuffer<std::uint32_t> memory_;
  std::size_t words_;  ///< of a half
  bool has_halves_;
  std::size_t begin_ = 0;  ///< of the half in use
  std::size_t used_ = 0;
};

class OpenclEngine : public Engine {
 public:
  OpenclEngine(const ocl::Device& device, const EnginePlan& plan);
  OpenclEngine(const OpenclEngine&) = delete;
  OpenclEngine& operator=(const OpenclEngine&) = delete;
  ~OpenclEngine() override;

  void seek(std::uint64_t first_window, std::uint64_t origin) override;
  [[nodiscard]] std::span<std::uint32_t> room_for_bits(std::size_t wire_words) override;
  void push_bits(std::uint64_t first_sample, std::span<const std::uint32_t> wire) override;
  void push_samples(std::uint64_t first_sample, std::span<const float> samples) override;
  std::span<const WindowStatus> compute_windows(std::uint64_t first_sample, std::size_t windows) override;
  std::span<const WindowStatus> compute_spectra(std::span<const std::complex<float>> spectra) override;
  void begin_late(std::uint32_t due) override;
  void finish_late() override;
  [[nodiscard]] Products products(std::size_t processor, std::size_t window) override {
    return runs_.at(processor).processor->products(window - runs_[processor].absent);
  }
  [[nodiscard]] std::uint32_t flags(std::size_t processor, std::size_t window) const override;
  [[nodiscard]] std::string device_name() const override;
  [[nodiscard]] std::string imager_name() const override {
    return runs_.empty() ? std::string(kNoProcessor) : runs_.front().processor->description();
  }
  void read_spectra(std::size_t window, std::span<std::complex<float>> spectra) const override;
  void use(const Masks& masks) override;
  [[nodiscard]] std::unique_ptr<Search> make_search() const override {
    return runs_.empty() ? nullptr : runs_.front().processor->make_search();
  }
  void adopt(const std::shared_ptr<const Findings>& findings) override;
  void image_again() override;
  void forget() override {
    for (const Run& run : runs_) {
      run.processor->forget();
    }
  }

 private:
  /// A tap's front end and its newest spectra on the device.
  struct Input {
    std::unique_ptr<FrontEnd> front_end;  ///< none for given spectra
    ComplexBuffer spectra;                ///< [window][frequency][channel], without the absent windows
    StatusBuffer status;                  ///< [window][kStatusWords], likewise
    std::vector<std::uint32_t> words;     ///< status on the host, where no processor takes it
    std::uint64_t begin = 0;              ///< what is pushed of samples before it is not for this tap
  };
  struct Run {
    std::unique_ptr<Processor> processor;
    std::vector<std::uint32_t> input_flags;  ///< [window], of the windows that it was enqueued on last
    std::size_t absent = 0;                  ///< of these: the first ones, which its tap does not have
  };
  /// Bits that late taps have not been fed with yet; they lie in the staging memory.
  struct Pushed {
    std::uint64_t first_sample = 0;
    std::span<const std::uint32_t> wire;
  };
  void make_inputs();
  [[nodiscard]] std::size_t words_per_sample() const;
  [[nodiscard]] std::size_t staged_words() const;
  void require_batch(std::size_t windows) const;
  /// Computes the prompt products of the windows whose spectra are enqueued, and waits.
  std::span<const WindowStatus> finish(std::size_t windows);
  void feed(Input& input, std::uint64_t first_sample, std::span<const std::uint32_t> wire) const;
  void feed_late_taps();
  /// Of a processor with a tap of its own, kStatusWords.
  [[nodiscard]] std::span<const std::uint32_t> own_status(std::size_t processor, std::size_t window) const;
  [[nodiscard]] int non_finite_microphones(std::size_t processor, std::size_t window) const override;
  [[nodiscard]] bool is_late_tap(std::size_t tap) const { return taps()[tap].every_hops > 1; }
  /// Spectra of windows from first_sample_ on, then what `processor`, whose tap it is, makes of them.
  void enqueue_own(std::size_t processor, std::size_t windows);
  /// Of the run's spectra: of the first processor that takes the status, else as they came here.
  [[nodiscard]] std::span<const std::uint32_t> status_words() const;

  ocl::Device device_;
  std::vector<Input> inputs_;  ///< [tap]
  std::vector<Run> runs_;      ///< [processor]
  std::optional<BitStaging> staging_;
  std::vector<Pushed> pushed_;
  std::vector<WindowStatus> statuses_;  ///< [window of a batch]
  std::uint64_t first_sample_ = 0;      ///< of the windows computed last
  std::size_t windows_ = 0;             ///< of these
  bool has_late_taps_ = false;
  bool is_computed_ = false;  ///< nothing has been pushed since
  bool has_late_ = false;     ///< late products are under way
};

/// Of these the flags of one processor say nothing of another's products.
constexpr std::uint32_t kProcessorFlags = kFlagExtrapolationFellBack;

OpenclEngine::OpenclEngine(const ocl::Device& device, const EnginePlan& plan)
    : Engine(plan),
      device_(device),
      inputs_(taps().size()),
      statuses_(static_cast<std::size_t>(plan.settings.device.batch)) {
  make_inputs();
  for (const Wanted& wanted : wanted_processors()) {
    std::unique_ptr<Processor> made = processor_entry(wanted.kind).make(device_, wanted.plan);
    add_results(made->header(), wanted, dynamic_cast<const ImagesOnHost*>(made.get()));
    runs_.push_back({.processor = std::move(made), .input_flags = std::vector<std::uint32_t>(statuses_.size())});
  }
  for (std::size_t t = 0; t < inputs_.size(); ++t) {
    Input& input = inputs_[t];
    const ArrayPlan& array = taps()[t].array;
    const std::size_t values = array.frequencies_hz.size() * static_cast<std::size_t>(array.geometry.channels());
    input.spectra = device_.allocate<std::complex<float>>(statuses_.size() * values, "pipeline/spectra");
    input.status = device_.allocate<std::uint32_t>(statuses_.size() * kStatusWords, "pipeline/status");
    input.words.resize(statuses_.size() * kStatusWords);
    device_.enqueue_fill(input.status, std::uint32_t{0}, "pipeline/status");
    // clFFT's plans image a whole batch, also where its last part is not used.
    device_.enqueue_fill(input.spectra, std::complex<float>(), "pipeline/spectra");
  }
}

void OpenclEngine::make_inputs() {
  if (plan().input == InputForm::kSpectra) {
    set_frequencies(taps().front(), plan().spectra_hz);
    return;
  }
  for (std::size_t t = 0; t < inputs_.size(); ++t) {
    inputs_[t].front_end =
        make_front_end_of(taps()[t], [&](const FrontEndPlan& of_tap) { return make_front_end(device_, of_tap); });
    taps()[t].name = inputs_[t].front_end->description();
    has_late_taps_ |= is_late_tap(t);
  }
  if (plan().input == InputForm::kBits) {
    staging_.emplace(device_, staged_words(), has_late_taps_);
  }
}

/// What was enqueued before an exception may still be under way.
OpenclEngine::~OpenclEngine() {
  try {
    device_.wait();
  } catch (const DeviceError&) {  // then nothing runs any more
  }
}

void OpenclEngine::seek(std::uint64_t first_window, std::uint64_t origin) {
  feed_late_taps();
  const std::vector<std::uint64_t> begins = begin_taps(first_window, origin);
  for (std::size_t t = 0; t < inputs_.size(); ++t) {
    inputs_[t].begin = begins[t];
  }
}

std::span<std::uint32_t> OpenclEngine::room_for_bits(std::size_t wire_words) {
  if (!staging_->has_room(wire_words)) {
    feed_late_taps();
    device_.wait();
    staging_->clear();
  }
  const std::span<std::uint32_t> room = staging_->room(wire_words);
  if (room.size() < wire_words) {
    throw Error(ExitCode::kInternal,
                fmt::format("engine: expected at most {} wire words at a time, found {}", room.size(), wire_words));
  }
  return room;
}

/// What of the bits is for this tap.
void OpenclEngine::feed(Input& input, std::uint64_t first_sample, std::span<const std::uint32_t> wire) const {
  const Piece<std::uint32_t> piece = piece_from(input.begin, first_sample, wire, words_per_sample());
  if (!piece.values.empty()) {
    input.front_end->enqueue_bits(piece.first, piece.values);
  }
}

void OpenclEngine::push_bits(std::uint64_t first_sample, std::span<const std::uint32_t> wire) {
  if (is_computed_) {
    feed_late_taps();
    is_computed_ = false;
  }
  if (!staging_->holds(wire)) {
    const std::span<std::uint32_t> room = room_for_bits(wire.size());
    std::copy(wire.begin(), wire.end(), room.begin());
    wire = room;
  }
  staging_->use(wire.size());
  for (std::size_t t = 0; t < inputs_.size(); ++t) {
    if (!is_late_tap(t)) {
      feed(inputs_[t], first_sample, wire);
    }
  }
  if (has_late_taps_) {
    pushed_.push_back({.first_sample = first_sample, .wire = wire});
  }
}

void OpenclEngine::push_samples(std::uint64_t first_sample, std::span<const float> samples) {
  const auto channels = static_cast<std::size_t>(array_plan().geometry.channels());
  for (Input& input : inputs_) {
    const Piece<float> piece = piece_from(input.begin, first_sample, samples, channels);
    if (!piece.values.empty()) {
      input.front_end->enqueue_samples(piece.first, piece.values);
    }
  }
}

/// Off the way of the prompt frames: their bits come first, what late taps need of them follows.
void OpenclEngine::feed_late_taps() {
  for (const Pushed& pushed : pushed_) {
    for (std::size_t t = 0; t < inputs_.size(); ++t) {
      if (is_late_tap(t)) {
        feed(inputs_[t], pushed.first_sample, pushed.wire);
      }
    }
  }
  pushed_.clear();
}

std::span<const WindowStatus> OpenclEngine::compute_windows(std::uint64_t first_sample, std::size_t windows) {
  require_batch(windows);
  if (is_computed_) {
    feed_late_taps();  // their bits would stay for one frame more, and no longer
  }
  Input& input = inputs_.front();
  input.front_end->enqueue_batch(first_sample, windows, input.spectra, input.status);
  first_sample_ = first_sample;
  count_absent(first_sample, windows);
  for (std::size_t p = 0; p < runs_.size(); ++p) {
    if (!is_late(p) && tap_of(p) != 0) {
      enqueue_own(p, windows);
    }
  }
  const std::span<const WindowStatus> statuses = finish(windows);
  if (staging_) {
    staging_->turn();
  }
  return statuses;
}

std::span<const WindowStatus> OpenclEngine::compute_spectra(std::span<const std::complex<float>> spectra) {
  const std::size_t windows = spectra.size() / spectra_values();
  require_batch(windows);
  device_.enqueue_write(inputs_.front().spectra, 0, spectra, "pipeline/spectra");
  return finish(windows);
}

void OpenclEngine::begin_late(std::uint32_t due) {
  feed_late_taps();
  for (std::size_t p = 0; p < runs_.size(); ++p) {
    if (((due & late()) >> p & 1U) == 0) {
      continue;
    }
    has_late_ = true;
    if (tap_of(p) != 0) {
      enqueue_own(p, windows_);
    } else {
      std::transform(statuses_.begin(), statuses_.end(), runs_[p].input_flags.begin(),
                     [](const WindowStatus& status) { return status.flags & ~kProcessorFlags; });
      runs_[p].processor->enqueue(inputs_.front().spectra, inputs_.front().status, windows_);
    }
  }
  if (has_late_ || has_late_taps_) {
    device_.flush();  // a driver may keep what is enqueued until somebody waits
  }
}

void OpenclEngine::enqueue_own(std::size_t processor, std::size_t windows) {
  const std::size_t t = tap_of(processor);
  const Tap& tap = taps()[t];
  Input& input = inputs_[t];
  if (tap.absent >= windows) {
    return;
  }
  const std::size_t present = windows - tap.absent;
  runs_[processor].absent = tap.absent;
  const auto hop = static_cast<std::uint64_t>(plan().settings.front_end.hop_samples);
  input.front_end->enqueue_batch(tap.first(first_sample_ + tap.absent * hop), present, input.spectra, input.status);
  Processor& of_tap = *runs_[processor].processor;
  of_tap.enqueue(input.spectra, input.status, present);
  if (of_tap.host_status().empty()) {
    device_.enqueue_read(input.status, std::span(input.words), "pipeline/status");
    device_.enqueue_fill(input.status, std::uint32_t{0}, "pipeline/status");
  }
}

void OpenclEngine::finish_late() {
  if (std::exchange(has_late_, false)) {
    device_.wait();
  }
}

std::uint32_t OpenclEngine::flags(std::size_t processor, std::size_t window) const {
  const Run& run = runs_.at(processor);
  const std::size_t t = tap_of(processor);
  if (t != 0) {
    return taps()[t].array.constant_flags() | own_status(processor, window)[0];
  }
  const std::span<const std::uint32_t> own = run.processor->host_status();
  return run.input_flags[window] | (own.empty() ? 0U : own[window * kStatusWords]);
}

std::span<const std::uint32_t> OpenclEngine::own_status(std::size_t processor, std::size_t window) const {
  const Run& run = runs_.at(processor);
  const std::span<const std::uint32_t> taken = run.processor->host_status();
  const std::span<const std::uint32_t> words = taken.empty() ? inputs_[tap_of(processor)].words : taken;
  return words.subspan((window - run.absent) * kStatusWords, kStatusWords);
}

int OpenclEngine::non_finite_microphones(std::size_t processor, std::size_t window) const {
  return tap_of(processor) == 0 ? statuses_.at(window).non_finite_microphones
                                : static_cast<int>(own_status(processor, window)[1]);
}

std::string OpenclEngine::device_name() const {
  const ocl::DeviceInfo& info = device_.info();
  return fmt::format("{} ({}, driver {})", info.name, info.platform, info.driver);
}

void OpenclEngine::read_spectra(std::size_t window, std::span<std::complex<float>> spectra) const {
  device_.enqueue_read_from(inputs_.front().spectra, window * spectra.size(), spectra, "pipeline/spectra");
  device_.wait();
}

void OpenclEngine::use(const Masks& masks) {
  for (std::size_t p = 0; p < runs_.size(); ++p) {
    runs_[p].processor->use(masks.at(tap_of(p)));
  }
  set_masks(masks);
}

void OpenclEngine::adopt(const std::shared_ptr<const Findings>& findings) {
  if (runs_.empty()) {
    throw Error(ExitCode::kInternal, "engine: expected a processor to adopt findings, found none");
  }
  runs_.front().processor->adopt(findings);
}

void OpenclEngine::image_again() {
  if (!runs_.empty()) {
    runs_.front().processor->enqueue(inputs_.front().spectra, inputs_.front().status, windows_);
    device_.wait();
  }
}

std::size_t OpenclEngine::words_per_sample() const {
  const ArraySettings& array = plan().settings.array;
  return static_cast<std::size_t>(kBitsPerWord * words_per_bit_time(array.layout, array.geometry));
}

/// Wire words of the longest push: a batch's windows, at most two of them, and what comes before.
std::size_t OpenclEngine::staged_words() const {
  const Settings& settings = plan().settings;
  const auto window = static_cast<std::size_t>(settings.front_end.window_samples);
  return ((settings.device.batch > 1 ? 2 : 1) * window + history_samples()) * words_per_sample();
}

void OpenclEngine::require_batch(std::size_t windows) const {
  if (windows < 1 || windows > statuses_.size()) {
    throw Error(ExitCode::kInternal,
                fmt::format("engine: expected 1 to {} windows at a time, found {}", statuses_.size(), windows));
  }
}

std::span<const std::uint32_t> OpenclEngine::status_words() const {
  for (std::size_t p = 0; p < runs_.size(); ++p) {
    if (!is_late(p) && tap_of(p) == 0 && !runs_[p].processor->host_status().empty()) {
      return runs_[p].processor->host_status();
    }
  }
  return inputs_.front().words;
}

std::span<const WindowStatus> OpenclEngine::finish(std::size_t windows) {
  windows_ = windows;
  Input& input = inputs_.front();
  const std::span<const std::uint32_t> words = status_words();
  const bool is_taken = words.data() != input.words.data();
  for (std::size_t p = 0; p < runs_.size(); ++p) {
    if (!is_late(p) && tap_of(p) == 0) {
      runs_[p].processor->enqueue(input.spectra, input.status, windows);
    }
  }
  if (!is_taken) {
    device_.enqueue_read(input.status, std::span(input.words), "pipeline/status");
    device_.enqueue_fill(input.status, std::uint32_t{0}, "pipeline/status");
  }
  device_.wait();
  has_late_ = false;
  is_computed_ = true;
  for (std::size_t i = 0; i < windows; ++i) {
    const std::span<const std::uint32_t> status = words.subspan(i * kStatusWords, kStatusWords);
    statuses_[i] = {.flags = status[0] | array_plan().constant_flags(),
                    .non_finite_microphones = static_cast<int>(status[1])};
    for (std::size_t p = 0; p < runs_.size(); ++p) {
      if (!is_late(p) && tap_of(p) == 0) {
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
