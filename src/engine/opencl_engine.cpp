#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <deque>
#include <optional>
#include <utility>

#include "cl/device.hpp"
#include "cl/memory.hpp"
#include "core/error.hpp"
#include "engine/engine_parts.hpp"
#include "engine/staging.hpp"
#include "frontend/samples/decimated_samples.hpp"

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
  [[nodiscard]] bool is_under_way(std::size_t processor) override;
  void finish_late() override;
  [[nodiscard]] std::string description(std::size_t processor) const override {
    return runs_.at(processor)->description();
  }

 private:
  /// A tap's front end and its latest spectra on its device.
  struct Input {
    std::unique_ptr<FrontEnd> front_end;  ///< null for given spectra
    ComplexBuffer spectra;                ///< [window][frequency][channel], without the absent windows
    StatusBuffer status;                  ///< [window][kStatusWords], likewise
    /// [place of the results] status on the host, where no processor reads it back
    std::array<std::vector<std::uint32_t>, 2> words;
    bool is_fed = false;  ///< true: its front end takes pushed input; else it cuts shared samples
  };
  /// Decimated samples of a device, for its taps and processors that work on them.
  struct Samples {
    std::shared_ptr<DecimatedSamples> decimated;  ///< null where nothing uses them
    bool is_late = true;
  };
  /// Late work on a device. A device without prompt work is "apart": it has its own copy of the bits and its own pace,
  /// and no frame waits for it.
  struct Late {
    std::optional<PacedStaging> staging;  ///< only for a device apart
    std::shared_ptr<BatchState> batch{};  ///< the batch under way there; null: none
    std::optional<ocl::Marker> ended;     ///< marker behind its commands
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
  /// Wire words of the longest push: a batch's windows, at most two of them, and the history.
  [[nodiscard]] std::size_t staged_words() const;
  /// Allocates the staging memory; any bits in an earlier one must have been fetched.
  void stage(std::size_t wire_words);
  [[nodiscard]] const ocl::Device& device_of(std::size_t tap) const { return devices_[taps()[tap].device]; }
  [[nodiscard]] std::string device_name_of(std::size_t device) const override;
  [[nodiscard]] bool is_apart(std::size_t device) const { return late_[device].staging.has_value(); }
  /// Takes the statuses of the late batch on a device, which has ended.
  void take_late(std::size_t device);
  /// Feeds the late taps and samples, or the prompt ones.
  void feed(bool late_ones, std::uint64_t first_sample, std::span<const std::uint32_t> wire);
  /// feed() for one device.
  void feed_device(std::size_t device, bool late_ones, std::uint64_t first_sample, std::span<const std::uint32_t> wire);
  void feed_late_taps();
  void staging_turn();
  void enqueue(BatchState& batch) override;
  void enqueue(BatchState& batch, std::span<const std::complex<float>> spectra) override;
  void wait_for(BatchState& batch) override;
  void enqueue_late(const std::shared_ptr<BatchState>& late, std::span<const std::size_t> processors) override;
  void run_again(BatchState& batch, std::size_t processor) override;
  void copy_spectra(std::size_t window, std::span<std::complex<float>> spectra) const override;
  [[nodiscard]] std::uint32_t flags(const BatchState& batch, std::size_t processor, std::size_t present) const override;
  [[nodiscard]] int non_finite_microphones(const BatchState& batch, std::size_t processor,
                                           std::size_t present) const override;
  /// Enqueues all prompt work of a batch, on all devices.
  void enqueue_prompt(BatchState& batch);
  /// Enqueues the spectra of a batch's windows on a tap, then its processors for which `is_due` is true.
  template <typename IsDue>
  void enqueue_tap(BatchState& batch, std::size_t tap, const IsDue& is_due);
  void enqueue_processor(BatchState& batch, std::size_t processor);
  /// Location of a processor's samples for the windows that its tap has.
  [[nodiscard]] SampleView samples_of(const BatchState& batch, std::size_t processor) const;
  void take_statuses(BatchState& batch, std::size_t tap);
  [[nodiscard]] bool takes_turns() const { return batches_in_flight() > 1; }
  /// Waits for all devices that are not apart, which ends their late work.
  void wait();
  [[nodiscard]] bool is_late_tap(std::size_t tap) const { return taps()[tap].every_hops > 1; }

  std::vector<ocl::Device> devices_;              ///< [0] is the run's
  std::vector<Samples> samples_;                  ///< [device]
  std::vector<Late> late_;                        ///< [device]
  std::vector<Input> inputs_;                     ///< [tap]
  std::vector<std::unique_ptr<Processor>> runs_;  ///< [processor]
  std::optional<BitStaging> staging_;
  std::vector<Pushed> pushed_;
  std::deque<ocl::Marker> ended_;  ///< behind each batch in flight, where two may be
  bool has_late_taps_ = false;
  bool is_computed_ = false;  ///< true: nothing has been pushed since
};

/// Flags of one processor's products that do not apply to other processors.
constexpr std::uint32_t kProcessorFlags =
    kFlagExtrapolationFellBack | kFlagMemoryNotFull | kFlagSearchPending | kFlagEitherSide;

OpenclEngine::OpenclEngine(Devices devices, const EnginePlan& plan)
    : Engine(plan, std::move(devices.of_processors)), devices_(std::move(devices.all)), inputs_(taps().size()) {
  make_samples();
  make_inputs();
  std::vector<Wanted> all_wanted = wanted_processors();
  allow_in_flight(possible_in_flight(all_wanted));
  for (Wanted& wanted : all_wanted) {
    wanted.plan.batches_in_flight = static_cast<int>(batches_in_flight());
    std::unique_ptr<Processor> made = processor_entry(wanted.kind).make(devices_[wanted.device], wanted.plan);
    add_results(wanted, *made);
    runs_.push_back(std::move(made));
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
    inputs_[t].front_end = make_front_end_of(taps()[t], [&](FrontEndPlan of_tap) {
      of_tap.samples = samples_[taps()[t].device].decimated;
      return make_front_end(device_of(t), of_tap);
    });
    if (inputs_[t].front_end) {
      taps()[t].name = inputs_[t].front_end->description();
      inputs_[t].is_fed = !front_end_entry(taps()[t].plan.settings.kind).cuts_samples;
    }
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
  Engine::seek(first_window, origin);
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
    const Piece<std::uint32_t> piece = piece_from(samples_begin(device), first_sample, wire, words_per_sample());
    samples.decimated->enqueue_bits(piece.first, piece.values);
  }
  for (std::size_t t = 0; t < inputs_.size(); ++t) {
    if (taps()[t].device == device && inputs_[t].is_fed && is_late_tap(t) == late_ones) {
      const Piece<std::uint32_t> piece = piece_from(taps()[t].begin, first_sample, wire, words_per_sample());
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
  for (std::size_t d = 0; d < samples_.size(); ++d) {
    if (samples_[d].decimated) {
      const Piece<float> piece = piece_from(samples_begin(d), first_sample, samples, channels);
      samples_[d].decimated->enqueue_samples(piece.first, piece.values);
    }
  }
  for (std::size_t t = 0; t < inputs_.size(); ++t) {
    const Piece<float> piece = piece_from(taps()[t].begin, first_sample, samples, channels);
    if (inputs_[t].is_fed && !piece.values.empty()) {
      inputs_[t].front_end->enqueue_samples(piece.first, piece.values);
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

void OpenclEngine::enqueue(BatchState& batch) {
  if (is_computed_) {
    feed_late_taps();  // staging keeps their bits for one more frame only
  }
  enqueue_prompt(batch);
  if (takes_turns()) {
    ended_.emplace_back(devices_.front());
    staging_turn();
  }
}

void OpenclEngine::enqueue(BatchState& batch, std::span<const std::complex<float>> spectra) {
  for (std::size_t t = 0; t < inputs_.size(); ++t) {
    device_of(t).enqueue_write(inputs_[t].spectra, 0, spectra, "pipeline/spectra");
  }
  enqueue_prompt(batch);
}

/// A batch's half of the staging memory is free once that batch is finished.
void OpenclEngine::staging_turn() {
  if (staging_) {
    staging_->turn();
  }
}

void OpenclEngine::wait_for(BatchState& batch) {
  if (takes_turns()) {
    const ocl::Marker ended = ended_.front();
    ended_.pop_front();
    ended.wait();
  } else {
    wait();
    staging_turn();
  }
  is_computed_ = true;
  for (std::size_t t = 0; t < inputs_.size(); ++t) {
    if (batch.taps[t].is_enqueued) {
      take_statuses(batch, t);
    }
  }
}

/// Enqueues on the other devices first, so that they work while the run's device gets its commands.
void OpenclEngine::enqueue_prompt(BatchState& batch) {
  for (std::size_t t = inputs_.size(); t-- > 0;) {
    if (!is_late_tap(t)) {
      enqueue_tap(batch, t, [&](std::size_t p) { return !is_late(p); });
    }
    if (taps()[t].device != 0) {
      device_of(t).flush();
    }
  }
}

void OpenclEngine::enqueue_late(const std::shared_ptr<BatchState>& late, std::span<const std::size_t> processors) {
  feed_late_taps();
  BatchState& batch = *late;
  const auto is_due = [&](std::size_t p) {
    return std::find(processors.begin(), processors.end(), p) != processors.end();
  };
  for (std::size_t t = 0; t < inputs_.size(); ++t) {
    const bool has_due =
        std::any_of(processors.begin(), processors.end(), [&](std::size_t p) { return tap_of(p) == t; });
    if (has_due && is_late_tap(t)) {
      enqueue_tap(batch, t, is_due);
    }
    for (std::size_t p = 0; p < runs_.size() && !is_late_tap(t); ++p) {
      if (tap_of(p) == t && is_due(p) && batch.taps[t].present > 0) {
        enqueue_processor(batch, p);
      }
    }
  }
  for (std::size_t d = 0; d < devices_.size(); ++d) {
    if (std::any_of(processors.begin(), processors.end(),
                    [&](std::size_t p) { return taps()[tap_of(p)].device == d; })) {
      late_[d].batch = late;
      late_[d].ended.emplace(devices_[d]);
    }
  }
  if (!processors.empty() || has_late_taps_) {
    for (const ocl::Device& device : devices_) {
      device.flush();  // a driver may hold back commands until someone waits
    }
  }
}

bool OpenclEngine::is_under_way(std::size_t processor) {
  const std::size_t device = taps()[tap_of(processor)].device;
  if (late_[device].batch != nullptr && late_[device].ended->is_reached()) {
    take_late(device);
  }
  return late_[device].batch != nullptr;
}

void OpenclEngine::take_late(std::size_t device) {
  Late& late = late_[device];
  if (late.batch == nullptr) {
    return;
  }
  for (std::size_t t = 0; t < inputs_.size(); ++t) {
    if (taps()[t].device == device && is_late_tap(t) && late.batch->taps[t].is_enqueued) {
      take_statuses(*late.batch, t);
    }
  }
  late.batch.reset();
  late.ended.reset();
}

template <typename IsDue>
void OpenclEngine::enqueue_tap(BatchState& batch, std::size_t tap, const IsDue& is_due) {
  Input& input = inputs_[tap];
  BatchState::Tap& windows = batch.taps[tap];
  windows.is_enqueued = windows.present > 0;
  windows.taker.reset();
  if (windows.present == 0) {
    return;
  }
  if (input.front_end) {
    input.front_end->enqueue_batch(window_of(batch, tap, 0).first, windows.present, input.spectra, input.status);
  }
  for (std::size_t p = 0; p < runs_.size(); ++p) {
    if (tap_of(p) == tap && is_due(p)) {
      enqueue_processor(batch, p);
      const Processor& processor = *runs_[p];
      if (!windows.taker && !has_subset(p) && !processor.host_status(batch.place).empty()) {
        windows.taker = p;
      }
    }
  }
  if (!windows.taker) {
    device_of(tap).enqueue_read(input.status, std::span(input.words.at(batch.place)), "pipeline/status");
    device_of(tap).enqueue_fill(input.status, std::uint32_t{0}, "pipeline/status");
  }
}

void OpenclEngine::enqueue_processor(BatchState& batch, std::size_t processor) {
  const std::size_t tap = tap_of(processor);
  note_begun(batch, processor);
  runs_[processor]->enqueue({.spectra = inputs_[tap].spectra,
                             .status = inputs_[tap].status,
                             .windows = batch.taps[tap].present,
                             .hops = hops_without(batch, batch.taps[tap].absent),
                             .samples = samples_of(batch, processor),
                             .place = batch.place});
}

SampleView OpenclEngine::samples_of(const BatchState& batch, std::size_t processor) const {
  const std::uint64_t length = sample_window(processor);
  if (length == 0) {
    return {};
  }
  const std::size_t tap = tap_of(processor);
  const std::uint64_t first = window_of(batch, tap, 0).end - length;
  const std::uint64_t end = window_of(batch, tap, batch.taps[tap].present - 1).end;
  const DecimatedSamples& samples = *samples_[taps()[tap].device].decimated;
  const std::uint32_t slot = samples.window_slot(first, end - first, "pipeline/samples");
  return {.samples = &samples.ring().samples(),
          .slots = samples.ring().span().slots(),
          .first_slot = slot,
          .first_sample = first};
}

void OpenclEngine::wait() {
  for (std::size_t d = 0; d < devices_.size(); ++d) {
    if (!is_apart(d)) {
      devices_[d].wait();
      take_late(d);
    }
  }
}

void OpenclEngine::take_statuses(BatchState& batch, std::size_t tap) {
  BatchState::Tap& windows = batch.taps[tap];
  const std::span<const std::uint32_t> words = windows.taker
                                                   ? runs_[*windows.taker]->host_status(batch.place)
                                                   : std::span<const std::uint32_t>(inputs_[tap].words.at(batch.place));
  // On the run's tap processors set this flag in the status themselves.
  const bool is_copy_of_runs = tap != 0 && taps()[tap].owner.empty();
  const std::uint32_t constant =
      taps()[tap].constant_flags | (is_copy_of_runs && has_masked_microphones(tap) ? kFlagMaskedMicrophones : 0U);
  for (std::size_t i = 0; i < windows.present; ++i) {
    const std::span<const std::uint32_t> status = words.subspan(i * kStatusWords, kStatusWords);
    windows.statuses[i] = {.flags = status[0] | constant, .non_finite_microphones = static_cast<int>(status[1])};
  }
}

void OpenclEngine::finish_late() {
  for (std::size_t d = 0; d < devices_.size(); ++d) {
    if (late_[d].batch != nullptr) {
      late_[d].ended->wait();
      take_late(d);
    }
  }
}

std::uint32_t OpenclEngine::flags(const BatchState& batch, std::size_t processor, std::size_t present) const {
  const std::span<const std::uint32_t> own = runs_.at(processor)->host_status(batch.place);
  const std::uint32_t not_of_tap =
      kProcessorFlags | (has_subset(processor) ? std::uint32_t{kFlagWavenumberAboveNyquist} : 0U);
  return (batch.taps[tap_of(processor)].statuses.at(present).flags & ~not_of_tap) |
         (own.empty() ? 0U : own[present * kStatusWords]);
}

int OpenclEngine::non_finite_microphones(const BatchState& batch, std::size_t processor, std::size_t present) const {
  const std::span<const std::uint32_t> status = runs_.at(processor)->host_status(batch.place);
  const int own = status.empty() ? 0 : static_cast<int>(status[present * kStatusWords + 1]);
  const bool counts_its_own = !status.empty() && has_subset(processor);  // the tap counts others, too
  return counts_its_own ? own
                        : std::max(own, batch.taps[tap_of(processor)].statuses.at(present).non_finite_microphones);
}

std::string OpenclEngine::device_name_of(std::size_t device) const {
  const ocl::DeviceInfo& info = devices_.at(device).info();
  const ocl::DeviceInfo& first = devices_.front().info();
  const bool is_twin = device != 0 && info.name == first.name && info.platform == first.platform;
  const std::string number = is_twin ? fmt::format(", number {}", info.number) : "";
  return fmt::format("{} ({}, driver {}{})", info.name, info.platform, info.driver, number);
}

void OpenclEngine::copy_spectra(std::size_t window, std::span<std::complex<float>> spectra) const {
  devices_.front().enqueue_read_from(inputs_.front().spectra, window * spectra.size(), spectra, "pipeline/spectra");
  devices_.front().wait();
}

void OpenclEngine::run_again(BatchState& batch, std::size_t processor) {
  enqueue_processor(batch, processor);
  device_of(tap_of(processor)).wait();
}

std::size_t OpenclEngine::staged_words() const {
  const Settings& settings = plan().settings;
  const auto window = static_cast<std::size_t>(settings.front_end.window_samples);
  return ((settings.device.batch > 1 ? 2 : 1) * window + history_samples()) * words_per_sample();
}

}  // namespace

std::unique_ptr<Engine> make_opencl_engine(Devices devices, const EnginePlan& plan) {
  return std::make_unique<OpenclEngine>(std::move(devices), plan);
}

}  // namespace nearfield
