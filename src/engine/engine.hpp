#pragma once
#include <algorithm>
#include <array>
#include <complex>
#include <cstdint>
#include <list>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "cl/device.hpp"
#include "config/schema/processor_kinds.hpp"
#include "core/error.hpp"
#include "core/frame.hpp"
#include "core/microphones.hpp"
#include "core/settings.hpp"
#include "core/system/memory.hpp"
#include "engine/batch.hpp"
#include "engine/search_schedule.hpp"
#include "engine/stream_clock.hpp"
#include "frontend/front_end.hpp"
#include "frontend/samples/decimator.hpp"
#include "imaging/priors/make_mask.hpp"
#include "imaging/shared/array_plan.hpp"
#include "imaging/shared/search.hpp"
#include "processors/processor.hpp"

namespace nearfield {

/// True if so many microphones are not finite that the window is an error: more than a tenth (recordings and pushed
/// input).
constexpr bool too_many_are_not_finite(int non_finite, int channels) {
  constexpr int kShare = 10;
  return non_finite * kShare > channels;
}

enum class EngineKind {
  kOpencl,     ///< the device
  kReference,  ///< plain double precision on the host, stage by stage from the formulas
};

/// Kind of input that the front end takes.
enum class InputForm { kBits, kSamples, kSpectra };

struct EnginePlan {
  Settings settings;
  InputForm input = InputForm::kBits;
  double sample_rate_hz = 0.0;     ///< rate of decimated samples; of spectra 0 if it is not known
  std::vector<double> spectra_hz;  ///< frequencies of the spectra that begin_spectra() will get
  /// False: the engine only computes spectra, for read_spectra(). Then no flag reports microphones that are not finite,
  /// and of the holography settings only the standoff matters; a recording is opened with validated settings all the
  /// same.
  bool has_processor = true;
  /// Batches of windows that may be in flight at once: 1 or 2 (Engine::batches_in_flight()).
  std::size_t batches_in_flight = 1;
  std::shared_ptr<TrackIds> track_ids = nullptr;      ///< see ProcessorPlan
  std::shared_ptr<const ArrayFiles> files = nullptr;  ///< files that the settings name by path; null: none is read
};

/// [array plan], in the order of Engine::array_plans(), for the same microphones.
using Masks = std::vector<MicrophoneMask>;
/// May be called on any thread; takes milliseconds for many microphones.
Masks make_masks(const std::vector<ArrayPlan>& plans, const std::vector<int>& channels);

/// A window's products and what is known of them.
struct FrameProducts {
  Products products;  ///< valid until the next read() of this processor and until a later batch takes their memory
  std::uint32_t flags = 0;
  std::uint32_t valid_microphones = 0;  ///< used for them: neither masked nor not finite
  /// Largest share, over all frequencies, of the information in the window's images that is lost with the missing
  /// microphones (MissingInformation); 0 for a processor that makes no images.
  float missing_information = 0.0F;
  std::uint64_t missing_bit_times = 0;  ///< most of any window that they depend on, where stamped; 0: its own alone
};

/// From input to products: a front end and the processors of its spectra as one. Built once, then fed and asked window
/// by window.
///
/// Windows are computed in batches: begin() enqueues one, finish() waits for it, read() gives its frames. With two
/// batches in flight the device computes one while the host reads the products of the previous one and feeds the next.
/// Calls that change the computation or read spectra require that no batch is in flight.
///
/// Processors of every hop are prompt: begin() enqueues them all, on whichever device each is, and one wait covers all
/// their devices. Processors with a longer cadence are "late": begin_late() enqueues them behind a finished batch.
/// Their products are ready after the next finish(), whose wait covers them, or after finish_late(); where no prompt
/// processor works on their device, only finish_late() waits for them, and is_under_way() tells whether they are still
/// running.
class Engine {
 public:
  virtual ~Engine() = default;

  /// Samples before a window's first that must have been pushed for its products to be exact: history of the front
  /// ends, plus the lead of processors whose windows begin earlier.
  [[nodiscard]] std::uint64_t history_samples() const;
  /// Announces a gap: the next push does not follow on the last one, and the next window begins at `first_window`.
  /// Pushes begin history_samples() before it, or at `origin`, before which there is no data.
  virtual void seek(std::uint64_t first_window, std::uint64_t origin);
  /// Samples that live streams push at a time: an engine that computes window by window starts with page-locked memory
  /// for these alone. A larger push allocates what it needs; where the pushes before a window exceed the memory, a push
  /// waits until the device has fetched the earlier ones.
  [[nodiscard]] std::uint64_t piece_samples() const;
  /// Staging memory that push_bits() takes without a copy; valid until the next call of either, or until the next
  /// batch is begun.
  [[nodiscard]] virtual std::span<std::uint32_t> room_for_bits(std::size_t wire_words) = 0;
  /// Best way of writing there: 128 KiB that are modified in a CPU cache take a GPU 3 us longer to fetch
  /// (docs/results/performance.md). Data that is soon read again is better left in the caches.
  [[nodiscard]] Copying copying() const { return is_on_gpu() ? Copying::kPastCaches : Copying::kCached; }
  /// True if prompt frames come from a GPU.
  [[nodiscard]] virtual bool is_on_gpu() const { return false; }
  /// Bits [bit-time][word], whole groups of 32 bit-times; `first_sample` is the first group's index. A jump forward is
  /// allowed if the history of the next window is pushed again. One call takes at most the need of a batch of windows
  /// (two windows and the history); the memory must stay unchanged until the windows that begin next are finished.
  /// Throws Error where the maximum number of batches is in flight.
  virtual void push_bits(std::uint64_t first_sample, std::span<const std::uint32_t> wire) = 0;
  /// Decimated samples [sample][channel of the input], Pa; otherwise as push_bits().
  virtual void push_samples(std::uint64_t first_sample, std::span<const float> samples) = 0;
  /// Maximum number of batches in flight. It is one, whatever the plan asks for, for given spectra and for spectra
  /// alone, with a late processor or one on another device than the run's, and with one that does not take turns
  /// (ProcessorEntry).
  [[nodiscard]] std::size_t batches_in_flight() const { return batches_in_flight_; }
  /// Batches begun and not yet finished.
  [[nodiscard]] std::size_t in_flight() const { return in_flight_.size(); }
  /// Enqueues windows, at most the settings' batch, and their prompt products. Throws Error where the maximum number of
  /// batches is in flight, or the first window begins before the origin of the last seek().
  Batch begin(const WindowRange& range);
  /// begin() for given spectra, [window][frequency][row][column], Pa, which must stay until the batch is finished.
  Batch begin_spectra(std::span<const std::complex<float>> spectra, std::optional<std::uint64_t> first_hop = {});
  /// Waits for a batch, which must be the oldest in flight.
  FinishedBatch finish(const Batch& batch);
  /// begin() and finish(); nothing may be in flight.
  FinishedBatch compute(const WindowRange& range);
  FinishedBatch compute_spectra(std::span<const std::complex<float>> spectra,
                                std::optional<std::uint64_t> first_hop = {}) {
    return finish(begin_spectra(spectra, first_hop));
  }
  /// Enqueues late processors, none of which may be under way, on a batch behind which none was begun, without waiting
  /// for them. Call it for each batch of a stream with late processors, even if none is due: their front ends are fed
  /// then, behind the frames.
  void begin_late(const FinishedBatch& batch, std::span<const std::size_t> processors);
  /// True while the device of a late processor works on what begin_late() enqueued there.
  [[nodiscard]] virtual bool is_under_way(std::size_t processor) = 0;
  /// Waits for all that begin_late() enqueued.
  virtual void finish_late() = 0;
  /// begin_late() of those late processors that are due at any of the batch's hops, then finish_late().
  void compute_late(const FinishedBatch& batch);
  /// False while the processor's window would begin before the origin of the last seek().
  [[nodiscard]] bool has_products(const Batch& batch, std::size_t processor, std::size_t window) const {
    return window >= batch.state().taps[tap_of(processor)].absent;
  }
  /// A window's products, where has_products() is true and a late processor is no longer under way. `stamp`: of a
  /// window that becomes a frame; frames come in order. `is_last`: the last frame of a run. Throws Error where the
  /// products' memory holds another batch.
  FrameProducts read(const Batch& batch, std::size_t processor, std::size_t window,
                     const std::optional<FrameStamp>& stamp = {}, bool is_last = false);
  /// Measured spectra of one of the windows of the batch begun last, [frequency][row][column], Pa, neither calibrated
  /// nor interpolated. Waits for the device; meant for occasional use.
  void read_spectra(const FinishedBatch& batch, std::size_t window, std::span<std::complex<float>> spectra) const;
  /// Computes a prompt processor's products of the batch begun last again, after a change. Statuses and the products of
  /// other processors stay.
  void compute_again(const FinishedBatch& batch, std::size_t processor);

  /// Number of processors; 0 where the plan asks for spectra alone.
  [[nodiscard]] std::size_t processors() const { return results_.size(); }
  /// Processor 0 is the one of the settings' `holography` unless that wants no images; the others follow in the
  /// settings' order.
  [[nodiscard]] const ResultHeader& header(std::size_t processor) const { return results_.at(processor).header; }
  [[nodiscard]] int every_hops(std::size_t processor) const { return results_.at(processor).every_hops; }
  /// True if a processor has a frame at this hop, counted from bit-time 0 of the stream.
  [[nodiscard]] bool is_due(std::size_t processor, std::uint64_t hop) const {
    return hop % static_cast<std::uint64_t>(every_hops(processor)) == 0;
  }
  [[nodiscard]] bool is_late(std::size_t processor) const { return every_hops(processor) > 1; }
  /// Window of a processor's products for the run's window that begins at `first_sample`; both end together.
  [[nodiscard]] SampleSpan window_of(std::size_t processor, std::uint64_t first_sample) const;
  [[nodiscard]] std::uint64_t window_samples(std::size_t processor) const {
    return clock_.window_samples() + static_cast<std::uint64_t>(taps_[tap_of(processor)].lead_samples);
  }
  /// True if the processor's window differs from the run's.
  [[nodiscard]] bool has_own_window(std::size_t processor) const { return tap_of(processor) != 0; }
  /// False where the processor's window would begin before sample 0.
  [[nodiscard]] bool reaches(std::size_t processor, std::uint64_t first_sample) const;
  /// Number of microphones that the processor could use, were all valid.
  [[nodiscard]] std::uint32_t microphones(std::size_t processor) const;
  /// Microphones among `channels` that the processor could use, were they valid.
  [[nodiscard]] std::vector<int> of_processor(std::size_t processor, std::vector<int> channels) const;
  /// Array plan of the spectra, which never changes. Its dead channels are those that no health mask brings back:
  /// masked by the settings, or because they have no gain.
  [[nodiscard]] const ArrayPlan& array_plan() const { return taps_.front().array; }
  /// Array plans of the run's spectra, then of each other tap, as make_masks() takes them.
  [[nodiscard]] std::vector<ArrayPlan> array_plans() const;
  /// Puts masks for array_plans() into effect; waits for the device.
  void use(const Masks& masks);
  /// Mask in effect for array_plan().
  [[nodiscard]] std::shared_ptr<const MicrophoneMask> mask() const { return mask_; }
  /// The processor with a search, which is one at most; nothing where none has one, or the settings disable it.
  [[nodiscard]] std::optional<std::size_t> searcher() const { return searcher_; }
  /// Makes the search of searcher() in this engine's spectra. It may run on any thread and outlive the engine; null
  /// where there is none.
  [[nodiscard]] std::unique_ptr<Search> make_search() const {
    return searcher_ ? results_[*searcher_].searching->make_search() : nullptr;
  }
  /// Marks the start of a stream: processors that average over windows, or remember them, drop their state.
  void forget();
  /// Like forget(), but only for processors whose memory is unbounded or unknown.
  void forget_unbounded();
  /// Puts the findings of searcher()'s search into effect; waits for the device.
  void adopt(const std::shared_ptr<const Findings>& findings);
  /// Sets the number of the search whose findings are in effect (SearchSchedule).
  void set_search(std::uint64_t number) { search_ = number; }
  /// Schedule of the search.
  [[nodiscard]] SearchSchedule search_schedule() const { return schedule_; }
  /// Hops to compute before a processor's frame so that it equals the whole stream's, given the right findings in
  /// effect for them; kUnboundedMemory: all.
  [[nodiscard]] std::int64_t computed_memory_hops(std::size_t processor) const;
  /// Number of values in a window: frequencies times microphones.
  [[nodiscard]] std::size_t spectra_values() const {
    return array_plan().frequencies_hz.size() * static_cast<std::size_t>(array_plan().geometry.channels());
  }

  /// Requested frequencies, as actually computed.
  [[nodiscard]] const std::vector<double>& frequencies_hz() const { return taps_.front().frequencies_hz; }
  /// Name of the front end with its planned choices, such as the kernel; "none (spectra)" when there is none.
  [[nodiscard]] const std::string& front_end_name() const { return taps_.front().name; }
  /// Path and sizes of a processor.
  [[nodiscard]] virtual std::string description(std::size_t processor) const = 0;

 protected:
  /// `devices`: index per entry of Settings::processors, 0 for the run's device; empty: all work on that one.
  explicit Engine(const EnginePlan& plan, std::vector<std::size_t> devices = {});
  /// Source of spectra: a front end on a device. Processors on one device whose front ends are equal share it.
  struct Tap {
    FrontEndPlan plan;              ///< not used for given spectra
    std::string key;                ///< equal for taps of one device that compute the same
    std::size_t device = 0;         ///< 0: the run's device
    std::string owner;              ///< the first processor with such a front end of its own; empty for the run's
    int every_hops = 1;             ///< the smallest cadence of its processors
    std::int64_t lead_samples = 0;  ///< lead of its windows over the run's; negative: they begin later
    std::uint64_t history_samples = 0;
    std::uint64_t begin = 0;  ///< first pushed sample for it, since the last seek()
    ArrayPlan array;
    std::uint32_t constant_flags = 0;    ///< flags that follow from the array alone
    std::vector<double> frequencies_hz;  ///< requested ones, without the bins of bands
    std::string name;                    ///< name of the front end with its planned choices
    bool has_front_end = true;           ///< false: its processors work on samples alone
    bool wants_samples = false;          ///< decimated samples are needed, for its front end or a processor
    std::int64_t window_samples = 0;

    /// First sample of its window for the run's window, which must not begin before the stream.
    [[nodiscard]] std::uint64_t first(std::uint64_t window) const {
      return static_cast<std::uint64_t>(static_cast<std::int64_t>(window) - lead_samples);
    }
  };
  /// Decimated samples of a device, which its front ends and processors share.
  struct SampleTap {
    FrontEndPlan plan;
    std::size_t longest_window = 0;
    bool is_late = true;  ///< true if no tap that shares them is due at every hop
  };
  /// A processor of the plan, before it is made.
  struct Wanted {
    std::string kind;
    int every_hops = 1;
    std::size_t tap = 0;
    std::size_t device = 0;
    ProcessorNeeds needs;
    std::unique_ptr<Settings> settings;
    std::unique_ptr<KindSettings> own;
    ProcessorPlan plan;
  };
  /// taps()[0] is the run's.
  [[nodiscard]] std::vector<Tap>& taps() { return taps_; }
  [[nodiscard]] const std::vector<Tap>& taps() const { return taps_; }
  /// Makes the front end of a tap by `make(plan)`, where it has one, and records history and frequencies; null where it
  /// has none. ConfigErrors name the processor's keys.
  template <typename Make>
  auto make_front_end_of(Tap& tap, Make make);
  /// Sets the frequencies of the computed spectra. Throws ConfigError.
  void set_frequencies(Tap& tap, const std::vector<double>& computed_hz);
  /// Sample buffer to be shared on a device; none where nothing there works on samples.
  [[nodiscard]] std::optional<SampleTap> sample_tap(std::size_t device) const;
  /// Processors of the plan; call it once all taps have their frequencies.
  [[nodiscard]] std::vector<Wanted> wanted_processors() const;
  /// Records a processor that was made, which lives as long as the engine.
  void add_results(const Wanted& wanted, ProcessorBase& processor);
  [[nodiscard]] std::size_t tap_of(std::size_t processor) const { return results_.at(processor).tap; }
  [[nodiscard]] bool has_subset(std::size_t processor) const { return !results_.at(processor).subset.empty(); }
  /// Decimated samples per window that a processor works on; 0: none.
  [[nodiscard]] std::uint64_t sample_window(std::size_t processor) const {
    return results_.at(processor).sample_window;
  }
  /// First pushed sample for the decimated samples of a device: that of the first of their taps.
  [[nodiscard]] std::uint64_t samples_begin(std::size_t device) const;
  /// Words of the wire per decimated sample of all channels.
  [[nodiscard]] std::size_t words_per_sample() const;
  /// Samples of a tap's window, the one numbered `present` of a batch's windows that the tap has.
  [[nodiscard]] SampleSpan window_of(const BatchState& batch, std::size_t tap, std::size_t present) const;
  /// Hops of the windows that a tap has, without the first, absent ones.
  [[nodiscard]] static FrameHops hops_without(const BatchState& batch, std::size_t absent);
  /// Called when a processor begins on a batch: notes which of its products may depend on hops that were not computed,
  /// and that its results are this batch's.
  void note_begun(BatchState& batch, std::size_t processor);
  /// Enqueues the spectra of a batch's windows and its prompt processors.
  virtual void enqueue(BatchState& batch) = 0;
  /// enqueue() for given spectra.
  virtual void enqueue(BatchState& batch, std::span<const std::complex<float>> spectra) = 0;
  /// Waits for the prompt work of a batch and fills the statuses of its taps.
  virtual void wait_for(BatchState& batch) = 0;
  /// Enqueues late processors on a finished batch.
  virtual void enqueue_late(const std::shared_ptr<BatchState>& batch, std::span<const std::size_t> processors) = 0;
  /// Computes a processor's products again, and waits.
  virtual void run_again(BatchState& batch, std::size_t processor) = 0;
  virtual void copy_spectra(std::size_t window, std::span<std::complex<float>> spectra) const = 0;
  /// Flags of a window's products that the processor and its tap found. `present`: number of the window among those
  /// that the tap has.
  [[nodiscard]] virtual std::uint32_t flags(const BatchState& batch, std::size_t processor,
                                            std::size_t present) const = 0;
  [[nodiscard]] virtual int non_finite_microphones(const BatchState& batch, std::size_t processor,
                                                   std::size_t present) const = 0;
  /// Samples with channels in row and column order; returns `samples` itself where they already are. Copies live until
  /// the third turn_ordered() from now on; each batch that is begun calls it once, and two may be in flight.
  [[nodiscard]] std::span<const float> in_channel_order(std::span<const float> samples);
  void turn_ordered() {
    ordered_before_[1] = std::move(ordered_before_[0]);
    ordered_before_[0] = std::exchange(ordered_, {});
  }
  [[nodiscard]] bool has_masked_microphones(std::size_t tap) const { return !masked_[tap].empty(); }
  /// Number of batches: two where the plan asks for them and these processors allow it.
  [[nodiscard]] std::size_t possible_in_flight(const std::vector<Wanted>& wanted) const;
  void allow_in_flight(std::size_t batches) { batches_in_flight_ = batches; }
  /// Throws Error where no further batch may be begun, or nothing may be pushed for it.
  void require_room_in_flight(std::string_view call) const;
  /// Throws Error where a batch is in flight.
  void require_idle(std::string_view call) const;
  /// Device name as files record it; 0: the run's.
  [[nodiscard]] virtual std::string device_name_of(std::size_t device) const = 0;
  [[nodiscard]] const EnginePlan& plan() const { return plan_; }

  friend std::vector<std::string> plan_warnings(const Engine& engine);
  friend MicrophoneUse microphone_use(const Engine& engine);
  friend std::vector<std::string> plan_notes(const Engine& engine);

 private:
  struct Results {
    ResultHeader header;
    int every_hops = 1;
    std::size_t tap = 0;
    std::uint64_t sample_window = 0;  ///< see sample_window()
    std::vector<int> subset;          ///< see subset_of()
    ProcessorBase* processor = nullptr;
    Searching* searching = nullptr;  ///< null where it has no findings
    bool makes_images = false;
    std::array<std::uint64_t, 2> begun{};  ///< [place] number of the batch begun last
  };
  /// A free state for the windows, with a number and a place.
  std::shared_ptr<BatchState> new_batch(const WindowRange& range);
  /// Sets the hops of a batch, and how far back hops were computed.
  void begin_hops(BatchState& batch, std::uint64_t first_hop);
  /// Counts a batch whose work is enqueued.
  Batch begun(std::shared_ptr<BatchState> batch);
  /// Counts, for each tap, how many of the windows it has.
  void count_absent(BatchState& batch) const;
  /// Makes a batch's statuses of those of its first tap.
  void take_statuses(BatchState& batch) const;
  /// The engine's own state of a batch. Throws Error where it is not finished, or its spectra are another batch's.
  /// Throws Error unless a batch is finished and its products of a processor are still there.
  void require_products(const Batch& batch, std::size_t processor, std::string_view call) const;
  [[nodiscard]] const std::shared_ptr<BatchState>& newest(const FinishedBatch& batch, std::string_view call) const;
  /// See FrameProducts.
  [[nodiscard]] float missing_information(std::size_t processor, int non_finite) const;
  [[nodiscard]] std::uint32_t valid_microphones(std::size_t processor, int non_finite) const;
  void require_windows(std::size_t windows) const;
  /// Returns the index of the tap for a processor of the settings on a device; adds one if needed.
  std::size_t tap_for(const ProcessorSettings& processor, std::size_t device);
  /// Returns the index of an equal tap on that device, or adds this one.
  std::size_t shared(Tap tap);
  [[nodiscard]] bool feeds_from_all(const Tap& tap) const;
  [[nodiscard]] std::optional<Quantity> imaged_of(const Tap& tap) const;
  EnginePlan plan_;
  StreamClock clock_;
  std::uint64_t origin_ = 0;
  std::size_t batches_in_flight_ = 1;
  std::vector<std::shared_ptr<BatchState>> batches_;    ///< all that were ever used, free where nobody else has them
  std::vector<std::shared_ptr<BatchState>> in_flight_;  ///< oldest first
  std::uint64_t last_number_ = 0;                       ///< number of the batch begun last
  std::size_t place_ = 0;                               ///< its place
  SearchSchedule schedule_;
  std::optional<std::size_t> searcher_;
  std::uint64_t search_ = SearchSchedule::kNoNumber;  ///< number of the search in effect
  bool has_findings_ = false;                         ///< the findings of a search are in effect
  bool of_either_side_ = false;                       ///< they have a wave that may come from behind the array
  std::uint64_t searched_hop_ = 0;        ///< since this hop the findings in effect were those of the whole stream
  std::uint64_t first_hop_ = 0;           ///< all hops from this one to end_hop_ were computed
  std::optional<std::uint64_t> end_hop_;  ///< end of the computed hops; none where nothing is remembered
  std::vector<Tap> taps_;
  std::vector<ProcessorSettings> processors_;  ///< all of the plan; empty where it asks for spectra alone
  std::vector<std::size_t> taps_of_settings_;  ///< [processor]
  std::vector<Results> results_;               ///< [processor]
  std::shared_ptr<const MicrophoneMask> mask_;
  std::vector<std::vector<std::int32_t>> masked_;  ///< [tap] channels, ascending
  std::vector<float> missing_;                     ///< [tap] MissingInformation::largest() of the mask
  std::list<std::vector<float>> ordered_;          ///< copies of in_channel_order() for the batch that begins next
  std::array<std::list<std::vector<float>>, 2> ordered_before_;  ///< copies for the two batches begun last
};

/// `message` with keys of front_end at line starts replaced by those of processor `owner`; unchanged if that is empty.
std::string with_keys_of(const std::string& owner, const std::string& message);

template <typename Make>
auto Engine::make_front_end_of(Tap& tap, Make make) {
  decltype(make(tap.plan)) front_end;
  if (plan_.input == InputForm::kSpectra) {
    set_frequencies(tap, plan_.spectra_hz);
    return front_end;
  }
  if (tap.has_front_end) {
    try {
      front_end = make(tap.plan);
      tap.history_samples = front_end->history_words();
      set_frequencies(tap, front_end->actual_frequencies_hz());
    } catch (const ConfigError& error) {
      throw ConfigError(with_keys_of(tap.owner, error.what()));
    }
  } else {
    set_frequencies(tap, {});
  }
  if (tap.wants_samples && plan_.input == InputForm::kBits) {
    tap.history_samples = std::max<std::uint64_t>(tap.history_samples, kDecimatorHistoryWords);
  }
  return front_end;
}

/// Throws ConfigError or DeviceError.
std::unique_ptr<Engine> make_engine(EngineKind kind, const EnginePlan& plan);

/// Makes an OpenCL engine on an already opened device, with its recorder if it has one.
std::unique_ptr<Engine> make_engine(const ocl::Device& device, const EnginePlan& plan);

/// Warnings for the user about doubtful images, one message each: snapped frequencies, a cut-off inside the radiation
/// circle, microphones too far apart for a frequency, a predictor's order cut to the line's length.
std::vector<std::string> plan_warnings(const Engine& engine);

/// Use of the array's microphones under the masks in effect.
MicrophoneUse microphone_use(const Engine& engine);

/// Notes on the engine's processors, one text each: the microphones that one of them uses, the extent of a file's
/// places.
std::vector<std::string> plan_notes(const Engine& engine);

}  // namespace nearfield
