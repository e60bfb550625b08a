#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <deque>
#include <limits>
#include <optional>
#include <utility>

#include "cl/device.hpp"
#include "cl/marker.hpp"
#include "engine/bit_staging.hpp"
#include "engine/engine_parts.hpp"
#include "engine/paced_staging.hpp"
#include "frontend/samples/decimated_samples.hpp"
#include "nearfield/error.hpp"

namespace nearfield {
namespace {

class OpenclEngine : public Engine {
 public:
  OpenclEngine(Devices devices, const EnginePlan& plan);
  OpenclEngine(const OpenclEngine&) = delete;
  OpenclEngine& operator=(const OpenclEngine&) = delete;
  ~OpenclEngine() override;

  void seek(std::uint64_t first_window, std::uint64_t origin) override;
  [[nodiscard]] std::span<std::uint32_t> room_for_bits(std::size_t wire_words) override;
  [[nodiscard]] bool is_on_gpu() const override { return devices_.front().info().is_gpu; }
  void push_bits(std::uint64_t first_sample, std::span<const std::uint32_t> wire) override;
  void push_samples(std::uint64_t first_sample, std::span<const float> samples) override;
  void begin_windows(std::uint64_t first_sample, std::size_t windows) override;
  std::span<const WindowStatus> finish_windows() override;
  std::span<const WindowStatus> compute_spectra(std::span<const std::complex<float>> spectra) override;
  void begin_late(std::uint32_t due) override;
  [[nodiscard]] std::uint32_t under_way() override;
  void finish_late() override;
  void stamp(std::size_t processor, std::size_t window, const FrameStamp& stamp) override {
    runs_.at(processor).processor->stamp(window - runs_[processor].absent, stamp);
  }
  void publish_last(std::size_t processor, std::size_t window) override {
    runs_.at(processor).processor->publish_last(window - runs_[processor].absent);
  }
  [[nodiscard]] std::uint64_t missing_bit_times(std::size_t processor, std::size_t window) const override {
    return runs_.at(processor).processor->missing_bit_times(window - runs_[processor].absent);
  }
  [[nodiscard]] Products products(std::size_t processor, std::size_t window) override {
    return runs_.at(processor).processor->products(window - runs_[processor].absent);
  }
  [[nodiscard]] std::uint32_t flags(std::size_t processor, std::size_t window) const override;
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
  void forget_unbounded() override {
    require_idle("forget_unbounded()");
    for (std::size_t p = 0; p < runs_.size(); ++p) {
      if (header(p).memory_hops.value_or(kUnboundedMemory) == kUnboundedMemory) {
        runs_[p].processor->forget();
      }
    }
  }
  void forget() override {
    require_idle("forget()");
    forget_hops();
    for (const Run& run : runs_) {
      run.processor->forget();
    }
  }

 private:
  /// Windows of a tap enqueued together.
  struct Enqueued {
    std::uint32_t due = 0;             ///< bits (1 << processor) enqueued with them
    std::optional<std::size_t> taker;  ///< first of these that reads back the status
    std::size_t present = 0;           ///< number of windows
  };
  /// A tap's front end and its latest spectra on its device.
  struct Input {
    std::unique_ptr<FrontEnd> front_end;  ///< null for given spectra
    ComplexBuffer spectra;                ///< [window][frequency][channel], without the absent windows
    StatusBuffer status;                  ///< [window][kStatusWords], likewise
    /// [place of the results] status on the host, where no processor reads it back
    std::array<std::vector<std::uint32_t>, 2> words;
    bool is_fed = false;                   ///< true: its front end takes pushed input; else it cuts shared samples
    std::uint64_t begin = 0;               ///< pushed samples before this one are not for this tap
    Enqueued last = {};                    ///< windows that were enqueued or finished last
    bool is_under_way = false;             ///< true until the host has waited for them
    std::vector<WindowStatus> statuses{};  ///< [window], without the absent ones
  };
  /// Decimated samples of a device, for its taps and processors that work on them.
  struct Samples {
    std::shared_ptr<DecimatedSamples> decimated;  ///< null where nothing uses them
    bool is_late = true;
    std::uint64_t begin = 0;  ///< pushed samples before this one are not needed
  };
  struct Run {
    std::unique_ptr<Processor> processor;
    std::uint64_t sample_window = 0;     ///< decimated samples per window that it works on; 0: none
    std::vector<WindowStatus> statuses;  ///< [window] of those it was last enqueued on, without the absent
    std::size_t absent = 0;              ///< number of leading windows that its tap lacks
  };
  /// Late work on a device. A device without prompt work is "apart": it has its own copy of the bits and its own pace,
  /// and no frame waits for it.
  struct Late {
    std::optional<PacedStaging> staging;  ///< only for a device apart
    std::uint32_t begun = 0;              ///< bits (1 << processor) whose products are under way
    std::optional<ocl::Marker> ended;     ///< marker behind their commands
  };
  /// A batch in flight: the state that finish_windows() needs after another one has been begun behind it.
  struct Begun {
    ocl::Marker ended;
    std::size_t place = 0;  ///< index of its results on the host
    std::size_t windows = 0;
    Marks marks;
    std::vector<Enqueued> inputs = {};     ///< [tap]
    std::vector<std::size_t> absent = {};  ///< [processor], as in Run
  };
  /// Bits not yet fed to late taps; they lie in the staging memory.
  struct Pushed {
    std::uint64_t first_sample = 0;
    std::span<const std::uint32_t> wire;
  };
  void make_samples();
  void make_inputs();
  void make_apart();
  void allocate(Input& input, const Tap& tap);
  [[nodiscard]] std::size_t words_per_sample() const;
  /// Wire words of the longest push: a batch's windows, at most two of them, and the history.
  [[nodiscard]] std::size_t staged_words() const;
  /// Allocates the staging memory; any bits in an earlier one must have been fetched.
  void stage(std::size_t wire_words);
  void require_batch(std::size_t windows) const;
  [[nodiscard]] const ocl::Device& device_of(std::size_t tap) const { return devices_[taps()[tap].device]; }
  [[nodiscard]] std::string device_name_of(std::size_t device) const override;
  /// Bits (1 << processor) of the processors with this tap.
  [[nodiscard]] std::uint32_t processors_of(std::size_t tap) const;
  [[nodiscard]] std::uint32_t processors_on(std::size_t device) const;
  [[nodiscard]] bool is_apart(std::size_t device) const { return late_[device].staging.has_value(); }
  /// Takes the statuses of finished work on a device.
  void take_from(std::size_t device);
  /// Feeds the late taps and samples, or the prompt ones.
  void feed(bool late_ones, std::uint64_t first_sample, std::span<const std::uint32_t> wire);
  /// feed() for one device.
  void feed_device(std::size_t device, bool late_ones, std::uint64_t first_sample, std::span<const std::uint32_t> wire);
  /// Passes a processor the location of its samples for the windows that its tap has.
  void show_samples(std::size_t processor, std::size_t windows);
  void feed_late_taps();
  /// Enqueues the spectra of the windows from first_sample_ on, then the processors in `due` on them.
  void enqueue_tap(std::size_t tap, std::uint32_t due);
  /// Enqueues all prompt work, on all devices.
  void enqueue_prompt();
  /// Statuses of the run's windows, after the host has waited.
  std::span<const WindowStatus> statuses_of_run();
  /// Waits for the work of enqueue_prompt(), where it is the only batch.
  std::span<const WindowStatus> finish_prompt();
  [[nodiscard]] bool takes_turns() const { return batches_in_flight() > 1; }
  void use_results(std::size_t place);
  void keep_begun();
  void take_begun();
  /// Waits for all devices that are not apart, then takes the statuses of their work.
  void wait();
  void take_statuses(std::size_t tap);
  [[nodiscard]] int non_finite_microphones(std::size_t processor, std::size_t window) const override;
  [[nodiscard]] bool is_late_tap(std::size_t tap) const { return taps()[tap].every_hops > 1; }

  std::vector<ocl::Device> devices_;  ///< [0] is the run's
  std::vector<Samples> samples_;      ///< [device]
  std::vector<Late> late_;            ///< [device]
  std::vector<Input> inputs_;         ///< [tap]
  std::vector<Run> runs_;             ///< [processor]
  std::optional<BitStaging> staging_;
  std::vector<Pushed> pushed_;
  std::deque<Begun> begun_;  ///< used with two batches in flight
  std::size_t place_ = 0;    ///< index of the results on the host that were begun or finished last
  std::size_t begun_place_ = 0;
  std::uint64_t first_sample_ = 0;  ///< start of the windows computed last
  std::size_t windows_ = 0;         ///< number of these
  bool has_late_taps_ = false;
  bool is_computed_ = false;  ///< true: nothing has been pushed since
};

/// Flags of one processor's products that do not apply to other processors.
constexpr std::uint32_t kProcessorFlags = kFlagExtrapolationFellBack | kFlagMemoryNotFull;

OpenclEngine::OpenclEngine(Devices devices, const EnginePlan& plan)
    : Engine(plan, std::move(devices.of_processors)), devices_(std::move(devices.all)), inputs_(taps().size()) {
  make_samples();
  make_inputs();
  const auto batch = static_cast<std::size_t>(plan.settings.device.batch);
  std::vector<Wanted> all_wanted = wanted_processors();
  allow_in_flight(possible_in_flight(all_wanted));
  for (Wanted& wanted : all_wanted) {
    wanted.plan.batches_in_flight = static_cast<int>(batches_in_flight());
    std::unique_ptr<Processor> made = processor_entry(wanted.kind).make(devices_[wanted.device], wanted.plan);
    add_results(made->header(), wanted, made->subset(), dynamic_cast<const ImagesOnHost*>(made.get()));
    runs_.push_back({.processor = std::move(made),
                     .sample_window = static_cast<std::uint64_t>(wanted.needs.sample_window),
                     .statuses = std::vector<WindowStatus>(batch)});
  }
  for (std::size_t t = 0; t < inputs_.size(); ++t) {
    allocate(inputs_[t], taps()[t]);
  }
  if (plan.input == InputForm::kBits) {
    const bool comes_in_pieces = plan.settings.device.batch == 1 && !has_late_taps_ && !takes_turns();
    stage(comes_in_pieces ? static_cast<std::size_t>(piece_samples()) * words_per_sample() : staged_words());
  }
  make_apart();
}

void OpenclEngine::make_samples() {
  samples_.resize(devices_.size());
  for (std::size_t d = 0; d < devices_.size(); ++d) {
    if (const std::optional<SampleTap> tap = sample_tap(d)) {
      validate(tap->plan);
      samples_[d].decimated = std::make_shared<DecimatedSamples>(devices_[d], tap->plan, tap->longest_window);
      samples_[d].is_late = tap->is_late;
    }
  }
}

void OpenclEngine::make_inputs() {
  for (std::size_t t = 0; t < inputs_.size(); ++t) {
    has_late_taps_ |= is_late_tap(t);
    if (plan().input == InputForm::kSpectra) {
      set_frequencies(taps()[t], plan().spectra_hz);
      continue;
    }
    if (taps()[t].has_front_end) {
      inputs_[t].front_end = make_front_end_of(taps()[t], [&](FrontEndPlan of_tap) {
        of_tap.samples = samples_[taps()[t].device].decimated;
        return make_front_end(device_of(t), of_tap);
      });
      taps()[t].name = inputs_[t].front_end->description();
      inputs_[t].is_fed = !front_end_entry(taps()[t].plan.settings.kind).cuts_samples;
    }
    finish(taps()[t]);
  }
}

/// Limit of how far a device apart may lag before the run waits for it; else the bits of its longest cadence.
constexpr std::size_t kMostPacedWords = std::size_t{8} << 20U;

void OpenclEngine::make_apart() {
  late_.resize(devices_.size());
  if (plan().input != InputForm::kBits) {
    return;
  }
  for (std::size_t d = 1; d < devices_.size(); ++d) {
    bool is_prompt = samples_[d].decimated && !samples_[d].is_late;
    for (std::size_t t = 0; t < inputs_.size(); ++t) {
      is_prompt |= taps()[t].device == d && !is_late_tap(t);
    }
    std::size_t hops = 0;
    for (std::size_t p = 0; p < runs_.size(); ++p) {
      if (taps()[tap_of(p)].device == d) {
        hops = std::max(hops, static_cast<std::size_t>(every_hops(p)));
      }
    }
    if (!is_prompt && hops > 0) {
      const auto hop = static_cast<std::size_t>(plan().settings.front_end.hop_samples);
      const std::size_t paced_words = std::min((hops + 2) * hop * words_per_sample(), kMostPacedWords);
      late_[d].staging.emplace(devices_[d], std::max(staged_words(), paced_words), "pipeline/staging");
    }
  }
}

void OpenclEngine::allocate(Input& input, const Tap& tap) {
  const ocl::Device& device = devices_[tap.device];
  const auto batch = static_cast<std::size_t>(plan().settings.device.batch);
  const std::size_t values = tap.array.frequencies_hz.size() * static_cast<std::size_t>(tap.array.geometry.channels());
  input.spectra = device.allocate<std::complex<float>>(batch * values, "pipeline/spectra");
  input.status = device.allocate<std::uint32_t>(batch * kStatusWords, "pipeline/status");
  input.words.fill(std::vector<std::uint32_t>(batch * kStatusWords));
  input.statuses.resize(batch);
  device.enqueue_fill(input.status, std::uint32_t{0}, "pipeline/status");
  // Initialise the unused part too: clFFT plans always process a whole batch.
  if (values > 0) {
    device.enqueue_fill(input.spectra, std::complex<float>(), "pipeline/spectra");
  }
}

/// Waits: work enqueued before an exception may still be running.
OpenclEngine::~OpenclEngine() {
  for (const ocl::Device& device : devices_) {
    try {
      device.wait();
    } catch (const DeviceError&) {  // nothing runs any more
    }
  }
}

void OpenclEngine::seek(std::uint64_t first_window, std::uint64_t origin) {
  feed_late_taps();
  const std::vector<std::uint64_t> begins = begin_taps(first_window, origin);
  for (std::size_t t = 0; t < inputs_.size(); ++t) {
    inputs_[t].begin = begins[t];
  }
  for (std::size_t d = 0; d < samples_.size(); ++d) {
    samples_[d].begin = std::numeric_limits<std::uint64_t>::max();
    for (std::size_t t = 0; t < inputs_.size(); ++t) {
      if (taps()[t].device == d && taps()[t].wants_samples) {
        samples_[d].begin = std::min(samples_[d].begin, begins[t]);
      }
    }
  }
}

void OpenclEngine::stage(std::size_t wire_words) {
  staging_ = BitStaging(devices_.front(), wire_words, has_late_taps_ || takes_turns());
}

std::span<std::uint32_t> OpenclEngine::room_for_bits(std::size_t wire_words) {
  require_room_in_flight("room_for_bits()");
  if (!staging_->has_room(wire_words)) {
    feed_late_taps();
    wait();
    staging_->clear();
    if (!staging_->has_room(wire_words) && wire_words <= staged_words()) {
      stage(staged_words());
    }
  }
  const std::span<std::uint32_t> room = staging_->room(wire_words);
  if (room.size() < wire_words) {
    throw Error(ExitCode::kInternal,
                fmt::format("engine: expected at most {} wire words at a time, found {}", staged_words(), wire_words));
  }
  return room;
}

void OpenclEngine::feed(bool late_ones, std::uint64_t first_sample, std::span<const std::uint32_t> wire) {
  for (std::size_t d = 0; d < devices_.size(); ++d) {
    if (!is_apart(d)) {
      feed_device(d, late_ones, first_sample, wire);
    } else if (late_ones) {
      feed_device(d, late_ones, first_sample, late_[d].staging->keep(wire));
    }
  }
}

void OpenclEngine::feed_device(std::size_t device, bool late_ones, std::uint64_t first_sample,
                               std::span<const std::uint32_t> wire) {
  const Samples& samples = samples_[device];
  if (samples.decimated && samples.is_late == late_ones) {
    const Piece<std::uint32_t> piece = piece_from(samples.begin, first_sample, wire, words_per_sample());
    samples.decimated->enqueue_bits(piece.first, piece.values);
  }
  for (std::size_t t = 0; t < inputs_.size(); ++t) {
    if (taps()[t].device == device && inputs_[t].is_fed && is_late_tap(t) == late_ones) {
      const Piece<std::uint32_t> piece = piece_from(inputs_[t].begin, first_sample, wire, words_per_sample());
      if (!piece.values.empty()) {
        inputs_[t].front_end->enqueue_bits(piece.first, piece.values);
      }
    }
  }
}

void OpenclEngine::push_bits(std::uint64_t first_sample, std::span<const std::uint32_t> wire) {
  require_room_in_flight("push_bits()");
  if (is_computed_) {
    feed_late_taps();
    is_computed_ = false;
  }
  if (!staging_->holds(wire)) {
    const std::span<std::uint32_t> room = room_for_bits(wire.size());
    copy_words(wire, room, copying());
    wire = room;
  }
  staging_->use(wire.size());
  feed(false, first_sample, wire);
  if (has_late_taps_) {
    pushed_.push_back({.first_sample = first_sample, .wire = wire});
  }
}

void OpenclEngine::push_samples(std::uint64_t first_sample, std::span<const float> pushed) {
  require_room_in_flight("push_samples()");
  const std::span<const float> samples = in_channel_order(pushed);
  const auto channels = static_cast<std::size_t>(array_plan().geometry.channels());
  for (Samples& shared : samples_) {
    if (shared.decimated) {
      const Piece<float> piece = piece_from(shared.begin, first_sample, samples, channels);
      shared.decimated->enqueue_samples(piece.first, piece.values);
    }
  }
  for (Input& input : inputs_) {
    const Piece<float> piece = piece_from(input.begin, first_sample, samples, channels);
    if (input.is_fed && !piece.values.empty()) {
      input.front_end->enqueue_samples(piece.first, piece.values);
    }
  }
}

/// Called after the prompt frames are enqueued, to keep late taps off their critical path.
void OpenclEngine::feed_late_taps() {
  for (const Pushed& pushed : pushed_) {
    feed(true, pushed.first_sample, pushed.wire);
  }
  pushed_.clear();
}

void OpenclEngine::begin_windows(std::uint64_t first_sample, std::size_t windows) {
  require_room_in_flight("begin_windows()");
  require_batch(windows);
  if (is_computed_) {
    feed_late_taps();  // staging keeps their bits for one more frame only
  }
  first_sample_ = first_sample;
  windows_ = windows;
  begin_hops(first_sample / static_cast<std::uint64_t>(plan().settings.front_end.hop_samples), windows);
  count_absent(first_sample, windows);
  if (takes_turns()) {
    use_results(1 - begun_place_);
  }
  enqueue_prompt();
  if (takes_turns()) {
    begun_place_ = place_;
    keep_begun();
  }
  turn_ordered();
  count_begun();
}

std::span<const WindowStatus> OpenclEngine::finish_windows() {
  count_finished();
  if (takes_turns()) {
    take_begun();
    return statuses_of_run();
  }
  const std::span<const WindowStatus> statuses = finish_prompt();
  if (staging_) {
    staging_->turn();
  }
  return statuses;
}

void OpenclEngine::use_results(std::size_t place) {
  place_ = place;
  for (const Run& run : runs_) {
    run.processor->use_results(place);
  }
}

/// A batch's half of the staging memory is free once that batch is finished.
void OpenclEngine::keep_begun() {
  Begun begun{.ended = ocl::Marker(devices_.front()), .place = place_, .windows = windows_, .marks = marks()};
  for (Input& input : inputs_) {
    input.is_under_way = false;
    begun.inputs.push_back(input.last);
  }
  std::transform(runs_.begin(), runs_.end(), std::back_inserter(begun.absent),
                 [](const Run& run) { return run.absent; });
  begun_.push_back(std::move(begun));
  if (staging_) {
    staging_->turn();
  }
}

void OpenclEngine::take_begun() {
  Begun begun = std::move(begun_.front());
  begun_.pop_front();
  begun.ended.wait();
  is_computed_ = true;
  windows_ = begun.windows;
  restore(std::move(begun.marks));
  use_results(begun.place);
  for (std::size_t p = 0; p < runs_.size(); ++p) {
    runs_[p].absent = begun.absent[p];
  }
  for (std::size_t t = 0; t < inputs_.size(); ++t) {
    inputs_[t].last = begun.inputs[t];
    if (inputs_[t].last.present > 0) {
      take_statuses(t);
    }
  }
}

std::span<const WindowStatus> OpenclEngine::compute_spectra(std::span<const std::complex<float>> spectra) {
  require_idle("compute_spectra()");
  windows_ = spectra.size() / spectra_values();
  require_batch(windows_);
  begin_hops(next_hop(), windows_);
  for (std::size_t t = 0; t < inputs_.size(); ++t) {
    device_of(t).enqueue_write(inputs_[t].spectra, 0, spectra, "pipeline/spectra");
  }
  enqueue_prompt();
  return finish_prompt();
}

/// Enqueues on the other devices first, so that they work while the run's device gets its commands.
void OpenclEngine::enqueue_prompt() {
  const std::uint32_t prompt = ~late();
  for (std::size_t t = inputs_.size(); t-- > 0;) {
    if (!is_late_tap(t)) {
      enqueue_tap(t, prompt & processors_of(t));
    }
    if (taps()[t].device != 0) {
      device_of(t).flush();
    }
  }
}

std::span<const WindowStatus> OpenclEngine::finish_prompt() {
  wait();
  is_computed_ = true;
  return statuses_of_run();
}

std::span<const WindowStatus> OpenclEngine::statuses_of_run() {
  const std::span<WindowStatus> statuses = std::span(inputs_.front().statuses).first(windows_);
  for (std::size_t i = 0; i < windows_ && !runs_.empty(); ++i) {
    statuses[i].flags |= memory_flag(0, i);
  }
  return statuses;
}

void OpenclEngine::begin_late(std::uint32_t due) {
  require_idle("begin_late()");
  feed_late_taps();
  due &= late();
  for (std::size_t t = 0; t < inputs_.size(); ++t) {
    const std::uint32_t due_here = due & processors_of(t);
    Input& input = inputs_[t];
    if (is_late_tap(t)) {
      if (due_here != 0) {
        enqueue_tap(t, due_here);
      }
      continue;
    }
    for (std::size_t p = 0; p < runs_.size(); ++p) {
      if ((due_here >> p & 1U) != 0 && input.last.present > 0) {
        std::copy(input.statuses.begin(), input.statuses.end(), runs_[p].statuses.begin());
        runs_[p].absent = taps()[t].absent;
        show_samples(p, input.last.present);
        note_memory(p);
        runs_[p].processor->set_hops(hops_without(runs_[p].absent));
        runs_[p].processor->enqueue(input.spectra, input.status, input.last.present);
      }
    }
  }
  for (std::size_t d = 0; d < devices_.size(); ++d) {
    if (const std::uint32_t here = due & processors_on(d); here != 0) {
      late_[d].begun = here;
      late_[d].ended.emplace(devices_[d]);
    }
  }
  if (due != 0 || has_late_taps_) {
    for (const ocl::Device& device : devices_) {
      device.flush();  // a driver may hold back commands until someone waits
    }
  }
}

std::uint32_t OpenclEngine::under_way() {
  std::uint32_t found = 0;
  for (std::size_t d = 0; d < devices_.size(); ++d) {
    if (late_[d].begun == 0) {
      continue;
    }
    if (late_[d].ended->is_reached()) {
      take_from(d);
    } else {
      found |= processors_on(d);
    }
  }
  return found;
}

void OpenclEngine::take_from(std::size_t device) {
  late_[device].begun = 0;
  late_[device].ended.reset();
  for (std::size_t t = 0; t < inputs_.size(); ++t) {
    if (taps()[t].device == device && std::exchange(inputs_[t].is_under_way, false)) {
      take_statuses(t);
    }
  }
}

std::uint32_t OpenclEngine::processors_on(std::size_t device) const {
  std::uint32_t found = 0;
  for (std::size_t p = 0; p < runs_.size(); ++p) {
    found |= taps()[tap_of(p)].device == device ? 1U << p : 0U;
  }
  return found;
}

std::uint32_t OpenclEngine::processors_of(std::size_t tap) const {
  std::uint32_t processors_of_tap = 0;
  for (std::size_t p = 0; p < runs_.size(); ++p) {
    processors_of_tap |= tap_of(p) == tap ? 1U << p : 0U;
  }
  return processors_of_tap;
}

void OpenclEngine::enqueue_tap(std::size_t tap, std::uint32_t due) {
  Input& input = inputs_[tap];
  const std::size_t absent = std::min(taps()[tap].absent, windows_);
  const std::size_t present = windows_ - absent;
  input.last = {.due = due, .taker = std::nullopt, .present = present};
  input.is_under_way = present > 0;
  if (present == 0) {
    return;
  }
  if (input.front_end) {
    const auto hop = static_cast<std::uint64_t>(plan().settings.front_end.hop_samples);
    input.front_end->enqueue_batch(taps()[tap].first(first_sample_ + absent * hop), present, input.spectra,
                                   input.status);
  }
  for (std::size_t p = 0; p < runs_.size(); ++p) {
    if ((due >> p & 1U) != 0) {
      runs_[p].absent = absent;
      show_samples(p, present);
      note_memory(p);
      runs_[p].processor->set_hops(hops_without(absent));
      runs_[p].processor->enqueue(input.spectra, input.status, present);
      const Processor& processor = *runs_[p].processor;
      if (!input.last.taker && processor.subset().empty() && !processor.host_status().empty()) {
        input.last.taker = p;
      }
    }
  }
  if (!input.last.taker) {
    device_of(tap).enqueue_read(input.status, std::span(input.words.at(place_)), "pipeline/status");
    device_of(tap).enqueue_fill(input.status, std::uint32_t{0}, "pipeline/status");
  }
}

void OpenclEngine::show_samples(std::size_t processor, std::size_t windows) {
  const Run& run = runs_[processor];
  if (run.sample_window == 0) {
    return;
  }
  const Tap& tap = taps()[tap_of(processor)];
  const auto hop = static_cast<std::uint64_t>(plan().settings.front_end.hop_samples);
  const std::uint64_t end =
      tap.first(first_sample_ + run.absent * hop) + static_cast<std::uint64_t>(tap.window_samples);
  const std::uint64_t first = end - run.sample_window;
  const DecimatedSamples& samples = *samples_[tap.device].decimated;
  const std::uint32_t slot = samples.window_slot(first, run.sample_window + (windows - 1) * hop, "pipeline/samples");
  run.processor->use_samples({.samples = &samples.ring().samples(),
                              .slots = samples.ring().span().slots(),
                              .first_slot = slot,
                              .first_sample = first});
}

void OpenclEngine::wait() {
  for (std::size_t d = 0; d < devices_.size(); ++d) {
    if (!is_apart(d)) {
      devices_[d].wait();
      take_from(d);
    }
  }
}

void OpenclEngine::take_statuses(std::size_t tap) {
  Input& input = inputs_[tap];
  const std::span<const std::uint32_t> words =
      input.last.taker ? runs_[*input.last.taker].processor->host_status() : input.words.at(place_);
  // On the run's tap the first processor sets this flag in the status.
  const bool is_copy_of_runs = tap != 0 && taps()[tap].owner.empty();
  const std::uint32_t constant =
      taps()[tap].constant_flags | (is_copy_of_runs && has_masked_microphones(tap) ? kFlagMaskedMicrophones : 0U);
  for (std::size_t i = 0; i < input.last.present; ++i) {
    const std::span<const std::uint32_t> status = words.subspan(i * kStatusWords, kStatusWords);
    input.statuses[i] = {.flags = status[0] | constant, .non_finite_microphones = static_cast<int>(status[1])};
  }
  for (std::size_t p = 0; p < runs_.size(); ++p) {
    if ((input.last.due >> p & 1U) != 0) {
      std::copy(input.statuses.begin(), input.statuses.end(), runs_[p].statuses.begin());
    }
  }
}

void OpenclEngine::finish_late() {
  for (std::size_t d = 0; d < devices_.size(); ++d) {
    if (late_[d].begun != 0) {
      late_[d].ended->wait();
      take_from(d);
    }
  }
}

std::uint32_t OpenclEngine::flags(std::size_t processor, std::size_t window) const {
  const Run& run = runs_.at(processor);
  const std::size_t present = window - run.absent;
  const std::span<const std::uint32_t> own = run.processor->host_status();
  const std::uint32_t not_of_tap =
      kProcessorFlags | (run.processor->subset().empty() ? 0U : std::uint32_t{kFlagWavenumberAboveNyquist});
  return (run.statuses.at(present).flags & ~not_of_tap) | (own.empty() ? 0U : own[present * kStatusWords]) |
         memory_flag(processor, window) | information_flag(processor, window);
}

int OpenclEngine::non_finite_microphones(std::size_t processor, std::size_t window) const {
  const Run& run = runs_.at(processor);
  const std::size_t present = window - run.absent;
  const std::span<const std::uint32_t> status = run.processor->host_status();
  const int own = status.empty() ? 0 : static_cast<int>(status[present * kStatusWords + 1]);
  const bool counts_its_own = !status.empty() && !run.processor->subset().empty();  // the tap counts others, too
  return counts_its_own ? own : std::max(own, run.statuses.at(present).non_finite_microphones);
}

std::string OpenclEngine::device_name_of(std::size_t device) const {
  const ocl::DeviceInfo& info = devices_.at(device).info();
  const ocl::DeviceInfo& first = devices_.front().info();
  const bool is_twin = device != 0 && info.name == first.name && info.platform == first.platform;
  const std::string number = is_twin ? fmt::format(", number {}", info.number) : "";
  return fmt::format("{} ({}, driver {}{})", info.name, info.platform, info.driver, number);
}

void OpenclEngine::read_spectra(std::size_t window, std::span<std::complex<float>> spectra) const {
  require_idle("read_spectra()");
  devices_.front().enqueue_read_from(inputs_.front().spectra, window * spectra.size(), spectra, "pipeline/spectra");
  devices_.front().wait();
}

void OpenclEngine::use(const Masks& masks) {
  require_idle("use()");
  for (std::size_t p = 0; p < runs_.size(); ++p) {
    runs_[p].processor->use(masks.at(tap_of(p)));
  }
  set_masks(masks);
}

void OpenclEngine::adopt(const std::shared_ptr<const Findings>& findings) {
  require_idle("adopt()");
  if (runs_.empty()) {
    throw Error(ExitCode::kInternal, "engine: expected a processor to adopt findings, found none");
  }
  runs_.front().processor->adopt(findings);
}

void OpenclEngine::image_again() {
  require_idle("image_again()");
  if (!runs_.empty()) {
    note_memory(0);
    runs_.front().processor->set_hops(hops_without(0));
    runs_.front().processor->enqueue(inputs_.front().spectra, inputs_.front().status, windows_);
    devices_.front().wait();
  }
}

std::size_t OpenclEngine::words_per_sample() const {
  const ArraySettings& array = plan().settings.array;
  return static_cast<std::size_t>(kBitsPerWord * words_per_bit_time(array.layout, array.geometry));
}

std::size_t OpenclEngine::staged_words() const {
  const Settings& settings = plan().settings;
  const auto window = static_cast<std::size_t>(settings.front_end.window_samples);
  return ((settings.device.batch > 1 ? 2 : 1) * window + history_samples()) * words_per_sample();
}

void OpenclEngine::require_batch(std::size_t windows) const {
  const auto batch = static_cast<std::size_t>(plan().settings.device.batch);
  if (windows < 1 || windows > batch) {
    throw Error(ExitCode::kInternal,
                fmt::format("engine: expected 1 to {} windows at a time, found {}", batch, windows));
  }
}

}  // namespace

std::unique_ptr<Engine> make_opencl_engine(Devices devices, const EnginePlan& plan) {
  return std::make_unique<OpenclEngine>(std::move(devices), plan);
}

}  // namespace nearfield
