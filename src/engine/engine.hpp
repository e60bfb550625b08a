#pragma once
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
#include "core/streaming_copy.hpp"
#include "engine/search_schedule.hpp"
#include "frontend/front_end.hpp"
#include "imaging/microphone_mask.hpp"
#include "imaging/search.hpp"
#include "nearfield/array_files.hpp"
#include "nearfield/error.hpp"
#include "nearfield/frame.hpp"
#include "nearfield/microphone_use.hpp"
#include "nearfield/settings.hpp"
#include "processors/images/image_processor.hpp"
#include "processors/processor.hpp"

namespace nearfield {

/// Whether a window of recordings and of pushed input is an error: more than a tenth of its microphones.
constexpr bool too_many_are_not_finite(int non_finite, int channels) {
  constexpr int kShare = 10;
  return non_finite * kShare > channels;
}

enum class EngineKind {
  kOpencl,     ///< the device
  kReference,  ///< plain double precision on the host, stage by stage from the formulas
};

/// What the front end is fed with.
enum class InputForm { kBits, kSamples, kSpectra };

struct EnginePlan {
  Settings settings;
  InputForm input = InputForm::kBits;
  double sample_rate_hz = 0.0;     ///< of decimated samples; not used for spectra
  std::vector<double> spectra_hz;  ///< frequencies of the spectra that image_spectra() will get
  /// False: spectra alone, for read_spectra(). No flag then says that a microphone is not finite, and of the holography
  /// settings the standoff alone matters; a recording is opened with validated settings all the same.
  bool has_processor = true;
  /// Batches of windows that may be begun before the first of them is finished: 1 or 2 (Engine::batches_in_flight()).
  std::size_t batches_in_flight = 1;
  std::shared_ptr<TrackIds> track_ids = nullptr;      ///< as ProcessorPlan's
  std::shared_ptr<const ArrayFiles> files = nullptr;  ///< of what the settings name by a path; null: nothing is read
};

/// Decimated samples first to end - 1 of the stream.
struct SampleSpan {
  std::uint64_t first = 0;
  std::uint64_t end = 0;
};

/// What a computed window is, besides its products.
struct WindowStatus {
  std::uint32_t flags = 0;  ///< of the first processor's products
  int non_finite_microphones = 0;
  std::uint64_t missing_bits = 0;  ///< bit-times that never came; filled in by the caller that feeds the engine
};

/// [array plan] as Engine::array_plans() has them, of the same microphones.
using Masks = std::vector<MicrophoneMask>;
/// On any thread: milliseconds for many microphones.
Masks make_masks(const std::vector<ArrayPlan>& plans, const std::vector<int>& channels);

/// From input to products: a front end and the processors of its spectra as one. Built once, then fed and asked window
/// by window.
///
/// Windows are computed in batches: begin_windows() enqueues one, finish_windows() waits for it. With two batches in
/// flight the device computes one while the host reads the products of the one before and feeds the one behind. What
/// changes what is computed, or looks at spectra, needs that nothing is in flight.
///
/// The processors of every hop are prompt: begin_windows() enqueues them all, on whichever device each is, and the wait
/// is one, for all their devices. Those that are due more seldom are late: begin_late() enqueues them behind a window
/// that is out already. The next compute_*(), whose wait covers them, or finish_late() brings their products; where no
/// prompt one works on their device, nothing waits for them but finish_late(), and under_way() says when they are
/// there.
class Engine {
 public:
  virtual ~Engine() = default;

  /// Samples before a window's first that must have been pushed for its products to be exact: what the front ends need,
  /// and what windows of processors have that begin earlier.
  [[nodiscard]] std::uint64_t history_samples() const;
  /// What is pushed next does not follow on the last push: the next window begins at `first_window`, and of what lies
  /// before it, pushes begin where history_samples() ask for it, or at `origin`, before which there is nothing.
  virtual void seek(std::uint64_t first_window, std::uint64_t origin) = 0;
  /// Samples that live streams push at a time: an engine that computes window by window begins with page-locked memory
  /// for these alone. A larger push allocates what it needs; where the pushes before a window are more than there is
  /// room for, one waits for the device to have fetched the ones before.
  [[nodiscard]] std::uint64_t piece_samples() const;
  /// Room for bits that push_bits() takes without a copy; valid until the next call of one of the two, or until the
  /// next window is computed.
  [[nodiscard]] virtual std::span<std::uint32_t> room_for_bits(std::size_t wire_words) = 0;
  /// How bits are best written there: what a GPU fetches while a cache holds it changed takes it 3 us longer for 128
  /// KiB (docs/performance.md). What is read again soon is better left in the caches.
  [[nodiscard]] Copying copying() const { return is_on_gpu() ? Copying::kPastCaches : Copying::kCached; }
  /// The device that prompt frames come from is a GPU.
  [[nodiscard]] virtual bool is_on_gpu() const { return false; }
  /// Bits [bit-time][word], whole groups of 32 bit-times; `first_sample` is the first group's index. A jump forward is
  /// allowed if the history of the next window is pushed again. At most what a batch of windows needs (two
  /// windows and the history) a call; the memory must stay as it is until the windows that begin next are finished.
  /// Throws Error where as many batches are in flight as may be.
  virtual void push_bits(std::uint64_t first_sample, std::span<const std::uint32_t> wire) = 0;
  /// Decimated samples [sample][channel of the input], Pa; otherwise as push_bits().
  virtual void push_samples(std::uint64_t first_sample, std::span<const float> samples) = 0;
  /// Hop numbers of the windows that begin next, and which of these lack bits. Without it a window's number is
  /// its first sample over the hop, and all are whole; given spectra count on from 0.
  void set_hops(const FrameHops& hops) { given_hops_ = hops; }
  /// How many batches may be begun before the first of them is finished. It is one, whatever the plan wants, for given
  /// spectra and for spectra alone, with a processor that is late or on another device than the run's, and with one
  /// that does not take turns (ProcessorEntry).
  [[nodiscard]] std::size_t batches_in_flight() const { return batches_in_flight_; }
  /// That were begun and not yet finished.
  [[nodiscard]] std::size_t in_flight() const { return in_flight_; }
  /// Enqueues `windows` windows, a hop apart, at most the settings' batch, and their prompt products; the first starts
  /// at `first_sample`. Throws Error where as many batches are in flight as may be.
  virtual void begin_windows(std::uint64_t first_sample, std::size_t windows) = 0;
  /// Waits for the batch that was begun first of those in flight. Its statuses and products are there until the next
  /// begin_windows(), which may already be computed behind it. Throws Error where none is in flight.
  virtual std::span<const WindowStatus> finish_windows() = 0;
  /// Both in one; nothing may be in flight.
  std::span<const WindowStatus> compute_windows(std::uint64_t first_sample, std::size_t windows) {
    require_idle("compute_windows()");
    begin_windows(first_sample, windows);
    return finish_windows();
  }
  WindowStatus compute_window(std::uint64_t first_sample) { return compute_windows(first_sample, 1).front(); }
  /// The same for given spectra, [window][frequency][row][column], Pa.
  virtual std::span<const WindowStatus> compute_spectra(std::span<const std::complex<float>> spectra) = 0;
  /// Enqueues the late processors of the bits in `due`, 1 << processor, on the windows that were computed last. Does
  /// not wait for them. None of `due` may be under way.
  virtual void begin_late(std::uint32_t due) = 0;
  /// Those late processors whose device has not yet ended what begin_late() has begun there, 1 << processor.
  [[nodiscard]] virtual std::uint32_t under_way() { return 0; }
  /// Waits for what begin_late() has begun.
  virtual void finish_late() = 0;

  /// None, where the plan wants spectra alone.
  [[nodiscard]] std::size_t processors() const { return results_.size(); }
  /// The first is the one of the settings' `holography`; the others follow in the settings' order.
  [[nodiscard]] const ResultHeader& header(std::size_t processor) const { return results_.at(processor).header; }
  [[nodiscard]] int every_hops(std::size_t processor) const { return results_.at(processor).every_hops; }
  /// Whether a processor has a frame of a hop, counted from bit-time 0 of the stream.
  [[nodiscard]] bool is_due(std::size_t processor, std::uint64_t hop) const {
    return hop % static_cast<std::uint64_t>(every_hops(processor)) == 0;
  }
  [[nodiscard]] bool is_late(std::size_t processor) const { return every_hops(processor) > 1; }
  /// The window of a processor's products beside the run's window that begins at `first_sample`: both end together.
  [[nodiscard]] SampleSpan window_of(std::size_t processor, std::uint64_t first_sample) const;
  [[nodiscard]] std::uint64_t window_samples(std::size_t processor) const {
    return window_samples_ + static_cast<std::uint64_t>(taps_[tap_of(processor)].lead_samples);
  }
  /// True where that is not the run's window.
  [[nodiscard]] bool has_own_window(std::size_t processor) const { return tap_of(processor) != 0; }
  /// False where the processor's window would begin before sample 0.
  [[nodiscard]] bool reaches(std::size_t processor, std::uint64_t first_sample) const;
  /// Microphones that its products of such a window are made of: neither masked nor not finite.
  [[nodiscard]] std::uint32_t valid_microphones(std::size_t processor, std::size_t window) const;
  /// Number of microphones that the processor could use, were all valid.
  [[nodiscard]] std::uint32_t microphones(std::size_t processor) const;
  /// Microphones among `channels` that the processor could use, were they valid.
  [[nodiscard]] std::vector<int> of_processor(std::size_t processor, std::vector<int> channels) const;
  /// Share of the information of such a window's images that the others take with them, the largest over all
  /// frequencies (MissingInformation); 0 of a processor that makes none.
  [[nodiscard]] float missing_information(std::size_t processor, std::size_t window) const;
  /// False while the processor's window would begin before the origin of the last seek(). Of the windows computed last.
  [[nodiscard]] bool has_products(std::size_t processor, std::size_t window) const;
  /// The late ones, as begin_late() takes them.
  [[nodiscard]] std::uint32_t late() const;
  /// Before products() of a window that becomes a frame: where that lies.
  virtual void stamp(std::size_t processor, std::size_t window, const FrameStamp& stamp) = 0;
  /// Of a window with a stamp, as Processor::publish_last(): of the last frame of a run.
  virtual void publish_last(std::size_t processor, std::size_t window) = 0;
  /// Of a window with a stamp, as Processor::missing_bit_times(): 0 where products are of their own window alone.
  [[nodiscard]] virtual std::uint64_t missing_bit_times(std::size_t processor, std::size_t window) const = 0;
  /// Of one of the windows computed last, or of those that a late processor was begun on, where has_products() held;
  /// they hold until the next call for this processor, and until the next compute_*() or begin_late(). Of a late one
  /// once it is not under way any more.
  [[nodiscard]] virtual Products products(std::size_t processor, std::size_t window) = 0;
  /// Of that window's products, once products() has been asked. Those of a late processor hold what the input's flags
  /// were when it was begun.
  [[nodiscard]] virtual std::uint32_t flags(std::size_t processor, std::size_t window) const = 0;

  /// Of the first processor, which must make images, and the last windows: [window][plane][frequency][row][column];
  /// with bands, what they need follows the frequencies. Empty without it.
  [[nodiscard]] std::span<const std::complex<float>> images() const;
  /// [window][frequency] as images(): their filters, noise and errors.
  [[nodiscard]] std::span<const FilterReport> reports() const;
  /// Of one of the last windows as they were measured, [frequency][row][column], Pa, neither calibrated nor
  /// interpolated. Waits; for now and then.
  virtual void read_spectra(std::size_t window, std::span<std::complex<float>> spectra) const = 0;
  /// Of the spectra, which never changes. Its dead channels are those that no mask of health brings back: masked by the
  /// settings, or because they have no gain.
  [[nodiscard]] const ArrayPlan& array_plan() const { return taps_.front().array; }
  /// Of the run's spectra, then of those of each tap beside them: what make_masks() takes.
  [[nodiscard]] std::vector<ArrayPlan> array_plans() const;
  /// Puts masks for array_plans() into effect, between two calls of compute_*(); waits for the device.
  virtual void use(const Masks& masks) = 0;
  /// The one in effect for array_plan().
  [[nodiscard]] std::shared_ptr<const MicrophoneMask> mask() const { return mask_; }
  /// What finds findings for this engine's first processor in its spectra, on any thread, and may outlive it; null
  /// where the settings want no search, or the processor has none.
  [[nodiscard]] virtual std::unique_ptr<Search> make_search() const = 0;
  /// A stream begins: processors that average over windows, or remember them, forget those so far. Between two calls of
  /// compute_*().
  virtual void forget() = 0;
  /// Those whose memory is not bounded, or not known, forget what came before; the others keep it.
  virtual void forget_unbounded() = 0;
  /// Puts what its search has found into effect, between two calls of compute_*(); waits for the device.
  virtual void adopt(const std::shared_ptr<const Findings>& findings) = 0;
  /// The number of the search whose findings are in effect (SearchSchedule).
  void set_search(std::uint64_t number) { search_ = number; }
  /// Of the search for the first processor.
  [[nodiscard]] SearchSchedule search_schedule() const { return schedule_; }
  /// Of a processor: hops to compute before a frame, so that it is the whole stream's, where the right findings are in
  /// effect for them; kUnboundedMemory: all.
  [[nodiscard]] std::int64_t computed_memory_hops(std::size_t processor) const;
  /// Computes the first processor's products of the last windows once more, from their spectra, after a change. Their
  /// statuses, and what other processors made of them, stay.
  virtual void image_again() = 0;
  /// Of a window: frequencies times microphones.
  [[nodiscard]] std::size_t spectra_values() const {
    return array_plan().frequencies_hz.size() * static_cast<std::size_t>(array_plan().geometry.channels());
  }
  /// Fills the first processor's products of one of the last windows into `frame`, whose other members stay.
  void fill(std::size_t window, ImageFrame& frame);
  /// compute_window() and fill(), flags too. Returns how many microphones were not finite.
  int image_window(std::uint64_t first_sample, ImageFrame& frame);
  int image_spectra(std::span<const std::complex<float>> spectra, ImageFrame& frame);

  /// Requested frequencies, as they are computed.
  [[nodiscard]] const std::vector<double>& frequencies_hz() const { return taps_.front().frequencies_hz; }
  /// The front end with what its plan chose, such as the kernel; "none (spectra)" when there is none.
  [[nodiscard]] const std::string& front_end_name() const { return taps_.front().name; }
  /// The first processor's path and its sizes.
  [[nodiscard]] virtual std::string imager_name() const = 0;

 protected:
  /// `devices` [of Settings::processors], 0 for the run's device; where it is empty, all work on that one.
  explicit Engine(const EnginePlan& plan, std::vector<std::size_t> devices = {});
  /// Where spectra come from: a front end on a device. Processors on one device whose front ends are equal share it.
  struct Tap {
    FrontEndPlan plan;              ///< not used for given spectra
    std::string key;                ///< equal for taps of one device that compute the same
    std::size_t device = 0;         ///< 0: the run's
    std::string owner;              ///< the first processor with such a front end of its own; empty for the run's
    int every_hops = 1;             ///< the smallest cadence of its processors
    std::int64_t lead_samples = 0;  ///< how much earlier than the run's windows its own begin; negative: later
    std::uint64_t history_samples = 0;
    ArrayPlan array;
    std::uint32_t constant_flags = 0;    ///< of the array
    std::vector<double> frequencies_hz;  ///< requested ones, without the bins of bands
    std::string name;                    ///< of the front end, with what its plan chose
    bool has_front_end = true;           ///< else its processors work on samples alone
    bool wants_samples = false;          ///< decimated ones, for its front end or a processor
    std::int64_t window_samples = 0;
    std::size_t absent = 0;  ///< of the windows computed last: those that would begin before the origin

    /// First sample of its window beside the run's, which must not begin before the stream.
    [[nodiscard]] std::uint64_t first(std::uint64_t window) const {
      return static_cast<std::uint64_t>(static_cast<std::int64_t>(window) - lead_samples);
    }
  };
  /// Decimated samples of a device, which its front ends and processors share.
  struct SampleTap {
    FrontEndPlan plan;
    std::size_t longest_window = 0;
    bool is_late = true;  ///< none of those that share them is wanted at every hop
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
  /// The first is the run's.
  [[nodiscard]] std::vector<Tap>& taps() { return taps_; }
  [[nodiscard]] const std::vector<Tap>& taps() const { return taps_; }
  /// Makes the front end of a tap by `make(plan)` and records its history, frequencies and name. ConfigErrors name the
  /// processor's keys.
  template <typename Make>
  auto make_front_end_of(Tap& tap, Make make);
  /// For given spectra: the frequencies that they have. Throws ConfigError.
  void set_frequencies(Tap& tap, const std::vector<double>& computed_hz);
  /// Of a tap whose front end is made, where it has one: what samples ask for.
  void finish(Tap& tap);
  /// What is to be shared on a device; none where nothing there works on samples.
  [[nodiscard]] std::optional<SampleTap> sample_tap(std::size_t device) const;
  /// Once all taps have their frequencies.
  [[nodiscard]] std::vector<Wanted> wanted_processors() const;
  /// Of a processor that was made. `images` is null where it makes none, and lives as long as the engine.
  void add_results(ResultHeader header, const Wanted& wanted, std::span<const int> subset, const ImagesOnHost* images);
  [[nodiscard]] std::size_t tap_of(std::size_t processor) const { return results_.at(processor).tap; }
  /// Notes the origin that seek() names. Returns, for each tap, the first sample that its front end is to be fed with;
  /// the decimated samples of a device begin with the first of their taps.
  std::vector<std::uint64_t> begin_taps(std::uint64_t first_window, std::uint64_t origin);
  /// Of the windows of a compute_*(), where nothing else was given by set_hops().
  void begin_hops(std::uint64_t first_hop, std::size_t windows);
  /// Nothing is remembered any more.
  void forget_hops() {
    end_hop_.reset();
    search_ = SearchSchedule::kNoNumber;
  }
  /// The hop that follows on those computed last.
  [[nodiscard]] std::uint64_t next_hop() const { return end_hop_.value_or(0); }
  /// Of the windows computed last, without the first ones that a tap does not have.
  [[nodiscard]] FrameHops hops_without(std::size_t absent) const;
  /// When a processor begins on the windows computed last: which of its products may depend on hops that were not
  /// computed.
  void note_memory(std::size_t processor);
  /// kFlagMemoryNotFull or 0, of the windows that the processor began on last.
  [[nodiscard]] std::uint32_t memory_flag(std::size_t processor, std::size_t window) const {
    const std::vector<std::uint32_t>& flags = results_.at(processor).memory_flags;
    return window < flags.size() ? flags[window] : 0U;
  }
  /// Notes, for each tap, how many of these windows it cannot have.
  void count_absent(std::uint64_t first_sample, std::size_t windows);
  void set_masks(const Masks& masks);
  /// kFlagInformationMissing or 0, of one of the windows that the processor began on last.
  [[nodiscard]] std::uint32_t information_flag(std::size_t processor, std::size_t window) const;
  /// The samples with their channels in the order of rows and columns; themselves where they are so. Copies live until
  /// the third turn_ordered() from now on, one of which follows on each batch that is begun: two may be in flight.
  [[nodiscard]] std::span<const float> in_channel_order(std::span<const float> samples);
  void turn_ordered() {
    ordered_before_[1] = std::move(ordered_before_[0]);
    ordered_before_[0] = std::exchange(ordered_, {});
  }
  [[nodiscard]] bool has_masked_microphones(std::size_t tap) const { return !masked_[tap].empty(); }
  /// Two, where the plan wants them and these processors allow it.
  [[nodiscard]] std::size_t possible_in_flight(const std::vector<Wanted>& wanted) const;
  void allow_in_flight(std::size_t batches) { batches_in_flight_ = batches; }
  /// Throws Error where one batch more may not be begun, or nothing may be pushed for it.
  void require_room_in_flight(std::string_view call) const;
  /// Throws Error where a batch is in flight.
  void require_idle(std::string_view call) const;
  /// Counts a batch that was begun.
  void count_begun() { ++in_flight_; }
  /// Counts one that is finished. Throws Error where none is in flight.
  void count_finished();
  /// What readers of a batch's products ask for, while members are those of a batch that was begun after it.
  struct Marks {
    std::vector<std::size_t> absent;                       ///< [tap]
    std::vector<std::vector<std::uint32_t>> memory_flags;  ///< [processor][window]
  };
  [[nodiscard]] Marks marks() const;
  void restore(Marks&& marks);
  /// As files name it; 0: the run's.
  [[nodiscard]] virtual std::string device_name_of(std::size_t device) const = 0;
  [[nodiscard]] virtual int non_finite_microphones(std::size_t processor, std::size_t window) const = 0;
  [[nodiscard]] const EnginePlan& plan() const { return plan_; }

  friend std::vector<std::string> plan_warnings(const Engine& engine);
  friend MicrophoneUse microphone_use(const Engine& engine);
  friend std::vector<std::string> plan_notes(const Engine& engine);

 private:
  struct Results {
    ResultHeader header;
    int every_hops = 1;
    std::size_t tap = 0;
    std::vector<int> subset;                       ///< as Processor::subset()
    std::vector<std::uint32_t> memory_flags = {};  ///< [window]
    const ImagesOnHost* images = nullptr;
  };
  /// The tap of a processor of the settings on a device, which may have to be made.
  std::size_t tap_for(const ProcessorSettings& processor, std::size_t device);
  /// The tap that does the same on that device, or this one, added.
  std::size_t shared(Tap tap);
  [[nodiscard]] bool feeds_from_all(const Tap& tap) const;
  [[nodiscard]] std::optional<Quantity> imaged_of(const Tap& tap) const;
  EnginePlan plan_;
  std::uint64_t window_samples_ = 0;
  std::uint64_t hop_samples_ = 0;
  std::uint64_t origin_ = 0;
  std::size_t batches_in_flight_ = 1;
  std::size_t in_flight_ = 0;
  std::optional<FrameHops> given_hops_;  ///< of the next windows
  FrameHops hops_;                       ///< of the windows begun last
  SearchSchedule schedule_;
  std::uint64_t search_ = SearchSchedule::kNoNumber;  ///< in effect
  std::uint64_t searched_hop_ = 0;         ///< from it on, the findings in effect were those of the whole stream
  std::uint64_t searched_hop_before_ = 0;  ///< the same, before the windows computed last
  std::uint64_t first_hop_ = 0;            ///< from it on, all hops up to these were computed
  std::optional<std::uint64_t> end_hop_;   ///< of these; none where nothing is remembered
  std::vector<Tap> taps_;
  std::vector<std::size_t> taps_of_settings_;  ///< [of Settings::processors]
  std::vector<Results> results_;               ///< [processor]
  std::shared_ptr<const MicrophoneMask> mask_;
  std::vector<std::vector<std::int32_t>> masked_;  ///< [tap], channels, ascending
  std::vector<float> missing_;                     ///< [tap], MissingInformation::largest() of the mask
  std::list<std::vector<float>> ordered_;          ///< of in_channel_order(), for the batch that begins next
  std::array<std::list<std::vector<float>>, 2> ordered_before_;  ///< for the two that were begun last
};

/// `message`, whose lines begin with keys of front_end, with those of the processor `owner`; unchanged without one.
std::string with_keys_of(const std::string& owner, const std::string& message);

template <typename Make>
auto Engine::make_front_end_of(Tap& tap, Make make) {
  try {
    auto front_end = make(tap.plan);
    tap.history_samples = front_end->history_words();
    set_frequencies(tap, front_end->actual_frequencies_hz());
    return front_end;
  } catch (const ConfigError& error) {
    throw ConfigError(with_keys_of(tap.owner, error.what()));
  }
}

/// Throws ConfigError or DeviceError.
std::unique_ptr<Engine> make_engine(EngineKind kind, const EnginePlan& plan);

/// The same on a device that is open already, with its recorder if it has one.
std::unique_ptr<Engine> make_engine(const ocl::Device& device, const EnginePlan& plan);

/// Of the first processor, which must make images.
ImagesHeader images_header(const Engine& engine);

/// What a user should know before trusting the images, one message each: snapped frequencies, a cut-off inside the
/// radiation circle, microphones too far apart for a frequency, a predictor's order cut to the line's length.
std::vector<std::string> plan_warnings(const Engine& engine);

/// Use of the array's microphones under the masks in effect.
MicrophoneUse microphone_use(const Engine& engine);

/// Notes on the engine's processors, one text each: the microphones that one of them uses, where places of a file lie.
std::vector<std::string> plan_notes(const Engine& engine);

}  // namespace nearfield
